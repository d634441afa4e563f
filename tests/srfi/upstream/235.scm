;;; The suite of SRFI 235's repository.

(import (scheme base) (suite))

(run-suite "srfi-235/srfi-235-test.scm"
           '((scheme base) (scheme case-lambda) (srfi 1) (srfi 235))
           (lambda (form) (and (pair? form) (memq (car form) '(cond-expand include)))))
(suite-finish)
