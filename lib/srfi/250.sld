;;; (srfi 250): insertion-ordered hash tables.
;;;
;;; A table is a ring of nodes in the order of insertion, with `end`, a node of its own, between the
;;; last and the first. It also has an index, a table of (canny data hash-tables) that maps keys to
;;; their nodes. A cursor is a node; one that was deleted keeps its neighbours, so that a walk that
;;; stands on it continues.

(define-library (srfi 250)
  (export make-hash-table hash-table hash-table-unfold alist->hash-table
          hash-table? hash-table-contains? hash-table-empty? hash-table-mutable?
          hash-table-ref hash-table-ref/default hash-table-comparator
          hash-table-add! hash-table-replace! hash-table-set! hash-table-delete!
          hash-table-intern! hash-table-update! hash-table-update!/default hash-table-pop!
          hash-table-clear!
          hash-table-size hash-table= hash-table-find hash-table-count hash-table-keys
          hash-table-values hash-table-entries
          hash-table-cursor-first hash-table-cursor-last hash-table-cursor-for-key
          hash-table-cursor-next hash-table-cursor-previous hash-table-cursor-key
          hash-table-cursor-value hash-table-cursor-key+value hash-table-cursor-value-set!
          hash-table-cursor-at-end?
          hash-table-map hash-table-map! hash-table-for-each hash-table-map->list
          hash-table-fold hash-table-fold-left hash-table-fold-right hash-table-prune!
          hash-table-copy hash-table-empty-copy hash-table->alist
          hash-table-union! hash-table-intersection! hash-table-difference! hash-table-xor!)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data comparators)
          (prefix (only (canny data hash-tables)
                        make-hash-table hash-table-ref/default hash-table-set!
                        hash-table-delete! hash-table-clear! hash-table-size)
                  index:))
  (begin

    (define-record-type <ordered-hash-table>
      (make-table comparator index end mutable?)
      hash-table?
      (comparator comparator-of)
      (index index)
      (end end)
      (mutable? mutable?))

    (define-record-type <node>
      (make-node key value previous next)
      node?
      (key node-key)
      (value node-value set-node-value!)
      (previous node-previous set-node-previous!)
      (next node-next set-node-next!))

    (define (check who position object)
      (check-argument who position hash-table? "hash table" object))

    (define (check-mutable who object)
      (check who 1 object)
      (if (not (mutable? object))
          (%type-error who 1 "mutable hash table" object)))

    (define (check-key who table key)
      (if (not ((comparator-type-test-predicate (comparator-of table)) key))
          (error "the key is not of the comparator's type" who key)))

    (define (no-such-key who key)
      (raise (%make-condition 'key "the key has no value" (list key) who)))

    ;; The ring.

    (define (make-end)
      (let ((end (make-node #f #f #f #f)))
        (set-node-previous! end end)
        (set-node-next! end end)
        end))

    (define (find table key)
      (index:hash-table-ref/default (index table) key #f))

    (define (append-entry! table key value)
      (let* ((end (end table))
             (last (node-previous end))
             (node (make-node key value last end)))
        (set-node-next! last node)
        (set-node-previous! end node)
        (index:hash-table-set! (index table) key node)))

    (define (remove-node! table node)
      (let ((previous (node-previous node)) (next (node-next node)))
        (set-node-next! previous next)
        (set-node-previous! next previous)
        (index:hash-table-delete! (index table) (node-key node))))

    (define (put! table key value)
      (let ((node (find table key)))
        (if node
            (set-node-value! node value)
            (append-entry! table key value))))

    (define (delete-key! table key)
      (let ((node (find table key)))
        (and node
             (begin
               (remove-node! table node)
               #t))))

    ;; Walks take the next node before the user's procedure may delete this one.

    (define (fold-forward procedure state table)
      (let ((end (end table)))
        (let loop ((node (node-next end)) (state state))
          (if (eq? node end)
              state
              (let ((next (node-next node)))
                (loop next (procedure (node-key node) (node-value node) state)))))))

    (define (fold-backward procedure state table)
      (let ((end (end table)))
        (let loop ((node (node-previous end)) (state state))
          (if (eq? node end)
              state
              (let ((previous (node-previous node)))
                (loop previous (procedure (node-key node) (node-value node) state)))))))

    ;; The first true value of `procedure`, or #f.
    (define (until procedure table)
      (let ((end (end table)))
        (let loop ((node (node-next end)))
          (if (eq? node end)
              #f
              (let ((next (node-next node)))
                (or (procedure (node-key node) (node-value node))
                    (loop next)))))))

    ;; Constructors.

    (define (new who comparator capacity)
      (check-hashable-comparator who 1 comparator)
      (check-index who 2 capacity)
      (make-table comparator
                  (index:make-hash-table (comparator-equality-predicate comparator)
                                         (comparator-hash-function comparator)
                                         capacity)
                  (make-end)
                  #t))

    (define make-hash-table
      (case-lambda
        ((comparator) (new 'make-hash-table comparator 0))
        ((comparator capacity) (new 'make-hash-table comparator capacity))))

    (define (add-new! who table key value)
      (check-key who table key)
      (if (find table key)
          (error "the key has a value already" who key))
      (append-entry! table key value))

    ;; Calls `procedure` with the table and each key and value of a list in which they alternate.
    ;; The table is as it was when a value is missing.
    (define (for-each-entry who procedure table arguments)
      (if (odd? (length arguments))
          (error "a key has no value" who (last arguments)))
      (let loop ((rest arguments))
        (if (pair? rest)
            (begin
              (procedure table (car rest) (cadr rest))
              (loop (cddr rest))))))

    (define (hash-table comparator . arguments)
      (let ((table (new 'hash-table comparator 0)))
        (for-each-entry 'hash-table
                        (lambda (table key value) (add-new! 'hash-table table key value))
                        table
                        arguments)
        table))

    (define hash-table-unfold
      (case-lambda
        ((stop? mapper successor seed comparator)
         (hash-table-unfold stop? mapper successor seed comparator 0))
        ((stop? mapper successor seed comparator capacity)
         (check-procedure 'hash-table-unfold 1 stop?)
         (check-procedure 'hash-table-unfold 2 mapper)
         (check-procedure 'hash-table-unfold 3 successor)
         (let ((table (new 'hash-table-unfold comparator capacity)))
           (let loop ((seed seed))
             (if (stop? seed)
                 table
                 (let-values (((key value) (mapper seed)))
                   (check-key 'hash-table-unfold table key)
                   (put! table key value)
                   (loop (successor seed)))))))))

    (define alist->hash-table
      (case-lambda
        ((alist comparator) (alist->hash-table alist comparator 0))
        ((alist comparator capacity)
         (check-list 'alist->hash-table 1 alist)
         (let ((table (new 'alist->hash-table comparator capacity)))
           (for-each (lambda (entry)
                       (check-key 'alist->hash-table table (car entry))
                       (put! table (car entry) (cdr entry)))
                     (reverse alist))
           table))))

    ;; Predicates and accessors.

    (define (hash-table-contains? table key)
      (check 'hash-table-contains? 1 table)
      (and (find table key) #t))

    (define (hash-table-empty? table)
      (check 'hash-table-empty? 1 table)
      (eq? (node-next (end table)) (end table)))

    (define (hash-table-mutable? table)
      (check 'hash-table-mutable? 1 table)
      (mutable? table))

    (define hash-table-ref
      (case-lambda
        ((table key)
         (check 'hash-table-ref 1 table)
         (let ((node (find table key)))
           (if node (node-value node) (no-such-key 'hash-table-ref key))))
        ((table key failure)
         (check 'hash-table-ref 1 table)
         (let ((node (find table key)))
           (if node (node-value node) (failure))))
        ((table key failure success)
         (check 'hash-table-ref 1 table)
         (let ((node (find table key)))
           (if node (success (node-value node)) (failure))))))

    (define (hash-table-ref/default table key default)
      (check 'hash-table-ref/default 1 table)
      (let ((node (find table key)))
        (if node (node-value node) default)))

    (define (hash-table-comparator table)
      (check 'hash-table-comparator 1 table)
      (comparator-of table))

    ;; Mutators.

    (define (hash-table-add! table . arguments)
      (check-mutable 'hash-table-add! table)
      (for-each-entry 'hash-table-add!
                      (lambda (table key value) (add-new! 'hash-table-add! table key value))
                      table
                      arguments))

    (define (hash-table-replace! table . arguments)
      (check-mutable 'hash-table-replace! table)
      (for-each-entry 'hash-table-replace!
                      (lambda (table key value)
                        (let ((node (find table key)))
                          (if node
                              (set-node-value! node value)
                              (no-such-key 'hash-table-replace! key))))
                      table
                      arguments))

    (define hash-table-set!
      (case-lambda
        ((table key value)
         (check-mutable 'hash-table-set! table)
         (check-key 'hash-table-set! table key)
         (put! table key value))
        ((table . arguments)
         (check-mutable 'hash-table-set! table)
         (for-each-entry 'hash-table-set!
                         (lambda (table key value)
                           (check-key 'hash-table-set! table key)
                           (put! table key value))
                         table
                         arguments))))

    (define (hash-table-delete! table . keys)
      (check-mutable 'hash-table-delete! table)
      (let loop ((rest keys) (count 0))
        (if (null? rest)
            count
            (loop (cdr rest) (if (delete-key! table (car rest)) (+ count 1) count)))))

    (define (hash-table-intern! table key failure)
      (check-mutable 'hash-table-intern! table)
      (let ((node (find table key)))
        (if node
            (node-value node)
            (let ((value (failure)))
              (check-key 'hash-table-intern! table key)
              (put! table key value)
              value))))

    (define hash-table-update!
      (case-lambda
        ((table key updater)
         (hash-table-update! table key updater
                             (lambda () (no-such-key 'hash-table-update! key))))
        ((table key updater failure)
         (hash-table-update! table key updater failure (lambda (value) value)))
        ((table key updater failure success)
         (check-mutable 'hash-table-update! table)
         (check-procedure 'hash-table-update! 3 updater)
         (let* ((node (find table key))
                (value (updater (if node (success (node-value node)) (failure)))))
           (check-key 'hash-table-update! table key)
           (put! table key value)))))

    (define (hash-table-update!/default table key updater default)
      (check-mutable 'hash-table-update!/default table)
      (hash-table-update! table key updater (lambda () default)))

    (define (hash-table-pop! table)
      (check-mutable 'hash-table-pop! table)
      (let ((node (node-previous (end table))))
        (if (eq? node (end table))
            (%range-error 'hash-table-pop! 1 "the hash table is empty" table))
        (remove-node! table node)
        (values (node-key node) (node-value node))))

    (define (hash-table-clear! table)
      (check-mutable 'hash-table-clear! table)
      (let ((end (end table)))
        (set-node-next! end end)
        (set-node-previous! end end)
        (index:hash-table-clear! (index table))))

    ;; The whole table.

    (define (hash-table-size table)
      (check 'hash-table-size 1 table)
      (index:hash-table-size (index table)))

    (define (hash-table= same? left right)
      (check-procedure 'hash-table= 1 same?)
      (check 'hash-table= 2 left)
      (check 'hash-table= 3 right)
      (and (= (hash-table-size left) (hash-table-size right))
           (not (until (lambda (key value)
                         (let ((node (find right key)))
                           (not (and node (same? value (node-value node))))))
                  left))))

    (define (hash-table-find procedure table failure)
      (check-procedure 'hash-table-find 1 procedure)
      (check 'hash-table-find 2 table)
      (or (until procedure table) (failure)))

    (define (hash-table-count wanted? table)
      (check-procedure 'hash-table-count 1 wanted?)
      (check 'hash-table-count 2 table)
      (fold-forward (lambda (key value count) (if (wanted? key value) (+ count 1) count))
                    0
                    table))

    (define (hash-table-keys table)
      (check 'hash-table-keys 1 table)
      (list->vector (fold-backward (lambda (key value keys) (cons key keys)) '() table)))

    (define (hash-table-values table)
      (check 'hash-table-values 1 table)
      (list->vector (fold-backward (lambda (key value values) (cons value values)) '() table)))

    (define (hash-table-entries table)
      (values (hash-table-keys table) (hash-table-values table)))

    ;; Cursors.

    (define (check-cursor who table cursor)
      (check who 1 table)
      (check-argument who 2 node? "hash table cursor" cursor))

    (define (check-inside who table cursor)
      (check-cursor who table cursor)
      (if (eq? cursor (end table))
          (%range-error who 2 "the cursor is at the end" cursor)))

    (define (hash-table-cursor-first table)
      (check 'hash-table-cursor-first 1 table)
      (node-next (end table)))

    (define (hash-table-cursor-last table)
      (check 'hash-table-cursor-last 1 table)
      (node-previous (end table)))

    (define (hash-table-cursor-for-key table key)
      (check 'hash-table-cursor-for-key 1 table)
      (or (find table key) (end table)))

    (define (hash-table-cursor-next table cursor)
      (check-inside 'hash-table-cursor-next table cursor)
      (node-next cursor))

    (define (hash-table-cursor-previous table cursor)
      (check-inside 'hash-table-cursor-previous table cursor)
      (node-previous cursor))

    (define (hash-table-cursor-key table cursor)
      (check-inside 'hash-table-cursor-key table cursor)
      (node-key cursor))

    (define (hash-table-cursor-value table cursor)
      (check-inside 'hash-table-cursor-value table cursor)
      (node-value cursor))

    (define (hash-table-cursor-key+value table cursor)
      (check-inside 'hash-table-cursor-key+value table cursor)
      (values (node-key cursor) (node-value cursor)))

    (define (hash-table-cursor-value-set! table cursor value)
      (check-mutable 'hash-table-cursor-value-set! table)
      (check-inside 'hash-table-cursor-value-set! table cursor)
      (set-node-value! cursor value))

    (define (hash-table-cursor-at-end? table cursor)
      (check-cursor 'hash-table-cursor-at-end? table cursor)
      (eq? cursor (end table)))

    ;; Mapping and folding.

    (define (hash-table-map procedure table)
      (check-procedure 'hash-table-map 1 procedure)
      (let ((result (hash-table-empty-copy table)))
        (fold-forward (lambda (key value state)
                        (append-entry! result key (procedure key value)))
                      #f
                      table)
        result))

    (define (hash-table-map! procedure table)
      (check-procedure 'hash-table-map! 1 procedure)
      (check 'hash-table-map! 2 table)
      (if (not (mutable? table))
          (%type-error 'hash-table-map! 2 "mutable hash table" table))
      (let ((end (end table)))
        (let loop ((node (node-next end)))
          (if (eq? node end)
              table
              (let ((next (node-next node)))
                (set-node-value! node (procedure (node-key node) (node-value node)))
                (loop next))))))

    (define (hash-table-for-each procedure table)
      (check-procedure 'hash-table-for-each 1 procedure)
      (check 'hash-table-for-each 2 table)
      (fold-forward (lambda (key value state)
                      (procedure key value)
                      state)
                    (void)
                    table))

    (define (hash-table-map->list procedure table)
      (check-procedure 'hash-table-map->list 1 procedure)
      (check 'hash-table-map->list 2 table)
      (reverse (fold-forward (lambda (key value results) (cons (procedure key value) results))
                             '()
                             table)))

    (define (hash-table-fold procedure seed table)
      (check-procedure 'hash-table-fold 1 procedure)
      (check 'hash-table-fold 3 table)
      (fold-forward procedure seed table))

    (define (hash-table-fold-left procedure seed table)
      (check-procedure 'hash-table-fold-left 1 procedure)
      (check 'hash-table-fold-left 3 table)
      (fold-forward (lambda (key value state) (procedure state key value)) seed table))

    (define (hash-table-fold-right procedure seed table)
      (check-procedure 'hash-table-fold-right 1 procedure)
      (check 'hash-table-fold-right 3 table)
      (fold-backward procedure seed table))

    (define (prune! unwanted? table)
      (fold-forward (lambda (key value count)
                      (if (unwanted? key value)
                          (begin
                            (delete-key! table key)
                            (+ count 1))
                          count))
                    0
                    table))

    (define (hash-table-prune! unwanted? table)
      (check-procedure 'hash-table-prune! 1 unwanted?)
      (check 'hash-table-prune! 2 table)
      (if (not (mutable? table))
          (%type-error 'hash-table-prune! 2 "mutable hash table" table))
      (prune! unwanted? table))

    ;; Copies.

    (define hash-table-copy
      (case-lambda
        ((table) (hash-table-copy table #f))
        ((table mutable?)
         (let ((copy (hash-table-empty-copy table)))
           (fold-forward (lambda (key value state) (append-entry! copy key value)) #f table)
           (if mutable?
               copy
               (make-table (comparator-of copy) (index copy) (end copy) #f))))))

    (define (hash-table-empty-copy table)
      (check 'hash-table-empty-copy 1 table)
      (new 'hash-table-empty-copy (comparator-of table) (hash-table-size table)))

    (define (hash-table->alist table)
      (check 'hash-table->alist 1 table)
      (fold-forward (lambda (key value alist) (cons (cons key value) alist)) '() table))

    ;; Tables as sets.

    (define (check-two who left right)
      (check-mutable who left)
      (check who 2 right))

    (define (hash-table-union! left right)
      (check-two 'hash-table-union! left right)
      (fold-forward (lambda (key value state)
                      (if (not (find left key))
                          (append-entry! left key value)))
                    #f
                    right)
      left)

    (define (hash-table-intersection! left right)
      (check-two 'hash-table-intersection! left right)
      (prune! (lambda (key value) (not (find right key))) left)
      left)

    (define (hash-table-difference! left right)
      (check-two 'hash-table-difference! left right)
      (prune! (lambda (key value) (find right key)) left)
      left)

    ;; The new associations are known before the first is deleted, so that both tables may be one.
    (define (hash-table-xor! left right)
      (check-two 'hash-table-xor! left right)
      (let ((new (fold-backward (lambda (key value list)
                                  (if (find left key) list (cons (cons key value) list)))
                                '()
                                right)))
        (prune! (lambda (key value) (find right key)) left)
        (for-each (lambda (entry) (append-entry! left (car entry) (cdr entry))) new)
        left))))
