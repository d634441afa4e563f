;;; A program that forgot (scheme base) gets one note, whatever it uses.
(import (scheme write))
(define (half n)
  (if (even? n) (quotient n 2) '()))
(let loop ((i 0))
  (when (< i 3)
    (display (half i))
    (loop (+ i 1))))
