;;; The suite of SRFI 162's repository.

(import (scheme base) (suite))

(suite-eval '(define (print object) (display object) (newline)))
(run-suite "srfi-162/shared-tests.scm"
           '((scheme base) (scheme char) (scheme write) (srfi 128) (srfi 162)))
(suite-finish)
