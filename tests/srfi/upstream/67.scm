;;; The suite of SRFI 67's repository, which counts for itself.

(import (scheme base) (scheme eval) (scheme repl) (scheme write) (suite))

(suite-eval '(define my-pretty-write write))
(run-suite "srfi-67/implementation/examples.scm"
           '((scheme base) (scheme char) (scheme write) (scheme cxr) (scheme complex) (srfi 27)
             (srfi 42) (srfi 67))
           (lambda (form)
             (member form '((my-check-summary) (define my-pretty-write pretty-write)))))
(display (eval 'my-check-correct (interaction-environment)))
(display " passed, ")
(display (eval 'my-check-wrong (interaction-environment)))
(display " failed")
(newline)
