;;; (srfi 219): define with curried procedures.

(define-library (srfi 219)
  (export define)
  (import (rename (canny syntax) (define define/r7rs)))
  (begin

    (define-syntax define
      (syntax-rules ()
        ((_ ((head . outer) . formals) body0 body ...)
         (define (head . outer) (lambda formals body0 body ...)))
        ((_ target . rest)
         (define/r7rs target . rest))))))
