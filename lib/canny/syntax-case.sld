;;; (canny syntax-case): macros whose transformers are procedures.
;;;
;;; `syntax-case` and its companions as in R6RS, explicit and implicit renaming, syntactic closures,
;;; and definitions for transformers: `begin-for-syntax`, `define-for-syntax`.

(define-library (canny syntax-case)
  (export syntax-case syntax quasisyntax unsyntax unsyntax-splicing begin-for-syntax ... _
          with-syntax identifier-syntax define-for-syntax define-macro
          identifier? bound-identifier=? free-identifier=? syntax->datum datum->syntax
          generate-temporaries syntax-violation make-variable-transformer
          er-macro-transformer ir-macro-transformer sc-macro-transformer rsc-macro-transformer
          make-syntactic-closure close-syntax strip-syntax identifier=?)
  (import (canny syntax) (canny machine syntax-runtime) (scheme base))
  (begin

    ;; (with-syntax ((pattern expression) ...) body ...)
    (define-syntax with-syntax
      (syntax-rules ()
        ((_ ((pattern expression) ...) body ...)
         (syntax-case (list expression ...) ()
           ((pattern ...) (let () body ...))))))

    (define-syntax define-for-syntax
      (syntax-rules ()
        ((_ . rest) (begin-for-syntax (define . rest)))))

    ;; (identifier-syntax template)
    ;; (identifier-syntax (id template) ((set! id pattern) template))
    (define-syntax identifier-syntax
      (syntax-rules (set!)
        ((_ (id template) ((set! variable pattern) assignment))
         (make-variable-transformer
          (lambda (form)
            (syntax-case form (set!)
              ((set! keyword pattern) (syntax assignment))
              ((keyword . operands) (syntax (template . operands)))
              (keyword (identifier? (syntax keyword)) (syntax template))))))
        ((_ template)
         (lambda (form)
           (syntax-case form ()
             ((keyword . operands) (syntax (template . operands)))
             (keyword (identifier? (syntax keyword)) (syntax template)))))))

    ;; (define-macro (name . formals) body ...) and (define-macro name procedure), without hygiene
    (define-syntax define-macro
      (syntax-rules ()
        ((_ (name . formals) body ...)
         (define-macro name (lambda formals body ...)))
        ((_ name procedure)
         (define-syntax name
           (er-macro-transformer
            (lambda (form rename compare)
              (apply procedure (cdr form))))))))))
