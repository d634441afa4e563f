;;; (canny web client) and (canny web server), one speaking to the other.

(import (scheme base) (canny web client) (canny web server) (canny web message) (canny tasks)
        (canny test))

(define gate (make-future))

(define server
  (start-server
   (lambda (request body)
     (case (string->symbol (request-path request))
       ((/big) (values '((content-type . (text/plain))) (make-string 300000 #\a)))
       ((/echo)
        (values '((content-type . (application/octet-stream))) (read-request-body request)))
       ((/stream)
        (values '((content-type . (text/plain)))
                (lambda (port)
                  (write-string "first" port)
                  (flush-output-port port)
                  (await gate)
                  (write-string "last" port))))
       ((/field) (values '() (or (request-field request 'x-field) "none")))
       (else (make-response #:status 404 #:body "not there"))))
   #:port 0))

(define address (car (server-addresses server)))
(define (url path) (string-append "http://" address path))
(define (text response) (http-response-text response))

(with-http-client (make-http-client #:timeout 20 #:retries 0)
  (test-group "requests"
    (test 300000 (string-length (text (http-get (url "/big")))))
    (test "text/plain"
          (symbol->string (car (http-response-header (http-get (url "/big")) 'content-type))))
    (test "" (text (http-head (url "/big"))))
    (test "hello" (text (http-post (url "/echo") #:body "hello")))
    (test "piece by piece"
          (text (http-post (url "/echo")
                           #:body (lambda (port)
                                    (for-each (lambda (part)
                                                (write-bytevector (string->utf8 part) port)
                                                (flush-output-port port))
                                              '("piece " "by " "piece"))))))
    (test 1000000
          (bytevector-length
           (http-response-bytes (http-put (url "/echo") #:body (make-bytevector 1000000 1)))))
    (test "a value" (text (http-get (url "/field") #:headers '((x-field . "a value")))))
    (test 404 (http-response-status (http-get (url "/other")))))
  (test-group "streams"
    (call-with-http-response
      (lambda (response)
        (let ((port (http-response-port response)))
          (test #u8(102 105 114 115 116) (read-bytevector 5 port))
          (future-resolve! gate #t)
          (test #u8(108 97 115 116) (read-bytevector 10 port))))
      'GET (url "/stream")))
  (test-group "many"
    (test (make-list 40 300000)
          (map await
               (map (lambda (k) (spawn (lambda () (string-length (text (http-get (url "/big")))))))
                    (make-list 40 0))))))

(stop-server! server)
(test 'connect (guard (e ((http-error? e) (http-error-stage e)))
                 (http-get (url "/big") #:retries 0)))

(test-finish)
