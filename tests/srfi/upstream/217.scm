;;; The suite of SRFI 217's repository.

(import (scheme base) (suite))

(run-suite "srfi-217/test-chibi.scm"
           '((scheme base)
             (only (srfi 1) iota any every last take-while drop-while count fold filter remove
                   partition)
             (srfi 217)))
(suite-finish)
