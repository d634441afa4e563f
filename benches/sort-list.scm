;;; expect: 181 #t
;;; The library's sort of a list of a million numbers.
(import (scheme base) (scheme write) (srfi 132))
(define (random-numbers count)
  (let loop ((i 0) (seed 42) (numbers '()))
    (if (= i count)
        numbers
        (let ((next (modulo (+ (* seed 1103515245) 12345) 2147483648)))
          (loop (+ i 1) next (cons next numbers))))))
(define (sorted? numbers)
  (or (null? numbers)
      (null? (cdr numbers))
      (and (<= (car numbers) (cadr numbers))
           (sorted? (cdr numbers)))))
(define sorted (list-sort < (random-numbers 1000000)))
(display (car sorted))
(display " ")
(display (sorted? sorted))
(newline)
