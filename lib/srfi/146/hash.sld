;;; (srfi 146 hash): mappings by the hash of their keys.
;;;
;;; A hashmap is a comparator with a hash array mapped trie. Comparators need a hash function,
;;; unless their equality predicate is a well-known one. The linear-update procedures are the pure
;;; ones.

(define-library (srfi 146 hash)
  (export hashmap?
          hashmap hashmap-unfold hashmap-contains? hashmap-empty? hashmap-disjoint? hashmap-ref
          hashmap-ref/default hashmap-key-comparator hashmap-adjoin hashmap-set hashmap-replace
          hashmap-delete hashmap-delete-all hashmap-intern hashmap-update hashmap-update/default
          hashmap-pop hashmap-search hashmap-size hashmap-find hashmap-count hashmap-any?
          hashmap-every? hashmap-keys hashmap-values hashmap-entries hashmap-map hashmap-map->list
          hashmap-for-each hashmap-fold hashmap-filter hashmap-remove hashmap-partition
          hashmap-copy hashmap->alist alist->hashmap hashmap=? hashmap<? hashmap>? hashmap<=?
          hashmap>=? hashmap-union hashmap-intersection hashmap-difference hashmap-xor
          alist->hashmap!
          (rename hashmap-adjoin hashmap-adjoin!) (rename hashmap-set hashmap-set!)
          (rename hashmap-replace hashmap-replace!) (rename hashmap-delete hashmap-delete!)
          (rename hashmap-delete-all hashmap-delete-all!) (rename hashmap-intern hashmap-intern!)
          (rename hashmap-update hashmap-update!)
          (rename hashmap-update/default hashmap-update!/default) (rename hashmap-pop hashmap-pop!)
          (rename hashmap-search hashmap-search!) (rename hashmap-filter hashmap-filter!)
          (rename hashmap-remove hashmap-remove!) (rename hashmap-partition hashmap-partition!)
          (rename hashmap-union hashmap-union!) (rename hashmap-intersection hashmap-intersection!)
          (rename hashmap-difference hashmap-difference!) (rename hashmap-xor hashmap-xor!)
          comparator? hashmap-comparator make-hashmap-comparator)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data comparators) (canny data hash-tries) (canny data mappings))
  (begin

    (define-record-type <hashmap>
      (make-hashmap comparator hash trie)
      hashmap?
      (comparator comparator-of)
      (hash hash-of)
      (trie hashmap-trie))

    (define (empty who comparator)
      (check-comparator who 1 comparator)
      (let ((same? (comparator-equality-predicate comparator)))
        (make-hashmap
         comparator
         (cond ((comparator-hashable? comparator) (comparator-hash-function comparator))
               ((eq? same? eq?) hash-by-identity)
               ((eq? same? eqv?) hash-by-eqv)
               ((eq? same? equal?) hash)
               ((eq? same? string=?) string-hash)
               ((eq? same? string-ci=?) string-ci-hash)
               (else (%type-error who 1 "comparator with a hash function" comparator)))
         #f)))

    (define (equality-of hashmap)
      (comparator-equality-predicate (comparator-of hashmap)))

    (define (key-hash hashmap key)
      (trie-hash ((hash-of hashmap) key)))

    (define (with-trie hashmap trie)
      (if (eq? trie (hashmap-trie hashmap))
          hashmap
          (make-hashmap (comparator-of hashmap) (hash-of hashmap) trie)))

    (define (size hashmap)
      (trie-size (hashmap-trie hashmap)))

    (define (lookup hashmap key if-absent if-found)
      (let ((leaf (trie-entry (hashmap-trie hashmap)
                              (key-hash hashmap key)
                              key
                              (equality-of hashmap))))
        (if leaf
            (if-found (leaf-key leaf) (leaf-value leaf))
            (if-absent))))

    (define (insert hashmap key value)
      (with-trie hashmap
        (trie-set (hashmap-trie hashmap)
                  (key-hash hashmap key)
                  key
                  value
                  (equality-of hashmap))))

    (define (delete hashmap key)
      (with-trie hashmap
        (trie-delete (hashmap-trie hashmap)
                     (key-hash hashmap key)
                     key
                     (equality-of hashmap))))

    (define (fold procedure state hashmap)
      (trie-fold procedure state (hashmap-trie hashmap)))

    (define (until procedure hashmap)
      (trie-until procedure (hashmap-trie hashmap)))

    (define-mapping-procedures
      (hashmap? "hashmap" empty comparator-of size lookup insert delete fold until)
      hashmap hashmap-unfold hashmap-contains? hashmap-empty? hashmap-disjoint? hashmap-ref
      hashmap-ref/default hashmap-key-comparator hashmap-adjoin hashmap-set hashmap-replace
      hashmap-delete hashmap-delete-all hashmap-intern hashmap-update hashmap-update/default
      hashmap-pop hashmap-search hashmap-size hashmap-find hashmap-count hashmap-any?
      hashmap-every? hashmap-keys hashmap-values hashmap-entries hashmap-map hashmap-map->list
      hashmap-for-each hashmap-fold hashmap-filter hashmap-remove hashmap-partition hashmap-copy
      hashmap->alist alist->hashmap hashmap=? hashmap<? hashmap>? hashmap<=? hashmap>=?
      hashmap-union hashmap-intersection hashmap-difference hashmap-xor alist->hashmap!)

    ;; The order of the associations does not matter to the sum of their hashes.
    (define (make-hashmap-comparator comparator)
      (check-comparator 'make-hashmap-comparator 1 comparator)
      (make-comparator
       hashmap?
       (lambda (left right) (hashmap=? comparator left right))
       #f
       (and (comparator-hashable? comparator)
            (lambda (hashmap)
              (fold (lambda (key value state)
                      (bitwise-xor state
                                   (combine-hashes (key-hash hashmap key)
                                                   (comparator-hash comparator value))))
                    (size hashmap)
                    hashmap)))))

    (define hashmap-comparator (make-hashmap-comparator default-comparator))

    ;; The default comparator knows hashmaps, as the SRFI's suite expects.
    (comparator-register-default! hashmap-comparator)))
