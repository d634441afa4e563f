;; SRFI 232: flexible curried procedures.

(import (scheme base) (srfi 232) (canny test))

(define-curried (add x y z) (+ x y z))
(test 6 (add 1 2 3))
(test 6 ((add 1) 2 3))
(test 6 ((add 1 2) 3))
(test 6 (((add 1) 2) 3))
(test 6 ((((add)) 1 2) 3))
(test '(3 4) (map (add 1 1) '(1 2)))
(test '(1 2 (3 4)) ((curried (a b . rest) (list a b rest)) 1 2 3 4))
(test '(1 2 (3 4)) (((curried (a b . rest) (list a b rest)) 1) 2 3 4))
(test '(1 2 ()) (((curried (a b . rest) (list a b rest)) 1) 2))
(test '(1 2) ((curried args args) 1 2))
(test '() ((curried args args)))
(test 6 ((curried (a) (curried (b) (curried (c) (+ a b c)))) 1 2 3))
(test 5 ((curried () (curried (x y) (+ x y))) 2 3))
(test 7 (curried () 7))
(test '(4 30) (((curried (x) (curried () (curried (y z) (list x (* y z))))) 4 5) 6))
(test-error ((curried (a) a) 1 2))
;; A partial application can be used again.
(let ((add1 (add 1)))
  (test 4 (add1 1 2))
  (test 13 ((add1 2) 10))
  (test 6 (add1 2 3)))

(test-finish)
