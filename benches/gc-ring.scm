;;; expect: 30000000
;;; Collector: thirty million young pairs stored into an old vector of a million.
(import (scheme base) (scheme write))
(define (run size stores)
  (let ((ring (make-vector size '())))
    (let loop ((i 0) (at 0))
      (if (< i stores)
          (begin
            (vector-set! ring at (cons i i))
            (loop (+ i 1) (if (= (+ at 1) size) 0 (+ at 1))))
          (let sum ((k 0) (newest 0))
            (if (< k size)
                (sum (+ k 1)
                     (if (> (car (vector-ref ring k)) newest) (car (vector-ref ring k)) newest))
                (+ newest 1)))))))
(display (run 1000000 30000000))
(newline)
