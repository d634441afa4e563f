;;; The suite of SRFI 126's repository.

(import (scheme base) (suite))

(run-suite "srfi-126/test-suite.body.scm"
           '((scheme base)
             (scheme char)
             (scheme write)
             (scheme case-lambda)
             (srfi 1)
             (srfi 8)
             (srfi 126)))
(suite-finish)
