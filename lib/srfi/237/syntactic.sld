;;; (srfi 237 syntactic): record definitions as in R6RS, refined.
;;;
;;; A record name is a variable whose value is the record descriptor.

(define-library (srfi 237 syntactic)
  (export define-record-type define-record-name record-type-descriptor
          record-constructor-descriptor
          fields mutable immutable parent protocol sealed opaque nongenerative generative
          parent-rtd)
  (import (except (canny syntax) define-record-type)
          (canny syntax-case)
          (except (canny primitives) record-type-descriptor) (only (canny data lists) map)
          (srfi 237 procedural))
  (begin

    (define-syntax define-auxiliary
      (syntax-rules ()
        ((_ name ...)
         (begin
           (define-syntax name
             (syntax-rules ()
               ((_ . rest) (syntax-error "it stands only in a record definition"))))
           ...))))

    (define-auxiliary fields mutable immutable parent protocol sealed opaque nongenerative
      generative parent-rtd)

    ;; Names are made by a macro that is a procedure, which is defined where it is used. There is no
    ;; such macro when this library is compiled. It completes the names and continues with
    ;; `collect`.
    (define-syntax define-record-type
      (syntax-rules ()
        ((_ specification clause ...)
         (begin
           (define-name-maker complete)
           (complete specification clause ...)))))

    (define-syntax define-name-maker
      (syntax-rules ()
        ((_ complete-names)
         (define-syntax complete-names
           (lambda (form)
             (...
              (let ()

                ;; The name that joins strings and names, in the scope of a name.
                (define (join scope . parts)
                  (datum->syntax
                   scope
                   (string->symbol
                    (string-concatenate
                     (map (lambda (part)
                            (if (string? part)
                                part
                                (symbol->string (syntax->datum part))))
                          parts)))))

                ;; Fields become (kind name accessor mutator), with #f for no mutator.
                (define (complete-field prefix spec)
                  (syntax-case spec (mutable immutable)
                    ((immutable name)
                     (list #'immutable #'name (join prefix prefix "-" #'name) #f))
                    ((immutable name accessor)
                     (list #'immutable #'name #'accessor #f))
                    ((mutable name)
                     (list #'mutable #'name (join prefix prefix "-" #'name)
                           (join prefix prefix "-" #'name "-set!")))
                    ((mutable name accessor mutator)
                     (list #'mutable #'name #'accessor #'mutator))
                    (name
                     (identifier? #'name)
                     (list #'immutable #'name (join prefix prefix "-" #'name) #f))))

                (define (complete-clause prefix clause)
                  (syntax-case clause (fields)
                    ((fields spec ...)
                     (cons #'fields
                           (map (lambda (spec) (complete-field prefix spec))
                                #'(spec ...))))
                    (other #'other)))

                (define (complete type record constructor predicate clauses)
                  (with-syntax ((type type)
                                (record record)
                                (constructor constructor)
                                (predicate predicate)
                                ((clause ...)
                                 (map (lambda (clause) (complete-clause type clause)) clauses)))
                    #'(collect type record constructor predicate #f #f #f #f #f ()
                               clause ...)))

                (syntax-case form ()
                  ((_ (type record constructor predicate) clause ...)
                   (complete #'type #'record #'constructor #'predicate #'(clause ...)))
                  ((_ (record constructor predicate) clause ...)
                   (complete #'record #'record #'constructor #'predicate #'(clause ...)))
                  ((_ (type record) clause ...)
                   (complete #'type #'record (join #'type "make-" #'type)
                             (join #'type #'type "?") #'(clause ...)))
                  ((_ record clause ...)
                   (identifier? #'record)
                   (complete #'record #'record (join #'record "make-" #'record)
                             (join #'record #'record "?") #'(clause ...)))))))))))

    ;; Collects the clauses: parent, protocol, sealed, opaque, uid and fields. The parent is a pair
    ;; of expressions for type and descriptor.
    (define-syntax collect
      (syntax-rules (fields parent protocol sealed opaque nongenerative generative parent-rtd)
        ((_ type record constructor predicate parents proto sealed? opaque? uid (field ...)
            (fields more ...) clause ...)
         (collect type record constructor predicate parents proto sealed? opaque? uid
                  (field ... more ...) clause ...))
        ((_ type record constructor predicate #f proto sealed? opaque? uid own
            (parent expression) clause ...)
         (collect type record constructor predicate
                  (expression (%parent-descriptor expression))
                  proto sealed? opaque? uid own clause ...))
        ((_ type record constructor predicate #f proto sealed? opaque? uid own
            (parent-rtd expression descriptor) clause ...)
         (collect type record constructor predicate (expression descriptor)
                  proto sealed? opaque? uid own clause ...))
        ((_ type record constructor predicate parents #f sealed? opaque? uid own
            (protocol expression) clause ...)
         (collect type record constructor predicate parents expression sealed? opaque? uid own
                  clause ...))
        ((_ type record constructor predicate parents proto #f opaque? uid own
            (sealed flag) clause ...)
         (collect type record constructor predicate parents proto flag opaque? uid own clause ...))
        ((_ type record constructor predicate parents proto sealed? #f uid own
            (opaque flag) clause ...)
         (collect type record constructor predicate parents proto sealed? flag uid own clause ...))
        ((_ type record constructor predicate parents proto sealed? opaque? #f own
            (generative) clause ...)
         (collect type record constructor predicate parents proto sealed? opaque? #f own
                  clause ...))
        ((_ type record constructor predicate parents proto sealed? opaque? #f own
            (nongenerative . id) clause ...)
         (collect type record constructor predicate parents proto sealed? opaque? id own
                  clause ...))
        ((_ type record constructor predicate #f proto sealed? opaque? uid own)
         (define-all type record constructor predicate #f #f proto sealed? opaque? uid own))
        ((_ type record constructor predicate (parent-type parent-descriptor)
            proto sealed? opaque? uid own)
         (define-all type record constructor predicate parent-type parent-descriptor
           proto sealed? opaque? uid own))))

    (define-syntax define-all
      (syntax-rules ()
        ((_ type record constructor predicate parent-type parent-descriptor
            proto sealed? opaque? uid ((kind name accessor mutator) ...))
         (begin
           (define rtd
             (make-type uid type parent-type sealed? opaque? #((kind name) ...)))
           (define record
             (make-record-descriptor rtd parent-descriptor proto))
           (define-unless-false constructor (record-constructor record))
           (define-unless-false predicate (record-predicate rtd))
           (define-fields rtd 0 (accessor mutator) ...)))))

    (define-syntax make-type
      (syntax-rules ()
        ((_ #f name parent sealed? opaque? fields)
         (make-record-type-descriptor 'name parent #f sealed? opaque? 'fields))
        ((_ () name parent sealed? opaque? fields)
         (%keyed-type '("type" name) 'name parent sealed? opaque? 'fields))
        ((_ (uid) name parent sealed? opaque? fields)
         (make-record-type-descriptor 'name parent 'uid sealed? opaque? 'fields))))

    (define-syntax define-unless-false
      (syntax-rules ()
        ((_ #f expression) (begin))
        ((_ name expression) (define name expression))))

    (define-syntax define-fields
      (syntax-rules ()
        ((_ rtd index) (begin))
        ((_ rtd index (accessor #f) field ...)
         (begin
           (define accessor (record-accessor rtd index))
           (define-fields rtd (+ index 1) field ...)))
        ((_ rtd index (accessor mutator) field ...)
         (begin
           (define accessor (record-accessor rtd index))
           (define mutator (record-mutator rtd index))
           (define-fields rtd (+ index 1) field ...)))))

    ;; Another descriptor, and constructor, for a type.
    (define-syntax define-record-name
      (syntax-rules ()
        ((_ (record type constructor) clause ...)
         (collect-name record type constructor #f #f clause ...))
        ((_ (record type) clause ...)
         (begin
           (define-syntax complete
             (lambda (form)
               (...
                (syntax-case form ()
                  ((_ record rest ...)
                   (with-syntax ((constructor
                                  (datum->syntax
                                   #'record
                                   (string->symbol
                                    (string-append
                                     "make-"
                                     (symbol->string (syntax->datum #'record)))))))
                     #'(collect-named record constructor rest ...)))))))
           (complete record type clause ...)))))

    (define-syntax collect-named
      (syntax-rules ()
        ((_ record constructor type clause ...)
         (collect-name record type constructor #f #f clause ...))))

    (define-syntax collect-name
      (syntax-rules (parent protocol)
        ((_ record type constructor #f proto (parent expression) clause ...)
         (collect-name record type constructor (expression) proto clause ...))
        ((_ record type constructor parents #f (protocol expression) clause ...)
         (collect-name record type constructor parents expression clause ...))
        ((_ record type constructor #f proto)
         (begin
           (define record
             (make-record-descriptor type (record-descriptor-parent type) proto))
           (define constructor (record-constructor record))))
        ((_ record type constructor (parent-expression) proto)
         (begin
           (define record
             (make-record-descriptor type (%parent-descriptor parent-expression) proto))
           (define constructor (record-constructor record))))))

    (define-syntax record-type-descriptor
      (syntax-rules ()
        ((_ name) (record-descriptor-rtd name))))

    (define-syntax record-constructor-descriptor
      (syntax-rules ()
        ((_ name) name)))))
