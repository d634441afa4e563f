;; The suite of SRFI 253's repository: $SRFI_SUITES/srfi-253.

(import (canny base) (srfi 64))
(eval '(import (srfi 64) (srfi 253)) (interaction-environment))
(define runner (test-runner-simple))
(test-runner-on-final! runner (lambda (runner) #f))
(test-with-runner runner
  (load (string-append (get-environment-variable "SRFI_SUITES") "/srfi-253/test.scm")))
(display (+ (test-runner-pass-count runner) (test-runner-xpass-count runner)))
(display " passed, ")
(display (test-runner-fail-count runner))
(display " failed")
(newline)
