;;; expect: 10000000
;;; A million frames deep, ten times.
(import (scheme base) (scheme write))
(define (depth n)
  (if (= n 0)
      0
      (+ 1 (depth (- n 1)))))
(define (repeat times total)
  (if (= times 0)
      total
      (repeat (- times 1) (+ total (depth 1000000)))))
(display (repeat 10 0))
(newline)
