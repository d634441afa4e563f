;;; expect: 1000000 499999500000
;;; A hash table with a million integer keys, filled and read.
(import (scheme base) (scheme write) (srfi 69))
(define (fill! table count)
  (do ((i 0 (+ i 1)))
      ((= i count))
    (hash-table-set! table (* i 7) i)))
(define (sum table count)
  (let loop ((i 0) (total 0))
    (if (= i count)
        total
        (loop (+ i 1) (+ total (hash-table-ref/default table (* i 7) 0))))))
(define table (make-hash-table))
(fill! table 1000000)
(display (hash-table-size table))
(display " ")
(display (sum table 1000000))
(newline)
