;;; (srfi 190): coroutine generators with an implicit yield.
;;;
;;; `yield` is a syntax parameter that stands for a procedure in the body of a coroutine generator.

(define-library (srfi 190)
  (export coroutine-generator define-coroutine-generator yield)
  (import (canny syntax)
          (only (canny syntax-case) identifier-syntax)
          (only (srfi 158) make-coroutine-generator))
  (begin

    (define-syntax yield
      (syntax-rules ()
        ((_ . arguments)
         (syntax-error "yield: it stands only in the body of a coroutine generator"))))

    (define-syntax coroutine-generator
      (syntax-rules ()
        ((_ body0 body ...)
         (make-coroutine-generator
          (lambda (give)
            (syntax-parameterize ((yield (identifier-syntax give)))
              (let () body0 body ...)))))))

    (define-syntax define-coroutine-generator
      (syntax-rules ()
        ((_ (name . formals) body0 body ...)
         (define (name . formals) (coroutine-generator body0 body ...)))
        ((_ name body0 body ...)
         (define name (coroutine-generator body0 body ...)))))))
