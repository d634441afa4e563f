;; SRFI 216: the prelude of SICP.

(import (scheme base) (scheme lazy) (srfi 216) (canny test))

(test '(#f #t ()) (list false true nil))
(test-true (exact-integer? (runtime)))
(test-true (<= (let ((before (runtime))) before) (runtime)))
(test-true (let ((n (random 10))) (and (exact-integer? n) (< -1 n 10))))
(test 0 (random 1))
(test-true (let ((x (random 2.))) (and (inexact? x) (<= 0 x) (< x 2))))
(test-error (random 0))
(test-error (random 'x))
(test 11 (let ((x 10)) (parallel-execute (lambda () (set! x (+ x 1)))) x))
(test '(#f #t #t)
      (let* ((cell (list false)) (a (test-and-set! cell)) (b (test-and-set! cell)))
        (list a b (car cell))))
(define (integers n) (cons-stream n (integers (+ n 1))))
(test '(0 1) (let ((s (integers 0))) (list (car s) (car (force (cdr s))))))
(test-true (stream-null? the-empty-stream))
(test-false (stream-null? (integers 0)))

(test-finish)
