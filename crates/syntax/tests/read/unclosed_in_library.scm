(define-library (a)
  (export f)
  (import (scheme base))
  (begin
    (define (g x)
      (if x
          (car x))
    (define (f x)
      (g x))))
