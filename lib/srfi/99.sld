;;; (srfi 99): ERR5RS records.
;;;
;;; The definition is that of Canny with implicit names.  A type whose name has angle brackets gives
;;; names without them.  The definition says which fields may be changed, or the field
;;; specifications of `make-rtd`.

(define-library (srfi 99)
  (export make-rtd rtd? rtd-constructor rtd-predicate rtd-accessor rtd-mutator
          record? record-rtd rtd-name rtd-parent rtd-field-names rtd-all-field-names
          rtd-field-mutable?
          define-record-type)
  (import (rename (canny syntax) (define-record-type define-record-type/canny))
          (canny primitives) (only (canny data lists) map) (canny machine record-types))
  (begin

    (define (check-rtd who position object)
      (if (not (record-type? object))
          (%type-error who position "record type" object)))

    (define (rtd? object)
      (record-type? object))

    (define (make-rtd name specifications . more)
      (if (not (symbol? name))
          (%type-error 'make-rtd 1 "symbol" name))
      (if (not (vector? specifications))
          (%type-error 'make-rtd 2 "vector" specifications))
      (let ((parent (if (pair? more) (car more) #f))
            (fields (map parse-specification (vector->list specifications))))
        (if parent (check-rtd 'make-rtd 3 parent))
        (let ((type (%make-record-type name (list->vector (map car fields)) parent)))
          (set-mutability! type (map cdr fields))
          type)))

    ;; Name and whether it may be changed.
    (define (parse-specification specification)
      (cond ((symbol? specification) (cons specification #t))
            ((and (list? specification)
                  (= 2 (length specification))
                  (memq (car specification) '(mutable immutable))
                  (symbol? (cadr specification)))
             (cons (cadr specification) (eq? (car specification) 'mutable)))
            (else (%type-error 'make-rtd 2 "vector of field specifications" specification))))

    (define (rtd-name type)
      (check-rtd 'rtd-name 1 type)
      (record-type-name type))

    (define (rtd-parent type)
      (check-rtd 'rtd-parent 1 type)
      (record-type-parent type))

    (define (rtd-field-names type)
      (check-rtd 'rtd-field-names 1 type)
      (list->vector (own-field-names type)))

    (define (rtd-all-field-names type)
      (check-rtd 'rtd-all-field-names 1 type)
      (vector-copy (record-type-field-names type)))

    (define (record-rtd record)
      (record-type-descriptor record))

    ;; The type that has the field, and the index of the field in a record; a child's field hides
    ;; its parent's.
    (define (find-field who type field)
      (check-rtd who 1 type)
      (if (not (symbol? field))
          (%type-error who 2 "symbol" field))
      (let loop ((owner type))
        (if (not owner)
            (%range-error who 2 "a field of the record type" field))
        (let ((offset (own-field-offset owner)))
          (let search ((names (own-field-names owner)) (index 0))
            (cond ((null? names) (loop (record-type-parent owner)))
                  ((eq? field (car names)) (values owner index (+ offset index)))
                  (else (search (cdr names) (+ index 1))))))))

    (define rtd-constructor
      (case-lambda
        ((type)
         (check-rtd 'rtd-constructor 1 type)
         (make-indexed-constructor type
                                   (iota (vector-length (record-type-field-names type)))
                                   (record-type-name type)))
        ((type fields)
         (if (not (vector? fields))
             (%type-error 'rtd-constructor 2 "vector" fields))
         (make-indexed-constructor
          type
          (map (lambda (field)
                 (let-values (((owner own-index index) (find-field 'rtd-constructor type field)))
                   index))
               (vector->list fields))
          (record-type-name type)))))

    (define (rtd-predicate type)
      (check-rtd 'rtd-predicate 1 type)
      (lambda (object) (%record? object type)))

    (define (rtd-accessor type field)
      (let-values (((owner own-index index) (find-field 'rtd-accessor type field)))
        (make-indexed-accessor type index field)))

    (define (rtd-mutator type field)
      (let-values (((owner own-index index) (find-field 'rtd-mutator type field)))
        (if (not (own-field-mutable? owner own-index))
            (%range-error 'rtd-mutator 2 "a mutable field" field))
        (make-indexed-mutator type index field)))

    (define (rtd-field-mutable? type field)
      (let-values (((owner own-index index) (find-field 'rtd-field-mutable? type field)))
        (own-field-mutable? owner own-index)))

    ;; Implicit names are asked for with #t.
    (define-syntax define-record-type
      (syntax-rules ()
        ((_ (name parent) constructor predicate field ...)
         (collect-fields (name parent) name constructor predicate () () field ...))
        ((_ name constructor predicate field ...)
         (collect-fields name name constructor predicate () () field ...))))

    (define-syntax collect-fields
      (syntax-rules ()
        ((_ type name constructor predicate (done ...) (mutable? ...))
         (begin
           (define-record-type/canny type constructor predicate done ...)
           (define noted (set-mutability! name '(mutable? ...)))))
        ((_ type name constructor predicate (done ...) (mutable? ...) (field) . rest)
         (collect-fields type name constructor predicate (done ... (field #t #t))
                         (mutable? ... #t) . rest))
        ((_ type name constructor predicate (done ...) (mutable? ...) (field accessor) . rest)
         (collect-fields type name constructor predicate (done ... (field accessor))
                         (mutable? ... #f) . rest))
        ((_ type name constructor predicate (done ...) (mutable? ...)
            (field accessor mutator) . rest)
         (collect-fields type name constructor predicate (done ... (field accessor mutator))
                         (mutable? ... #t) . rest))
        ((_ type name constructor predicate (done ...) (mutable? ...) field . rest)
         (collect-fields type name constructor predicate (done ... (field #t))
                         (mutable? ... #f) . rest))))))
