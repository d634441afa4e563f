;; SRFI 98: environment variables.

(import (scheme base) (srfi 98) (canny test))

(test-true (list? (get-environment-variables)))
(test-true
 (let loop ((variables (get-environment-variables)))
   (or (null? variables)
       (and (string? (caar variables))
            (equal? (cdar variables) (get-environment-variable (caar variables)))
            (loop (cdr variables))))))
(test #f (get-environment-variable "CANNY_NO_SUCH_VARIABLE"))
(test-error (get-environment-variable 'home))

(test-finish)
