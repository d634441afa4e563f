;;; The message about an object that cannot be called, also where objects can be called.
(import (scheme base) (canny applicable))
(define numbers (vector 1 2 3))
(define (look-up object index)
  (+ 1 (object index)))
(look-up numbers 0)
(look-up car '(1))
(look-up 42 0)
