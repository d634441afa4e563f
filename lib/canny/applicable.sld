;;; (canny applicable): hash tables, vectors, strings and bytevectors can be called like procedures,
;;; and so can records whose type has a procedure for it.
;;;
;;; Only calls in code that imports this library mean that. The expander finds the import by the
;;; name %applicable-calls, and makes of a call whose operator need not be a procedure
;;;
;;;   (if (or (procedure? f) (not (%applicable? f))) (f operand ...) (%apply-objectN f operand ...))
;;;
;;; where N is the number of operands, or nothing for three and more; between them come the tests
;;; and reads of vectors with one operand. So a call of a procedure costs a test that the
;;; specializer often knows the answer to. A call of anything else that cannot be called is the
;;; machine's error as always. In this library calls mean what they always mean.
;;;
;;; The procedure of a record type is its extension; types without one look at their parents.

(define-library (canny applicable)
  (export applicable? define-apply-method set-record-type-apply! record-type-apply
          %applicable-calls %applicable? %apply-object0 %apply-object1 %apply-object2 %apply-object)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data hash-tables))
  (begin

    ;; The marker; it is never expanded.
    (define-syntax %applicable-calls
      (syntax-rules ()))

    (define (record-type-apply type)
      (or (%record-type-extension type)
          (inherited-apply type)))

    (define (inherited-apply type)
      (let ((parent (record-type-parent type)))
        (and parent
             (or (%record-type-extension parent)
                 (inherited-apply parent)))))

    (define (apply-of record)
      (record-type-apply (record-type-descriptor record)))

    (define (set-record-type-apply! type procedure)
      (if (not (or (procedure? procedure) (not procedure)))
          (%type-error 'set-record-type-apply! 2 "procedure or #f" procedure))
      (%set-record-type-extension! type procedure))

    ;; (define-apply-method ((object type) parameter ...) body ...)
    (define-syntax define-apply-method
      (syntax-rules ()
        ((_ ((object type) . parameters) body0 body ...)
         (define added
           (set-record-type-apply! type (lambda (object . parameters) body0 body ...))))))

    (define (%applicable? object)
      (or (vector? object)
          (if (record? object)
              (and (apply-of object) #t)
              (or (%hash-table? object)
                  (string? object)
                  (bytevector? object)))))

    (define (applicable? object)
      (or (procedure? object) (%applicable? object)))

    ;; All of these take applicable objects only.

    (define (%apply-object0 object)
      (if (record? object)
          ((apply-of object) object)
          (wrong-number object 0)))

    (define (%apply-object1 object key)
      (cond ((vector? object) (vector-ref object key))
            ((record? object) ((apply-of object) object key))
            ((%hash-table? object) (table-ref object key))
            ((string? object) (string-ref object key))
            (else (bytevector-u8-ref object key))))

    (define (%apply-object2 object key default)
      (cond ((record? object) ((apply-of object) object key default))
            ((%hash-table? object) (%hash-table-ref object key default))
            (else (wrong-number object 2))))

    (define (%apply-object object . operands)
      (if (record? object)
          (apply (apply-of object) object operands)
          (wrong-number object (length operands))))

    (define absent (list 'absent))

    (define (table-ref table key)
      (let ((value (%hash-table-ref table key absent)))
        (if (eq? value absent)
            (hash-table-ref table key)
            value)))

    (define (wrong-number object count)
      (raise (%make-condition
              'arity
              (string-append (if (%hash-table? object)
                                 "a hash table takes 1 argument or 2 arguments"
                                 "the object takes 1 argument")
                             " but is called with "
                             (number->string count))
              (list object)
              #f)))

    ;; Tables with an equivalence in Scheme are records.
    (set-record-type-apply!
     (record-type-descriptor (make-hash-table (lambda (x y) (= x y)) (lambda (x) 0)))
     (case-lambda
       ((table key) (hash-table-ref table key))
       ((table key default) (hash-table-ref/default table key default))))))
