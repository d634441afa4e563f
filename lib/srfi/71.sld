;;; (srfi 71): let, let*, letrec with multiple values.
;;;
;;; Each binding becomes one of `let-values`; bindings that all have one variable stay as they are.

(define-library (srfi 71)
  (export let let* letrec values->list values->vector
          uncons uncons-2 uncons-3 uncons-4 uncons-cons unlist unvector)
  (import (rename (canny syntax) (let let/r7rs) (let* let*/r7rs) (letrec letrec/r7rs))
          (canny primitives))
  (begin

    (define-syntax let
      (syntax-rules ()
        ((_ ((variable expression) ...) body0 body ...)
         (one-variable-each let ((variable expression) ...) (body0 body ...)))
        ((_ (binding ...) body0 body ...)
         (normalize let-values () (binding ...) (body0 body ...)))
        ((_ tag (binding ...) body0 body ...)
         (normalize-named tag () (binding ...) (body0 body ...)))))

    (define-syntax let*
      (syntax-rules ()
        ((_ (binding ...) body0 body ...)
         (normalize let*-values () (binding ...) (body0 body ...)))))

    (define-syntax letrec
      (syntax-rules ()
        ((_ (binding ...) body0 body ...)
         (normalize define-values () (binding ...) (body0 body ...)))))

    ;; A binding ((values v) e) looks like one with one variable.
    (define-syntax one-variable-each
      (syntax-rules (values)
        ((_ let (((values . formals) expression) . more) body)
         (normalize let-values () (((values . formals) expression) . more) body))
        ((_ let bindings body)
         (check-rest bindings bindings body))))

    (define-syntax check-rest
      (syntax-rules (values)
        ((_ () bindings body)
         (let/r7rs bindings . body))
        ((_ (((values . formals) expression) . more) bindings body)
         (normalize let-values () bindings body))
        ((_ (binding . more) bindings body)
         (check-rest more bindings body))))

    ;; Collects bindings of `let-values`.
    (define-syntax normalize
      (syntax-rules (values)
        ((_ define-values ((formals expression) ...) () body)
         (bind define-values ((formals expression) ...) body))
        ((_ form (done ...) (((values . formals) expression) binding ...) body)
         (normalize form (done ... (formals expression)) (binding ...) body))
        ((_ form (done ...) ((variable ... expression) binding ...) body)
         (normalize form (done ... ((variable ...) expression)) (binding ...) body))))

    (define-syntax bind
      (syntax-rules (let-values let*-values define-values)
        ((_ let-values bindings body)
         (let-values bindings . body))
        ((_ let*-values bindings body)
         (let*-values bindings . body))
        ((_ define-values ((formals expression) ...) body)
         (let/r7rs ()
           (define-values formals expression)
           ...
           (let/r7rs () . body)))))

    (define-syntax normalize-named
      (syntax-rules (values)
        ((_ tag (done ...) () body)
         (let/r7rs tag (done ...) . body))
        ((_ tag (done ...) (((values variable) expression) binding ...) body)
         (normalize-named tag (done ... (variable expression)) (binding ...) body))
        ((_ tag (done ...) ((variable expression) binding ...) body)
         (normalize-named tag (done ... (variable expression)) (binding ...) body))))

    (define-syntax values->list
      (syntax-rules ()
        ((_ expression) (%values->list expression))))

    (define-syntax values->vector
      (syntax-rules ()
        ((_ expression) (list->vector (%values->list expression)))))

    (define (uncons pair)
      (values (car pair) (cdr pair)))

    (define (uncons-2 list)
      (values (car list) (cadr list) (cddr list)))

    (define (uncons-3 list)
      (values (car list) (cadr list) (caddr list) (cdddr list)))

    (define (uncons-4 list)
      (values (car list) (cadr list) (caddr list) (cadddr list) (cddddr list)))

    (define (uncons-cons alist)
      (values (caar alist) (cdar alist) (cdr alist)))

    (define (unlist list)
      (%list->values list))

    (define (unvector vector)
      (%list->values (vector->list vector)))))
