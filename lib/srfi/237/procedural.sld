;;; (srfi 237 procedural): record types and record descriptors as objects.
;;;
;;; A simple record-type descriptor is a record type of the machine, with facts in a table here.  A
;;; record descriptor is such a type with a parent descriptor and a protocol.  Wherever a type is
;;; wanted, a record descriptor stands for its type.

(define-library (srfi 237 procedural)
  (export make-record-type-descriptor record-type-descriptor?
          make-record-descriptor (rename make-record-descriptor make-record-constructor-descriptor)
          record-descriptor-rtd record-descriptor-parent
          record-descriptor? (rename record-descriptor? record-constructor-descriptor?)
          record-constructor record-predicate record-accessor record-mutator
          %type-of %facts-uid %facts-generative? %facts-sealed? %facts-opaque? %type-with-uid
          %keyed-type %parent-descriptor)
  (import (rename (canny syntax) (define-record-type define-record-type/r7rs))
          (canny primitives) (only (canny data lists) map) (canny machine record-types))
  (begin

    (define-record-type/r7rs facts
      (make-facts uid sealed? opaque?)
      facts?
      (uid facts-uid)
      (sealed? facts-sealed?)
      (opaque? facts-opaque?))

    (define facts-of (%make-hash-table 'eq 'ephemeral 16))

    (define types-by-uid (%make-hash-table 'eq #f 16))

    (define-record-type/r7rs record-descriptor
      (new-descriptor rtd parent protocol)
      record-descriptor?
      (rtd descriptor-rtd)
      (parent descriptor-parent)
      (protocol descriptor-protocol))

    (define (record-type-descriptor? object)
      (or (record-type? object) (record-descriptor? object)))

    (define (%type-of who position object)
      (cond ((record-type? object) object)
            ((record-descriptor? object) (descriptor-rtd object))
            (else (%type-error who position "record-type descriptor" object))))

    (define (fact type part default)
      (let ((facts (%hash-table-ref facts-of type #f)))
        (if facts (part facts) default)))

    (define (%facts-uid type) (fact type facts-uid #f))
    (define (%facts-generative? type) (not (%facts-uid type)))
    (define (%facts-sealed? type) (fact type facts-sealed? #f))
    (define (%facts-opaque? type) (fact type facts-opaque? #f))

    (define (%type-with-uid uid)
      (%hash-table-ref types-by-uid uid #f))

    ;; Name and whether it may be changed.
    (define (parse-field field)
      (if (and (list? field)
               (= 2 (length field))
               (memq (car field) '(mutable immutable))
               (symbol? (cadr field)))
          (cons (cadr field) (eq? (car field) 'mutable))
          (%type-error 'make-record-type-descriptor 6
                       "vector of (mutable name) and (immutable name)"
                       field)))

    (define (make-record-type-descriptor name parent uid sealed? opaque? fields)
      (if (not (symbol? name))
          (%type-error 'make-record-type-descriptor 1 "symbol" name))
      (if (not (or (not uid) (symbol? uid)))
          (%type-error 'make-record-type-descriptor 3 "symbol or #f" uid))
      (if (not (vector? fields))
          (%type-error 'make-record-type-descriptor 6 "vector" fields))
      (let ((parent (and parent (%type-of 'make-record-type-descriptor 2 parent)))
            (fields (map parse-field (vector->list fields))))
        (if (and parent (%facts-sealed? parent))
            (%range-error 'make-record-type-descriptor 2 "a parent that is not sealed" parent))
        (let ((known (and uid (%type-with-uid uid))))
          (cond ((not known)
                 (make-type name parent uid sealed? opaque? fields))
                ((same-type? known parent sealed? opaque? fields) known)
                (else
                 (%range-error 'make-record-type-descriptor 3
                               "a uid that no other record type has" uid))))))

    (define (make-type name parent uid sealed? opaque? fields)
      (let ((type (%make-record-type name (list->vector (map car fields)) parent)))
        (set-mutability! type (map cdr fields))
        (%hash-table-set! facts-of type
                          (make-facts uid
                                      (and sealed? #t)
                                      (or (and opaque? #t)
                                          (and parent (%facts-opaque? parent)))))
        (if uid
            (%hash-table-set! types-by-uid uid type))
        type))

    (define (same-type? type parent sealed? opaque? fields)
      (and (eq? parent (record-type-parent type))
           (eq? (and sealed? #t) (%facts-sealed? type))
           (eq? (or (and opaque? #t) (and parent (%facts-opaque? parent)))
                (%facts-opaque? type))
           (equal? (map car fields) (own-field-names type))
           (equal? (map cdr fields)
                   (map (lambda (index) (own-field-mutable? type index))
                        (iota (own-field-count type))))))

    ;; The type of a definition that makes one type only, however often it is evaluated.  The key is
    ;; a constant of the definition.
    (define keyed-types (%make-hash-table 'eq #f 16))

    (define (%keyed-type key name parent sealed? opaque? fields)
      (or (%hash-table-ref keyed-types key #f)
          (let ((type (make-record-type-descriptor
                       name parent (generate-symbol (symbol->string name)) sealed? opaque?
                       fields)))
            (%hash-table-set! keyed-types key type)
            type)))

    (define make-record-descriptor
      (case-lambda
        ((type parent protocol)
         (let ((type (%type-of 'make-record-descriptor 1 type)))
           (if (not (or (not parent) (record-descriptor? parent)))
               (%type-error 'make-record-descriptor 2 "record descriptor or #f" parent))
           (if (not (or (not protocol) (procedure? protocol)))
               (%type-error 'make-record-descriptor 3 "procedure or #f" protocol))
           (if (and parent
                    (not (eq? (descriptor-rtd parent) (record-type-parent type))))
               (%range-error 'make-record-descriptor 2 "a descriptor of the type's parent" parent))
           (new-descriptor type parent protocol)))
        ((name parent uid sealed? opaque? fields protocol)
         (make-record-descriptor
          (make-record-type-descriptor name parent uid sealed? opaque? fields)
          (%parent-descriptor parent)
          protocol))))

    ;; A parent that is a record descriptor; #f for a simple type.
    (define (%parent-descriptor parent)
      (and (record-descriptor? parent) parent))

    (define (check-descriptor who object)
      (if (not (record-descriptor? object))
          (%type-error who 1 "record descriptor" object)))

    (define (record-descriptor-rtd descriptor)
      (check-descriptor 'record-descriptor-rtd descriptor)
      (descriptor-rtd descriptor))

    (define (record-descriptor-parent descriptor)
      (check-descriptor 'record-descriptor-parent descriptor)
      (descriptor-parent descriptor))

    ;; The procedure that a protocol gives for a descriptor.  `finish` gets the list of all field
    ;; values of the descriptor's type.
    (define (make-maker descriptor finish)
      (let* ((type (descriptor-rtd descriptor))
             (own-count (own-field-count type))
             (protocol (descriptor-protocol descriptor)))
        (define (check-count values)
          (if (not (= (length values) own-count))
              (%range-error (record-type-name type) 1
                            (string-append (number->string own-count) " field values") values)))
        (if (not (record-type-parent type))
            (let ((make (lambda values
                          (check-count values)
                          (finish values))))
              (if protocol (protocol make) make))
            (let ((make-parent
                   (make-maker (or (descriptor-parent descriptor)
                                   (new-descriptor (record-type-parent type) #f #f))
                               (lambda (inherited)
                                 (lambda values
                                   (check-count values)
                                   (finish (append inherited values)))))))
              (if protocol
                  (protocol make-parent)
                  (lambda values
                    (let ((parent-count (- (length values) own-count)))
                      (if (< parent-count 0)
                          (check-count values))
                      (%apply (%apply make-parent (take values parent-count))
                              (list-tail values parent-count)))))))))

    (define (record-constructor descriptor)
      (let ((descriptor (if (record-type? descriptor)
                            (new-descriptor descriptor #f #f)
                            descriptor)))
        (check-descriptor 'record-constructor descriptor)
        (let ((type (descriptor-rtd descriptor)))
          (if (or (descriptor-protocol descriptor) (descriptor-parent descriptor))
              (make-maker descriptor (lambda (values) (%apply %record (cons type values))))
              (make-indexed-constructor type
                                        (iota (vector-length (record-type-field-names type)))
                                        (record-type-name type))))))

    (define (record-predicate type)
      (let ((type (%type-of 'record-predicate 1 type)))
        (lambda (object) (%record? object type))))

    (define (check-index who type index)
      (if (not (and (exact-nonnegative-integer? index) (< index (own-field-count type))))
          (%range-error who 2 "the index of a field of the type itself" index)))

    (define (field-name type index)
      (list-ref (own-field-names type) index))

    (define (record-accessor type index)
      (let ((type (%type-of 'record-accessor 1 type)))
        (check-index 'record-accessor type index)
        (make-indexed-accessor type (+ (own-field-offset type) index) (field-name type index))))

    (define (record-mutator type index)
      (let ((type (%type-of 'record-mutator 1 type)))
        (check-index 'record-mutator type index)
        (if (not (own-field-mutable? type index))
            (%range-error 'record-mutator 2 "the index of a mutable field" index))
        (make-indexed-mutator type (+ (own-field-offset type) index) (field-name type index))))))
