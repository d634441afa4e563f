;;; The suite of SRFI 101's repository, an R6RS program with assertions.

(import (scheme base) (suite))

(suite-eval '(import (prefix (scheme base) r6:) (scheme base))
            '(define-syntax assert
              (syntax-rules ()
                ((_ expression) (r6:if (r6:not expression) (r6:error "wrong"))))))
(run-suite "srfi-101/srfi-101-tests.sls"
           '((except (scheme base) quote pair? cons car cdr caar cadr cddr cdar null? list? list
                     make-list length append reverse list-tail list-ref map for-each)
             (prefix (scheme base) r6:)
             (srfi 101))
           (lambda (form) #f)
           #f
           #f
           '(check-expect check-error let-values))
(suite-finish)
