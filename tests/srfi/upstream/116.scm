;;; The suite of SRFI 116's repository.  Its test-equal, which looks into ipairs, is ours here.

(import (scheme base) (suite))

(suite-eval '(import (scheme base) (srfi 116))
            '(define (same-data? left right)
              (cond ((vector? left) (same-data? (vector->list left) (vector->list right)))
                    (else (equal? (gtree->tree left) (gtree->tree right))))))
(run-suite "srfi-116/ilists/ilists-test.scm"
           '((scheme base) (scheme write) (srfi 128) (srfi 116))
           (lambda (form) (and (pair? form) (eq? (car form) 'test-exit)))
           'same-data?
           #t)
(suite-finish)
