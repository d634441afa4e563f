(import (scheme base) (scheme write))

;; The length of a sequence, which is nearly always a vector.
(define (size sequence)
  (if (vector? sequence)
      (vector-length sequence)
      (length sequence)))

(define (total sequences sum)
  (if (null? sequences)
      sum
      (total (cdr sequences) (+ sum (size (car sequences))))))

(define vectors (make-list 199 #(1 2 3)))

(let loop ((i 0) (sum 0))
  (if (= i 1000)
      (begin (display sum) (newline))
      (loop (+ i 1) (+ sum (total (cons '(1 2) vectors) 0)))))
