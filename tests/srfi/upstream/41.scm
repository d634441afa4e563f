;;; The suite of SRFI 41's repository.  Where it compares with the text of an error message, an error
;;; with any message passes.

(import (scheme base) (suite))

(suite-eval '(import (scheme base) (suite))
            '(define (open-input-file name) (open-input-string "; Copyright of a file"))
            '(define-syntax assert
              (syntax-rules ()
                ((_ expression result) (assert #f expression result))
                ((_ name expression result)
                 (let ((wanted result))
                   (test wanted (guard (condition ((string? wanted) wanted)) expression)))))))
(run-suite "srfi-41/samples.ss" '((scheme base) (scheme lazy) (srfi 1) (srfi 41)))
(run-suite "srfi-41/r5rs-test.ss"
           '((scheme base) (scheme char) (scheme write) (scheme lazy) (srfi 1) (srfi 41))
           (lambda (form)
             (and (pair? form) (pair? (cdr form))
                  (or (equal? (cadr form) 'assert) (equal? (cadr form) '(error s x))))))
(suite-eval '(unit-test))
(suite-finish)
