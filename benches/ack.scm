;;; expect: 4093
;;; Deep recursion mixed with tail calls.
(import (scheme base) (scheme write))
(define (ack m n)
  (cond ((= m 0) (+ n 1))
        ((= n 0) (ack (- m 1) 1))
        (else (ack (- m 1) (ack m (- n 1))))))
(ack 3 8)
(ack 3 8)
(display (ack 3 9))
(newline)
