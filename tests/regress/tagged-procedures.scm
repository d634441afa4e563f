;;; Tagged procedures that capture nothing: each evaluation makes one of its own, in programs as in
;;; code that is loaded, where the compiler makes one procedure for all.

(import (scheme base) (srfi 229) (canny test))

(define (make tag) (lambda/tag tag (x) x))

(define first (make 'a))
(define second (make 'b))

(test 'a (procedure-tag first))
(test 'b (procedure-tag second))
(test #f (eqv? first second))
(test '(1 2) (list (first 1) (second 2)))

(define tagged (map make '(1 2 3 4)))

(test '(1 2 3 4) (map procedure-tag tagged))

(test-finish)
