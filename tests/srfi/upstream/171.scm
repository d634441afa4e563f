;;; The suite of SRFI 171's repository.

(import (scheme base) (suite))

(suite-eval '(define (add1 number) (+ number 1))
            '(define (compose . procedures)
              (let ((reversed (reverse procedures)))
                (lambda (object)
                  (let loop ((object object) (rest reversed))
                    (if (null? rest) object (loop ((car rest) object) (cdr rest))))))))
(run-suite "srfi-171/tests.scm"
           '((scheme base) (scheme char) (scheme read) (only (srfi 1) iota) (srfi 69) (srfi 171)))
(suite-finish)
