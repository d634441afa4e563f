;;; (canny test): a small test library.
;;;
;;; | form | meaning |
;;; |---|---|
;;; | `(test expected expression)` | compares by equal?, but a NaN equals a NaN |
;;; | `(test-approximate expected expression)` | compares numbers to a relative error of 1e-10 |
;;; | `(test-assert expression)`, `(test-true expression)` | the value counts as true |
;;; | `(test-false expression)` | the value is #f |
;;; | `(test-values (expected ...) expression)` | compares several values |
;;; | `(test-error expression)` | an exception is raised, whatever the object |
;;; | `(test-error predicate expression)` | an object that satisfies the predicate is raised |
;;; | `(test-output expected body ...)` | compares with the text on the current output port |
;;; | `(assert-no-growth thunk)` | calls of the procedure leave no objects behind |
;;; | `(test-group name body ...)` | names what is inside in reports |
;;; | `(test-finish)` | prints the summary; leaves with code 1 after a failure |
;;; | `(test-summary)` | prints the summary and resets the counts; for the prompt |
;;;
;;; A string in front is the name of a test: (test "name" expected expression). The same holds
;;; for test-approximate, test-assert, test-true, test-false, and for test-error with a
;;; predicate.
;;;
;;; A failure prints the group, the name or the expression, the place, what was expected, what came,
;;; and where the two differ; the tests continue. Under `canny test` nothing is printed: (canny test
;;; report) reports it.
;;;
;;; `%run-test` and its like are for macros: `body` is called with a procedure that takes the
;;; expected and the actual value, or with none.

