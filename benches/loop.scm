;;; expect: 100000000
;;; An empty counting loop: dispatch, and the poll for interrupts.
(import (scheme base) (scheme write))
(define (count-to limit)
  (let loop ((i 0))
    (if (< i limit)
        (loop (+ i 1))
        i)))
(display (count-to 100000000))
(newline)
