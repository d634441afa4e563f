;; The suite of SRFI 173's repository: $SRFI_SUITES/srfi-173.  It imports the sample implementation's
;; library (hook).

(import (canny base) (chibi test))
(eval '(define-library (hook)
        (import (srfi 173))
        (export make-hook hook? list->hook list->hook! hook-add! hook-delete! hook-reset!
                hook->list hook-run))
      (interaction-environment))
(test-group "srfi-173"
  (load (string-append (get-environment-variable "SRFI_SUITES") "/srfi-173/tests.scm")))
