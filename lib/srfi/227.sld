;;; (srfi 227): optional arguments.
;;;
;;; The procedures are those of `lambda*`. If defaults must not see the parameters, the parameters
;;; of the `lambda*` have other names.

(define-library (srfi 227)
  (export opt-lambda opt*-lambda let-optionals let-optionals* %absent)
  (import (canny syntax) (canny primitives))
  (begin

    (define %absent (list 'absent))

    (define-syntax opt-lambda
      (syntax-rules ()
        ((_ formals body0 body ...)
         (parallel formals () () (body0 body ...)))))

    (define-syntax opt*-lambda
      (syntax-rules ()
        ((_ formals body0 body ...)
         (sequential formals () () (body0 body ...)))))

    (define-syntax sequential
      (syntax-rules ()
        ((_ () (required ...) optionals body)
         (lambda* (required ... #:optional . optionals) . body))
        ((_ ((variable default) . formals) required (optional ...) body)
         (sequential formals required (optional ... (variable default)) body))
        ((_ ((part . parts) . formals) required optionals body)
         (syntax-error "opt*-lambda: an optional parameter is (name default):" (part . parts)))
        ((_ (variable . formals) (required ...) () body)
         (sequential formals (required ... variable) () body))
        ((_ (variable . formals) required optionals body)
         (syntax-error "opt*-lambda: a required parameter stands behind an optional one:" variable))
        ((_ rest (required ...) () body)
         (lambda (required ... . rest) . body))
        ((_ rest (required ...) (optional ...) body)
         (lambda* (required ... #:optional optional ... #:rest rest) . body))))

    ;; Each required variable has a parameter, each optional one also a default.
    (define-syntax parallel
      (syntax-rules ()
        ((_ () ((required parameter) ...) ((optional given default) ...) body)
         (lambda* (parameter ... #:optional (given %absent) ...)
           (let ((required parameter)
                 ...
                 (optional (if (eq? given %absent) default given))
                 ...)
             . body)))
        ((_ ((variable default) . formals) required (optional ...) body)
         (parallel formals required (optional ... (variable given default)) body))
        ((_ ((part . parts) . formals) required optionals body)
         (syntax-error "opt-lambda: an optional parameter is (name default):" (part . parts)))
        ((_ (variable . formals) (required ...) () body)
         (parallel formals (required ... (variable parameter)) () body))
        ((_ (variable . formals) required optionals body)
         (syntax-error "opt-lambda: a required parameter stands behind an optional one:" variable))
        ((_ rest ((required parameter) ...) () body)
         (lambda (required ... . rest) . body))
        ((_ rest ((required parameter) ...) ((optional given default) ...) body)
         (lambda* (parameter ... #:optional (given %absent) ... #:rest others)
           (let ((required parameter)
                 ...
                 (optional (if (eq? given %absent) default given))
                 ...
                 (rest others))
             . body)))))

    (define-syntax let-optionals
      (syntax-rules ()
        ((_ expression formals body0 body ...)
         (%apply (opt-lambda formals body0 body ...) expression))))

    (define-syntax let-optionals*
      (syntax-rules ()
        ((_ expression formals body0 body ...)
         (%apply (opt*-lambda formals body0 body ...) expression))))))
