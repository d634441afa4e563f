;;; The suite of SRFI 175's repository.

(import (scheme base) (scheme eval) (scheme repl) (suites))

(skip-forms 'define-syntax)
(eval '(import (scheme base) (scheme char) (scheme file) (scheme read) (scheme write) (srfi 175)
        (chibi test))
      (interaction-environment))
(eval '(define-syntax want
        (syntax-rules ()
          ((_ expected expression) (test expected expression))))
      (interaction-environment))
(run-suite "srfi-175/srfi/tests.scm" '(srfi 175))
(finish-suites)
