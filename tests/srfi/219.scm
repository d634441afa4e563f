;; SRFI 219: define with curried procedures.

(import (except (scheme base) define) (srfi 219) (canny test))

(define x 5)
(test 5 x)
(define (f a . b) (list a b))
(test '(1 (2)) (f 1 2))
(define ((g a) b) (define c (+ a b)) c)
(test 3 ((g 1) 2))
(define (((h a . more) b) . c) (list a more b c))
(test '(1 (2) 3 (4 5)) (((h 1 2) 3) 4 5))
(define ((k)) 'deep)
(test 'deep ((k)))
(test 7 (let () (define ((in a) b) (+ a b)) ((in 3) 4)))

(test-finish)
