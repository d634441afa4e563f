;;; The suite of SRFI 117's repository.

(import (scheme base) (suite))

(run-suite "srfi-117/list-queues/list-queues-test.scm" '((scheme base) (scheme write) (srfi 117))
           (lambda (form) (and (pair? form) (memq (car form) '(load test-exit)))))
(suite-finish)
