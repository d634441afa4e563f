;;; (srfi 125): intermediate hash tables.
;;;
;;; The tables are those of (canny data hash-tables). A comparator whose equality predicate is eq?,
;;; eqv?, equal? or string=? makes a table of the machine, which has a hash function of its own. All
;;; tables are mutable. Walks are over the associations at the start, in the order of insertion for
;;; tables of the machine.

(define-library (srfi 125)
  (export make-hash-table hash-table hash-table-unfold alist->hash-table
          hash-table? hash-table-contains? hash-table-exists? hash-table-empty? hash-table=?
          hash-table-mutable?
          hash-table-ref hash-table-ref/default
          hash-table-set! hash-table-delete! hash-table-intern! hash-table-update!
          hash-table-update!/default hash-table-pop! hash-table-clear!
          hash-table-size hash-table-keys hash-table-values hash-table-entries hash-table-find
          hash-table-count
          hash-table-map hash-table-for-each hash-table-walk hash-table-map! hash-table-map->list
          hash-table-fold hash-table-prune!
          hash-table-copy hash-table-empty-copy hash-table->alist
          hash-table-union! hash-table-merge! hash-table-intersection! hash-table-difference!
          hash-table-xor!
          hash string-hash string-ci-hash hash-by-identity
          hash-table-equivalence-function hash-table-hash-function)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data comparators)
          (rename (canny data hash-tables)
                  (make-hash-table make-table)
                  (alist->hash-table table-of-alist)
                  (hash-table-set! table-set!)
                  (hash-table-delete! table-delete!)
                  (hash-table-copy table-copy)
                  (hash-table-merge! hash-table-union!)))
  (begin

    ;; Construction.

    (define known-equivalences
      (list eq? eqv? equal? string=? string-ci=? = char=? char-ci=? symbol=?))

    (define (make-from who comparator arguments)
      (cond ((comparator? comparator)
             (check-hashable-comparator who 1 comparator)
             (%apply make-table
                     (cons* (comparator-equality-predicate comparator)
                            (comparator-hash-function comparator)
                            arguments)))
            ((not (procedure? comparator))
             (%type-error who 1 "comparator or equality predicate" comparator))
            ((or (memq comparator known-equivalences)
                 (and (pair? arguments) (procedure? (car arguments))))
             (%apply make-table (cons comparator arguments)))
            (else
             (error "an equality predicate that is not well known needs a hash function"
                    comparator))))

    (define (make-hash-table comparator . arguments)
      (make-from 'make-hash-table comparator arguments))

    (define (hash-table comparator . associations)
      (let ((table (make-from 'hash-table comparator '())))
        (set-all! 'hash-table table associations)
        (if (not (= (* 2 (hash-table-size table)) (length associations)))
            (error "hash-table: a key is given more than once" associations))
        table))

    (define (set-all! who table associations)
      (let loop ((rest associations))
        (if (pair? rest)
            (if (pair? (cdr rest))
                (begin
                  (table-set! table (car rest) (cadr rest))
                  (loop (cddr rest)))
                (error "a key has no value" who (car rest))))))

    (define (hash-table-unfold stop? mapper successor seed comparator . arguments)
      (let ((table (make-from 'hash-table-unfold comparator arguments)))
        (let loop ((seed seed))
          (if (stop? seed)
              table
              (let-values (((key value) (mapper seed)))
                (table-set! table key value)
                (loop (successor seed)))))))

    (define (alist->hash-table alist comparator . arguments)
      (let ((table (make-from 'alist->hash-table comparator arguments)))
        (for-each (lambda (entry)
                    (if (not (hash-table-contains? table (car entry)))
                        (table-set! table (car entry) (cdr entry))))
                  alist)
        table))

    ;; Predicates.

    (define (check-table who position object)
      (check-argument who position hash-table? "hash table" object))

    (define absent (list 'absent))

    (define (hash-table=? value-comparator left right)
      (check-comparator 'hash-table=? 1 value-comparator)
      (check-table 'hash-table=? 2 left)
      (check-table 'hash-table=? 3 right)
      (let ((same? (comparator-equality-predicate value-comparator)))
        (or (eq? left right)
            (and (= (hash-table-size left) (hash-table-size right))
                 (let loop ((rest (hash-table->alist left)))
                   (or (null? rest)
                       (let ((value (hash-table-ref/default right (caar rest) absent)))
                         (and (not (eq? value absent))
                              (same? (cdar rest) value)
                              (loop (cdr rest))))))))))

    (define (hash-table-mutable? table)
      (check-table 'hash-table-mutable? 1 table)
      #t)

    ;; Change.

    (define hash-table-set!
      (case-lambda
        ((table key value) (table-set! table key value))
        ((table . associations)
         (check-table 'hash-table-set! 1 table)
         (set-all! 'hash-table-set! table associations))))

    (define hash-table-delete!
      (case-lambda
        ((table key) (if (table-delete! table key) 1 0))
        ((table . keys)
         (check-table 'hash-table-delete! 1 table)
         (let loop ((rest keys) (deleted 0))
           (if (null? rest)
               deleted
               (loop (cdr rest)
                     (if (table-delete! table (car rest)) (+ deleted 1) deleted)))))))

    (define (hash-table-pop! table)
      (check-table 'hash-table-pop! 1 table)
      (let ((entry (hash-table-pop-entry! table)))
        (if (not entry)
            (error "hash-table-pop!: the hash table is empty" table))
        (values (car entry) (cdr entry))))

    ;; The whole table.

    (define (hash-table-entries table)
      (let ((entries (hash-table->alist table)))
        (values (%map1 car entries) (%map1 cdr entries))))

    (define (hash-table-find procedure table failure)
      (check-procedure 'hash-table-find 1 procedure)
      (check-procedure 'hash-table-find 3 failure)
      (let loop ((rest (hash-table->alist table)))
        (if (null? rest)
            (failure)
            (or (procedure (caar rest) (cdar rest))
                (loop (cdr rest))))))

    (define (hash-table-count wanted? table)
      (check-procedure 'hash-table-count 1 wanted?)
      (let loop ((rest (hash-table->alist table)) (total 0))
        (if (null? rest)
            total
            (loop (cdr rest)
                  (if (wanted? (caar rest) (cdar rest)) (+ total 1) total)))))

    (define (hash-table-map procedure comparator table)
      (check-procedure 'hash-table-map 1 procedure)
      (let ((result (make-from 'hash-table-map comparator '())))
        (for-each (lambda (entry)
                    (table-set! result (car entry) (procedure (cdr entry))))
                  (hash-table->alist table))
        result))

    ;; The arguments are taken in either order, as many programs give the table first.
    (define (hash-table-for-each procedure table)
      (if (hash-table? procedure)
          (hash-table-walk procedure table)
          (begin
            (check-procedure 'hash-table-for-each 1 procedure)
            (hash-table-walk table procedure))))

    (define (hash-table-map! procedure table)
      (check-procedure 'hash-table-map! 1 procedure)
      (for-each (lambda (entry)
                  (table-set! table (car entry) (procedure (car entry) (cdr entry))))
                (hash-table->alist table)))

    (define (hash-table-map->list procedure table)
      (check-procedure 'hash-table-map->list 1 procedure)
      (%map1 (lambda (entry) (procedure (car entry) (cdr entry)))
             (hash-table->alist table)))

    (define (hash-table-prune! unwanted? table)
      (check-procedure 'hash-table-prune! 1 unwanted?)
      (for-each (lambda (entry)
                  (if (unwanted? (car entry) (cdr entry))
                      (table-delete! table (car entry))))
                (hash-table->alist table)))

    ;; Copies.

    (define hash-table-copy
      (case-lambda
        ((table) (table-copy table))
        ((table mutable?) (table-copy table))))

    (define (hash-table-empty-copy table)
      (let ((copy (table-copy table)))
        (hash-table-clear! copy)
        copy))

    ;; Tables as sets.

    (define (hash-table-merge! left right)
      (hash-table-union! left right))

    (define (hash-table-intersection! left right)
      (check-table 'hash-table-intersection! 2 right)
      (hash-table-prune! (lambda (key value) (not (hash-table-contains? right key))) left)
      left)

    (define (hash-table-difference! left right)
      (check-table 'hash-table-difference! 2 right)
      (hash-table-prune! (lambda (key value) (hash-table-contains? right key)) left)
      left)

    (define (hash-table-xor! left right)
      (for-each (lambda (entry)
                  (if (not (table-delete! left (car entry)))
                      (table-set! left (car entry) (cdr entry))))
                (hash-table->alist right))
      left)))
