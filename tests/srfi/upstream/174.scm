;; The suite of SRFI 174's repository: $SRFI_SUITES/srfi-174.
;;
;; One test fails: it compares two timespecs by `equal?`, which tells records apart.

(import (canny base))
(load (string-append (get-environment-variable "SRFI_SUITES") "/srfi-174/chibi-tests.scm"))
