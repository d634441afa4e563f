;;; expect: 9
;;; Calls with three arguments, of which one is the result of three calls.
(import (scheme base) (scheme write))
(define (tak x y z)
  (if (< y x)
      (tak (tak (- x 1) y z)
           (tak (- y 1) z x)
           (tak (- z 1) x y))
      z))
(display (tak 32 16 8))
(newline)
