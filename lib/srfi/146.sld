;;; (srfi 146): mappings by the order of their keys.
;;;
;;; A mapping is a comparator with a weight-balanced tree. The linear-update procedures are the pure
;;; ones.

(define-library (srfi 146)
  (export mapping?
          mapping mapping-unfold mapping-contains? mapping-empty? mapping-disjoint? mapping-ref
          mapping-ref/default mapping-key-comparator mapping-adjoin mapping-set mapping-replace
          mapping-delete mapping-delete-all mapping-intern mapping-update mapping-update/default
          mapping-pop mapping-search mapping-size mapping-find mapping-count mapping-any?
          mapping-every? mapping-keys mapping-values mapping-entries mapping-map mapping-map->list
          mapping-for-each mapping-fold mapping-filter mapping-remove mapping-partition
          mapping-copy mapping->alist alist->mapping mapping=? mapping<? mapping>? mapping<=?
          mapping>=? mapping-union mapping-intersection mapping-difference mapping-xor
          alist->mapping!
          (rename mapping-adjoin mapping-adjoin!) (rename mapping-set mapping-set!)
          (rename mapping-replace mapping-replace!) (rename mapping-delete mapping-delete!)
          (rename mapping-delete-all mapping-delete-all!) (rename mapping-intern mapping-intern!)
          (rename mapping-update mapping-update!)
          (rename mapping-update/default mapping-update!/default) (rename mapping-pop mapping-pop!)
          (rename mapping-search mapping-search!) (rename mapping-filter mapping-filter!)
          (rename mapping-remove mapping-remove!) (rename mapping-partition mapping-partition!)
          (rename mapping-union mapping-union!) (rename mapping-intersection mapping-intersection!)
          (rename mapping-difference mapping-difference!) (rename mapping-xor mapping-xor!)
          mapping/ordered mapping-unfold/ordered alist->mapping/ordered alist->mapping/ordered!
          mapping-min-key mapping-max-key mapping-min-value mapping-max-value
          mapping-min-entry mapping-max-entry mapping-key-predecessor mapping-key-successor
          mapping-range= mapping-range< mapping-range> mapping-range<= mapping-range>=
          (rename mapping-range= mapping-range=!) (rename mapping-range< mapping-range<!)
          (rename mapping-range> mapping-range>!) (rename mapping-range<= mapping-range<=!)
          (rename mapping-range>= mapping-range>=!)
          mapping-split (rename mapping-split mapping-split!)
          mapping-catenate mapping-catenate!
          mapping-map/monotone (rename mapping-map/monotone mapping-map/monotone!)
          mapping-fold/reverse
          comparator? mapping-comparator make-mapping-comparator)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data comparators) (canny data balanced-trees) (canny data mappings))
  (begin

    (define-record-type <mapping>
      (make-mapping comparator tree)
      mapping?
      (comparator comparator-of)
      (tree mapping-tree))

    (define (empty who comparator)
      (check-ordered-comparator who 1 comparator)
      (make-mapping comparator #f))

    (define (order-of mapping)
      (comparator-ordering-predicate (comparator-of mapping)))

    (define (with-tree mapping tree)
      (if (eq? tree (mapping-tree mapping))
          mapping
          (make-mapping (comparator-of mapping) tree)))

    (define (size mapping)
      (tree-size (mapping-tree mapping)))

    (define (lookup mapping key if-absent if-found)
      (let ((node (tree-entry (mapping-tree mapping) key (order-of mapping))))
        (if node
            (if-found (node-key node) (node-value node))
            (if-absent))))

    (define (insert mapping key value)
      (make-mapping (comparator-of mapping)
                    (tree-set (mapping-tree mapping) key value (order-of mapping))))

    (define (delete mapping key)
      (with-tree mapping (tree-delete (mapping-tree mapping) key (order-of mapping))))

    (define (fold procedure state mapping)
      (tree-fold procedure state (mapping-tree mapping)))

    (define (until procedure mapping)
      (tree-fold-entries-until procedure (mapping-tree mapping)))

    (define-mapping-procedures
      (mapping? "mapping" empty comparator-of size lookup insert delete fold until)
      mapping mapping-unfold mapping-contains? mapping-empty? mapping-disjoint? mapping-ref
      mapping-ref/default mapping-key-comparator mapping-adjoin mapping-set mapping-replace
      mapping-delete mapping-delete-all mapping-intern mapping-update mapping-update/default
      mapping-pop mapping-search mapping-size mapping-find mapping-count mapping-any?
      mapping-every? mapping-keys mapping-values mapping-entries mapping-map mapping-map->list
      mapping-for-each mapping-fold mapping-filter mapping-remove mapping-partition mapping-copy
      mapping->alist alist->mapping mapping=? mapping<? mapping>? mapping<=? mapping>=?
      mapping-union mapping-intersection mapping-difference mapping-xor alist->mapping!)

    (define (check who position object)
      (check-argument who position mapping? "mapping" object))

    ;; Construction from keys in order.

    ;; The tree of reversed associations, whose keys must go down strictly.
    (define (tree-of-reversed who comparator reversed)
      (let ((less? (comparator-ordering-predicate comparator)))
        (let loop ((rest reversed))
          (if (and (pair? rest) (pair? (cdr rest)))
              (begin
                (if (not (less? (caadr rest) (caar rest)))
                    (error "the keys are not in order" who (caadr rest) (caar rest)))
                (loop (cdr rest)))))
        (tree-from-sorted (reverse reversed))))

    (define (from-reversed who comparator reversed)
      (check-ordered-comparator who 1 comparator)
      (make-mapping comparator (tree-of-reversed who comparator reversed)))

    (define (mapping/ordered comparator . arguments)
      (let loop ((rest arguments) (reversed '()))
        (cond ((null? rest) (from-reversed 'mapping/ordered comparator reversed))
              ((null? (cdr rest)) (error "a key has no value" 'mapping/ordered (car rest)))
              (else (loop (cddr rest) (cons (cons (car rest) (cadr rest)) reversed))))))

    (define (mapping-unfold/ordered stop? mapper successor seed comparator)
      (check-procedure 'mapping-unfold/ordered 1 stop?)
      (check-procedure 'mapping-unfold/ordered 2 mapper)
      (check-procedure 'mapping-unfold/ordered 3 successor)
      (let loop ((seed seed) (reversed '()))
        (if (stop? seed)
            (from-reversed 'mapping-unfold/ordered comparator reversed)
            (let-values (((key value) (mapper seed)))
              (loop (successor seed) (cons (cons key value) reversed))))))

    (define (alist->mapping/ordered comparator alist)
      (from-reversed 'alist->mapping/ordered comparator (reverse alist)))

    (define (alist->mapping/ordered! mapping alist)
      (check 'alist->mapping/ordered! 1 mapping)
      (let* ((comparator (comparator-of mapping))
             (tree (tree-of-reversed 'alist->mapping/ordered! comparator (reverse alist))))
        (make-mapping comparator
                      (tree-union (mapping-tree mapping) tree (order-of mapping)
                                  (lambda (key left right) left)))))

    ;; The ends.

    (define (end-node who end mapping)
      (check who 1 mapping)
      (if (not (mapping-tree mapping))
          (%range-error who 1 "the mapping is empty" mapping))
      (end (mapping-tree mapping)))

    (define (mapping-min-key mapping)
      (node-key (end-node 'mapping-min-key tree-first mapping)))
    (define (mapping-max-key mapping)
      (node-key (end-node 'mapping-max-key tree-last mapping)))
    (define (mapping-min-value mapping)
      (node-value (end-node 'mapping-min-value tree-first mapping)))
    (define (mapping-max-value mapping)
      (node-value (end-node 'mapping-max-value tree-last mapping)))

    (define (mapping-min-entry mapping)
      (let ((node (end-node 'mapping-min-entry tree-first mapping)))
        (values (node-key node) (node-value node))))

    (define (mapping-max-entry mapping)
      (let ((node (end-node 'mapping-max-entry tree-last mapping)))
        (values (node-key node) (node-value node))))

    (define (mapping-key-predecessor mapping object failure)
      (check 'mapping-key-predecessor 1 mapping)
      (let ((node (tree-before (mapping-tree mapping) object (order-of mapping))))
        (if node (node-key node) (failure))))

    (define (mapping-key-successor mapping object failure)
      (check 'mapping-key-successor 1 mapping)
      (let ((node (tree-after (mapping-tree mapping) object (order-of mapping))))
        (if node (node-key node) (failure))))

    ;; Ranges.

    (define (singleton node)
      (and node (tree-link #f (node-key node) (node-value node) #f)))

    (define (with-node before node after)
      (if node
          (tree-link before (node-key node) (node-value node) after)
          (tree-concatenate before after)))

    (define-syntax define-range
      (syntax-rules ()
        ((_ name (before node after) tree)
         (define (name mapping object)
           (check 'name 1 mapping)
           (let-values (((before node after)
                         (tree-split (mapping-tree mapping) object (order-of mapping))))
             (make-mapping (comparator-of mapping) tree))))))

    (define-range mapping-range= (before node after) (singleton node))
    (define-range mapping-range< (before node after) before)
    (define-range mapping-range> (before node after) after)
    (define-range mapping-range<= (before node after) (with-node before node #f))
    (define-range mapping-range>= (before node after) (with-node #f node after))

    (define (mapping-split mapping object)
      (check 'mapping-split 1 mapping)
      (let-values (((before node after)
                    (tree-split (mapping-tree mapping) object (order-of mapping))))
        (let ((comparator (comparator-of mapping)))
          (values (make-mapping comparator before)
                  (make-mapping comparator (with-node before node #f))
                  (make-mapping comparator (singleton node))
                  (make-mapping comparator (with-node #f node after))
                  (make-mapping comparator after)))))

    (define (mapping-catenate comparator left key value right)
      (check-ordered-comparator 'mapping-catenate 1 comparator)
      (check 'mapping-catenate 2 left)
      (check 'mapping-catenate 5 right)
      (let ((less? (comparator-ordering-predicate comparator))
            (left-tree (mapping-tree left))
            (right-tree (mapping-tree right)))
        (if (not (and (or (not left-tree) (less? (node-key (tree-last left-tree)) key))
                      (or (not right-tree) (less? key (node-key (tree-first right-tree))))))
            (error "mapping-catenate: the keys are not in order" key))
        (make-mapping comparator (tree-link left-tree key value right-tree))))

    (define (mapping-catenate! left key value right)
      (check 'mapping-catenate! 1 left)
      (mapping-catenate (comparator-of left) left key value right))

    (define (mapping-map/monotone procedure comparator mapping)
      (check-procedure 'mapping-map/monotone 1 procedure)
      (check 'mapping-map/monotone 3 mapping)
      (from-reversed 'mapping-map/monotone
                     comparator
                     (fold (lambda (key value reversed)
                             (let-values (((key value) (procedure key value)))
                               (cons (cons key value) reversed)))
                           '()
                           mapping)))

    (define (mapping-fold/reverse procedure state mapping)
      (check-procedure 'mapping-fold/reverse 1 procedure)
      (check 'mapping-fold/reverse 3 mapping)
      (tree-fold-right procedure state (mapping-tree mapping)))

    ;; Comparators.

    ;; Whether `left` comes before `right`: the associations in order are compared by their keys,
    ;; then by their values, and what ends first comes first.
    (define (before? comparator left right)
      (check-comparators 'make-mapping-comparator left right)
      (let ((key-comparator (comparator-of left))
            (next-left (tree->generator (mapping-tree left)))
            (next-right (tree->generator (mapping-tree right))))
        (let loop ()
          (let ((left (next-left)) (right (next-right)))
            (cond ((not left) (and right #t))
                  ((not right) #f)
                  ((<? key-comparator (node-key left) (node-key right)) #t)
                  ((<? key-comparator (node-key right) (node-key left)) #f)
                  ((<? comparator (node-value left) (node-value right)) #t)
                  ((=? comparator (node-value left) (node-value right)) (loop))
                  (else #f))))))

    (define (check-comparators who left right)
      (if (not (eq? (comparator-of left) (comparator-of right)))
          (error "the comparators differ" who left right)))

    (define (make-mapping-comparator comparator)
      (check-comparator 'make-mapping-comparator 1 comparator)
      (make-comparator mapping?
                       (lambda (left right) (mapping=? comparator left right))
                       (and (comparator-ordered? comparator)
                            (lambda (left right) (before? comparator left right)))
                       #f))

    (define mapping-comparator (make-mapping-comparator default-comparator))

    ;; The default comparator knows mappings, as the SRFI's suite expects.
    (comparator-register-default! mapping-comparator)))
