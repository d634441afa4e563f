;;; The suite of SRFI 250's repository, with smaller tables than its million of associations.

(import (scheme base) (suite))

(suite-eval '(import (scheme base))
            '(define-syntax assert
              (syntax-rules () ((_ what) (if (not what) (error "assertion failed")))))
            '(define (assertion-violation who message . irritants)
              (apply error message irritants))
            '(define assertion-violation? error-object?)
            '(define size 20000))
(run-suite "srfi-250/test-srfi-250.scm"
           '((scheme base) (scheme char) (scheme write) (only (srfi 1) list-tabulate) (srfi 27)
             (srfi 250) (rename (srfi 128) (default-hash equal-hash)))
           (lambda (form) (equal? form '(define size 1000000))))
(suite-finish)
