;;; The suite of SRFI 228's repository.

(import (scheme base) (suite))

(run-suite "srfi-228/srfi-228-test.scm"
           '((scheme base)
             (srfi 1)
             (srfi 128)
             (srfi 162)
             (srfi 228)
             (only (canny data sorting) list-sort))
           (lambda (form) (and (pair? form) (eq? (car form) 'cond-expand))))
(suite-finish)
