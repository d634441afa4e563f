;;; The suite of SRFI 223's repository.

(import (scheme base) (suite))

(suite-eval '(define (ceiling-quotient n d) (ceiling (/ n d))))
(run-suite "srfi-223/test.scm"
           '((scheme base) (scheme case-lambda) (scheme inexact) (srfi 223))
           (lambda (form) (and (pair? form) (memq (car form) '(cond-expand include)))))
(suite-finish)
