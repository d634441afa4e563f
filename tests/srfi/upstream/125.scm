;;; The suite of SRFI 125's repository, an R6RS program with tests of its own.
;;;
;;; Six of the failures want immutable tables, which the SRFI leaves to the implementation; one takes
;;; a procedure of SRFI 126 for tables of SRFI 125.

(import (scheme base) (suite))

(suite-eval '(import (scheme base) (suite))
            '(import
              (prefix (only (srfi 125) hash-by-identity string-hash string-ci-hash) deprecated:))
            '(define-syntax test-deny (syntax-rules () ((_ expression) (test-not expression)))))
(run-suite "srfi-125/tables-test.sps"
           '((scheme base) (scheme char) (scheme write) (scheme process-context)
             (srfi 128) (except (srfi 125) hash-by-identity string-hash string-ci-hash))
           (lambda (form)
             (and (pair? form)
                  (or (eq? (car form) 'exit)
                      (and (pair? (cdr form))
                           (memq (cadr form) '(test test-assert test-deny)))))))
(suite-finish)
