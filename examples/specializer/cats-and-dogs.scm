;;; expect: 15000000
;;; Two record types: a procedure that asks for both, and its callers.
(import (scheme base) (scheme write))
(define-record-type cat (make-cat weight) cat? (weight cat-weight))
(define-record-type dog (make-dog weight) dog? (weight dog-weight))
(define (weight animal)
  (cond ((cat? animal) (cat-weight animal))
        ((dog? animal) (dog-weight animal))
        (else 0)))
(define animals (vector (make-cat 3) (make-dog 12)))
(define (total count)
  (let loop ((i 0) (sum 0))
    (if (= i count)
        sum
        (loop (+ i 1) (+ sum (weight (vector-ref animals (remainder i 2))))))))
(display (total 2000000))
(newline)
