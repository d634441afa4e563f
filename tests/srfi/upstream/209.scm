;;; The suite of SRFI 209's repository.

(import (scheme base) (suite))

(run-suite "srfi-209/test-body.scm" '((scheme base) (srfi 1) (srfi 128) (srfi 209)))
(suite-finish)
