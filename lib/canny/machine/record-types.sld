;;; (canny machine record-types): record types made and looked at by procedures, for SRFIs 99
;;; and 136.
;;;
;;; The machine knows the names of the fields of a type. It does not know whether the fields of a
;;; type may be changed: a table here does. The fields of a type without an entry may be changed.

(define-library (canny machine record-types)
  (export own-field-count own-field-names own-field-offset own-field-mutable? set-mutability!
          make-indexed-accessor make-indexed-mutator make-indexed-constructor)
  (import (canny syntax) (canny primitives))
  (begin

    ;; From record type to a list with a boolean for each own field.
    (define mutability (%make-hash-table 'eq 'ephemeral 16))

    (define (set-mutability! type flags)
      (%hash-table-set! mutability type flags))

    ;; Whether own field `index` may be changed.
    (define (own-field-mutable? type index)
      (let ((flags (%hash-table-ref mutability type #f)))
        (or (not flags) (list-ref flags index))))

    ;; The number of fields of the ancestors.
    (define (own-field-offset type)
      (let ((parent (record-type-parent type)))
        (if parent
            (vector-length (record-type-field-names parent))
            0)))

    (define (own-field-count type)
      (- (vector-length (record-type-field-names type)) (own-field-offset type)))

    (define (own-field-names type)
      (list-tail (vector->list (record-type-field-names type)) (own-field-offset type)))

    (define (make-indexed-accessor type index name)
      (lambda (record) (%record-ref record type index name)))

    (define (make-indexed-mutator type index name)
      (lambda (record value) (%record-set! record type index value name)))

    ;; A constructor whose arguments are the fields with these indexes, a list. The other fields are
    ;; #f.
    (define (make-indexed-constructor type indexes name)
      (let ((size (vector-length (record-type-field-names type))) (count (length indexes)))
        (define (check-count arguments)
          (if (not (= (length arguments) count))
              (%range-error name 1
                            (string-append (number->string count) " arguments")
                            arguments)))
        (if (equal? indexes (iota size))
            (case size
              ((0) (lambda () (%record type)))
              ((1) (lambda (a) (%record type a)))
              ((2) (lambda (a b) (%record type a b)))
              ((3) (lambda (a b c) (%record type a b c)))
              (else
               (lambda arguments
                 (check-count arguments)
                 (%apply %record (cons type arguments)))))
            (lambda arguments
              (check-count arguments)
              (let ((fields (make-vector size #f)))
                (let loop ((indexes indexes) (arguments arguments))
                  (if (pair? indexes)
                      (begin
                        (vector-set! fields (car indexes) (car arguments))
                        (loop (cdr indexes) (cdr arguments)))))
                (%apply %record (cons type (vector->list fields))))))))))
