;;; The suite of SRFI 224's repository.

(import (scheme base) (suite))

(run-suite "srfi-224/test-body.scm" '((scheme base) (srfi 1) (srfi 128) (srfi 189) (srfi 224)))
(suite-finish)
