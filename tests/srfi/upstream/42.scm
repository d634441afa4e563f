;; The examples of SRFI 42's repository, which check themselves: $SRFI_SUITES/srfi-42.
;;
;; They write a file `tmp1` in the current directory, which is deleted.

(import (canny base))
(eval '(import (srfi 42)) (interaction-environment))
;; The examples want these from the one who loads them.
(eval '(define my-open-output-file open-output-file) (interaction-environment))
(eval '(define my-call-with-input-file call-with-input-file) (interaction-environment))
(define checks (open-output-string))
(parameterize ((current-output-port checks))
  (load (string-append (get-environment-variable "SRFI_SUITES") "/srfi-42/examples.scm")))
(if (file-exists? "tmp1") (delete-file "tmp1"))
(define wrong (eval 'my-check-wrong (interaction-environment)))
(if (> wrong 0) (display (get-output-string checks)))
(display (eval 'my-check-correct (interaction-environment)))
(display " passed, ")
(display wrong)
(display " failed")
(newline)
