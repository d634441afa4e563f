;;; (srfi 227 definition): definitions of procedures with optional arguments.

(define-library (srfi 227 definition)
  (export define-optionals define-optionals*)
  (import (canny syntax) (srfi 227))
  (begin

    (define-syntax define-optionals
      (syntax-rules ()
        ((_ (name . formals) body0 body ...)
         (define name (opt-lambda formals body0 body ...)))))

    (define-syntax define-optionals*
      (syntax-rules ()
        ((_ (name . formals) body0 body ...)
         (define name (opt*-lambda formals body0 body ...)))))))
