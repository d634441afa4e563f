;;; The suite of SRFI 247's repository, an R6RS program of assertions.

(import (scheme base) (suite))

(suite-eval (quote (import (scheme base)))
            (quote (define-syntax assert
                     (syntax-rules ()
                       ((_ expression) (if (not expression) (error "wrong")))))))
(run-suite "srfi-247/tests.sps"
           '((scheme base) (scheme case-lambda) (scheme cxr) (srfi 247))
           (lambda (form) #f)
           #f
           #f
           '(assert))
(suite-finish)
