;; The suite of SRFI 188's repository: $SRFI_SUITES/srfi-188.

(import (canny base) (srfi 64))
(define runner (test-runner-simple))
(test-runner-on-final! runner (lambda (runner) #f))
(load (string-append (get-environment-variable "SRFI_SUITES") "/srfi-188/srfi/188/test.sld"))
(eval '(import (srfi 188 test)) (interaction-environment))
(test-with-runner runner
  (eval '(run-tests) (interaction-environment)))
(display (+ (test-runner-pass-count runner) (test-runner-xpass-count runner)))
(display " passed, ")
(display (test-runner-fail-count runner))
(display " failed")
(newline)
