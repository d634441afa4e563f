;; SRFI 229: tagged procedures.

(import (scheme base) (srfi 229) (canny test))

(define f (lambda/tag 42 (x) (* x x)))
(test #t (procedure/tag? f))
(test 9 (f 3))
(test 42 (procedure-tag f))
(define f* (lambda/tag 43 (x) (* x x)))
(test #f (eqv? f f*))
(test '(42 43) (list (procedure-tag f) (procedure-tag f*)))
(define g (let ((y 10)) (lambda/tag y () (set! y (+ y 1)) y)))
(test '(10 10 11 10)
      (let* ((a (procedure-tag g)) (b (let ((y 9)) (procedure-tag g))) (c (g)))
        (list a b c (procedure-tag g))))
(define h
  (let ((box (vector #f)))
    (case-lambda/tag box (() (vector-ref box 0)) ((val) (vector-set! box 0 val)))))
(h 1)
(test '(1 1) (list (vector-ref (procedure-tag h) 0) (h)))
(test #f (procedure/tag? car))
(test #f (procedure/tag? 5))
(test #f (procedure/tag? (lambda (x) x)))
(test-error (procedure-tag car))
;; Each evaluation makes a procedure with its own tag.
(define (make tag) (lambda/tag tag (x) x))
(test '(a b #f)
      (let ((a (make 'a)) (b (make 'b))) (list (procedure-tag a) (procedure-tag b) (eqv? a b))))
(test '(1 (2 3)) ((lambda/tag #f (a . b) (define c b) (list a c)) 1 2 3))

(test-finish)
