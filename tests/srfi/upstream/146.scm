;;; The suites of SRFI 146's repository, for (srfi 146) and (srfi 146 hash).

(import (scheme base) (suite))

(run-suite "srfi-146/srfi/146/test.sld" '((scheme base) (srfi 1) (srfi 8) (srfi 128) (srfi 146)))
(suite-eval '(run-tests))
(run-suite "srfi-146/srfi/146/hash/test.sld"
           '((scheme base) (srfi 1) (srfi 8) (srfi 128) (srfi 146 hash)))
(suite-eval '(run-tests))
(suite-finish)
