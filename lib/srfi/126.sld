;;; (srfi 126): R6RS-based hashtables.
;;;
;;; A hashtable is a record around a table of (canny data hash-tables); it knows whether it may be
;;; changed. Tables that hold their keys and values weakly, both, are not supported, nor are weak
;;; tables with an equivalence of the program. Walks are over the associations at the start.

(define-library (srfi 126)
  (export make-eq-hashtable make-eqv-hashtable make-hashtable
          alist->eq-hashtable alist->eqv-hashtable alist->hashtable weakness
          hashtable? hashtable-size hashtable-ref hashtable-set! hashtable-delete!
          hashtable-contains? hashtable-lookup hashtable-update! hashtable-intern!
          hashtable-copy hashtable-clear! hashtable-empty-copy
          hashtable-keys hashtable-values hashtable-entries
          hashtable-key-list hashtable-value-list hashtable-entry-lists
          hashtable-walk hashtable-update-all! hashtable-prune! hashtable-merge! hashtable-sum
          hashtable-map->lset hashtable-find
          hashtable-empty? hashtable-pop! hashtable-inc! hashtable-dec!
          hashtable-equivalence-function hashtable-hash-function hashtable-weakness
          hashtable-mutable?
          hash-salt equal-hash string-hash string-ci-hash symbol-hash)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (only (canny data comparators) hash-salt)
          (canny data hash-tables))
  (begin

    (define-record-type hashtable
      (%make-hashtable table hash weakness mutable?)
      hashtable?
      (table %table set-%table!)
      (hash %hash)
      (weakness %weakness)
      (mutable? %mutable?))

    (define (check-hashtable who object)
      (check-argument who 1 hashtable? "hashtable" object))

    (define (table-of who object)
      (check-hashtable who object)
      (%table object))

    (define (mutable-table-of who object)
      (check-hashtable who object)
      (if (not (%mutable? object))
          (%type-error who 1 "mutable hashtable" object))
      (%table object))

    ;; Construction.

    (define (words-of who position weakness built-in?)
      (if (and weakness (not built-in?))
          (error "this equivalence has no weak hashtables" who weakness))
      (case weakness
        ((#f) '())
        ((weak-key) '(weak-keys))
        ((weak-value) '(weak-values))
        ((ephemeral-key) '(ephemeral-keys))
        (else (%type-error who position "supported weakness" weakness))))

    (define (make who same? hash capacity weakness)
      (if capacity (check-index who 1 capacity))
      (let ((built-in? (memq same? (list eq? eqv? equal? string=?))))
        (%make-hashtable
         (%apply make-hash-table
                 (append (list same?)
                         (if hash (list (if (pair? hash) (car hash) hash)) '())
                         (words-of who 2 weakness built-in?)
                         (list (or capacity 0))))
         hash
         weakness
         #t)))

    (define make-eq-hashtable
      (case-lambda
        (() (make-eq-hashtable #f #f))
        ((capacity) (make-eq-hashtable capacity #f))
        ((capacity weakness) (make 'make-eq-hashtable eq? #f capacity weakness))))

    (define make-eqv-hashtable
      (case-lambda
        (() (make-eqv-hashtable #f #f))
        ((capacity) (make-eqv-hashtable capacity #f))
        ((capacity weakness) (make 'make-eqv-hashtable eqv? #f capacity weakness))))

    (define make-hashtable
      (case-lambda
        ((hash same?) (make-hashtable hash same? #f #f))
        ((hash same? capacity) (make-hashtable hash same? capacity #f))
        ((hash same? capacity weakness)
         (check-procedure 'make-hashtable 2 same?)
         (cond ((procedure? hash))
               ((and (pair? hash) (procedure? (car hash)) (procedure? (cdr hash))))
               ((and (not hash) (or (eq? same? eq?) (eq? same? eqv?))))
               (else (%type-error 'make-hashtable 1 "hash function or pair of them" hash)))
         (make 'make-hashtable same? hash capacity weakness))))

    (define (fill! hashtable alist)
      (let ((table (%table hashtable)))
        (for-each (lambda (entry) (hash-table-set! table (car entry) (cdr entry)))
                  (reverse alist))
        hashtable))

    (define alist->eq-hashtable
      (case-lambda
        ((alist) (fill! (make-eq-hashtable) alist))
        ((capacity alist) (fill! (make-eq-hashtable capacity) alist))
        ((capacity weakness alist) (fill! (make-eq-hashtable capacity weakness) alist))))

    (define alist->eqv-hashtable
      (case-lambda
        ((alist) (fill! (make-eqv-hashtable) alist))
        ((capacity alist) (fill! (make-eqv-hashtable capacity) alist))
        ((capacity weakness alist) (fill! (make-eqv-hashtable capacity weakness) alist))))

    (define alist->hashtable
      (case-lambda
        ((hash same? alist) (fill! (make-hashtable hash same?) alist))
        ((hash same? capacity alist) (fill! (make-hashtable hash same? capacity) alist))
        ((hash same? capacity weakness alist)
         (fill! (make-hashtable hash same? capacity weakness) alist))))

    (define-syntax weakness
      (syntax-rules (weak-key weak-value weak-key-and-value
                     ephemeral-key ephemeral-value ephemeral-key-and-value)
        ((_ weak-key) 'weak-key)
        ((_ weak-value) 'weak-value)
        ((_ weak-key-and-value) 'weak-key-and-value)
        ((_ ephemeral-key) 'ephemeral-key)
        ((_ ephemeral-value) 'ephemeral-value)
        ((_ ephemeral-key-and-value) 'ephemeral-key-and-value)
        ((_ other) (syntax-error "not the name of a weakness" other))))

    ;; Access.

    (define absent (list 'absent))

    (define (hashtable-size hashtable)
      (hash-table-size (table-of 'hashtable-size hashtable)))

    (define hashtable-ref
      (case-lambda
        ((hashtable key default)
         (hash-table-ref/default (table-of 'hashtable-ref hashtable) key default))
        ((hashtable key)
         (let ((value (hash-table-ref/default (table-of 'hashtable-ref hashtable) key absent)))
           (if (eq? value absent)
               (no-such-key 'hashtable-ref key)
               value)))))

    (define (no-such-key who key)
      (raise (%make-condition 'key "the key has no value" (list key) who)))

    (define (hashtable-set! hashtable key value)
      (hash-table-set! (mutable-table-of 'hashtable-set! hashtable) key value))

    (define (hashtable-delete! hashtable key)
      (hash-table-delete! (mutable-table-of 'hashtable-delete! hashtable) key)
      (void))

    (define (hashtable-contains? hashtable key)
      (hash-table-contains? (table-of 'hashtable-contains? hashtable) key))

    (define (hashtable-lookup hashtable key)
      (let ((value (hash-table-ref/default (table-of 'hashtable-lookup hashtable) key absent)))
        (if (eq? value absent)
            (values #f #f)
            (values value #t))))

    (define hashtable-update!
      (case-lambda
        ((hashtable key procedure) (hashtable-update! hashtable key procedure absent))
        ((hashtable key procedure default)
         (let* ((table (mutable-table-of 'hashtable-update! hashtable))
                (old (hash-table-ref/default table key default)))
           (if (eq? old absent)
               (no-such-key 'hashtable-update! key))
           (let ((value (procedure old)))
             (hash-table-set! table key value)
             value)))))

    (define (hashtable-intern! hashtable key make-value)
      (hash-table-intern! (mutable-table-of 'hashtable-intern! hashtable) key make-value))

    ;; Copies.

    (define hashtable-copy
      (case-lambda
        ((hashtable) (hashtable-copy hashtable #f))
        ((hashtable mutable?)
         (let ((table (table-of 'hashtable-copy hashtable)))
           (%make-hashtable (hash-table-copy table) (%hash hashtable) (%weakness hashtable)
                            (and mutable? #t))))
        ((hashtable mutable? weakness)
         (if (eqv? weakness (hashtable-weakness hashtable))
             (hashtable-copy hashtable mutable?)
             (let ((copy (make 'hashtable-copy
                               (hashtable-equivalence-function hashtable)
                               (%hash hashtable)
                               (hashtable-size hashtable)
                               weakness)))
               (fill! copy (hash-table->alist (%table hashtable)))
               (if mutable?
                   copy
                   (%make-hashtable (%table copy) (%hash copy) weakness #f)))))))

    (define hashtable-clear!
      (case-lambda
        ((hashtable)
         (hash-table-clear! (mutable-table-of 'hashtable-clear! hashtable)))
        ((hashtable capacity)
         (if capacity (check-index 'hashtable-clear! 2 capacity))
         (hashtable-clear! hashtable))))

    (define hashtable-empty-copy
      (case-lambda
        ((hashtable) (hashtable-empty-copy hashtable #f))
        ((hashtable capacity)
         (let ((size (hashtable-size hashtable)))
           (make 'hashtable-empty-copy
                 (hashtable-equivalence-function hashtable)
                 (%hash hashtable)
                 (if (eq? capacity #t) size capacity)
                 (%weakness hashtable))))))

    ;; Keys and values.

    (define (hashtable-key-list hashtable)
      (hash-table-keys (table-of 'hashtable-key-list hashtable)))

    (define (hashtable-value-list hashtable)
      (hash-table-values (table-of 'hashtable-value-list hashtable)))

    (define (hashtable-entry-lists hashtable)
      (let ((entries (hash-table->alist (table-of 'hashtable-entry-lists hashtable))))
        (values (%map1 car entries) (%map1 cdr entries))))

    (define (hashtable-keys hashtable)
      (list->vector (hash-table-keys (table-of 'hashtable-keys hashtable))))

    (define (hashtable-values hashtable)
      (list->vector (hash-table-values (table-of 'hashtable-values hashtable))))

    (define (hashtable-entries hashtable)
      (let-values (((keys values*) (hashtable-entry-lists hashtable)))
        (values (list->vector keys) (list->vector values*))))

    ;; Iteration.

    (define (entries-of who hashtable procedure)
      (check-hashtable who hashtable)
      (check-procedure who 2 procedure)
      (hash-table->alist (%table hashtable)))

    (define (hashtable-walk hashtable procedure)
      (for-each (lambda (entry) (procedure (car entry) (cdr entry)))
                (entries-of 'hashtable-walk hashtable procedure)))

    (define (hashtable-update-all! hashtable procedure)
      (let ((table (mutable-table-of 'hashtable-update-all! hashtable)))
        (for-each (lambda (entry)
                    (hash-table-set! table (car entry) (procedure (car entry) (cdr entry))))
                  (entries-of 'hashtable-update-all! hashtable procedure))))

    (define (hashtable-prune! hashtable procedure)
      (let ((table (mutable-table-of 'hashtable-prune! hashtable)))
        (for-each (lambda (entry)
                    (if (procedure (car entry) (cdr entry))
                        (hash-table-delete! table (car entry))))
                  (entries-of 'hashtable-prune! hashtable procedure))))

    (define (hashtable-merge! destination source)
      (let ((table (mutable-table-of 'hashtable-merge! destination)))
        (check-argument 'hashtable-merge! 2 hashtable? "hashtable" source)
        (for-each (lambda (entry) (hash-table-set! table (car entry) (cdr entry)))
                  (hash-table->alist (%table source)))
        destination))

    (define (hashtable-sum hashtable state procedure)
      (check-hashtable 'hashtable-sum hashtable)
      (check-procedure 'hashtable-sum 3 procedure)
      (let loop ((rest (hash-table->alist (%table hashtable))) (state state))
        (if (null? rest)
            state
            (loop (cdr rest) (procedure (caar rest) (cdar rest) state)))))

    (define (hashtable-map->lset hashtable procedure)
      (%map1 (lambda (entry) (procedure (car entry) (cdr entry)))
             (entries-of 'hashtable-map->lset hashtable procedure)))

    (define (hashtable-find hashtable procedure)
      (let loop ((rest (entries-of 'hashtable-find hashtable procedure)))
        (cond ((null? rest) (values #f #f #f))
              ((procedure (caar rest) (cdar rest)) (values (caar rest) (cdar rest) #t))
              (else (loop (cdr rest))))))

    ;; Miscellaneous.

    (define (hashtable-empty? hashtable)
      (zero? (hashtable-size hashtable)))

    (define (hashtable-pop! hashtable)
      (let* ((table (mutable-table-of 'hashtable-pop! hashtable))
             (entry (hash-table-pop-entry! table)))
        (if (not entry)
            (error "hashtable-pop!: the hashtable is empty" hashtable))
        (values (car entry) (cdr entry))))

    (define hashtable-inc!
      (case-lambda
        ((hashtable key) (hashtable-inc! hashtable key 1))
        ((hashtable key number)
         (hashtable-update! hashtable key (lambda (value) (+ value number)) 0))))

    (define hashtable-dec!
      (case-lambda
        ((hashtable key) (hashtable-dec! hashtable key 1))
        ((hashtable key number)
         (hashtable-update! hashtable key (lambda (value) (- value number)) 0))))

    ;; Inspection.

    (define (hashtable-equivalence-function hashtable)
      (hash-table-equivalence-function (table-of 'hashtable-equivalence-function hashtable)))

    (define (hashtable-hash-function hashtable)
      (check-hashtable 'hashtable-hash-function hashtable)
      (%hash hashtable))

    (define (hashtable-weakness hashtable)
      (check-hashtable 'hashtable-weakness hashtable)
      (%weakness hashtable))

    (define (hashtable-mutable? hashtable)
      (check-hashtable 'hashtable-mutable? hashtable)
      (%mutable? hashtable))

    (define (equal-hash object)
      (hash object))))
