;; (canny web server) in operation: time limits of handlers.

(import (scheme base) (canny web server) (canny web message) (canny web middleware) (canny net)
        (canny tasks) (canny test)
        (only (canny base) string-search-forward))

(define (has? text part) (and (string-search-forward part text 0) #t))

(include "include/raw-requests.scm")

(define (status text) (substring text 9 12))

(test-group "time limits of handlers"
  (define told (open-output-string))
  (define ended (make-future))
  (define (answer request body)
    (let ((path (request-path request)))
      (cond ((string=? path "/waits")
             (guard (object ((cancelled-error? object)
                             (future-resolve! ended 'cancelled)
                             (raise object)))
               (sleep 60)
               "late"))
            ((string=? path "/computes") (let loop () (loop)))
            ((string=? path "/fails") (error "no luck"))
            ((string=? path "/two") (values '((x-two . "2")) "two"))
            ((string=? path "/streams")
             (make-response #:body (lambda (port) (sleep 0.4) (write-bytevector #u8(33) port))
                            #:headers '((content-type . application/octet-stream))))
            (else "quick"))))
  (parameterize ((current-error-port told))
    (let ((server (start-server answer #:port 0 #:handler-timeout 0.2)))
      (test-assert (has? (get server "/") "quick"))
      (test-assert (has? (get server "/two") "X-Two: 2\r\n"))
      (test "503" (status (get server "/waits")))
      (test 'cancelled (await ended #:timeout 10))
      (test "503" (status (get server "/computes")))
      (test "500" (status (get server "/fails")))
      ;; Sending has limits of its own.
      (test-assert (has? (get server "/streams") "!"))
      (test-assert (has? (get server "/") "quick"))
      (stop-server! server #:timeout 2)))
  (test-assert (has? (get-output-string told) "GET /waits: the handler took too long: 0.2"))
  (test-assert (has? (get-output-string told) "GET /fails: no luck")))

(test-group "what is answered instead"
  (define seen #f)
  (define server
    (start-server (with-middleware (lambda (request body) (sleep 60) "late")
                    (answer-errors))
                  #:port 0 #:handler-timeout 1/20
                  #:on-error (lambda (request object)
                               (set! seen (handler-timeout-error? object))
                               (make-response #:status 504 #:body "slow"))))
  (define told (open-output-string))
  (parameterize ((current-error-port told))
    (test "504" (status (get server "/"))))
  (test #t seen)
  (stop-server! server #:timeout 2)
  (test-error (start-server (lambda (request body) "") #:port 0 #:handler-timeout 0)))

(test-finish)
