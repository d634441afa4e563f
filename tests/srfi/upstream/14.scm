;;; The suite of SRFI 14's repository: one form, whose tests are taken out of it and counted.
;;;
;;; One test is of a time when char-set:digit had ten characters.

(import (scheme base) (scheme eval) (scheme repl) (scheme read) (scheme file) (suites))

(define (evaluate form)
  (eval form (interaction-environment)))

(evaluate '(import (scheme base) (srfi 14) (chibi test)))
(evaluate '(define-syntax check-all
            (syntax-rules ()
              ((_ form ...) (begin (test-assert 'form form) ...)))))

;; (let-syntax (...) (let ((vowel? ...)) (test form ...) ...))
(let ((body (list-ref (call-with-input-file (suite-path "srfi-14/srfi-14-tests.scm") read) 2)))
  (for-each (lambda (binding) (evaluate (cons 'define binding))) (cadr body))
  (for-each (lambda (form) (evaluate (cons 'check-all (cdr form)))) (cddr body)))
(finish-suites)
