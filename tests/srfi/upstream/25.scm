;;; The suite of SRFI 25's repository: forms that raise when something is wrong.

(import (scheme base) (suite))

(run-suite "srfi-25/test.scm" '((scheme base) (scheme write) (srfi 25))
           (lambda (form) #f) #f #f '(or let let*))
(suite-finish)
