;;; (canny data hash-tables): SRFI 69, and what programs want beyond it.
;;;
;;; A table whose equivalence is eq?, eqv?, equal? or string=? is a table of the machine.  Any other
;;; is a `custom-table`: a table of the machine that maps hash values to buckets, each an
;;; association list, and its own count.  A bucket is replaced, never changed in place, except for
;;; the value of an entry. So an equivalence procedure may be left by a continuation.

(define-library (canny data hash-tables)
  (export make-hash-table hash-table? alist->hash-table
          hash-table-equivalence-function hash-table-hash-function
          hash-table-ref hash-table-ref/default hash-table-set! hash-table-delete!
          (rename hash-table-exists? hash-table-contains?)
          hash-table-exists? hash-table-update! hash-table-update!/default
          hash-table-size hash-table-keys hash-table-values
          hash-table-walk hash-table-fold hash-table->alist hash-table-copy hash-table-merge!
          hash-table-clear! hash-table-empty? hash-table-intern! hash-table-pop-entry!
          hash string-hash string-ci-hash hash-by-identity hash-by-eqv)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists))
  (begin

    (define-record-type custom-table
      (make-custom-table buckets equivalence hash count)
      custom-table?
      (buckets table-buckets)
      (equivalence table-equivalence)
      (hash table-hash)
      (count table-count set-table-count!))

    (define absent (list 'absent))

    (define (not-a-table who object)
      (%type-error who 1 "hash table" object))

    (define (check-procedure who position object)
      (if (not (procedure? object))
          (%type-error who position "procedure" object)))

    (define (no-such-key who key)
      (raise (%make-condition 'key "the key has no value" (list key) who)))

    (define (hash-table? object)
      (or (%hash-table? object) (custom-table? object)))

    ;; Custom tables.

    (define (find-entry table key bucket)
      (let ((same? (table-equivalence table)))
        (let loop ((rest bucket))
          (cond ((null? rest) #f)
                ((same? (caar rest) key) (car rest))
                (else (loop (cdr rest)))))))

    (define (key-hash table key)
      ((table-hash table) key))

    (define (custom-ref table key default)
      (let ((entry (find-entry table
                               key
                               (%hash-table-ref (table-buckets table) (key-hash table key) '()))))
        (if entry (cdr entry) default)))

    (define (custom-set! table key value)
      (let* ((hash (key-hash table key))
             (buckets (table-buckets table))
             (bucket (%hash-table-ref buckets hash '()))
             (entry (find-entry table key bucket)))
        (if entry
            (set-cdr! entry value)
            (begin
              (%hash-table-set! buckets hash (cons (cons key value) bucket))
              (set-table-count! table (+ (table-count table) 1))))))

    (define (custom-delete! table key)
      (let* ((hash (key-hash table key))
             (buckets (table-buckets table))
             (bucket (%hash-table-ref buckets hash '()))
             (entry (find-entry table key bucket)))
        (and entry
             (let ((rest (delq entry bucket)))
               (if (null? rest)
                   (%hash-table-delete! buckets hash)
                   (%hash-table-set! buckets hash rest))
               (set-table-count! table (- (table-count table) 1))
               #t))))

    (define (custom-pop! table)
      (let* ((buckets (table-buckets table))
             (last (%hash-table-pop! buckets)))
        (and last
             (let ((bucket (cdr last)))
               (if (pair? (cdr bucket))
                   (%hash-table-set! buckets (car last) (cdr bucket)))
               (set-table-count! table (- (table-count table) 1))
               (car bucket)))))

    (define (copy-entries entries)
      (%map1 (lambda (entry) (cons (car entry) (cdr entry))) entries))

    (define (custom->alist table)
      (let loop ((buckets (%hash-table-values (table-buckets table))) (entries '()))
        (if (null? buckets)
            entries
            (loop (cdr buckets) (append-reverse (copy-entries (car buckets)) entries)))))

    (define (custom-copy table)
      (let ((buckets (%make-hash-table 'eqv #f 0)))
        (for-each (lambda (entry)
                    (%hash-table-set! buckets (car entry) (copy-entries (cdr entry))))
                  (%hash-table->alist (table-buckets table)))
        (make-custom-table buckets
                           (table-equivalence table)
                           (table-hash table)
                           (table-count table))))

    ;; Construction.

    ;; Arguments after the procedures: a size, or one of these words.
    (define (weakness-of arguments)
      (cond ((memq 'weak-keys arguments) 'key)
            ((memq 'weak-values arguments) 'value)
            ((memq 'ephemeral-keys arguments) 'ephemeral)
            (else #f)))

    (define (size-of arguments)
      (let loop ((rest arguments))
        (cond ((null? rest) 0)
              ((fixnum? (car rest)) (car rest))
              (else (loop (cdr rest))))))

    (define (built-in-equivalence same?)
      (cond ((eq? same? equal?) 'equal)
            ((eq? same? eq?) 'eq)
            ((eq? same? eqv?) 'eqv)
            ((eq? same? string=?) 'string)
            (else #f)))

    (define make-hash-table
      (case-lambda
        (() (%make-hash-table 'equal #f 0))
        ((same?)
         (check-procedure 'make-hash-table 1 same?)
         (let ((equivalence (built-in-equivalence same?)))
           (if equivalence
               (%make-hash-table equivalence #f 0)
               (make-custom-table (%make-hash-table 'eqv #f 0) same? (default-hash same?) 0))))
        ((same? . rest)
         (check-procedure 'make-hash-table 1 same?)
         (let* ((own-hash (and (pair? rest) (procedure? (car rest)) (car rest)))
                (arguments (if own-hash (cdr rest) rest))
                (equivalence (built-in-equivalence same?)))
           (if equivalence
               (%make-hash-table equivalence (weakness-of arguments) (size-of arguments))
               (make-custom-table (%make-hash-table 'eqv #f (size-of arguments))
                                  same?
                                  (or own-hash (default-hash same?))
                                  0))))))

    (define (default-hash same?)
      (cond ((eq? same? string-ci=?) string-ci-hash)
            ((eq? same? =) (lambda (number) (hash (inexact number))))
            ((or (eq? same? char=?) (eq? same? symbol=?)) hash)
            ((eq? same? char-ci=?) (lambda (char) (hash (char-foldcase char))))
            ;; Nothing is known of the equivalence: one bucket for all is right, if slow.
            (else (lambda (key) 0))))

    (define (alist->hash-table alist . arguments)
      (let ((table (%apply make-hash-table arguments)))
        (for-each (lambda (entry)
                    ;; The first of several entries with one key counts.
                    (if (not (hash-table-exists? table (car entry)))
                        (hash-table-set! table (car entry) (cdr entry))))
                  alist)
        table))

    (define (hash-table-equivalence-function table)
      (cond ((%hash-table? table)
             (case (%hash-table-equivalence table)
               ((eq) eq?)
               ((eqv) eqv?)
               ((string) string=?)
               (else equal?)))
            ((custom-table? table) (table-equivalence table))
            (else (not-a-table 'hash-table-equivalence-function table))))

    (define (hash-table-hash-function table)
      (cond ((%hash-table? table)
             (case (%hash-table-equivalence table)
               ((eq) hash-by-identity)
               ((eqv) hash-by-eqv)
               ((string) string-hash)
               (else hash)))
            ((custom-table? table) (table-hash table))
            (else (not-a-table 'hash-table-hash-function table))))

    ;; Access.

    (define (hash-table-ref/default table key default)
      (cond ((%hash-table? table) (%hash-table-ref table key default))
            ((custom-table? table) (custom-ref table key default))
            (else (not-a-table 'hash-table-ref/default table))))

    (define hash-table-ref
      (case-lambda
        ((table key)
         (let ((value (lookup 'hash-table-ref table key)))
           (if (eq? value absent)
               (no-such-key 'hash-table-ref key)
               value)))
        ((table key fail)
         (let ((value (lookup 'hash-table-ref table key)))
           (if (eq? value absent)
               (if fail (fail) (no-such-key 'hash-table-ref key))
               value)))
        ((table key fail succeed)
         (let ((value (lookup 'hash-table-ref table key)))
           (if (eq? value absent)
               (if fail (fail) (no-such-key 'hash-table-ref key))
               (succeed value))))))

    (define (lookup who table key)
      (cond ((%hash-table? table) (%hash-table-ref table key absent))
            ((custom-table? table) (custom-ref table key absent))
            (else (not-a-table who table))))

    (define (hash-table-set! table key value)
      (cond ((%hash-table? table) (%hash-table-set! table key value))
            ((custom-table? table) (custom-set! table key value))
            (else (not-a-table 'hash-table-set! table))))

    (define (hash-table-delete! table key)
      (cond ((%hash-table? table) (%hash-table-delete! table key))
            ((custom-table? table) (custom-delete! table key))
            (else (not-a-table 'hash-table-delete! table))))

    (define (hash-table-exists? table key)
      (cond ((%hash-table? table) (%hash-table-contains? table key))
            ((custom-table? table) (not (eq? (custom-ref table key absent) absent)))
            (else (not-a-table 'hash-table-exists? table))))

    (define hash-table-update!
      (case-lambda
        ((table key update)
         (hash-table-update! table
                             key
                             update
                             (lambda () (no-such-key 'hash-table-update! key))))
        ((table key update fail)
         (let ((value (lookup 'hash-table-update! table key)))
           (hash-table-set! table
                            key
                            (update (if (eq? value absent) (fail) value)))))
        ((table key update fail succeed)
         (let ((value (lookup 'hash-table-update! table key)))
           (hash-table-set! table
                            key
                            (update (if (eq? value absent) (fail) (succeed value))))))))

    (define (hash-table-update!/default table key update default)
      (let ((value (lookup 'hash-table-update!/default table key)))
        (hash-table-set! table key (update (if (eq? value absent) default value)))))

    (define (hash-table-intern! table key make-value)
      (let ((value (lookup 'hash-table-intern! table key)))
        (if (eq? value absent)
            (let ((value (make-value)))
              (hash-table-set! table key value)
              value)
            value)))

    ;; The whole table.

    (define (hash-table-size table)
      (cond ((%hash-table? table) (%hash-table-count table))
            ((custom-table? table) (table-count table))
            (else (not-a-table 'hash-table-size table))))

    (define (hash-table-empty? table)
      (zero? (hash-table-size table)))

    (define (hash-table-keys table)
      (if (%hash-table? table)
          (%hash-table-keys table)
          (%map1 car (entries 'hash-table-keys table))))

    (define (hash-table-values table)
      (if (%hash-table? table)
          (%hash-table-values table)
          (%map1 cdr (entries 'hash-table-values table))))

    (define (entries who table)
      (cond ((%hash-table? table) (%hash-table->alist table))
            ((custom-table? table) (custom->alist table))
            (else (not-a-table who table))))

    (define (hash-table->alist table)
      (entries 'hash-table->alist table))

    ;; The walks are over the entries at the start, so that the procedure may change the table.

    (define (hash-table-walk table procedure)
      (if (%hash-table? table)
          (let* ((entries (%hash-table-entries table))
                 (end (vector-ref entries 0)))
            (let loop ((count 0) (at 1))
              (if (< count end)
                  (begin
                    (procedure (vector-ref entries at) (vector-ref entries (+ at 1)))
                    (loop (+ count 1) (+ at 2))))))
          (for-each (lambda (entry) (procedure (car entry) (cdr entry)))
                    (entries 'hash-table-walk table))))

    ;; SRFI 69 puts the table first, later SRFIs last.
    (define (hash-table-fold table procedure state)
      (cond ((procedure? table) (hash-table-fold state table procedure))
            ((%hash-table? table)
             (let* ((entries (%hash-table-entries table))
                    (end (vector-ref entries 0)))
               (let loop ((count 0) (at 1) (state state))
                 (if (= count end)
                     state
                     (loop (+ count 1)
                           (+ at 2)
                           (procedure (vector-ref entries at)
                                      (vector-ref entries (+ at 1))
                                      state))))))
            (else
             (let loop ((rest (entries 'hash-table-fold table)) (state state))
               (if (null? rest)
                   state
                   (loop (cdr rest) (procedure (caar rest) (cdar rest) state)))))))

    (define hash-table-copy
      (case-lambda
        ((table) (hash-table-copy table #t))
        ((table mutable?)
         (cond ((%hash-table? table) (%hash-table-copy table))
               ((custom-table? table) (custom-copy table))
               (else (not-a-table 'hash-table-copy table))))))

    (define (hash-table-merge! table other)
      (for-each (lambda (entry)
                  (if (not (hash-table-exists? table (car entry)))
                      (hash-table-set! table (car entry) (cdr entry))))
                (entries 'hash-table-merge! other))
      table)

    ;; Removes an association, the newest in a table of the machine, and gives it as a pair, or #f.
    ;; Emptying a table like this takes time for each association once.
    (define (hash-table-pop-entry! table)
      (cond ((%hash-table? table) (%hash-table-pop! table))
            ((custom-table? table) (custom-pop! table))
            (else (not-a-table 'hash-table-pop! table))))

    (define (hash-table-clear! table)
      (cond ((%hash-table? table) (%hash-table-clear! table))
            ((custom-table? table)
             (%hash-table-clear! (table-buckets table))
             (set-table-count! table 0))
            (else (not-a-table 'hash-table-clear! table))))))
