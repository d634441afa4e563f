;;; (srfi 150): hygienic ERR5RS record syntax.
;;;
;;; The name of a type is a macro that knows the fields. The field of a constructor's argument is
;;; found when the definition is expanded. Names of the same definition are compared as binding
;;; identifiers, names of an ancestor as references.

(define-library (srfi 150)
  (export define-record-type)
  (import (except (canny syntax) define-record-type) (canny primitives) (canny machine record-types)
          (only (canny machine control) error))
  (begin

    (define-syntax define-record-type
      (syntax-rules ()
        ((_ (name #f) constructor predicate field ...)
         (define-type name no-parent #f constructor predicate field ...))
        ((_ (name parent) constructor predicate field ...)
         (define-type name parent (parent "type") constructor predicate field ...))
        ((_ (name) constructor predicate field ...)
         (define-type name no-parent #f constructor predicate field ...))
        ((_ name constructor predicate field ...)
         (define-type name no-parent #f constructor predicate field ...))))

    (define-syntax no-parent
      (syntax-rules ()
        ((_ "index" name)
         (error "define-record-type: the constructor names an unknown field" 'name))))

    (define-syntax define-type
      (syntax-rules ()
        ((_ name parent parent-type constructor predicate (field accessor . mutator) ...)
         (begin
           (define type (%make-record-type 'name '#(accessor ...) parent-type))
           (define offset (own-field-offset type))
           (define-name name type parent offset (field accessor) ...)
           (define-constructor constructor type parent offset (field accessor) ...)
           (define-predicate predicate type)
           (define-fields type offset 0 (accessor . mutator) ...)))))

    (define-syntax define-name
      (syntax-rules ()
        ((_ #f type parent offset entry ...)
         (begin))
        ((_ name type parent offset entry ...)
         (define-syntax name
           (syntax-rules ()
             ((_ "type") type)
             ((_ "index" argument)
              (reference-index argument 0 offset parent entry ...)))))))

    (define-syntax define-predicate
      (syntax-rules ()
        ((_ #f type) (begin))
        ((_ name type) (define (name object) (%record? object type)))))

    (define-syntax define-fields
      (syntax-rules ()
        ((_ type offset index) (begin))
        ((_ type offset index (accessor) field ...)
         (begin
           (define accessor (make-indexed-accessor type (+ offset index) 'accessor))
           (define-fields type offset (+ index 1) field ...)))
        ((_ type offset index (accessor mutator) field ...)
         (begin
           (define accessor (make-indexed-accessor type (+ offset index) 'accessor))
           (define mutator (make-indexed-mutator type (+ offset index) 'mutator))
           (define-fields type offset (+ index 1) field ...)))))

    (define-syntax define-constructor
      (syntax-rules ()
        ((_ #f type parent offset entry ...)
         (begin))
        ((_ (name argument ...) type parent offset entry ...)
         (define-with-indexes name type (argument ...) () parent offset entry ...))
        ((_ name type parent offset entry ...)
         (define name
           (make-indexed-constructor
            type (iota (vector-length (record-type-field-names type))) 'name)))))

    (define-syntax define-with-indexes
      (syntax-rules ()
        ((_ name type () (index ...) parent offset entry ...)
         (define name (make-indexed-constructor type (list index ...) 'name)))
        ((_ name type (argument . more) (index ...) parent offset entry ...)
         (define-with-indexes name type more
           (index ... (own-name-index argument 0 offset parent (entry ...) entry ...))
           parent offset entry ...))))

    ;; The index of the own field with a name, else with an accessor, else of an ancestor's field.
    (define-syntax own-name-index
      (syntax-rules ()
        ((_ argument index offset parent entries)
         (own-accessor-index argument 0 offset parent . entries))
        ((_ argument index offset parent entries (field accessor) entry ...)
         (if-same-binding argument field
           (+ offset index)
           (own-name-index argument (+ index 1) offset parent entries entry ...)))))

    (define-syntax own-accessor-index
      (syntax-rules ()
        ((_ argument index offset parent)
         (parent "index" argument))
        ((_ argument index offset parent (field accessor) entry ...)
         (if-same-binding argument accessor
           (+ offset index)
           (own-accessor-index argument (+ index 1) offset parent entry ...)))))

    ;; Names and accessors of an ancestor.
    (define-syntax reference-index
      (syntax-rules ()
        ((_ argument index offset parent)
         (parent "index" argument))
        ((_ argument index offset parent (field accessor) entry ...)
         (if-same-reference argument field
           (+ offset index)
           (if-same-reference argument accessor
             (+ offset index)
             (reference-index argument (+ index 1) offset parent entry ...))))))

    (define-syntax if-identifier
      (syntax-rules ()
        ((_ object yes no)
         (let-syntax ((probe (syntax-rules ()
                               ((probe object then else) then)
                               ((probe other then else) else))))
           (probe #(any) yes no)))))

    (define-syntax if-equal-constant
      (syntax-rules ()
        ((_ object constant yes no)
         (let-syntax ((probe (syntax-rules ()
                               ((probe constant then else) then)
                               ((probe other then else) else))))
           (probe object yes no)))))

    ;; A name in a template is replaced if the pattern variable is the same binding identifier.
    (define-syntax if-same-binding
      (syntax-rules ()
        ((_ object name yes no)
         (if-identifier name
           (let-syntax ((probe (syntax-rules ()
                                 ((probe name then else) (if-marker object then else)))))
             (probe #(same) yes no))
           (if-equal-constant object name yes no)))))

    (define-syntax if-marker
      (syntax-rules ()
        ((_ #(object) yes no) yes)
        ((_ other yes no) no)))

    (define-syntax if-same-reference
      (syntax-rules ()
        ((_ object name yes no)
         (if-identifier name
           (let-syntax ((probe (syntax-rules (name)
                                 ((probe name then else) then)
                                 ((probe other then else) else))))
             (probe object yes no))
           (if-equal-constant object name yes no)))))))
