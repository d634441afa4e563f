;;; (srfi 57): records with labels, record schemes, update and composition.
;;;
;;; The name of a type or scheme is a macro that also gives its descriptor.  Labels are symbols: an
;;; unknown one is found when the form is evaluated.  A field without a value is unspecified.

(define-library (srfi 57)
  (export define-record-type define-record-scheme record-update record-update! record-compose
          %make-type %make-scheme %construct %constructor %label-accessor %label-modifier
          %conforms-to %update %update! %compose)
  (import (rename (canny syntax) (define-record-type define-record-type/r7rs))
          (canny primitives) (only (canny data lists) map for-each)
          (only (srfi 1) append-map delete-duplicates) (canny machine record-types))
  (begin

    ;; Of a type or a scheme: its labels, and all schemes to which its records conform, itself among
    ;; them if it is a scheme.  `type` is the record type, or #f.
    (define-record-type/r7rs descriptor
      (make-descriptor name labels schemes type)
      descriptor?
      (name descriptor-name)
      (labels descriptor-labels)
      (schemes descriptor-schemes set-descriptor-schemes!)
      (type descriptor-type set-descriptor-type!))

    ;; From record type to descriptor.
    (define descriptors (%make-hash-table 'eq 'ephemeral 16))

    (define (all-labels parents own)
      (delete-duplicates (append (append-map descriptor-labels parents) own) eq?))

    (define (%make-scheme name parents own)
      (let ((scheme (make-descriptor name (all-labels parents own) '() #f)))
        (set-descriptor-schemes! scheme
                                 (cons scheme (append-map descriptor-schemes parents)))
        scheme))

    (define (%make-type name schemes own)
      (let* ((labels (all-labels schemes own))
             (type (%make-record-type name (list->vector labels) #f))
             (descriptor (make-descriptor name labels
                                          (append-map descriptor-schemes schemes) type)))
        (%hash-table-set! descriptors type descriptor)
        descriptor))

    (define (descriptor-of record)
      (and (record? record)
           (%hash-table-ref descriptors (record-type-descriptor record) #f)))

    (define (%conforms-to descriptor)
      (if (descriptor-type descriptor)
          (lambda (object) (%record? object (descriptor-type descriptor)))
          (lambda (object)
            (let ((own (descriptor-of object)))
              (and own (memq descriptor (descriptor-schemes own)) #t)))))

    (define (label-index descriptor label who)
      (let loop ((labels (descriptor-labels descriptor)) (index 0))
        (cond ((null? labels)
               (%range-error who 2 "a label of the record type" label))
              ((eq? label (car labels)) index)
              (else (loop (cdr labels) (+ index 1))))))

    (define (check-record descriptor record who)
      (if (not ((%conforms-to descriptor) record))
          (%type-error who 1 (string-append "record of " (symbol->string
                                                          (descriptor-name descriptor)))
                       record)))

    (define (check-labels descriptor labels who)
      (for-each (lambda (label) (label-index descriptor label who)) labels))

    (define (%label-accessor descriptor label name)
      (if (descriptor-type descriptor)
          (make-indexed-accessor (descriptor-type descriptor)
                                 (label-index descriptor label name) name)
          (lambda (record)
            (check-record descriptor record name)
            (let ((own (descriptor-of record)))
              (%record-ref record (descriptor-type own) (label-index own label name) name)))))

    (define (%label-modifier descriptor label name)
      (if (descriptor-type descriptor)
          (make-indexed-mutator (descriptor-type descriptor)
                                (label-index descriptor label name) name)
          (lambda (record value)
            (check-record descriptor record name)
            (let ((own (descriptor-of record)))
              (%record-set! record (descriptor-type own) (label-index own label name) value
                            name)))))

    ;; A record with values for some labels.
    (define (%construct descriptor labels values)
      (let ((fields (make-vector (length (descriptor-labels descriptor)) (void))))
        (for-each (lambda (label value)
                    (vector-set! fields
                                 (label-index descriptor label (descriptor-name descriptor))
                                 value))
                  labels values)
        (%apply %record (cons (descriptor-type descriptor) (vector->list fields)))))

    ;; `labels` is a list, or #t for all.
    (define (%constructor descriptor labels name)
      (let ((labels (if (eq? labels #t) (descriptor-labels descriptor) labels)))
        (make-indexed-constructor (descriptor-type descriptor)
                                  (map (lambda (label) (label-index descriptor label name))
                                       labels)
                                  name)))

    (define (copy-record record)
      (let* ((own (descriptor-of record)) (type (descriptor-type own)))
        (%apply %record
                (cons type
                      (map (lambda (index) (%record-ref record type index 'record-update))
                           (iota (length (descriptor-labels own))))))))

    (define (%update! record descriptor labels values)
      (check-record descriptor record 'record-update!)
      (check-labels descriptor labels 'record-update!)
      (let ((own (descriptor-of record)))
        (for-each (lambda (label value)
                    (%record-set! record (descriptor-type own)
                                  (label-index own label 'record-update!) value
                                  'record-update!))
                  labels values)
        record))

    (define (%update record descriptor labels values)
      (check-record descriptor record 'record-update)
      (%update! (copy-record record) descriptor labels values))

    ;; `imports` is a list of pairs of descriptor and record.  The first import of a label counts.
    (define (%compose imports descriptor labels values)
      (let ((result (%construct descriptor '() '())) (type (descriptor-type descriptor)))
        (for-each
         (lambda (import)
           (check-record (car import) (cdr import) 'record-compose)
           (let ((own (descriptor-of (cdr import))))
             (for-each
              (lambda (label)
                (if (memq label (descriptor-labels descriptor))
                    (%record-set! result type (label-index descriptor label 'record-compose)
                                  (%record-ref (cdr import) (descriptor-type own)
                                               (label-index own label 'record-compose)
                                               'record-compose)
                                  'record-compose)))
              (descriptor-labels (car import)))))
         (reverse imports))
        (%update! result descriptor labels values)))

    ;; Syntax.

    (define-syntax define-record-type
      (syntax-rules ()
        ((_ (name scheme ...))
         (define-type name (scheme ...) #f #f))
        ((_ (name scheme ...) constructor)
         (define-type name (scheme ...) constructor #f))
        ((_ (name scheme ...) constructor predicate field ...)
         (define-type name (scheme ...) constructor predicate field ...))
        ((_ name . rest)
         (define-record-type (name) . rest))))

    (define-syntax define-record-scheme
      (syntax-rules ()
        ((_ (name parent ...))
         (define-scheme name (parent ...) #f #f))
        ((_ (name parent ...) deconstructor)
         (define-scheme name (parent ...) deconstructor #f))
        ((_ (name parent ...) deconstructor predicate field ...)
         (define-scheme name (parent ...) deconstructor predicate field ...))
        ((_ name . rest)
         (define-record-scheme (name) . rest))))

    (define-syntax define-type
      (syntax-rules ()
        ((_ name (scheme ...) constructor predicate (label . procedures) ...)
         (begin
           (define descriptor
             (%make-type 'name
                         (list (scheme "descriptor") ...)
                         (append (constructor-labels constructor) '(label ...))))
           (define-syntax name
             (syntax-rules ()
               ((_ "descriptor") descriptor)
               ((_ (field expression) (... ...))
                (%construct descriptor '(field (... ...)) (list expression (... ...))))))
           (define-constructor descriptor constructor)
           (define-predicate descriptor predicate)
           (define-procedures descriptor label . procedures)
           ...))))

    (define-syntax define-scheme
      (syntax-rules ()
        ((_ name (parent ...) deconstructor predicate (label . procedures) ...)
         (begin
           (define descriptor
             (%make-scheme 'name
                           (list (parent "descriptor") ...)
                           (append (constructor-labels deconstructor) '(label ...))))
           (define-syntax name
             (syntax-rules ()
               ((_ "descriptor") descriptor)))
           (define-predicate descriptor predicate)
           (define-procedures descriptor label . procedures)
           ...))))

    (define-syntax constructor-labels
      (syntax-rules ()
        ((_ (name label ...)) '(label ...))
        ((_ name) '())))

    (define-syntax define-constructor
      (syntax-rules ()
        ((_ descriptor #f) (begin))
        ((_ descriptor (#f label ...)) (begin))
        ((_ descriptor (name label ...))
         (define name (%constructor descriptor '(label ...) 'name)))
        ((_ descriptor name)
         (define name (%constructor descriptor #t 'name)))))

    (define-syntax define-predicate
      (syntax-rules ()
        ((_ descriptor #f) (begin))
        ((_ descriptor name) (define name (%conforms-to descriptor)))))

    (define-syntax define-procedures
      (syntax-rules ()
        ((_ descriptor label) (begin))
        ((_ descriptor label #f) (begin))
        ((_ descriptor label accessor)
         (define accessor (%label-accessor descriptor 'label 'accessor)))
        ((_ descriptor label accessor #f)
         (define-procedures descriptor label accessor))
        ((_ descriptor label #f modifier)
         (define modifier (%label-modifier descriptor 'label 'modifier)))
        ((_ descriptor label accessor modifier)
         (begin
           (define accessor (%label-accessor descriptor 'label 'accessor))
           (define modifier (%label-modifier descriptor 'label 'modifier))))))

    (define-syntax record-update
      (syntax-rules ()
        ((_ record name (label expression) ...)
         (%update record (name "descriptor") '(label ...) (list expression ...)))))

    (define-syntax record-update!
      (syntax-rules ()
        ((_ record name (label expression) ...)
         (%update! record (name "descriptor") '(label ...) (list expression ...)))))

    (define-syntax record-compose
      (syntax-rules ()
        ((_ (import record) ... (export (label expression) ...))
         (%compose (list (cons (import "descriptor") record) ...)
                   (export "descriptor")
                   '(label ...)
                   (list expression ...)))))))
