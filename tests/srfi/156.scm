;; SRFI 156: infix predicates.

(import (scheme base) (scheme inexact) (srfi 156) (canny test))

(test #t (is 1 < 2))
(test #f (isnt 1 < 2))
(test #t (is 1 < 2 < 3))
(test #f (is 1 < 2 < 2))
(test #t (is 1 < 2 <= 2 finite?))
(test #t (is 3 odd?))
(test #t (isnt 4 odd?))
(test '(#t #f) (map (is _ < 2) '(1 3)))
(test '(#f #t) (map (isnt _ odd?) '(1 2)))
(test #t ((is _ < _) 1 2))
(test #t ((is 1 < _ < _) 2 3))
(test #t ((is _ eq? 'a) 'a))
;; A middle operand is evaluated once.
(test 1 (let ((n 0)) (is 0 < (begin (set! n (+ n 1)) n) < 5) n))

(test-finish)