(define-library (canny test)
  (export test test-approximate test-assert test-true test-false test-values test-error test-output
          assert-no-growth test-group test-finish test-summary
          %run-test %run-close-test %run-true-test %run-false-test %run-error-test %run-group
          %run-checked %run-growth-test)
  (import (except (scheme base) error-object?) (scheme complex) (scheme write)
          (scheme process-context)
          (only (canny primitives) current-jiffy error-object? condition-kind)
          (only (canny machine control) %guard-else)
          (canny heap) (canny test differences) (canny test report))
  (begin

    (define passed 0)
    (define failed 0)
    ;; Names of the open groups, innermost first.
    (define groups '())

    ;; The result of a body whose test fails.
    (define-record-type failure
      (make-failure expected actual differences)
      failure?
      ;; Texts.
      (expected failure-expected)
      (actual failure-actual)
      ;; Lines.
      (differences failure-differences))

    (define (interrupt? object)
      (and (error-object? object) (eq? (condition-kind object) 'interrupt)))

    ;; Runs a test.  `attempt` gives a failure or something else; `on-raise` makes one of an object
    ;; that was raised.
    (define (run name form attempt on-raise)
      (let ((name (or name (form-name form))) (owner (test-owner)))
        (if (wanted? groups name)
            (let* ((start (current-jiffy))
                   (interrupt #f)
                   (outcome
                    (%guard-else (lambda ()
                                   (set-test-owner! 'test)
                                   (attempt))
                                 (lambda (object)
                                   (if (interrupt? object)
                                       (set! interrupt object))
                                   (on-raise object))))
                   (jiffies (- (current-jiffy) start)))
              (set-test-owner! owner)
              (if (failure? outcome)
                  (fail! name jiffies form outcome)
                  (pass! name jiffies))
              (if interrupt
                  (raise interrupt))))))

    (define (pass! name jiffies)
      (set! passed (+ passed 1))
      (report-pass! groups name jiffies))

    (define (fail! name jiffies form failure)
      (set! failed (+ failed 1))
      (let ((place (caller-place)))
        (if (reporting?)
            (report-failure! groups name jiffies place (show-value form)
                             (failure-expected failure) (failure-actual failure)
                             (failure-differences failure))
            (print-failure name form place failure))))

    (define (print-failure name form place failure)
      (display "FAIL ")
      (for-each (lambda (group)
                  (display group)
                  (display ": "))
                (reverse groups))
      (if (string=? name (form-name form))
          (write form)
          (begin
            (display name)
            (newline)
            (display "  ")
            (write form)))
      (newline)
      (if place
          (begin
            (display "  at ")
            (display (car place))
            (display ":")
            (display (cadr place))
            (newline)))
      (display "  expected: ")
      (display (failure-expected failure))
      (newline)
      (display "  actual:   ")
      (display (failure-actual failure))
      (newline)
      (for-each (lambda (line)
                  (display "    ")
                  (display line)
                  (newline))
                (failure-differences failure)))

    (define (raised expectation)
      (lambda (object)
        (make-failure expectation (show-raised object) '())))

    (define (%run-test name form body)
      (run name form
           (lambda ()
             (body
              (lambda (expected actual)
                (or (same? expected actual)
                    (make-failure (show-value expected) (show-value actual)
                                  (differences expected actual))))))
           (raised "a value")))

    (define (%run-close-test name form body)
      (run name form
           (lambda ()
             (body
              (lambda (expected actual)
                (or (close? expected actual)
                    (make-failure (string-append "about " (show-value expected))
                                  (show-value actual)
                                  '())))))
           (raised "a number")))

    (define (%run-true-test name form thunk)
      (run name form
           (lambda ()
             (or (thunk)
                 (make-failure "a true value" "#f" '())))
           (raised "a true value")))

    (define (%run-false-test name form thunk)
      (run name form
           (lambda ()
             (let ((value (thunk)))
               (or (not value)
                   (make-failure "#f" (show-value value) '()))))
           (raised "#f")))

    (define (%run-error-test name form thunk accept?)
      (run name form
           (lambda ()
             (let ((value (thunk)))
               (make-failure "an exception" (show-value value) '())))
           (lambda (object)
             (if (and (not (interrupt? object)) (accept? object))
                 #t
                 (make-failure "an exception of another kind" (show-raised object) '())))))

    ;; For libraries of tests of another kind: `attempt` gives #t, or a list of expected text,
    ;; actual text and lines.
    (define (%run-checked name form attempt)
      (run name form
           (lambda ()
             (let ((outcome (attempt)))
               (or (not (pair? outcome))
                   (make-failure (car outcome) (cadr outcome) (car (cddr outcome))))))
           (raised "no exception")))

    ;; Types that are shown.
    (define types-max 12)

    (define (show-growth sum calls)
      (string-append (or (type-sum-name sum) (symbol->string (type-sum-family sum)))
                     (if (type-sum-name sum)
                         (string-append " (" (symbol->string (type-sum-family sum)) ")")
                         "")
                     (if (type-sum-file sum)
                         (string-append " at " (type-sum-file sum) ":"
                                        (number->string (type-sum-line sum)))
                         "")
                     ": " (number->string (type-sum-objects sum)) " objects, "
                     (number->string (type-sum-bytes sum)) " bytes in "
                     (number->string calls) " calls"))

    (define (%run-growth-test name form thunk rounds)
      (run name form
           (lambda ()
             (let ((grown (heap-growth thunk #:rounds rounds)) (calls (* 3 rounds)))
               (or (null? grown)
                   (make-failure "no growth"
                                 (show-growth (car grown) calls)
                                 (let loop ((rest (cdr grown)) (left (- types-max 1)))
                                   (cond ((null? rest) '())
                                         ((= left 0)
                                          (list (string-append
                                                 "and " (number->string (length rest))
                                                 " more types")))
                                         (else
                                          (cons (show-growth (car rest) calls)
                                                (loop (cdr rest) (- left 1))))))))))
           (raised "no exception")))

    (define (%run-group name thunk)
      (report-group-begin! name)
      (let ((outer groups))
        (set! groups (cons name groups))
        (thunk)
        (set! groups outer))
      (report-group-end!))

    (define (close? expected actual)
      (or (same? expected actual)
          (and (number? expected)
               (number? actual)
               (let ((difference (magnitude (- actual expected)))
                     (scale (max 1 (magnitude expected))))
                 (<= difference (* 1e-10 scale))))))

    (define (print-summary)
      (if (not (reporting?))
          (begin
            (display passed)
            (display " passed, ")
            (display failed)
            (display " failed")
            (newline))))

    (define (test-finish)
      (print-summary)
      (if (> failed 0)
          (exit 1)))

    (define (test-summary)
      (print-summary)
      (set! passed 0)
      (set! failed 0))

    (define-syntax test
      (syntax-rules ()
        ((_ expected expression)
         (%run-test #f 'expression (lambda (check) (check expected expression))))
        ((_ name expected expression)
         (%run-test name 'expression (lambda (check) (check expected expression))))))

    (define-syntax test-approximate
      (syntax-rules ()
        ((_ expected expression)
         (%run-close-test #f 'expression (lambda (check) (check expected expression))))
        ((_ name expected expression)
         (%run-close-test name 'expression (lambda (check) (check expected expression))))))

    (define-syntax test-assert
      (syntax-rules ()
        ((_ expression)
         (%run-true-test #f 'expression (lambda () expression)))
        ((_ name expression)
         (%run-true-test name 'expression (lambda () expression)))))

    (define-syntax test-true
      (syntax-rules ()
        ((_ argument ...)
         (test-assert argument ...))))

    (define-syntax test-false
      (syntax-rules ()
        ((_ expression)
         (%run-false-test #f 'expression (lambda () expression)))
        ((_ name expression)
         (%run-false-test name 'expression (lambda () expression)))))

    (define-syntax test-values
      (syntax-rules ()
        ((_ (expected ...) expression)
         (%run-test #f 'expression
                    (lambda (check)
                      (check (list expected ...)
                             (call-with-values (lambda () expression) list)))))))

    (define-syntax test-error
      (syntax-rules ()
        ((_ expression)
         (%run-error-test #f 'expression (lambda () expression) (lambda (object) #t)))
        ((_ accept? expression)
         (%run-error-test #f 'expression (lambda () expression) accept?))
        ((_ name accept? expression)
         (%run-error-test name 'expression (lambda () expression) accept?))))

    ;; After each so many calls, ten by default, no type has an object more for each call.
    (define-syntax assert-no-growth
      (syntax-rules ()
        ((_ thunk)
         (%run-growth-test #f 'thunk thunk 10))
        ((_ name thunk)
         (%run-growth-test name 'thunk thunk 10))
        ((_ name thunk rounds)
         (%run-growth-test name 'thunk thunk rounds))))

    (define-syntax test-output
      (syntax-rules ()
        ((_ expected body ...)
         (%run-test #f '(begin body ...)
                    (lambda (check)
                      (check expected
                             (let ((port (open-output-string)))
                               (parameterize ((current-output-port port))
                                 body ...)
                               (get-output-string port))))))))

    (define-syntax test-group
      (syntax-rules ()
        ((_ name body ...)
         (%run-group name (lambda () body ... #t)))))))
