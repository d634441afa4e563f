;;; The suite of SRFI 189's repository.
;;;
;;; The failure: it wants the values of a Left from either->list, where the text wants ().

(import (scheme base) (suite))

(suite-eval '(define (constantly . objects) (lambda ignored (apply values objects))))
(run-suite "srfi-189/test-syntax.scm" '((scheme base) (srfi 1) (srfi 189)))
(run-suite "srfi-189/test-body.scm"
           '((scheme base) (srfi 1) (srfi 189))
           (lambda (form) (equal? form '(load "test-syntax.scm"))))
(suite-finish)
