;; The suite of SRFI 197's repository: $SRFI_SUITES/srfi-197.  It prints PASS or FAIL for each test.

(import (canny base))
(define directory (string-append (get-environment-variable "SRFI_SUITES") "/srfi-197/"))
(eval '(import (srfi 197)) (interaction-environment))
;; The suite ends with a call of `exit`.
(define text
  (with-output-to-string
    (lambda ()
      (let/cc leave
        (eval `(define (exit . ignored) (,leave #t)) (interaction-environment))
        (load (string-append directory "test.scm"))))))
(define passed (length (string-search-all "PASS: " text)))
(define failed (length (string-search-all "FAIL: " text)))
(if (> failed 0) (display text))
(display passed)
(display " passed, ")
(display failed)
(display " failed")
(newline)
