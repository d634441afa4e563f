;;; Folding a call at compile time gives what the call gives at run time.

(import (scheme base) (scheme case-lambda) (canny test))

(define minus-zero (string->number "-0.0"))

(test-group "sums keep the sign of zero"
  (test -0.0 (+ -0.0 -0.0))
  (test -0.0 (+ -0.0))
  (test -0.0 (+ -0.0 -0.0 -0.0))
  (test (+ minus-zero minus-zero) (+ -0.0 -0.0))
  (test (+ 0 minus-zero) (+ 0 -0.0))
  (test (* 1 minus-zero) (* 1 -0.0))
  (test (- minus-zero) (- -0.0)))

(test-group "procedures without clauses"
  (test #t (procedure? (case-lambda)))
  (test-error ((case-lambda))))

(test-finish)
