;;; expect: 25000000
;;; Calls of closures that are not known at the call.
(import (scheme base) (scheme write))
(define (make-adder n)
  (lambda (x) (+ x n)))
(define (apply-alternately f g limit)
  (let loop ((i 0) (value 0) (f f) (g g))
    (if (< i limit)
        (loop (+ i 1) (f value) g f)
        value)))
(display (apply-alternately (make-adder 2) (make-adder 0) 25000000))
(newline)
