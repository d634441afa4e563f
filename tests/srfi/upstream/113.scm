;;; The suite of SRFI 113's repository.

(import (scheme base) (suite))

(suite-eval '(define (test-exit . ignored) #t))
(run-suite "srfi-113/sets/sets-test.scm"
           '((scheme base) (scheme char) (scheme write) (srfi 128)
             (rename (srfi 162) (real-comparator number-comparator)) (srfi 113))
           (lambda (form) (and (pair? form) (eq? (car form) 'load))))
(suite-finish)
