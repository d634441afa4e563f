;;; (srfi 5): let with signatures and rest arguments.

(define-library (srfi 5)
  (export let)
  (import (rename (canny syntax) (let let/r7rs)) (only (canny primitives) list))
  (begin

    (define-syntax let
      (syntax-rules ()
        ((_ () body0 body ...)
         (let/r7rs () body0 body ...))
        ((_ ((variable expression) ...) body0 body ...)
         (let/r7rs ((variable expression) ...) body0 body ...))
        ((_ ((variable expression) . bindings) body0 body ...)
         (collect #f bindings (variable) (expression) (body0 body ...)))
        ((_ (name . bindings) body0 body ...)
         (collect name bindings () () (body0 body ...)))
        ((_ name bindings body0 body ...)
         (collect name bindings () () (body0 body ...)))))

    ;; Collects the variables and expressions up to the rest binding.  The name is #f for a form
    ;; without one, which has a rest binding.
    (define-syntax collect
      (syntax-rules ()
        ((_ name ((variable expression) . bindings) (v ...) (e ...) body)
         (collect name bindings (v ... variable) (e ... expression) body))
        ((_ name () (v ...) (e ...) body)
         (let/r7rs name ((v e) ...) . body))
        ((_ #f (rest expression ...) (v ...) (e ...) body)
         (let/r7rs ((v e) ... (rest (list expression ...))) . body))
        ((_ name (rest expression ...) (v ...) (e ...) body)
         ((letrec ((name (lambda (v ... . rest) . body))) name) e ... expression ...))))))
