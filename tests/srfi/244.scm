;; SRFI 244: define-values.

(import (except (scheme base) define-values) (srfi 244) (canny test))

(define-values (x y) (values 1 2))
(test 3 (+ x y))
(define-values (a . b) (values 1 2))
(test '(1 2) (cons a b))
(define-values all (values 1 2 3))
(test '(1 2 3) all)
(define-values () (values))
(test '(1 2 (3)) (let () (define-values (p q . r) (values 1 2 3)) (list p q r)))
(test '(#t #f)
  (let ()
    (define-values (even odd)
      (values (lambda (n) (or (= n 0) (odd (- n 1)))) (lambda (n) (and (> n 0) (even (- n 1))))))
    (list (even 10) (odd 10))))
(test-error (let () (define-values (p q) (values 1 2 3)) p))

(test-finish)
