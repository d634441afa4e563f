;;; (srfi 64): an interface for test suites.
;;;
;;; A test runner holds the state of a run.  The lists of specifiers hold procedures of a runner;
;;; numbers and strings become such procedures when they are added.  Before each test every active
;;; specifier is called once, also when an earlier one decides, since specifiers count their calls.
;;;
;;; A nested group counts as one test of the group around it, as a test does.  A skipped group of
;;; `test-group` counts as one skipped test.
;;;
;;; `test-error` takes as its type #t, a predicate, or a record type; any other object stands for
;;; every exception.
;;;
;;; Under `canny test` the results go to it by (canny test report), whatever the runner, and the
;;; simple runner prints nothing. Tests of other runners are not reported.

(define-library (srfi 64)
  (export test-begin test-end test-group test-group-with-cleanup
          test-assert test-eqv test-eq test-equal test-approximate test-error
          test-read-eval-string
          test-match-name test-match-nth test-match-any test-match-all test-skip test-expect-fail
          test-runner? test-runner-current test-runner-get test-runner-simple test-runner-null
          test-runner-create test-runner-factory test-apply test-with-runner
          test-result-kind test-passed? test-result-ref test-result-set! test-result-remove
          test-result-clear test-result-alist
          test-runner-on-test-begin test-runner-on-test-begin!
          test-runner-on-test-end test-runner-on-test-end!
          test-runner-on-group-begin test-runner-on-group-begin!
          test-runner-on-group-end test-runner-on-group-end!
          test-runner-on-bad-count test-runner-on-bad-count!
          test-runner-on-bad-end-name test-runner-on-bad-end-name!
          test-runner-on-final test-runner-on-final!
          test-on-test-begin-simple test-on-test-end-simple test-on-group-begin-simple
          test-on-group-end-simple test-on-bad-count-simple test-on-bad-end-name-simple
          test-on-final-simple
          test-runner-pass-count test-runner-fail-count test-runner-xpass-count
          test-runner-xfail-count test-runner-skip-count test-runner-test-name
          test-runner-group-path test-runner-group-stack test-runner-aux-value
          test-runner-aux-value! test-runner-reset
          %test-check %test-compare %test-expect-error %test-group)
  (import (scheme base) (scheme case-lambda) (scheme write) (scheme read) (scheme eval)
          (scheme repl)
          (only (canny primitives) %make-condition condition-position condition->string
                record-type? %record? %type-error current-jiffy condition-kind)
          (rename (only (canny primitives) error-object?) (error-object? condition?))
          (only (canny machine control) %guard-else)
          (canny test report)
          (only (canny test differences) differences show-value))
  (begin

    ;; Whether `canny test` is to hear of a runner.
    (define (told? runner)
      (and (reporting?)
           (memq (test-owner) (list #f runner))
           #t))

    ;; Runners.

    (define-record-type test-runner
      (make-runner results
                   passes failures unexpected-passes expected-failures skips
                   groups run-list skip-list fail-list installed?
                   on-test-begin on-test-end on-group-begin on-group-end on-bad-count
                   on-bad-end-name on-final aux-value)
      test-runner?
      ;; Properties of the current test, newest first.
      (results test-runner-results set-results!)
      (passes test-runner-pass-count set-passes!)
      (failures test-runner-fail-count set-failures!)
      (unexpected-passes test-runner-xpass-count set-unexpected-passes!)
      (expected-failures test-runner-xfail-count set-expected-failures!)
      (skips test-runner-skip-count set-skips!)
      ;; The open groups, innermost first.
      (groups runner-groups set-groups!)
      ;; The specifiers of `test-apply`, or #f when every test runs.
      (run-list runner-run-list set-run-list!)
      (skip-list runner-skip-list set-skip-list!)
      (fail-list runner-fail-list set-fail-list!)
      ;; Whether `test-begin` made the runner.
      (installed? runner-installed? set-installed!)
      (on-test-begin test-runner-on-test-begin test-runner-on-test-begin!)
      (on-test-end test-runner-on-test-end test-runner-on-test-end!)
      (on-group-begin test-runner-on-group-begin test-runner-on-group-begin!)
      (on-group-end test-runner-on-group-end test-runner-on-group-end!)
      (on-bad-count test-runner-on-bad-count test-runner-on-bad-count!)
      (on-bad-end-name test-runner-on-bad-end-name test-runner-on-bad-end-name!)
      (on-final test-runner-on-final test-runner-on-final!)
      (aux-value test-runner-aux-value test-runner-aux-value!))

    ;; An open group. It has its name, the number of tests that it promised or #f, the tests so
    ;; far, and the specifier lists to restore.
    (define-record-type group
      (make-group name expected count skip-list fail-list)
      group?
      (name group-name)
      (expected group-expected)
      (count group-count set-group-count!)
      (skip-list group-skip-list)
      (fail-list group-fail-list))

    (define (ignore . arguments) #f)

    (define (test-runner-null)
      (make-runner '() 0 0 0 0 0 '() #f '() '() #f
                   ignore ignore ignore ignore ignore ignore ignore #f))

    (define (test-runner-simple)
      (make-runner '() 0 0 0 0 0 '() #f '() '() #f
                   test-on-test-begin-simple test-on-test-end-simple
                   test-on-group-begin-simple test-on-group-end-simple
                   test-on-bad-count-simple test-on-bad-end-name-simple
                   test-on-final-simple #f))

    (define (test-runner-reset runner)
      (set-results! runner '())
      (set-passes! runner 0)
      (set-failures! runner 0)
      (set-unexpected-passes! runner 0)
      (set-expected-failures! runner 0)
      (set-skips! runner 0)
      (set-groups! runner '())
      (set-run-list! runner #f)
      (set-skip-list! runner '())
      (set-fail-list! runner '()))

    (define test-runner-factory (make-parameter test-runner-simple))
    (define test-runner-current (make-parameter #f))

    (define (test-runner-create)
      ((test-runner-factory)))

    (define (test-runner-get)
      (or (test-runner-current)
          (error "test-runner-get: there is no current test runner")))

    (define (test-runner-group-stack runner)
      (map group-name (runner-groups runner)))

    (define (test-runner-group-path runner)
      (reverse (test-runner-group-stack runner)))

    (define (test-runner-test-name runner)
      (test-result-ref runner 'test-name ""))

    ;; Results.

    (define test-result-ref
      (case-lambda
        ((runner name) (test-result-ref runner name #f))
        ((runner name default)
         (let ((entry (assq name (test-runner-results runner))))
           (if entry (cdr entry) default)))))

    ;; An entry is never changed once it is there: lists that were handed out stay as they are.
    (define (test-result-set! runner name value)
      (set-results! runner
                    (cons (cons name value)
                          (without name (test-runner-results runner)))))

    (define (test-result-remove runner name)
      (set-results! runner (without name (test-runner-results runner))))

    (define (without name alist)
      (cond ((null? alist) '())
            ((eq? (caar alist) name) (cdr alist))
            (else (cons (car alist) (without name (cdr alist))))))

    (define (test-result-clear runner)
      (set-results! runner '()))

    (define (test-result-alist runner)
      (test-runner-results runner))

    (define test-result-kind
      (case-lambda
        (() (test-result-kind (test-runner-get)))
        ((runner) (test-result-ref runner 'result-kind))))

    (define (test-passed? . runner)
      (if (memq (apply test-result-kind runner) '(pass xpass)) #t #f))

    ;; Specifiers.

    (define (->specifier who object)
      (cond ((procedure? object) object)
            ((string? object) (test-match-name object))
            ((exact-integer? object) (test-match-nth 1 object))
            (else (%type-error who 1 "test specifier" object))))

    (define (test-match-name name)
      (lambda (runner)
        (equal? name (test-runner-test-name runner))))

    (define test-match-nth
      (case-lambda
        ((n) (test-match-nth n 1))
        ((n count)
         (if (not (exact-integer? n))
             (%type-error 'test-match-nth 1 "integer" n))
         (if (not (exact-integer? count))
             (%type-error 'test-match-nth 2 "integer" count))
         (let ((calls 0))
           (lambda (runner)
             (set! calls (+ calls 1))
             (<= n calls (+ n count -1)))))))

    (define (any-match? specifiers runner)
      (let loop ((rest specifiers) (found #f))
        (if (null? rest)
            found
            (loop (cdr rest) (or ((car rest) runner) found)))))

    (define (all-match? specifiers runner)
      (let loop ((rest specifiers) (all #t))
        (if (null? rest)
            all
            (loop (cdr rest) (and ((car rest) runner) all)))))

    (define (test-match-any . specifiers)
      (let ((specifiers (map (lambda (object) (->specifier 'test-match-any object)) specifiers)))
        (lambda (runner) (any-match? specifiers runner))))

    (define (test-match-all . specifiers)
      (let ((specifiers (map (lambda (object) (->specifier 'test-match-all object)) specifiers)))
        (lambda (runner) (all-match? specifiers runner))))

    (define (test-skip . specifiers)
      (let ((runner (test-runner-get)))
        (set-skip-list! runner
                        (cons (apply test-match-all (checked 'test-skip specifiers))
                              (runner-skip-list runner)))))

    (define (test-expect-fail . specifiers)
      (let ((runner (test-runner-get)))
        (set-fail-list! runner
                        (cons (apply test-match-all (checked 'test-expect-fail specifiers))
                              (runner-fail-list runner)))))

    (define (checked who specifiers)
      (map (lambda (object) (->specifier who object)) specifiers))

    ;; The treatment of the test or group whose name is set: the symbol skip, the symbol xfail, or
    ;; #f to run it.
    (define (verdict runner)
      (let* ((chosen? (or (not (runner-run-list runner))
                          (any-match? (runner-run-list runner) runner)))
             (skipped? (any-match? (runner-skip-list runner) runner))
             (fails? (any-match? (runner-fail-list runner) runner)))
        (cond ((or skipped? (not chosen?)) 'skip)
              (fails? 'xfail)
              (else #f))))

    ;; Groups.

    (define test-begin
      (case-lambda
        ((name) (test-begin name #f))
        ((name count)
         (if (not (test-runner-current))
             (let ((runner (test-runner-create)))
               (set-installed! runner #t)
               (test-runner-current runner)))
         (let ((runner (test-runner-get)))
           (if (told? runner)
               (report-group-begin! name))
           ((test-runner-on-group-begin runner) runner name count)
           (set-groups! runner
                        (cons (make-group name count 0
                                          (runner-skip-list runner) (runner-fail-list runner))
                              (runner-groups runner)))))))

    (define (count-in-group! runner)
      (if (pair? (runner-groups runner))
          (let ((group (car (runner-groups runner))))
            (set-group-count! group (+ (group-count group) 1)))))

    (define (test-end . names)
      (let* ((runner (test-runner-get))
             (groups (runner-groups runner)))
        (if (null? groups)
            (error "test-end: there is no open test group"))
        (let* ((group (car groups))
               (expected (group-expected group)))
          (if (and (pair? names)
                   (car names)
                   (not (equal? (car names) (group-name group))))
              ((test-runner-on-bad-end-name runner) runner (group-name group) (car names)))
          (if (and expected (not (= expected (group-count group))))
              (begin
                (if (told? runner)
                    (report-problem! (bad-count-text runner (group-count group) expected)))
                ((test-runner-on-bad-count runner) runner (group-count group) expected)))
          ((test-runner-on-group-end runner) runner)
          (if (told? runner)
              (report-group-end!))
          (set-groups! runner (cdr groups))
          (set-skip-list! runner (group-skip-list group))
          (set-fail-list! runner (group-fail-list group))
          (count-in-group! runner)
          (if (null? (cdr groups))
              (begin
                ((test-runner-on-final runner) runner)
                (if (runner-installed? runner)
                    (test-runner-current #f)))))))

    (define (%test-group name thunk)
      (let ((runner (test-runner-current)))
        (if runner
            (begin
              (test-result-clear runner)
              (test-result-set! runner 'test-name name)))
        (if (and runner (eq? (verdict runner) 'skip))
            (begin
              (test-result-set! runner 'result-kind 'skip)
              (set-skips! runner (+ (test-runner-skip-count runner) 1))
              (count-in-group! runner))
            (dynamic-wind
             (lambda () (test-begin name))
             thunk
             (lambda () (test-end name))))))

    (define-syntax test-group
      (syntax-rules ()
        ((_ name body ...)
         (%test-group name (lambda () body ... #f)))))

    (define-syntax test-group-with-cleanup
      (syntax-rules ()
        ((_ name body ... cleanup)
         (%test-group name
                      (lambda ()
                        (dynamic-wind
                         (lambda () #f)
                         (lambda () body ... #f)
                         (lambda () cleanup)))))))

    ;; Running tests.

    (define-syntax test-with-runner
      (syntax-rules ()
        ((_ runner body ...)
         (parameterize ((test-runner-current runner)) body ...))))

    (define (test-apply first . rest)
      (cond ((test-runner? first)
             (parameterize ((test-runner-current first))
               (apply test-apply rest)))
            ((test-runner-current)
             => (lambda (runner)
                  (let* ((reversed (reverse (cons first rest)))
                         (outer (runner-run-list runner))
                         (specifiers (checked 'test-apply (reverse (cdr reversed)))))
                    (if (pair? specifiers)
                        (set-run-list! runner (append specifiers (or outer '()))))
                    ((car reversed))
                    (set-run-list! runner outer))))
            (else
             (let ((runner (test-runner-create)))
               (parameterize ((test-runner-current runner))
                 (apply test-apply first rest))
               ((test-runner-on-final runner) runner)))))

    ;; The position of the innermost procedure of the program.
    (define (note-position! runner)
      (let ((position (condition-position (%make-condition 'test "" '() #f))))
        (if position
            (begin
              (test-result-set! runner 'source-file (car position))
              (test-result-set! runner 'source-line (cadr position))))))

    ;; Runs one test.  `attempt` gives whether it passes, and may note properties; an exception is
    ;; a failure.
    (define (run-test name form attempt)
      (let ((runner (test-runner-get)))
        (if (or (not (told? runner))
                (wanted? (test-runner-group-stack runner) (shown-name name form)))
            (run-wanted-test runner name form attempt))))

    (define (run-wanted-test runner name form attempt)
      (test-result-clear runner)
      (note-position! runner)
      (test-result-set! runner 'source-form form)
      (test-result-set! runner 'test-name (or name ""))
      (let ((verdict (verdict runner)) (owner (test-owner)) (start (current-jiffy)) (interrupt #f))
        (if verdict
            (test-result-set! runner 'result-kind verdict))
        ((test-runner-on-test-begin runner) runner)
        (if (not (eq? verdict 'skip))
            (let ((passed?
                   (%guard-else (lambda ()
                                  (set-test-owner! runner)
                                  (attempt runner))
                                (lambda (object)
                                  (if (and (condition? object)
                                           (eq? (condition-kind object) 'interrupt))
                                      (set! interrupt object))
                                  (test-result-set! runner 'actual-error object)
                                  #f))))
              (set-test-owner! owner)
              (test-result-set! runner 'result-kind
                                (if verdict
                                    (if passed? 'xpass 'xfail)
                                    (if passed? 'pass 'fail)))))
        (count-result! runner)
        (if (told? runner)
            (tell-result runner (shown-name name form) (- (current-jiffy) start)))
        ((test-runner-on-test-end runner) runner)
        (if interrupt
            (raise interrupt))))

    (define (shown-name name form)
      (if (or (not name) (equal? name ""))
          (form-name form)
          name))

    ;; Reports to `canny test` how a test ended.
    (define (tell-result runner name jiffies)
      (let ((groups (test-runner-group-stack runner))
            (property (lambda (name) (assq name (test-runner-results runner)))))
        (case (test-result-kind runner)
          ((pass) (report-pass! groups name jiffies))
          ((xfail) (report-expected-failure! groups name jiffies))
          ((skip) (report-skip! groups name))
          ((fail xpass)
           (let ((expected (property 'expected-value))
                 (actual (property 'actual-value))
                 (raised (property 'actual-error)))
             (report-failure! groups name jiffies
                              (and (test-result-ref runner 'source-file)
                                   (list (test-result-ref runner 'source-file)
                                         (test-result-ref runner 'source-line)))
                              (show-value (test-result-ref runner 'source-form))
                              (cond ((eq? (test-result-kind runner) 'xpass) "a failure")
                                    (expected (show-value (cdr expected)))
                                    ((property 'expected-error) "an exception of another kind")
                                    (else "a true value"))
                              (cond (raised (show-raised (cdr raised)))
                                    (actual (show-value (cdr actual)))
                                    (else "no value"))
                              (if (and expected actual)
                                  (differences (cdr expected) (cdr actual))
                                  '())))))))

    (define (count-result! runner)
      (count-in-group! runner)
      (case (test-result-kind runner)
        ((pass) (set-passes! runner (+ (test-runner-pass-count runner) 1)))
        ((fail) (set-failures! runner (+ (test-runner-fail-count runner) 1)))
        ((xpass) (set-unexpected-passes! runner (+ (test-runner-xpass-count runner) 1)))
        ((xfail) (set-expected-failures! runner (+ (test-runner-xfail-count runner) 1)))
        ((skip) (set-skips! runner (+ (test-runner-skip-count runner) 1)))))

    (define (%test-check name form thunk)
      (run-test name form
                (lambda (runner)
                  (let ((value (thunk)))
                    (test-result-set! runner 'actual-value value)
                    value))))

    (define (%test-compare same? name form expected-thunk thunk)
      (run-test name form
                (lambda (runner)
                  (let ((expected (expected-thunk)))
                    (test-result-set! runner 'expected-value expected)
                    (let ((value (thunk)))
                      (test-result-set! runner 'actual-value value)
                      (same? expected value))))))

    (define (%test-expect-error name form type-thunk thunk)
      (run-test name form
                (lambda (runner)
                  (let ((type (type-thunk)))
                    (test-result-set! runner 'expected-error type)
                    (%guard-else
                     (lambda ()
                       (test-result-set! runner 'actual-value (thunk))
                       #f)
                     (lambda (object)
                       (test-result-set! runner 'actual-error object)
                       (cond ((procedure? type) (type object))
                             ((record-type? type) (%record? object type))
                             (else #t))))))))

    (define-syntax test-assert
      (syntax-rules ()
        ((_ expression)
         (%test-check #f '(test-assert expression) (lambda () expression)))
        ((_ name expression)
         (%test-check name '(test-assert name expression) (lambda () expression)))))

    (define-syntax define-comparing-test
      (syntax-rules ()
        ((_ test-name same?)
         (define-syntax test-name
           (syntax-rules ()
             ((_ expected expression)
              (%test-compare same? #f '(test-name expected expression)
                             (lambda () expected) (lambda () expression)))
             ((_ name expected expression)
              (%test-compare same? name '(test-name name expected expression)
                             (lambda () expected) (lambda () expression))))))))

    (define-comparing-test test-eqv eqv?)
    (define-comparing-test test-eq eq?)
    (define-comparing-test test-equal equal?)

    (define (near? tolerance)
      (lambda (expected actual)
        (let ((tolerance (tolerance)))
          (and (>= actual (- expected tolerance))
               (<= actual (+ expected tolerance))))))

    (define-syntax test-approximate
      (syntax-rules ()
        ((_ expected expression tolerance)
         (%test-compare (near? (lambda () tolerance)) #f
                        '(test-approximate expected expression tolerance)
                        (lambda () expected) (lambda () expression)))
        ((_ name expected expression tolerance)
         (%test-compare (near? (lambda () tolerance)) name
                        '(test-approximate name expected expression tolerance)
                        (lambda () expected) (lambda () expression)))))

    (define-syntax test-error
      (syntax-rules ()
        ((_ expression)
         (%test-expect-error #f '(test-error expression) (lambda () #t) (lambda () expression)))
        ((_ type expression)
         (%test-expect-error #f '(test-error type expression)
                             (lambda () type) (lambda () expression)))
        ((_ name type expression)
         (%test-expect-error name '(test-error name type expression)
                             (lambda () type) (lambda () expression)))))

    (define (test-read-eval-string string)
      (let* ((port (open-input-string string))
             (form (read port)))
        (if (or (eof-object? form) (not (eof-object? (read-char port))))
            (error "test-read-eval-string: not exactly one datum" string))
        (eval form (interaction-environment))))

    ;; The simple runner reports failures and unexpected passes as they come, and a summary.

    (define (test-on-test-begin-simple runner) #f)
    (define (test-on-group-begin-simple runner name count) #f)
    (define (test-on-group-end-simple runner) #f)

    (define (display-property label write-value runner name)
      (let ((entry (assq name (test-runner-results runner))))
        (if entry
            (begin
              (display label)
              (write-value (cdr entry))
              (newline)))))

    (define (test-on-test-end-simple runner)
      (let ((kind (test-result-kind runner)))
        (if (and (memq kind '(fail xpass)) (not (told? runner)))
            (begin
              (display (if (eq? kind 'fail) "FAIL " "XPASS "))
              (for-each (lambda (name) (display name) (display ": "))
                        (test-runner-group-path runner))
              (if (equal? (test-runner-test-name runner) "")
                  (write (test-result-ref runner 'source-form))
                  (display (test-runner-test-name runner)))
              (if (test-result-ref runner 'source-file)
                  (begin
                    (display " (")
                    (display (test-result-ref runner 'source-file))
                    (display ":")
                    (display (test-result-ref runner 'source-line))
                    (display ")")))
              (newline)
              (display-property "  expected: " write runner 'expected-value)
              (display-property "  expected an exception: " write runner 'expected-error)
              (display-property "  actual:   " write runner 'actual-value)
              (display-property "  raised:   "
                                (lambda (object) (display (condition->string object)))
                                runner 'actual-error)))))

    (define (bad-count-text runner actual expected)
      (string-append "The group "
                     (show-value (car (test-runner-group-stack runner)))
                     " should have "
                     (number->string expected)
                     " tests, but had "
                     (number->string actual)))

    (define (test-on-bad-count-simple runner actual expected)
      (if (not (told? runner))
          (begin
            (display (bad-count-text runner actual expected))
            (newline))))

    (define (test-on-bad-end-name-simple runner begin-name end-name)
      (error "test-end: the name differs from that of test-begin" end-name begin-name))

    (define (test-on-final-simple runner)
      (define (show count what)
        (if (> count 0)
            (begin
              (display ", ")
              (display count)
              (display what))))
      (if (not (told? runner))
          (begin
            (display (test-runner-pass-count runner))
            (display " passed, ")
            (display (test-runner-fail-count runner))
            (display " failed")
            (show (test-runner-xfail-count runner) " failed as expected")
            (show (test-runner-xpass-count runner) " passed unexpectedly")
            (show (test-runner-skip-count runner) " skipped")
            (newline))))))
