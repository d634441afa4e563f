;;; The suite of SRFI 196's repository.

(import (scheme base) (suite))

(run-suite "srfi-196/srfi-196-test.scm"
           '((scheme base) (scheme write) (srfi 1) (srfi 158) (srfi 196))
           (lambda (form) (and (pair? form) (memq (car form) '(cond-expand include)))))
(suite-finish)
