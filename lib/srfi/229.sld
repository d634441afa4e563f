;;; (srfi 229): tagged procedures.
;;;
;;; A tagged procedure is one that is a key of a table, which does not keep it alive. Each
;;; evaluation of a lambda expression makes a procedure of its own.

(define-library (srfi 229)
  (export case-lambda/tag lambda/tag procedure/tag? procedure-tag %tag-procedure)
  (import (canny syntax) (canny primitives))
  (begin

    (define tags (%make-hash-table 'eq 'ephemeral 64))

    (define untagged (list 'untagged))

    (define (%tag-procedure tag procedure)
      (let ((own (%copy-procedure procedure)))
        (%hash-table-set! tags own tag)
        own))

    (define-syntax case-lambda/tag
      (syntax-rules ()
        ((_ expression (formals body0 body ...) ...)
         (let ((tag expression))
           (%tag-procedure tag (case-lambda (formals body0 body ...) ...))))))

    (define-syntax lambda/tag
      (syntax-rules ()
        ((_ expression formals body0 body ...)
         (case-lambda/tag expression (formals body0 body ...)))))

    (define (procedure/tag? object)
      (and (procedure? object)
           (%hash-table-contains? tags object)))

    (define (procedure-tag procedure)
      (let ((tag (%hash-table-ref tags procedure untagged)))
        (if (eq? tag untagged)
            (%type-error 'procedure-tag 1 "tagged procedure" procedure)
            tag)))))
