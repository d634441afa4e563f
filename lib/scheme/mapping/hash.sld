;;; (scheme mapping hash): R7RS-large's name of (srfi 146 hash).

(define-library (scheme mapping hash)
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
          hashmap-adjoin! hashmap-set!
          hashmap-replace! hashmap-delete!
          hashmap-delete-all! hashmap-intern!
          hashmap-update!
          hashmap-update!/default hashmap-pop!
          hashmap-search! hashmap-filter!
          hashmap-remove! hashmap-partition!
          hashmap-union! hashmap-intersection!
          hashmap-difference! hashmap-xor!
          comparator? hashmap-comparator make-hashmap-comparator)
  (import (srfi 146 hash)))
