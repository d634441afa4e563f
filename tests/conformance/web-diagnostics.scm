;; (canny web diagnostics): health, readiness, tasks.

(import (scheme base) (canny web diagnostics) (canny web server) (canny web message) (canny net)
        (canny json) (canny tasks) (canny test)
        (only (canny base) string-search-forward))

(define (has? text part) (and (string-search-forward part text 0) #t))

(define (ask handler . options)
  (handler (apply make-request 'GET "/" options) #f))

(define (json-of response) (string->json (response-body response)))

(test-group "health"
  (let ((response (ask (health-handler))))
    (test 200 (response-status response))
    (test '((status . "ok")) (json-of response)))
  (let* ((handler (health-handler #:checks `((disk . ,(lambda () #t))
                                             (cache . ,(lambda () #f))
                                             (database . ,(lambda () (error "secret" 1)))
                                             (slow . ,(lambda () (sleep 60))))
                                  #:timeout 1/20))
         (response (ask handler))
         (checks (json-ref (json-of response) 'checks)))
    (test 503 (response-status response))
    (test "failing" (json-ref (json-of response) 'status))
    (test "ok" (json-ref checks 'disk 'status))
    (test "false" (json-ref checks 'cache 'reason))
    (test "error" (json-ref checks 'database 'reason))
    (test "timeout" (json-ref checks 'slow 'reason))
    (test #f (has? (response-body response) "secret")))
  (let ((response
         (ask (health-handler #:checks `((a . ,(lambda () (error "why")))) #:details? #t))))
    (test "why" (json-ref (json-of response) 'checks 'a 'message)))
  (test-error (health-handler #:checks '((a . 1))))
  (test-error (health-handler #:timeout 0)))

(test-group "readiness"
  (test 200 (response-status (ask (readiness-handler))))
  (let* ((statuses '())
         (begun (make-future))
         (goes-on (make-future))
         (ready (readiness-handler))
         (server (start-server (lambda (request body)
                                 (let ((before (response-status (ready request body))))
                                   (future-resolve! begun #t)
                                   (await goes-on)
                                   (set! statuses
                                         (list before (response-status (ready request body))))
                                   "done"))
                               #:port 0)))
    (call-with-connection (connect (car (server-addresses server)))
      (lambda (input output)
        (write-bytevector (string->utf8 "GET / HTTP/1.0\r\n\r\n") output)
        (flush-output-port output)
        (await begun)
        (let ((stopped (start (stop-server! server #:timeout 5))))
          (sleep 0.05)
          (future-resolve! goes-on #t)
          (await stopped))))
    (test '(200 503) statuses)))

(test-group "tasks"
  (define handler (debug-tasks-handler))
  (define waiting (make-future))
  (define sleeper (spawn (lambda () (await waiting)) #:name 'sleeper))
  (sleep 0.01)
  (let ((response (ask handler #:peer "127.0.0.1:7")))
    (test 200 (response-status response))
    (test-assert (has? (response-body response) "sleeper")))
  (let* ((response (ask handler #:peer "[::1]:7" #:headers '((accept . "application/json"))))
         (tasks (vector->list (json-ref (json-of response) 'tasks)))
         (names (map (lambda (task) (json-ref task 'name)) tasks)))
    (test-assert (member "sleeper" names))
    (test-assert (json-ref (json-of response) 'pool 'cores)))
  (test 403 (response-status (ask handler #:peer "192.0.2.1:7")))
  ;; A proxy on this machine passes on what others ask.
  (test 403
        (response-status (ask handler #:peer "127.0.0.1:7"
                              #:headers '((x-forwarded-for . "192.0.2.1")))))
  (test 200
        (response-status (ask (debug-tasks-handler #:allow? (lambda (request) #t))
                              #:peer "192.0.2.1:7")))
  (cancel! sleeper))

(test-finish)
