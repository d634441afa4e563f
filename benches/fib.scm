;;; expect: 9227465
;;; Calls of a known procedure, small integer arithmetic.
(import (scheme base) (scheme write))
(define (fib n)
  (if (< n 2)
      n
      (+ (fib (- n 1)) (fib (- n 2)))))
(display (fib 35))
(newline)
