;; The suite of SRFI 233's repository: $SRFI_SUITES/srfi-233.
;;
;; Two of its tests fail: they come from an earlier draft, in which the first section was the symbol ||
;; and a line without a separator a value whose key is #f.

(import (canny base) (srfi 64))
(eval '(import (srfi 64) (srfi 233)) (interaction-environment))
(define runner (test-runner-simple))
(test-runner-on-final! runner (lambda (runner) #f))
(test-with-runner runner
  (load (string-append (get-environment-variable "SRFI_SUITES") "/srfi-233/srfi-233-test.scm")))
(display (+ (test-runner-pass-count runner) (test-runner-xpass-count runner)))
(display " passed, ")
(display (test-runner-fail-count runner))
(display " failed")
(newline)
