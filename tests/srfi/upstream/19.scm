;; The suite of SRFI 19's repository: $SRFI_SUITES/srfi-19.  It prints ": #t" or ": #f" after each
;; test.

(import (canny base))
(eval '(import (srfi 19)) (interaction-environment))
(define text
  (with-output-to-string
    (lambda ()
      (load (string-append (get-environment-variable "SRFI_SUITES")
                           "/srfi-19/srfi-19-test-suite.scm")))))
(define passed (length (string-search-all ": #t\n" text)))
(define failed (length (string-search-all ": #f\n" text)))
(if (> failed 0) (display text))
(display passed)
(display " passed, ")
(display failed)
(display " failed")
(newline)
