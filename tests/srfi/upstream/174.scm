;; The suite of SRFI 174's repository: $SRFI_SUITES/srfi-174.

(import (canny base))
(load (string-append (get-environment-variable "SRFI_SUITES") "/srfi-174/chibi-tests.scm"))
