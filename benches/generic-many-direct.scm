;;; expect: 200000000
;;; The work of generic-many.scm with a call of a known procedure.
(import (scheme base) (scheme write) (only (canny base) bitwise-and))
(define-record-type <u> (make-u content) u? (content u-value))
(define (weight node) (u-value node))
(define only-u (vector (make-u 1) (make-u 2) (make-u 3) (make-u 4)))

(define (total-of-u count)
  (let loop ((i 0) (sum 0))
    (if (< i count)
        (loop (+ i 1) (+ sum (weight (vector-ref only-u (bitwise-and i 3)))))
        sum)))
(display (total-of-u 80000000))
(newline)
