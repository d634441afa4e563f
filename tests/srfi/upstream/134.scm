;;; The suite of SRFI 134's repository.

(import (scheme base) (suite))

(run-suite "srfi-134/srfi-134-tests.scm"
           '((scheme base) (scheme write) (srfi 1) (srfi 134) (srfi 158))
           (lambda (form) (and (pair? form) (memq (car form) '(cond-expand include test-exit))))
           #f
           #t)
(suite-finish)
