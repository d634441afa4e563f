;;; (srfi 224): integer mappings.
;;;
;;; A mapping is a weight-balanced tree with fixnums for keys.

(define-library (srfi 224)
  (export fxmapping fxmapping-unfold fxmapping-accumulate alist->fxmapping
          alist->fxmapping/combinator
          fxmapping? fxmapping-contains? fxmapping-empty? fxmapping-disjoint?
          fxmapping-ref fxmapping-ref/default fxmapping-min fxmapping-max
          fxmapping-adjoin fxmapping-adjoin/combinator fxmapping-set fxmapping-adjust
          fxmapping-delete fxmapping-delete-all fxmapping-alter fxmapping-update
          fxmapping-delete-min fxmapping-delete-max fxmapping-update-min fxmapping-update-max
          fxmapping-pop-min fxmapping-pop-max
          fxmapping-size fxmapping-find fxmapping-count fxmapping-any? fxmapping-every?
          fxmapping-fold fxmapping-fold-right fxmapping-map fxmapping-map->list
          fxmapping-for-each fxmapping-relation-map
          fxmapping-filter fxmapping-remove fxmapping-partition
          fxmapping->alist fxmapping->decreasing-alist fxmapping-keys fxmapping-values
          fxmapping->generator fxmapping->decreasing-generator
          fxmapping=? fxmapping<? fxmapping>? fxmapping<=? fxmapping>=?
          fxmapping-union fxmapping-intersection fxmapping-difference fxmapping-xor
          fxmapping-union/combinator fxmapping-intersection/combinator
          fxmapping-open-interval fxmapping-closed-interval fxmapping-open-closed-interval
          fxmapping-closed-open-interval fxsubmapping= fxsubmapping< fxsubmapping<=
          fxsubmapping> fxsubmapping>= fxmapping-split)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data comparators) (canny data balanced-trees))
  (begin

    (define-record-type <fxmapping>
      (make-fxmapping tree)
      fxmapping?
      (tree fxmapping-tree))

    (define (check who position object)
      (check-argument who position fxmapping? "fxmapping" object))

    (define (check-all who position mappings)
      (let loop ((rest mappings) (position position))
        (if (pair? rest)
            (begin
              (check who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    (define (check-key who position key)
      (check-argument who position fixnum? "fixnum" key))

    (define (no-such-key who key)
      (raise (%make-condition 'key "the key has no value" (list key) who)))

    (define (keep-left key left right) left)

    ;; `combine` makes one value of a key, its new and its old value.
    (define (add who tree key value combine)
      (check-key who 2 key)
      (let ((node (tree-entry tree key <)))
        (if node
            (tree-set tree key (combine key value (node-value node)) <)
            (tree-set tree key value <))))

    (define (old-value key new old) old)
    (define (new-value key new old) new)

    (define (add-all who tree arguments combine)
      (let loop ((rest arguments) (tree tree))
        (cond ((null? rest) tree)
              ((null? (cdr rest)) (error "a key has no value" who (car rest)))
              (else (loop (cddr rest) (add who tree (car rest) (cadr rest) combine))))))

    ;; Constructors.

    (define (fxmapping . arguments)
      (make-fxmapping (add-all 'fxmapping #f arguments old-value)))

    (define fxmapping-unfold
      (case-lambda
        ((stop? mapper successor seed)
         (check-procedure 'fxmapping-unfold 1 stop?)
         (check-procedure 'fxmapping-unfold 2 mapper)
         (check-procedure 'fxmapping-unfold 3 successor)
         (let loop ((seed seed) (tree #f))
           (if (stop? seed)
               (make-fxmapping tree)
               (let-values (((key value) (mapper seed)))
                 (loop (successor seed) (add 'fxmapping-unfold tree key value old-value))))))
        ((stop? mapper successor . seeds)
         (check-procedure 'fxmapping-unfold 1 stop?)
         (check-procedure 'fxmapping-unfold 2 mapper)
         (check-procedure 'fxmapping-unfold 3 successor)
         (let loop ((seeds seeds) (tree #f))
           (if (%apply stop? seeds)
               (make-fxmapping tree)
               (let-values (((key value) (%apply mapper seeds))
                            (next (%apply successor seeds)))
                 (loop next (add 'fxmapping-unfold tree key value old-value))))))))

    (define (fxmapping-accumulate procedure . seeds)
      (check-procedure 'fxmapping-accumulate 1 procedure)
      (call-with-current-continuation
       (lambda (return)
         (let loop ((seeds seeds) (tree #f))
           (let-values (((key value . next)
                         (%apply procedure
                                 (cons (lambda results
                                         (return (%list->values
                                                  (cons (make-fxmapping tree) results))))
                                       seeds))))
             (loop next (add 'fxmapping-accumulate tree key value old-value)))))))

    (define (alist->fxmapping alist)
      (alist->fxmapping/combinator old-value alist))

    (define (alist->fxmapping/combinator combine alist)
      (check-procedure 'alist->fxmapping/combinator 1 combine)
      (check-list 'alist->fxmapping/combinator 2 alist)
      (let loop ((rest alist) (tree #f))
        (if (null? rest)
            (make-fxmapping tree)
            (loop (cdr rest)
                  (add 'alist->fxmapping/combinator tree (caar rest) (cdar rest) combine)))))

    ;; Predicates and accessors.

    (define (fxmapping-contains? mapping key)
      (check 'fxmapping-contains? 1 mapping)
      (check-key 'fxmapping-contains? 2 key)
      (and (tree-entry (fxmapping-tree mapping) key <) #t))

    (define (fxmapping-empty? mapping)
      (check 'fxmapping-empty? 1 mapping)
      (not (fxmapping-tree mapping)))

    (define (fxmapping-disjoint? left right)
      (check-all 'fxmapping-disjoint? 1 (list left right))
      (tree-disjoint? (fxmapping-tree left) (fxmapping-tree right) <))

    (define fxmapping-ref
      (case-lambda
        ((mapping key)
         (fxmapping-ref mapping key (lambda () (no-such-key 'fxmapping-ref key))))
        ((mapping key failure)
         (fxmapping-ref mapping key failure values))
        ((mapping key failure success)
         (check 'fxmapping-ref 1 mapping)
         (check-key 'fxmapping-ref 2 key)
         (let ((node (tree-entry (fxmapping-tree mapping) key <)))
           (if node
               (success (node-value node))
               (failure))))))

    (define (fxmapping-ref/default mapping key default)
      (check 'fxmapping-ref/default 1 mapping)
      (check-key 'fxmapping-ref/default 2 key)
      (tree-ref (fxmapping-tree mapping) key < default))

    ;; The node at an end of a mapping.
    (define (end-node who end mapping)
      (check who 1 mapping)
      (if (not (fxmapping-tree mapping))
          (%range-error who 1 "the mapping is empty" mapping))
      (end (fxmapping-tree mapping)))

    (define (fxmapping-min mapping)
      (let ((node (end-node 'fxmapping-min tree-first mapping)))
        (values (node-key node) (node-value node))))

    (define (fxmapping-max mapping)
      (let ((node (end-node 'fxmapping-max tree-last mapping)))
        (values (node-key node) (node-value node))))

    ;; Updates.

    (define (fxmapping-adjoin mapping . arguments)
      (check 'fxmapping-adjoin 1 mapping)
      (make-fxmapping
       (add-all 'fxmapping-adjoin (fxmapping-tree mapping) arguments old-value)))

    (define (fxmapping-adjoin/combinator mapping combine . arguments)
      (check 'fxmapping-adjoin/combinator 1 mapping)
      (check-procedure 'fxmapping-adjoin/combinator 2 combine)
      (make-fxmapping
       (add-all 'fxmapping-adjoin/combinator (fxmapping-tree mapping) arguments combine)))

    (define (fxmapping-set mapping . arguments)
      (check 'fxmapping-set 1 mapping)
      (make-fxmapping (add-all 'fxmapping-set (fxmapping-tree mapping) arguments new-value)))

    (define (with-value mapping key value)
      (make-fxmapping (tree-set (fxmapping-tree mapping) key value <)))

    (define (without mapping key)
      (make-fxmapping (tree-delete (fxmapping-tree mapping) key <)))

    (define (fxmapping-adjust mapping key procedure)
      (check 'fxmapping-adjust 1 mapping)
      (check-key 'fxmapping-adjust 2 key)
      (check-procedure 'fxmapping-adjust 3 procedure)
      (let ((node (tree-entry (fxmapping-tree mapping) key <)))
        (if node
            (with-value mapping key (procedure key (node-value node)))
            mapping)))

    (define (fxmapping-delete mapping . keys)
      (check 'fxmapping-delete 1 mapping)
      (delete-all 'fxmapping-delete mapping keys))

    (define (fxmapping-delete-all mapping keys)
      (check 'fxmapping-delete-all 1 mapping)
      (check-list 'fxmapping-delete-all 2 keys)
      (delete-all 'fxmapping-delete-all mapping keys))

    (define (delete-all who mapping keys)
      (let loop ((rest keys) (tree (fxmapping-tree mapping)))
        (if (null? rest)
            (make-fxmapping tree)
            (begin
              (check-key who 2 (car rest))
              (loop (cdr rest) (tree-delete tree (car rest) <))))))

    ;; Calls `procedure` with what it may do to the association of the node.
    (define (update mapping node procedure)
      (let ((key (node-key node)))
        (procedure key
                   (node-value node)
                   (lambda (value) (with-value mapping key value))
                   (lambda () (without mapping key)))))

    (define (fxmapping-alter mapping key failure success)
      (check 'fxmapping-alter 1 mapping)
      (check-key 'fxmapping-alter 2 key)
      (check-procedure 'fxmapping-alter 3 failure)
      (check-procedure 'fxmapping-alter 4 success)
      (let ((node (tree-entry (fxmapping-tree mapping) key <)))
        (if node
            (update mapping node success)
            (failure (lambda (value) (with-value mapping key value))
                     (lambda () mapping)))))

    (define fxmapping-update
      (case-lambda
        ((mapping key procedure)
         (fxmapping-update mapping key procedure
                           (lambda () (no-such-key 'fxmapping-update key))))
        ((mapping key procedure failure)
         (check-procedure 'fxmapping-update 3 procedure)
         (check-procedure 'fxmapping-update 4 failure)
         (fxmapping-alter mapping key (lambda (insert ignore) (failure)) procedure))))

    (define (fxmapping-update-min mapping procedure)
      (check-procedure 'fxmapping-update-min 2 procedure)
      (update mapping (end-node 'fxmapping-update-min tree-first mapping) procedure))

    (define (fxmapping-update-max mapping procedure)
      (check-procedure 'fxmapping-update-max 2 procedure)
      (update mapping (end-node 'fxmapping-update-max tree-last mapping) procedure))

    (define (fxmapping-pop-min mapping)
      (let ((node (end-node 'fxmapping-pop-min tree-first mapping)))
        (values (node-key node)
                (node-value node)
                (make-fxmapping (tree-delete-first (fxmapping-tree mapping))))))

    (define (fxmapping-pop-max mapping)
      (let ((node (end-node 'fxmapping-pop-max tree-last mapping)))
        (values (node-key node)
                (node-value node)
                (make-fxmapping (tree-delete-last (fxmapping-tree mapping))))))

    (define (fxmapping-delete-min mapping)
      (end-node 'fxmapping-delete-min tree-first mapping)
      (make-fxmapping (tree-delete-first (fxmapping-tree mapping))))

    (define (fxmapping-delete-max mapping)
      (end-node 'fxmapping-delete-max tree-last mapping)
      (make-fxmapping (tree-delete-last (fxmapping-tree mapping))))

    ;; The whole mapping.

    (define (fxmapping-size mapping)
      (check 'fxmapping-size 1 mapping)
      (tree-size (fxmapping-tree mapping)))

    (define fxmapping-find
      (case-lambda
        ((wanted? mapping failure) (fxmapping-find wanted? mapping failure values))
        ((wanted? mapping failure success)
         (check-procedure 'fxmapping-find 1 wanted?)
         (check 'fxmapping-find 2 mapping)
         (let ((entry (tree-fold-entries-until
                       (lambda (key value) (and (wanted? key value) (cons key value)))
                       (fxmapping-tree mapping))))
           (if entry
               (success (car entry) (cdr entry))
               (failure))))))

    (define (fxmapping-count wanted? mapping)
      (check-procedure 'fxmapping-count 1 wanted?)
      (check 'fxmapping-count 2 mapping)
      (tree-fold (lambda (key value total) (if (wanted? key value) (+ total 1) total))
                 0
                 (fxmapping-tree mapping)))

    (define (fxmapping-any? wanted? mapping)
      (check-procedure 'fxmapping-any? 1 wanted?)
      (check 'fxmapping-any? 2 mapping)
      (and (tree-fold-entries-until wanted? (fxmapping-tree mapping)) #t))

    (define (fxmapping-every? wanted? mapping)
      (check-procedure 'fxmapping-every? 1 wanted?)
      (check 'fxmapping-every? 2 mapping)
      (not (tree-fold-entries-until (lambda (key value) (not (wanted? key value)))
                                    (fxmapping-tree mapping))))

    (define (fxmapping-fold procedure state mapping)
      (check-procedure 'fxmapping-fold 1 procedure)
      (check 'fxmapping-fold 3 mapping)
      (tree-fold procedure state (fxmapping-tree mapping)))

    (define (fxmapping-fold-right procedure state mapping)
      (check-procedure 'fxmapping-fold-right 1 procedure)
      (check 'fxmapping-fold-right 3 mapping)
      (tree-fold-right procedure state (fxmapping-tree mapping)))

    (define (fxmapping-map procedure mapping)
      (check-procedure 'fxmapping-map 1 procedure)
      (check 'fxmapping-map 2 mapping)
      (make-fxmapping (tree-map-values procedure (fxmapping-tree mapping))))

    (define (fxmapping-map->list procedure mapping)
      (check-procedure 'fxmapping-map->list 1 procedure)
      (check 'fxmapping-map->list 2 mapping)
      (tree-fold-right (lambda (key value results) (cons (procedure key value) results))
                       '()
                       (fxmapping-tree mapping)))

    (define (fxmapping-for-each procedure mapping)
      (check-procedure 'fxmapping-for-each 1 procedure)
      (check 'fxmapping-for-each 2 mapping)
      (tree-fold (lambda (key value state)
                   (procedure key value)
                   state)
                 (void)
                 (fxmapping-tree mapping)))

    (define (fxmapping-relation-map procedure mapping)
      (check-procedure 'fxmapping-relation-map 1 procedure)
      (check 'fxmapping-relation-map 2 mapping)
      (make-fxmapping
       (tree-fold (lambda (key value tree)
                    (let-values (((key value) (procedure key value)))
                      (add 'fxmapping-relation-map tree key value new-value)))
                  #f
                  (fxmapping-tree mapping))))

    (define (fxmapping-filter wanted? mapping)
      (check-procedure 'fxmapping-filter 1 wanted?)
      (check 'fxmapping-filter 2 mapping)
      (make-fxmapping (tree-filter wanted? (fxmapping-tree mapping))))

    (define (fxmapping-remove unwanted? mapping)
      (check-procedure 'fxmapping-remove 1 unwanted?)
      (fxmapping-filter (lambda (key value) (not (unwanted? key value))) mapping))

    (define (fxmapping-partition wanted? mapping)
      (let ((in (fxmapping-filter wanted? mapping)))
        (values in
                (make-fxmapping
                 (tree-difference (fxmapping-tree mapping) (fxmapping-tree in) <)))))

    ;; Conversion.

    (define (fxmapping->alist mapping)
      (fxmapping-fold-right (lambda (key value alist) (cons (cons key value) alist)) '() mapping))

    (define (fxmapping->decreasing-alist mapping)
      (fxmapping-fold (lambda (key value alist) (cons (cons key value) alist)) '() mapping))

    (define (fxmapping-keys mapping)
      (fxmapping-fold-right (lambda (key value keys) (cons key keys)) '() mapping))

    (define (fxmapping-values mapping)
      (fxmapping-fold-right (lambda (key value values) (cons value values)) '() mapping))

    (define (fxmapping->generator mapping)
      (check 'fxmapping->generator 1 mapping)
      (let ((next (tree->generator (fxmapping-tree mapping))))
        (lambda ()
          (let ((node (next)))
            (if node
                (cons (node-key node) (node-value node))
                (eof-object))))))

    (define (fxmapping->decreasing-generator mapping)
      (let ((rest (fxmapping->decreasing-alist mapping)))
        (lambda ()
          (if (pair? rest)
              (let ((entry (car rest)))
                (set! rest (cdr rest))
                entry)
              (eof-object)))))

    ;; Comparison.

    (define-syntax define-comparison
      (syntax-rules ()
        ((_ name (same? left right) holds)
         (define (name comparator mapping1 . mappings)
           (check-comparator 'name 1 comparator)
           (check-all 'name 2 (cons mapping1 mappings))
           (let ((same? (comparator-equality-predicate comparator)))
             (let loop ((left (fxmapping-tree mapping1)) (rest mappings))
               (or (null? rest)
                   (let ((right (fxmapping-tree (car rest))))
                     (and holds
                          (loop right (cdr rest)))))))))))

    (define-comparison fxmapping=? (same? left right)
      (and (= (tree-size left) (tree-size right)) (tree-subset? left right < same?)))
    (define-comparison fxmapping<? (same? left right)
      (and (< (tree-size left) (tree-size right)) (tree-subset? left right < same?)))
    (define-comparison fxmapping>? (same? left right)
      (and (> (tree-size left) (tree-size right)) (tree-subset? right left < same?)))
    (define-comparison fxmapping<=? (same? left right)
      (tree-subset? left right < same?))
    (define-comparison fxmapping>=? (same? left right)
      (tree-subset? right left < same?))

    ;; Set theory.

    (define (combine-all who position combine mappings)
      (check-all who position mappings)
      (let loop ((tree (fxmapping-tree (car mappings))) (rest (cdr mappings)))
        (if (null? rest)
            (make-fxmapping tree)
            (loop (combine tree (fxmapping-tree (car rest))) (cdr rest)))))

    (define (fxmapping-union mapping . mappings)
      (combine-all 'fxmapping-union 1
                   (lambda (left right) (tree-union left right < keep-left))
                   (cons mapping mappings)))

    (define (fxmapping-intersection mapping . mappings)
      (combine-all 'fxmapping-intersection 1
                   (lambda (left right) (tree-intersection left right < keep-left))
                   (cons mapping mappings)))

    (define (fxmapping-difference mapping . mappings)
      (combine-all 'fxmapping-difference 1
                   (lambda (left right) (tree-difference left right <))
                   (cons mapping mappings)))

    (define (fxmapping-xor left right)
      (combine-all 'fxmapping-xor 1
                   (lambda (left right) (tree-xor left right <))
                   (list left right)))

    (define (fxmapping-union/combinator combine mapping . mappings)
      (check-procedure 'fxmapping-union/combinator 1 combine)
      (combine-all 'fxmapping-union/combinator 2
                   (lambda (left right) (tree-union left right < combine))
                   (cons mapping mappings)))

    (define (fxmapping-intersection/combinator combine mapping . mappings)
      (check-procedure 'fxmapping-intersection/combinator 1 combine)
      (combine-all 'fxmapping-intersection/combinator 2
                   (lambda (left right) (tree-intersection left right < combine))
                   (cons mapping mappings)))

    ;; Parts.

    (define-syntax define-interval
      (syntax-rules ()
        ((_ name low? high?)
         (define (name mapping low high)
           (check 'name 1 mapping)
           (check-key 'name 2 low)
           (check-key 'name 3 high)
           (make-fxmapping
            (tree-below (tree-above (fxmapping-tree mapping) low < low?) high < high?))))))

    (define-interval fxmapping-open-interval #f #f)
    (define-interval fxmapping-closed-interval #t #t)
    (define-interval fxmapping-open-closed-interval #f #t)
    (define-interval fxmapping-closed-open-interval #t #f)

    (define-syntax define-submapping
      (syntax-rules ()
        ((_ name part inclusive?)
         (define (name mapping key)
           (check 'name 1 mapping)
           (check-key 'name 2 key)
           (make-fxmapping (part (fxmapping-tree mapping) key < inclusive?))))))

    (define-submapping fxsubmapping< tree-below #f)
    (define-submapping fxsubmapping<= tree-below #t)
    (define-submapping fxsubmapping> tree-above #f)
    (define-submapping fxsubmapping>= tree-above #t)

    (define (fxsubmapping= mapping key)
      (check 'fxsubmapping= 1 mapping)
      (check-key 'fxsubmapping= 2 key)
      (let ((node (tree-entry (fxmapping-tree mapping) key <)))
        (make-fxmapping (and node (tree-set #f key (node-value node) <)))))

    (define (fxmapping-split mapping key)
      (values (fxsubmapping<= mapping key) (fxsubmapping> mapping key)))))
