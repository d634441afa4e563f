;;; The suite of SRFI 214's repository.

(import (scheme base) (suite))

(run-suite "srfi-214/implementation/tests.scm"
           '((scheme base) (scheme write) (srfi 214))
           (lambda (form) (and (pair? form) (memq (car form) '(include exit)))))
(suite-finish)
