;;; The suite of SRFI 207's repository.

(import (scheme base) (suite))

(run-suite "srfi-207/srfi-207-test.scm"
           '((scheme base) (scheme write) (only (srfi 1) list-tabulate every)
             (only (srfi 158) generator->list) (srfi 207))
           ;; It would define a `check` of its own.
           (lambda (form) (and (pair? form) (eq? (car form) 'cond-expand))))
(suite-finish)
