;;; The suite of SRFI 127's repository.

(import (scheme base) (suite))

(run-suite "srfi-127/lseqs/lseqs-test.scm"
           '((scheme base) (scheme char) (scheme read) (scheme write) (srfi 1) (srfi 127))
           (lambda (form) (and (pair? form) (memq (car form) '(cond-expand include test-exit))))
           #f
           #t)
(suite-finish)
