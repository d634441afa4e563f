;;; Continuations and escape procedures that are called in another task than the one that made them:
;;; whoever comes to the end of another task by one gets an error, its scope continues, and the
;;; other task is as it was.

(import (scheme base) (only (canny base) call-with-escape-continuation string-prefix? void)
        (canny tasks) (canny test) (canny web client) (canny web message) (canny web server))

(define saved #f)

(define (save! continuation)
  (set! saved continuation))

;; Whether awaiting gives the condition of who has come to the end of another task; the value, if it
;; has one.
(define (outcome task)
  (guard (object ((cancelled-error? object) 'cancelled)
                 ((timeout-error? object) 'hangs)
                 ((error-object? object)
                  (if (string-prefix? "a continuation of task" (error-object-message object))
                      'foreign
                      (error-object-message object))))
    (await task #:timeout 30)))

(define-syntax in-another-task
  (syntax-rules ()
    ((_ expression)
     (outcome (start expression 'not-reached)))))

(test-group "of a task that has ended"
  (let ((task (start (call/cc (lambda (continuation) (save! continuation) 1)))))
    (test 1 (outcome task))
    (test 'foreign (in-another-task (saved 2)))
    (test 'foreign (in-another-task (saved 3)))
    (test 1 (outcome task))))

(test-group "of one that has failed"
  (let ((task (start (let ((value (call/cc (lambda (continuation) (save! continuation) 1))))
                       (error "it fails" value)))))
    (test "it fails" (outcome task))
    ;; An error there is the failure of the task that continues there.
    (test "it fails" (in-another-task (saved 2)))))

(test-group "of one that waits"
  (let* ((gate (make-future))
         (task (start (let ((value (call/cc (lambda (continuation) (save! continuation) 1))))
                        (if (= value 1) (await gate))
                        value))))
    (let wait ()
      (if (not saved) (begin (yield) (wait))))
    (yield)
    (test 'foreign (in-another-task (saved 2)))
    (test-assert (not (future-done? task)))
    (future-resolve! gate #t)
    (test 1 (outcome task))))

(test-group
  "one that waits can still be cancelled afterwards, and the task that continues there as well"
  (set! saved #f)
  (let* ((gate (make-future))
         (ready (make-future))
         (task (start (let ((value (call/cc (lambda (continuation) (save! continuation) 1))))
                        (future-resolve! ready #t)
                        (if (< value 3) (await gate))
                        value))))
    (await ready)
    (test 'foreign (in-another-task (saved 3)))
    (let ((other (start (saved 2))))
      (yield)
      (cancel! other)
      (test 'cancelled (outcome other)))
    (cancel! task)
    (test 'cancelled (outcome task))
    (test 'foreign (in-another-task (saved 3)))))

(test-group "escape procedures"
  (let* ((gate (make-future))
         (ready (make-future))
         (task (start (call-with-escape-continuation
                       (lambda (escape)
                         (save! escape)
                         (future-resolve! ready #t)
                         (await gate)
                         1)))))
    (await ready)
    (test-assert (not (memv (in-another-task (saved 2)) '(not-reached hangs 1 2))))
    (future-resolve! gate #t)
    (test 1 (outcome task))))

(test-group "scopes"
  ;; The scope ends, and gets the failure.
  (test 'foreign
        (outcome
         (start (with-tasks
                  (await (start (call/cc (lambda (continuation) (save! continuation) 1))))
                  (start (saved 2))
                  'body))))
  ;; The body of a scope belongs to one task.
  (let* ((gate (make-future))
         (ready (make-future))
         (task (start (with-tasks
                        (call/cc save!)
                        (future-resolve! ready #t)
                        (await gate)
                        'body))))
    (await ready)
    (test-assert (string? (in-another-task (saved 2))))
    (future-resolve! gate #t)
    (test 'body (outcome task))
    (test-assert (string? (in-another-task (saved 2))))))

(test-group "a before procedure that refuses"
  (let* ((open? #t)
         (task (start (dynamic-wind
                       (lambda () (if (not open?) (error "it is closed")))
                       (lambda () (call/cc (lambda (continuation) (save! continuation) 1)))
                       void))))
    (test 1 (outcome task))
    (set! open? #f)
    (test "it is closed" (in-another-task (saved 2)))))

(test-group "handlers of a web server"
  (let* ((gate (make-future))
         (holds (make-future))
         ;; Its log names tasks by numbers, which depend on how many serve.
         (log (open-output-string))
         (server (parameterize ((current-error-port log))
                   (start-server
                    (lambda (request body)
                      (case (string->symbol (request-path request))
                        ((/save)
                         (values '() (call/cc (lambda (continuation)
                                                (save! continuation)
                                                "first"))))
                        ((/hold)
                         (values '() (let ((value (call/cc (lambda (continuation)
                                                             (save! continuation)
                                                             "held"))))
                                       (if (equal? value "held")
                                           (begin
                                             (future-resolve! holds #t)
                                             (await gate)))
                                       value)))
                        ((/call) (saved "second"))
                        (else (values '() "other"))))
                    #:port 0
                    #:on-error (lambda (request object)
                                 (make-response #:status 500
                                                #:body (if (error-object? object) "told" "?"))))))
         (url (string-append "http://" (car (server-addresses server)))))
    (define (ask path)
      (http-response-text (http-get (string-append url path))))
    (with-http-client (make-http-client #:timeout 30 #:retries 0)
      ;; One of a task that serves nothing.
      (await (start (call/cc save!)))
      (test "told" (ask "/call"))
      (test "other" (ask "/other"))
      (let ((held (start (ask "/hold"))))
        (await holds)
        (test "told" (ask "/call"))
        (test "told" (ask "/call"))
        (test "other" (ask "/other"))
        (future-resolve! gate #t)
        ;; The continuation of its handler has answered it.
        (test "second" (await held)))
      (test "first" (ask "/save"))
      (test "other" (ask "/other")))
    (stop-server! server)
    (test #t (string-prefix? "canny: GET /call: a continuation of task "
                             (get-output-string log)))))
