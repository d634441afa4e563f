(import (scheme base))
(define-syntax my-add
  (syntax-rules ()
    ((_ a b) (+ a b))))
(define (f x)
  (my-add x 'one))
(+ 1 (f 2))
