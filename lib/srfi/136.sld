;;; (srfi 136): extensible record types.
;;;
;;; The name of a type is a macro. The type itself is a record type of the machine, to which two
;;; facts are attached here. They are its field specifications, and the list of the field indexes
;;; that its constructor's arguments give.

(define-library (srfi 136)
  (export define-record-type record? record-type-descriptor? record-type-descriptor
          record-type-predicate record-type-name record-type-parent record-type-fields
          make-record-type-descriptor make-record
          %make-type %make-constructor %attach-fields! %field-index %predicate)
  (import (rename (canny syntax) (define-record-type define-record-type/r7rs))
          (rename (canny primitives)
                  (record-type-name record-type-name*))
          (only (canny data lists) map for-each)
          (canny machine record-types))
  (begin

    (define (record-type-descriptor? object) (record-type? object))

    (define-record-type/r7rs facts
      (make-facts fields arguments)
      facts?
      (fields facts-fields)
      (arguments facts-arguments))

    (define facts-of (%make-hash-table 'eq 'ephemeral 16))

    (define (type-arguments type)
      (let ((facts (%hash-table-ref facts-of type #f)))
        (if facts
            (facts-arguments facts)
            (iota (vector-length (record-type-field-names type))))))

    ;; The name as it was written, with its angle brackets.
    (define names (%make-hash-table 'eq 'ephemeral 16))

    (define (record-type-name type)
      (or (%hash-table-ref names type #f)
          (record-type-name* type)))

    (define (%make-type name parent field-names)
      (let ((type (%make-record-type name (list->vector field-names) parent)))
        (%hash-table-set! names type name)
        type))

    ;; `constructor` is #f, #t for all fields, or a list of symbols.  `fields` is a list of field
    ;; name, accessor name, accessor and mutator.
    (define (%attach-fields! type constructor fields)
      (let* ((parent (record-type-parent type))
             (inherited (if parent (type-arguments parent) '()))
             (offset (own-field-offset type))
             (arguments
              (cond ((not constructor) inherited)
                    ((eq? constructor #t)
                     (append inherited (map (lambda (index) (+ offset index))
                                            (iota (length fields)))))
                    ((< (length constructor) (length inherited))
                     (%range-error 'define-record-type 1
                                   "a constructor with the arguments of its parent" constructor))
                    (else
                     (append inherited
                             (map (lambda (symbol) (+ offset (%field-index symbol fields)))
                                  (list-tail constructor (length inherited))))))))
        (set-mutability! type (map (lambda (field) (if (cadddr field) #t #f)) fields))
        (%hash-table-set! facts-of type
                          (make-facts (map (lambda (field)
                                             (list (car field) (caddr field) (cadddr field)))
                                           fields)
                                      arguments))))

    ;; The field with a name, or else the one whose accessor has it.
    (define (%field-index symbol fields)
      (define (find part)
        (let loop ((rest fields) (index 0))
          (cond ((null? rest) #f)
                ((eq? symbol (part (car rest))) index)
                (else (loop (cdr rest) (+ index 1))))))
      (or (find car)
          (find cadr)
          (%range-error 'define-record-type 1 "names of fields" symbol)))

    (define (%make-constructor type name)
      (make-indexed-constructor type (type-arguments type) name))

    (define (%predicate type)
      (lambda (object) (%record? object type)))

    (define-syntax define-record-type
      (syntax-rules ()
        ((_ (name #f) constructor predicate field ...)
         (define-type name #f #f constructor predicate field ...))
        ((_ (name parent) constructor predicate field ...)
         (define-type name parent (parent) constructor predicate field ...))
        ((_ name constructor predicate field ...)
         (define-type name #f #f constructor predicate field ...))))

    (define-syntax define-type
      (syntax-rules ()
        ((_ name parent parent-expression constructor predicate (field-name . field-rest) ...)
         (begin
           (define type (%make-type 'name parent-expression '(field-name ...)))
           (define offset (own-field-offset type))
           (define-syntax name
             (syntax-rules ()
               ((_) type)
               ((_ (keyword datum (... ...)))
                (keyword datum (... ...) parent (field-name . field-rest) ...))))
           (define-fields type offset 0 () constructor predicate
             (field-name . field-rest) ...)))))

    ;; Defines accessors and mutators, and collects what `%attach-fields!` wants to know.
    (define-syntax define-fields
      (syntax-rules ()
        ((_ type offset index (done ...) constructor predicate)
         (begin
           (define attached (attach type constructor (list done ...)))
           (define-constructor type constructor)
           (define-predicate type predicate)))
        ((_ type offset index (done ...) constructor predicate (name accessor) field ...)
         (begin
           (define accessor (make-indexed-accessor type (+ offset index) 'accessor))
           (define-fields type offset (+ index 1)
             (done ... (list 'name 'accessor accessor #f))
             constructor predicate field ...)))
        ((_ type offset index (done ...) constructor predicate (name accessor mutator) field ...)
         (begin
           (define accessor (make-indexed-accessor type (+ offset index) 'accessor))
           (define mutator (make-indexed-mutator type (+ offset index) 'mutator))
           (define-fields type offset (+ index 1)
             (done ... (list 'name 'accessor accessor mutator))
             constructor predicate field ...)))))

    (define-syntax attach
      (syntax-rules ()
        ((_ type #f fields) (%attach-fields! type #f fields))
        ((_ type (name argument ...) fields) (%attach-fields! type '(argument ...) fields))
        ((_ type name fields) (%attach-fields! type #t fields))))

    (define-syntax define-constructor
      (syntax-rules ()
        ((_ type #f) (begin))
        ((_ type (name argument ...)) (define name (%make-constructor type 'name)))
        ((_ type name) (define name (%make-constructor type 'name)))))

    (define-syntax define-predicate
      (syntax-rules ()
        ((_ type #f) (begin))
        ((_ type name) (define name (%predicate type)))))

    (define (check-type who position object)
      (if (not (record-type-descriptor? object))
          (%type-error who position "record-type descriptor" object)))

    (define (record-type-predicate type)
      (check-type 'record-type-predicate 1 type)
      (%predicate type))

    (define (record-type-fields type)
      (check-type 'record-type-fields 1 type)
      (let ((facts (%hash-table-ref facts-of type #f)))
        (if facts
            (facts-fields facts)
            (let ((offset (own-field-offset type)))
              (map (lambda (name index)
                     (list name
                           (make-indexed-accessor type (+ offset index) name)
                           (make-indexed-mutator type (+ offset index) name)))
                   (own-field-names type)
                   (iota (own-field-count type)))))))

    (define make-record-type-descriptor
      (case-lambda
        ((name specifications) (make-record-type-descriptor name specifications #f))
        ((name specifications parent)
         (if (not (symbol? name))
             (%type-error 'make-record-type-descriptor 1 "symbol" name))
         (if (not (list? specifications))
             (%type-error 'make-record-type-descriptor 2 "list" specifications))
         (if parent (check-type 'make-record-type-descriptor 3 parent))
         (let* ((fields (map parse-specification specifications))
                (type (%make-type name parent (map car fields)))
                (offset (own-field-offset type)))
           (%attach-fields!
            type #f
            (map (lambda (field index)
                   (list (car field)
                         #f
                         (make-indexed-accessor type (+ offset index) (car field))
                         (and (cdr field)
                              (make-indexed-mutator type (+ offset index) (car field)))))
                 fields
                 (iota (length fields))))
           type))))

    ;; Name and whether it may be changed.
    (define (parse-specification specification)
      (cond ((symbol? specification) (cons specification #t))
            ((and (list? specification)
                  (= 2 (length specification))
                  (memq (car specification) '(mutable immutable))
                  (symbol? (cadr specification)))
             (cons (cadr specification) (eq? (car specification) 'mutable)))
            (else
             (%type-error 'make-record-type-descriptor 2 "list of field specifications"
                          specification))))

    (define (make-record type fields)
      (check-type 'make-record 1 type)
      (if (not (vector? fields))
          (%type-error 'make-record 2 "vector" fields))
      (if (not (= (vector-length fields) (vector-length (record-type-field-names type))))
          (%range-error 'make-record 2 "a vector with an element for each field" fields))
      (%apply %record (cons type (vector->list fields))))))
