;;; (chibi test): the interface of chibi-scheme's test library, for running suites written to it.
;;;
;;; Our own implementation of what those suites use. Each failure is printed with its groups; the
;;; end of the outermost group prints the line `NAME: N passed, M failed`, which the conformance
;;; runner reads. The program continues after a failure; (test-exit) leaves with code 1 if there was
;;; one.

(define-library (chibi test)
  (export test test-equal test-assert test-not test-values test-error test-syntax-error
          test-group test-begin test-end test-exit test-failure-count
          test-equal? current-test-epsilon current-test-comparator current-test-verbosity
          test-pass-count %check %check-error)
  (import (scheme base) (scheme complex) (scheme write) (scheme process-context))
  (begin

    (define passed 0)
    (define failed 0)
    ;; Names of the open groups, innermost first.
    (define groups '())

    (define current-test-epsilon (make-parameter 1e-5))
    (define current-test-verbosity (make-parameter #f))

    (define (close? a b)
      (let ((scale (max (abs a) (abs b))))
        (< (if (zero? (min (abs a) (abs b)))
               scale
               (abs (/ (- a b) scale)))
           (current-test-epsilon))))

    ;; An inexact expectation takes any real number near it.
    (define (test-equal? expected actual)
      (cond ((equal? expected actual) #t)
            ((and (real? expected) (real? actual))
             (and (inexact? expected)
                  (or (and (not (= expected expected)) (not (= actual actual)))
                      (and (= expected expected)
                           (= actual actual)
                           (< -inf.0 expected +inf.0)
                           (< -inf.0 actual +inf.0)
                           (close? expected actual)))))
            ((and (complex? expected) (complex? actual))
             (and (test-equal? (real-part expected) (real-part actual))
                  (test-equal? (imag-part expected) (imag-part actual))))
            (else #f)))

    (define current-test-comparator (make-parameter test-equal?))

    (define (test-failure-count)
      failed)

    (define (test-pass-count)
      passed)

    (define (report name write-details)
      (set! failed (+ failed 1))
      (display "FAIL ")
      (for-each (lambda (group) (display group) (display ": ")) (reverse groups))
      (if (string? name) (display name) (write name))
      (newline)
      (write-details)
      (newline))

    (define (write-exception object)
      (display "  raised   ")
      (if (error-object? object)
          (begin
            (display (error-object-message object))
            (for-each (lambda (irritant) (display " ") (write irritant))
                      (error-object-irritants object)))
          (write object)))

    ;; Calls `thunk`; then `return` with its value or `raised` with what it raised, outside of it.
    (define (attempt thunk return raised)
      ((call-with-current-continuation
        (lambda (k)
          (with-exception-handler
            (lambda (object) (k (lambda () (raised object))))
            (lambda ()
              (let ((value (thunk)))
                (lambda () (return value)))))))))

    (define (%check same? name expected-thunk thunk)
      (attempt
       (lambda () (let ((expected (expected-thunk))) (cons expected (thunk))))
       (lambda (outcome)
         (let ((expected (car outcome)) (actual (cdr outcome)))
           (if (same? expected actual)
               (set! passed (+ passed 1))
               (report name
                       (lambda ()
                         (display "  expected ")
                         (write expected)
                         (newline)
                         (display "  actual   ")
                         (write actual))))))
       (lambda (object)
         (report name (lambda () (write-exception object))))))

    (define (%check-error name accept? thunk)
      (attempt
       thunk
       (lambda (value)
         (report name (lambda () (display "  expected an exception; actual ") (write value))))
       (lambda (object)
         (if (accept? object)
             (set! passed (+ passed 1))
             (report name (lambda () (write-exception object)))))))

    (define (test-begin . name)
      (set! groups (cons (if (pair? name) (car name) "") groups)))

    (define (test-end . name)
      (let ((group (if (pair? groups) (car groups) "")))
        (if (pair? groups)
            (set! groups (cdr groups)))
        (if (null? groups)
            (begin
              (display group)
              (display ": ")
              (display passed)
              (display " passed, ")
              (display failed)
              (display " failed")
              (newline)))))

    (define (test-exit . ignored)
      (exit (if (zero? failed) 0 1)))

    (define-syntax test
      (syntax-rules ()
        ((_ expected expression)
         (test 'expression expected expression))
        ((_ name expected expression)
         (%check (current-test-comparator)
                 (or name 'expression)
                 (lambda () expected)
                 (lambda () expression)))))

    (define-syntax test-equal
      (syntax-rules ()
        ((_ same? expected expression)
         (test-equal same? 'expression expected expression))
        ((_ same? name expected expression)
         (%check same? (or name 'expression) (lambda () expected) (lambda () expression)))))

    (define-syntax test-assert
      (syntax-rules ()
        ((_ expression) (test-assert 'expression expression))
        ((_ name expression)
         (%check (lambda (expected actual) actual)
                 (or name 'expression)
                 (lambda () #t)
                 (lambda () expression)))))

    (define-syntax test-not
      (syntax-rules ()
        ((_ expression) (test-not 'expression expression))
        ((_ name expression)
         (%check (lambda (expected actual) (not actual))
                 (or name 'expression)
                 (lambda () #f)
                 (lambda () expression)))))

    (define-syntax test-values
      (syntax-rules ()
        ((_ expected expression) (test-values 'expression expected expression))
        ((_ name expected expression)
         (test name
               (call-with-values (lambda () expected) list)
               (call-with-values (lambda () expression) list)))))

    (define-syntax test-error
      (syntax-rules ()
        ((_ expression)
         (%check-error 'expression (lambda (object) #t) (lambda () expression)))
        ((_ name expression)
         (%check-error (if (procedure? name) 'expression name)
                       (if (procedure? name) name (lambda (object) #t))
                       (lambda () expression)))
        ((_ name accept? expression)
         (%check-error name accept? (lambda () expression)))))

    ;; The errors of expansion are found before the program runs: nothing is left to do.
    (define-syntax test-syntax-error
      (syntax-rules ()
        ((_ . anything) #f)))

    (define-syntax test-group
      (syntax-rules ()
        ((_ name body ...)
         (begin
           (test-begin name)
           (attempt (lambda () body ... #t)
                    (lambda (value) #t)
                    (lambda (object) (report "group" (lambda () (write-exception object)))))
           (test-end name)))))))
