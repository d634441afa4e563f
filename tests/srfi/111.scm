;;; SRFI 111: boxes.

(import (scheme base) (srfi 111) (canny test))

(define one (box 1))
(test #t (box? one))
(test #f (box? 1))
(test #f (box? (vector 1)))
(test 1 (unbox one))
(set-box! one '(2))
(test '(2) (unbox one))
(test #f (eq? (box 1) (box 1)))
(test #t (eqv? one one))
(test-error (unbox 1))
(test-error (set-box! 1 2))
(test-finish)
