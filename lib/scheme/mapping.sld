;;; (scheme mapping): R7RS-large's name of SRFI 146.

(define-library (scheme mapping)
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
          mapping-adjoin! mapping-set!
          mapping-replace! mapping-delete!
          mapping-delete-all! mapping-intern!
          mapping-update!
          mapping-update!/default mapping-pop!
          mapping-search! mapping-filter!
          mapping-remove! mapping-partition!
          mapping-union! mapping-intersection!
          mapping-difference! mapping-xor!
          mapping/ordered mapping-unfold/ordered alist->mapping/ordered alist->mapping/ordered!
          mapping-min-key mapping-max-key mapping-min-value mapping-max-value
          mapping-min-entry mapping-max-entry mapping-key-predecessor mapping-key-successor
          mapping-range= mapping-range< mapping-range> mapping-range<= mapping-range>=
          mapping-range=! mapping-range<!
          mapping-range>! mapping-range<=!
          mapping-range>=!
          mapping-split mapping-split!
          mapping-catenate mapping-catenate!
          mapping-map/monotone mapping-map/monotone!
          mapping-fold/reverse
          comparator? mapping-comparator make-mapping-comparator)
  (import (srfi 146)))
