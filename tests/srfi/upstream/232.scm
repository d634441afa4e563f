;; The suite of SRFI 232's repository: $SRFI_SUITES/srfi-232.

(import (canny base) (srfi 64))
(eval '(import (srfi 64) (srfi 232)) (interaction-environment))
(define runner (test-runner-simple))
(test-runner-on-final! runner (lambda (runner) #f))
(test-with-runner runner
  (load (string-append (get-environment-variable "SRFI_SUITES") "/srfi-232/test-body.scm")))
(display (+ (test-runner-pass-count runner) (test-runner-xpass-count runner)))
(display " passed, ")
(display (test-runner-fail-count runner))
(display " failed")
(newline)
