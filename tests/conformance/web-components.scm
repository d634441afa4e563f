;; (canny web components): components that serve and make requests of HTTP.

(import (scheme base) (canny wasm) (canny web components) (canny web server) (canny web message)
        (canny web client) (canny net) (canny tasks) (canny test)
        (only (canny tasks monitor) all-tasks)
        (only (canny base) string-search-forward iota))

(include "include/raw-requests.scm")
(include "include/http-guest.scm")

(define guest (compile-component guest-text))

;; Messages of what was reported.
(define failures '())

;; Reports of the server are not those of the test.
(define (call-with-server handler body)
  (parameterize ((current-error-port (open-output-string)))
    (serve handler body)))

(define (serve handler body)
  (let ((server (start-server handler #:port 0
                              #:on-error
                              (lambda (request object)
                                (set! failures (cons (error-object-message object) failures))
                                (make-response #:status (if (handler-timeout-error? object) 503 500)
                                               #:body "failed")))))
    (dynamic-wind
     (lambda () #f)
     (lambda () (body server))
     (lambda () (stop-server! server #:timeout 1)))))

(define (url server path)
  (string-append "http://" (car (server-addresses server)) path))

(define (text-at server path)
  (http-response-text (http-get (url server path))))

;; Whether guests are left, after a while in which they may end.
(define (guests-left?)
  (let loop ((count 0))
    (cond ((not (memq 'guest (map task-name (all-tasks)))) #f)
          ((> count 200) #t)
          (else (sleep 0.01) (loop (+ count 1))))))

(define (message thunk)
  (guard (object ((error-object? object) (error-object-message object)))
    (thunk)
    'nothing-raised))

(test-group "responses"
  (call-with-server (component-handler guest)
    (lambda (server)
      (let ((response (http-get (url server "/hello"))))
        (test 201 (http-response-status response))
        (test "yes" (cdr (assq 'x-guest (http-response-headers response))))
        (test "hello" (http-response-text response)))
      (test 201 (http-response-status (http-head (url server "/hello"))))
      (test 400000 (bytevector-length (http-response-bytes (http-get (url server "/stream")))))
      ;; Instances are new.
      (test '("1" "1" "1") (map (lambda (n) (text-at server "/count")) (iota 3)))
      ;; Several at once.
      (test '("hello" "hello" "hello" "hello")
            (map await (map (lambda (n) (spawn (lambda () (text-at server "/hello")))) (iota 4))))
      (let ((answer (get server "/trailers")))
        (test-true (string-search-forward "\r\n0\r\nX-Guest: yes\r\n\r\n" answer 0)))))
  (test-false (guests-left?)))

(test-group "bodies of requests"
  (call-with-server (component-handler guest)
    (lambda (server)
      (let ((bytes (make-bytevector 300000 7)))
        (test bytes (http-response-bytes (http-post (url server "/echo") #:body bytes)))
        ;; In chunks.
        (test bytes
              (http-response-bytes
               (http-post (url server "/echo") #:body (open-input-bytevector bytes)))))
      (test "" (text-at server "/echo"))
      ;; Nobody reads it.
      (test "hello"
            (http-response-text
             (http-post (url server "/hello") #:body (make-bytevector 300000 7))))))
  (test-false (guests-left?)))

(test-group "instances that are used again"
  (call-with-server (component-handler guest #:reuse 3 #:fuel 100000)
    (lambda (server)
      (test '("1" "2" "3" "1" "2") (map (lambda (n) (text-at server "/count")) (iota 5)))
      ;; One that has trapped is not.
      (test 500 (http-response-status (http-get (url server "/x"))))
      (test "1" (text-at server "/count"))
      ;; There is as much fuel for each request.
      (test 500 (http-response-status (http-get (url server "/loop"))))
      (test "1" (text-at server "/count"))))
  (test-false (guests-left?)))

(test-group "failures"
  (set! failures '())
  (call-with-server (component-handler guest #:timeout 0.2)
    (lambda (server)
      (define (status path) (http-response-status (http-get (url server path) #:retries 0)))
      (test '(500 500 500 500 503) (map status '("/x" "/never" "/dropped" "/failed" "/loop")))
      (test '("unreachable code was reached" "the guest has not answered the request"
              "the guest has not answered the request"
              "the guest answered with an error: loop-detected" "the guest took too long")
            (reverse failures))
      ;; The client learns that the response is not whole.
      (test 'body (guard (object ((http-error? object) (http-error-stage object)))
                    (http-get (url server "/behind"))))))
  (test-false (guests-left?))
  (test "the component does not export wasi:http/incoming-handler"
        (message (lambda () (component-handler (compile-component "(component)")))))
  (test-true (string? (message (lambda () (component-handler guest #:reuse 0)))))
  (test-true (string? (message (lambda () (component-handler guest #:timeout 0))))))

(test-group "clients that go away"
  (define handler (component-handler guest #:timeout #f))
  (define (request path) (make-request 'GET path #:headers '((host . "localhost"))))
  ;; A body that is closed before its end.
  (let* ((response (handler (request "/without-end") #f))
         (body (response-body response)))
    (test 100 (bytevector-length (read-bytevector 100 body)))
    (close-port body))
  (test-false (guests-left?))
  (call-with-server handler
    (lambda (server)
      (call-with-http-response
        (lambda (response) (read-bytevector 100 (http-response-port response)))
        'GET (url server "/without-end"))
      (test-false (guests-left?))))
  ;; A handler that is cancelled.
  (let ((task (spawn (lambda () (handler (request "/loop") #f)))))
    (sleep 0.05)
    (cancel! task)
    (test-true (guard (object (#t (cancelled-error? object))) (await task))))
  (test-false (guests-left?)))

(test-group "requests of guests"
  (call-with-server
    (lambda (request body)
      (make-response #:body (string-append (request-target request) " "
                                           (request-field request 'x-guest) " "
                                           (request-field request 'host))))
    (lambda (upstream)
      (define address (car (server-addresses upstream)))
      (call-with-server (component-handler guest #:http #t)
        (lambda (server)
          (test (string-append "/up?q yes " address) (text-at server (string-append "/o" address)))
          ;; Codes by their number: connection-refused.
          (test "6" (text-at server "/o127.0.0.1:1"))))
      ;; One that may make none: the 16th, HTTP-request-denied.
      (call-with-server (component-handler guest)
        (lambda (server)
          (test (string #\?) (text-at server (string-append "/o" address)))))))
  (test-false (guests-left?))
  (test "WASI was made without #:http, so that its guest makes no requests"
        (message (lambda () (call-with-component-http (make-wasi) (lambda () 5)))))
  (test 5 (call-with-component-http (make-wasi #:http #t) (lambda () 5))))

(test-finish)
