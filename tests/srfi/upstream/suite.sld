;;; (suite): runs a test file of a SRFI's repository in the environment of the prompt.
;;;
;;; (run-suite FILE (import-set ...) skip?)
;;;     Evaluates the forms of $SRFI_SUITES/FILE one by one, except those whose first symbol is in
;;;     `skipped-forms` or that satisfy `skip?`, if given.  A form that raises counts as one failure.
;;;     A fourth argument is the name of the equality that tests use, or #f; with a fifth that is
;;;     true, the bodies of groups are evaluated form by form, too.  A sixth is a list of symbols: a
;;;     form that begins with one of them is a test, which passes when it raises nothing.
;;; (suite-eval FORM ...) evaluates forms of the driver there, before the file.
;;; (suite-finish) prints `P passed, F failed`.
;;;
;;; A library in the file is taken for its body, with the import sets of the driver.
;;;
;;; The test forms understand the usual arguments of SRFI 64, SRFI 78, and of the test libraries of
;;; Chibi and Chicken.

(define-library (suite)
  (export run-suite suite-eval suite-finish
          test test-equal test-eqv test-eq test-assert test-not test-error test-values
          test-approximate test-group test-begin test-end test-exit test-runner-current
          check check-report check-set-mode! current-test-comparator
          %check-value %check-error %group %guarded)
  (import (scheme base) (scheme eval) (scheme repl) (scheme read) (scheme file) (scheme write)
          (scheme complex) (scheme process-context))
  (begin

    (define passed 0)
    (define failed 0)

    (define (report name write-details)
      (set! failed (+ failed 1))
      (display "FAIL ")
      (let ((port (open-output-string)))
        (write name port)
        (let ((text (get-output-string port)))
          (display (if (> (string-length text) 300) (substring text 0 300) text))))
      (newline)
      (write-details)
      (newline))

    (define (write-raised object)
      (display "  raised   ")
      (if (error-object? object)
          (begin
            (display (error-object-message object))
            (for-each (lambda (irritant) (display " ") (write irritant))
                      (error-object-irritants object)))
          (write object)))

    (define (attempt thunk return raised)
      ((call-with-current-continuation
        (lambda (k)
          (with-exception-handler
            (lambda (object) (k (lambda () (raised object))))
            (lambda ()
              (call-with-values thunk
                (lambda results
                  (let ((value (if (= (length results) 1) (car results) results)))
                    (lambda () (return value)))))))))))

    (define (close? expected actual)
      (or (equal? expected actual)
          (and (number? expected) (number? actual)
               (or (and (not (= expected expected)) (not (= actual actual)))
                   (and (inexact? expected)
                        (< (magnitude (- expected actual))
                           (* 1e-5 (max 1e-300 (magnitude expected)))))))
          (and (pair? expected) (pair? actual)
               (close? (car expected) (car actual))
               (close? (cdr expected) (cdr actual)))))

    (define (%check-value name same? expected-thunk thunk)
      (attempt (lambda () (let ((expected (expected-thunk))) (cons expected (thunk))))
               (lambda (outcome)
                 (if (same? (car outcome) (cdr outcome))
                     (set! passed (+ passed 1))
                     (report name
                             (lambda ()
                               (display "  expected ")
                               (write (car outcome))
                               (newline)
                               (display "  actual   ")
                               (write (cdr outcome))))))
               (lambda (object)
                 (report name (lambda () (write-raised object))))))

    (define (%check-error name thunk)
      (attempt thunk
               (lambda (value)
                 (report name
                         (lambda () (display "  expected an exception; actual ") (write value))))
               (lambda (object) (set! passed (+ passed 1)))))

    (define (%guarded name thunk)
      (attempt thunk (lambda (value) #t)
               (lambda (object) (report name (lambda () (write-raised object))))))

    (define (%group name thunk)
      (%guarded name thunk))

    (define default-same? close?)
    (define current-test-comparator
      (make-parameter (lambda (expected actual) (default-same? expected actual))))

    ;; The first argument of three may be a name or a predicate.
    (define (predicate-of object default)
      (if (procedure? object) object default))

    (define-syntax test
      (syntax-rules ()
        ((_ expression) (test-assert expression))
        ((_ expected expression)
         (%check-value 'expression (current-test-comparator) (lambda () expected)
                       (lambda () expression)))
        ((_ name expected expression)
         (%check-value '(name expression)
                       (predicate-of name (current-test-comparator)) (lambda () expected)
                       (lambda () expression)))
        ((_ predicate name expected expression)
         (%check-value '(name expression) predicate (lambda () expected) (lambda () expression)))))

    (define-syntax test-equal
      (syntax-rules () ((_ . rest) (test . rest))))
    (define-syntax test-eqv
      (syntax-rules () ((_ . rest) (test . rest))))
    (define-syntax test-eq
      (syntax-rules () ((_ . rest) (test . rest))))

    (define-syntax test-assert
      (syntax-rules ()
        ((_ expression) (test-assert #f expression))
        ((_ name expression)
         (%check-value '(name expression) (lambda (expected actual) actual)
                       (lambda () #t) (lambda () expression)))))

    (define-syntax test-not
      (syntax-rules ()
        ((_ expression) (test-not #f expression))
        ((_ name expression)
         (%check-value '(name expression) (lambda (expected actual) (not actual))
                       (lambda () #f) (lambda () expression)))))

    (define-syntax test-approximate
      (syntax-rules ()
        ((_ expected expression bound) (test-approximate #f expected expression bound))
        ((_ name expected expression bound)
         (%check-value '(name expression)
                       (lambda (wanted actual) (<= (magnitude (- wanted actual)) bound))
                       (lambda () expected) (lambda () expression)))))

    (define-syntax test-values
      (syntax-rules ()
        ((_ expected expression) (test-values #f expected expression))
        ((_ name expected expression)
         (%check-value '(name expression) close?
                       (lambda () (call-with-values (lambda () expected) list))
                       (lambda () (call-with-values (lambda () expression) list))))))

    (define-syntax test-error
      (syntax-rules ()
        ((_ expression) (%check-error 'expression (lambda () expression)))
        ((_ name expression) (%check-error '(name expression) (lambda () expression)))
        ((_ name type expression) (%check-error '(name expression) (lambda () expression)))))

    (define-syntax test-group
      (syntax-rules ()
        ((_ name body ...) (%group name (lambda () body ... #t)))))

    (define (test-begin . ignored) #t)
    (define (test-end . ignored) #t)
    (define (test-exit . ignored) #t)
    (define (test-runner-current . ignored) #f)

    (define-syntax check
      (syntax-rules (=>)
        ((_ expression => expected)
         (%check-value 'expression equal? (lambda () expected) (lambda () expression)))
        ((_ expression (=> same?) expected)
         (%check-value 'expression same? (lambda () expected) (lambda () expression)))))

    (define (check-report . ignored) #t)
    (define (check-set-mode! . ignored) #t)

    ;; Running.

    (define skipped-forms '(import use require-extension require-library use-modules module))

    (define directory
      (or (get-environment-variable "SRFI_SUITES")
          (error "the environment variable SRFI_SUITES names no directory")))

    (define (suite-eval . forms)
      (for-each (lambda (form)
                  (%guarded form (lambda () (eval form (interaction-environment)))))
                forms))

    (define (run-suite file import-sets . options)
      (define skip? (if (pair? options) (car options) (lambda (form) #f)))
      (define by-form? (and (> (length options) 2) (list-ref options 2)))
      (define test-forms (if (> (length options) 3) (list-ref options 3) '()))
      (define (evaluate form)
        (cond ((and (pair? form) (or (memq (car form) skipped-forms) (skip? form))))
              ((and (pair? form) (eq? (car form) 'define-library))
               (for-each (lambda (declaration)
                           (if (eq? (car declaration) 'begin)
                               (for-each evaluate (cdr declaration))))
                         (cddr form)))
              ((and by-form? (pair? form) (eq? (car form) 'test-group))
               (for-each evaluate (cddr form)))
              ((and (pair? form) (memq (car form) test-forms))
               (%check-value form
                             (lambda (expected actual) #t)
                             (lambda () #t)
                             (lambda () (eval form (interaction-environment)))))
              (else (suite-eval form))))
      (suite-eval (cons 'import (append import-sets '((suite)))))
      (if (and (pair? options) (pair? (cdr options)) (cadr options))
          (set! default-same? (eval (cadr options) (interaction-environment))))
      (call-with-input-file (string-append directory "/" file)
        (lambda (port)
          (let loop ()
            (let ((form (read port)))
              (if (not (eof-object? form))
                  (begin
                    (evaluate form)
                    (loop))))))))

    (define (suite-finish)
      (display passed)
      (display " passed, ")
      (display failed)
      (display " failed")
      (newline))))
