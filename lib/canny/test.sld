;;; (canny test): a small test library, written in R7RS alone.
;;;
;;; (test expected expression)             compares by equal?, but a NaN equals a NaN
;;; (test-approximate expected expression) compares numbers to a relative error of 1e-10
;;; (test-true expression)                 the value counts as true
;;; (test-false expression)                the value is #f
;;; (test-values (expected ...) expression)
;;; (test-error expression)                an exception is raised, whatever the object
;;; (test-error predicate expression)      an object that satisfies the predicate is raised
;;; (test-output expected body ...)        what the body writes to the current output port
;;; (test-group name body ...)             names what is inside in reports
;;; (test-finish)                          prints the summary; leaves with code 1 after a failure
;;;
;;; A failure prints the group, the expression, what was expected and what came; the tests go on.

(define-library (canny test)
  (export test test-approximate test-true test-false test-values test-error test-output
          test-group test-finish %run-test %run-error-test %run-group)
  (import (scheme base) (scheme complex) (scheme write) (scheme process-context))
  (begin

    (define passed 0)
    (define failed 0)
    (define groups '())

    (define (pass!)
      (set! passed (+ passed 1)))

    (define (report form expectation write-actual)
      (set! failed (+ failed 1))
      (display "FAIL ")
      (for-each (lambda (group) (display group) (display ": ")) (reverse groups))
      (write form)
      (newline)
      (display "  expected: ")
      (display expectation)
      (newline)
      (display "  actual:   ")
      (write-actual)
      (newline))

    (define (written object)
      (let ((port (open-output-string)))
        (write object port)
        (get-output-string port)))

    (define (write-raised object)
      (display "raised ")
      (if (error-object? object)
          (begin
            (display (error-object-message object))
            (for-each (lambda (irritant)
                        (display " ")
                        (write irritant))
                      (error-object-irritants object)))
          (write object)))

    ;; Calls `thunk` and counts a success if `accept?` takes its value. `expectation` is for the
    ;; report.
    (define (%run-test form thunk expectation accept?)
      (let ((outcome
             (call-with-current-continuation
              (lambda (return)
                (with-exception-handler
                 (lambda (object)
                   (return (lambda ()
                             (report form expectation (lambda () (write-raised object))))))
                 (lambda ()
                   (let ((value (thunk)))
                     (lambda ()
                       (if (accept? value)
                           (pass!)
                           (report form expectation (lambda () (write value))))))))))))
        (outcome)))

    (define (%run-error-test form thunk accept?)
      (let ((outcome
             (call-with-current-continuation
              (lambda (return)
                (with-exception-handler
                 (lambda (object)
                   (return (lambda ()
                             (if (accept? object)
                                 (pass!)
                                 (report form
                                         "another exception"
                                         (lambda () (write-raised object)))))))
                 (lambda ()
                   (let ((value (thunk)))
                     (lambda ()
                       (report form "an exception" (lambda () (write value)))))))))))
        (outcome)))

    (define (%run-group name thunk)
      (set! groups (cons name groups))
      (thunk)
      (set! groups (cdr groups)))

    (define (not-a-number? object)
      (and (number? object) (not (= object object))))

    (define (same? expected actual)
      (or (equal? expected actual)
          (and (not-a-number? expected) (not-a-number? actual))))

    (define (close? expected actual)
      (or (same? expected actual)
          (and (number? expected)
               (number? actual)
               (let ((difference (magnitude (- actual expected)))
                     (scale (max 1 (magnitude expected))))
                 (<= difference (* 1e-10 scale))))))

    (define (test-finish)
      (display passed)
      (display " passed, ")
      (display failed)
      (display " failed")
      (newline)
      (if (> failed 0)
          (exit 1)))

    (define-syntax test
      (syntax-rules ()
        ((_ expected expression)
         (let ((wanted expected))
           (%run-test 'expression
                      (lambda () expression)
                      (written wanted)
                      (lambda (value) (same? wanted value)))))))

    (define-syntax test-approximate
      (syntax-rules ()
        ((_ expected expression)
         (let ((wanted expected))
           (%run-test 'expression
                      (lambda () expression)
                      (string-append "about " (written wanted))
                      (lambda (value) (close? wanted value)))))))

    (define-syntax test-true
      (syntax-rules ()
        ((_ expression)
         (%run-test 'expression (lambda () expression) "true" (lambda (value) value)))))

    (define-syntax test-false
      (syntax-rules ()
        ((_ expression)
         (%run-test 'expression (lambda () expression) "#f" not))))

    (define-syntax test-values
      (syntax-rules ()
        ((_ (expected ...) expression)
         (test (list expected ...)
               (call-with-values (lambda () expression) list)))))

    (define-syntax test-error
      (syntax-rules ()
        ((_ expression)
         (%run-error-test 'expression (lambda () expression) (lambda (object) #t)))
        ((_ accept? expression)
         (%run-error-test 'expression (lambda () expression) accept?))))

    (define-syntax test-output
      (syntax-rules ()
        ((_ expected body ...)
         (test expected
               (let ((port (open-output-string)))
                 (parameterize ((current-output-port port))
                   body ...)
                 (get-output-string port))))))

    (define-syntax test-group
      (syntax-rules ()
        ((_ name body ...)
         (%run-group name (lambda () body ... #t)))))))
