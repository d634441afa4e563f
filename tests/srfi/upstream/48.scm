;;; The suite of SRFI 48's repository.
;;;
;;; It expects exponents where other Schemes write numbers with them, which the SRFI leaves open.

(import (scheme base) (scheme eval) (scheme repl) (suites))

(skip-forms 'test-start 'test-end)
(eval '(import (scheme base) (scheme inexact) (srfi 48)
        (rename (chibi test) (test check) (test-assert assert)))
      (interaction-environment))
(eval '(define (test-section name) #f) (interaction-environment))
(eval '(define-syntax expect
        (syntax-rules ()
          ((_ expected expression) (check 'expression expected expression))
          ((_ expected expression same?) (assert 'expression (same? expected expression)))))
      (interaction-environment))
(run-suite "srfi-48/test/test-0001.scm" '(srfi 48))
(finish-suites)
