;;; Compile as the peers' table says: standard procedures are not redefined.
(declare (standard-bindings) (extended-bindings) (block))
(define (make-hash-table) (make-table))
(define (hash-table-set! table key value) (table-set! table key value))
(define (hash-table-ref/default table key default) (table-ref table key default))
(define (hash-table-size table) (table-length table))
