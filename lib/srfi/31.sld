;;; (srfi 31): rec, recursive expressions.

(define-library (srfi 31)
  (export rec)
  (import (canny syntax))
  (begin

    (define-syntax rec
      (syntax-rules ()
        ((_ (name . formals) body0 body ...)
         (letrec ((name (lambda formals body0 body ...))) name))
        ((_ name expression)
         (letrec ((name expression)) name))))))
