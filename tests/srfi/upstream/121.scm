;;; The suite of SRFI 121's repository.

(import (scheme base) (suite))

(suite-eval '(define u8vector bytevector)
            '(define u8vector-length bytevector-length)
            '(define (test-exit . ignored) #t))
(run-suite "srfi-121/generators/generators-test.scm"
           '((scheme base) (scheme read) (scheme write) (only (srfi 1) unfold) (srfi 121))
           (lambda (form) (and (pair? form) (memq (car form) '(cond-expand load))))
           #f
           #t)
(suite-finish)
