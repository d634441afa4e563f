;; The suite of SRFI 216's repository: $SRFI_SUITES/srfi-216.

(import (canny base) (srfi 78))
(define checks (open-output-string))
(parameterize ((current-output-port checks))
  (load (string-append (get-environment-variable "SRFI_SUITES") "/srfi-216/srfi-216-tests.scm")))
(define passed
  (let loop ((n 0)) (cond ((check-passed? n) n) ((< n 1000) (loop (+ n 1))) (else #f))))
(if (not passed) (display (get-output-string checks)))
(display (or passed 0))
(display " passed, ")
(display (if passed 0 1))
(display " failed")
(newline)
