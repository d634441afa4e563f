;;; The suite of SRFI 210's repository.

(import (scheme base) (suite))

(run-suite "srfi-210/srfi/210/test.sld" '((scheme base) (srfi 195) (srfi 210)))
(suite-eval '(run-tests))
(suite-finish)
