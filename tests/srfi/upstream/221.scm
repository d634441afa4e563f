;;; The suite of SRFI 221's repository.

(import (scheme base) (suite))

(run-suite "srfi-221/srfi-221-test.scm"
           '((scheme base) (scheme case-lambda) (srfi 41) (srfi 158) (srfi 221))
           (lambda (form) (and (pair? form) (memq (car form) '(cond-expand include)))))
(suite-finish)
