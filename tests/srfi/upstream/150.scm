;; The suite of SRFI 150's repository: $SRFI_SUITES/srfi-150.

(import (canny base) (srfi 64))
(define runner (test-runner-simple))
(test-runner-on-final! runner (lambda (runner) #f))
(load (string-append (get-environment-variable "SRFI_SUITES") "/srfi-150/srfi/150/test.sld"))
(eval '(import (srfi 150 test)) (interaction-environment))
(test-with-runner runner
  (eval '(run-tests) (interaction-environment)))
(display (+ (test-runner-pass-count runner) (test-runner-xpass-count runner)))
(display " passed, ")
(display (test-runner-fail-count runner))
(display " failed")
(newline)
