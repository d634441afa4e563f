;;; The suite of SRFI 128's repository.

(import (scheme base) (suite))

(run-suite "srfi-128/comparators/comparators-test.scm"
           '((scheme base) (scheme char) (scheme write) (srfi 128))
           (lambda (form) (and (pair? form) (memq (car form) '(load)))))
(suite-finish)
