;; SRFI 227: optional arguments.

(import (scheme base) (srfi 227) (srfi 227 definition) (canny test))

(define x 10)
(define f (opt-lambda (a (x (+ a 1)) (y x)) (list a x y)))
(define a 100)
;; The defaults do not see the parameters.
(test '(1 101 10) (f 1))
(test '(1 2 10) (f 1 2))
(test '(1 2 3) (f 1 2 3))
(test-error (f))
(test-error (f 1 2 3 4))
(test '(1 2 (3)) ((opt-lambda (a (b 5) . c) (list a b c)) 1 2 3))
(test '(1 5 ()) ((opt-lambda (a (b 5) . c) (list a b c)) 1))
(test '(1 (2)) ((opt-lambda (a . b) (list a b)) 1 2))
(test '(1 2) ((opt-lambda all all) 1 2))
(test '() ((opt-lambda () '())))
(test '(7) ((opt-lambda ((a 7)) (list a))))
(test '(#f) ((opt-lambda ((a 7)) (list a)) #f))

(define g (opt*-lambda (a (b (+ a 1)) (c (+ b 1))) (define d (+ c 1)) (list a b c d)))
(test '(1 2 3 4) (g 1))
(test '(1 5 6 7) (g 1 5))
(test '(1 5 9 10) (g 1 5 9))
(test-error (g))
(test-error (g 1 2 3 4))
(test '(1 2 (3)) ((opt*-lambda (a (b 5) . c) (list a b c)) 1 2 3))
(test '((1)) ((opt*-lambda all (list all)) 1))

(test '(1 (2)) (let-optionals '(1 2) (x . y) (list x y)))
(test '(1 2 3) (let-optionals '(1) (x (y 2) (z 3)) (list x y z)))
(test '(1 3 4) (let-optionals* '(1 3) (x (y 2) (z (+ x y))) (list x y z)))
(test-error (let-optionals '(1 2) (x) x))

(define-optionals (h x (y a)) (list x y))
(test '(0 100) (h 0))
(define-optionals* (k x (y (* x x)) . z) (list x y z))
(test '(3 9 ()) (k 3))
(test '(3 4 (5)) (k 3 4 5))

(test-finish)
