;; SRFI 31: rec.

(import (scheme base) (scheme lazy) (srfi 31) (canny test))

(test 120 ((rec (f n) (if (= n 0) 1 (* n (f (- n 1))))) 5))
(test 120 ((rec f (lambda (n) (if (= n 0) 1 (* n (f (- n 1)))))) 5))
(test '(3 2 1 0) ((rec (f . l) (if (= 3 (car l)) l (apply f (+ 1 (car l)) l))) 0))
(test '(1 1 1)
  (let ((ones (rec s (cons 1 (delay s)))))
    (list (car ones) (car (force (cdr ones))) (car (force (cdr (force (cdr ones))))))))
(test 7 ((rec (f x) (define y (+ x 1)) y) 6))

(test-finish)
