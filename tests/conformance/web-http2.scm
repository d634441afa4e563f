;; (canny web server) with clients of HTTP/2, which are frames made by hand.

(import (scheme base) (scheme write) (canny web server) (canny web message) (canny net)
        (canny tasks) (canny test))

(define (frame kind flags stream payload)
  (let ((length (bytevector-length payload)))
    (bytevector-append
     (bytevector (quotient length 65536) (modulo (quotient length 256) 256) (modulo length 256)
                 kind flags 0 0 0 stream)
     payload)))

(define preface (string->utf8 "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
(define settings (bytevector-append (frame 4 0 0 #u8()) (frame 4 1 0 #u8())))
(define end-stream 1)
(define end-headers 4)

;; Fields as literals; texts of less than 127 bytes.
(define (literals fields)
  (apply bytevector-append
         (map (lambda (field)
                (let ((name (string->utf8 (car field))) (value (string->utf8 (cdr field))))
                  (bytevector-append #u8(0) (bytevector (bytevector-length name)) name
                                     (bytevector (bytevector-length value)) value)))
              fields)))

(define (head method path . fields)
  (literals
   (append `((":method" . ,method) (":scheme" . "http") (":path" . ,path) (":authority" . "x"))
           fields)))

(define (send output . parts)
  (for-each (lambda (part) (write-bytevector part output)) parts)
  (flush-output-port output))

;; A frame: kind, flags, stream, payload.
(define (receive input)
  (let* ((bytes (read-bytevector 9 input))
         (byte (lambda (index) (bytevector-u8-ref bytes index)))
         (length (+ (* 65536 (byte 0)) (* 256 (byte 1)) (byte 2))))
    (list (byte 3) (byte 4) (byte 8)
          (if (= length 0) #u8() (read-bytevector length input)))))

;; The whole body of the response on a stream. Other frames are passed over; `look` gets them all.
(define (body-of input stream . look)
  (let loop ((parts '()))
    (let* ((it (receive input))
           (kind (car it)) (flags (cadr it)) (of (list-ref it 2)) (payload (list-ref it 3)))
      (if (pair? look) ((car look) kind of payload))
      (cond ((and (= kind 0) (= of stream))
             (if (odd? flags)
                 (utf8->string (apply bytevector-append (reverse (cons payload parts))))
                 (loop (cons payload parts))))
            ((and (= kind 3) (= of stream)) (list 'reset (bytevector-u8-ref payload 3)))
            ((and (= kind 1) (= of stream) (odd? flags)) 'no-body)
            (else (loop parts))))))

(define (show . objects)
  (let ((port (open-output-string)))
    (write objects port)
    (get-output-string port)))

(define (handler request body)
  (let ((path (request-path request)))
    (cond ((string=? path "/show")
           (values '()
                   (show (request-method request) (request-target request)
                         (request-version request) (request-secure? request)
                         (request-keep-alive? request) (request-body-length request)
                         (request-field request 'host) (request-field request 'cookie)
                         (request-fields request))))
          ((string=? path "/echo")
           (values '((content-type . (application/octet-stream)))
                   (lambda (port)
                     (let loop ()
                       (let ((part (read-bytevector 100 body)))
                         (if (not (eof-object? part))
                             (begin
                               (write-bytevector part port)
                               (loop))))))))
          ((string=? path "/length")
           (values '() (show (bytevector-length (read-request-body request)))))
          ((string=? path "/slow") (sleep 0.05) "slow")
          ((string=? path "/change")
           (make-response #:status 101 #:headers '((upgrade . "other"))
                          #:body (lambda (input output) #f)))
          ((string=? path "/late")
           (values '((content-type . (text/plain)))
                   (lambda (port)
                     (write-string "some" port)
                     (flush-output-port port)
                     (error "no more"))))
          ((string=? path "/large") (make-string 40000 #\x))
          (else (make-response #:status 404 #:headers '((connection . "close")))))))

(define server
  (start-server handler #:port 0 #:max-body-bytes 100000
                #:on-error (lambda (request object) (make-response #:status 500 #:body "failed"))))

(define (with-client work)
  (call-with-connection (connect (car (server-addresses server)) #:timeout 10)
    (lambda (input output)
      (send output preface settings)
      (work input output))))

(define (get path . fields)
  (with-client
    (lambda (input output)
      (send output (frame 1 5 1 (apply head "GET" path fields)))
      (body-of input 1))))

(define (post path . parts)
  (with-client
    (lambda (input output)
      (send output (frame 1 end-headers 1 (head "POST" path)))
      (let loop ((parts parts))
        (send output (frame 0 (if (pair? (cdr parts)) 0 end-stream) 1 (car parts)))
        (if (pair? (cdr parts)) (loop (cdr parts))))
      (body-of input 1))))

(test-group "requests"
  (test
   "(GET \"/show?x\" (2 . 0) #f #t 0 \"x\" \"a=1; b=2\" ((host . \"x\") (cookie . \"a=1; b=2\") \
    (accept . \"*/*\")))"
   (get "/show?x" '("cookie" . "a=1") '("accept" . "*/*") '("cookie" . "b=2")))
  (test "(PUT \"/show\" (2 . 0) #f #t #f \"x\" #f ((host . \"x\")))"
    (with-client
      (lambda (input output)
        (send output (frame 1 end-headers 1 (head "PUT" "/show")) (frame 0 end-stream 1 #u8()))
        (body-of input 1))))
  (test 'no-body (get "/nowhere"))
  (test 'no-body
    (with-client
      (lambda (input output)
        (send output (frame 1 5 1 (head "HEAD" "/large")))
        (body-of input 1)))))

(test-group "bodies"
  (test "abcdef" (post "/echo" #u8(97 98) #u8() #u8(99) #u8(100 101 102)))
  (test "(40000)"
    (apply post "/length" (map (lambda (index) (make-bytevector 10000 7)) '(1 2 3 4))))
  (test 40000 (string-length (get "/large")))
  (test "Content Too Large\n"
    (apply post "/length" (map (lambda (index) (make-bytevector 10000 7))
                               '(1 2 3 4 5 6 7 8 9 10 11)))))

(test-group "streams beside one another"
  (test '("slow" "(0)")
    (with-client
      (lambda (input output)
        (send output (frame 1 5 1 (head "GET" "/slow"))
              (frame 1 end-headers 3 (head "POST" "/length")) (frame 0 end-stream 3 #u8()))
        (let* ((other #f)
               (slow (body-of input 1
                              (lambda (kind stream payload)
                                (if (and (= kind 0) (= stream 3))
                                    (set! other (utf8->string payload)))))))
          (list slow other))))))

(test-group "failures"
  (test "failed" (get "/change"))
  ;; The other streams of the connection go on.
  (test '((reset 2) "slow")
    (with-client
      (lambda (input output)
        (send output (frame 1 5 1 (head "GET" "/late")))
        (let ((first (body-of input 1)))
          (send output (frame 1 5 3 (head "GET" "/slow")))
          (list first (body-of input 3)))))))

(test-group "the server"
  (test-assert (> (cdr (assq 'http2 (server-statistics server))) 5))
  (test "(16)"
    (let ((server (start-server (lambda (request body) (values '() "(16)"))
                                #:port 0 #:max-streams 0)))
      (call-with-connection (connect (car (server-addresses server)) #:timeout 10)
        (lambda (input output)
          (send output preface settings)
          (let ((first (utf8->string (read-bytevector 12 input))))
            (stop-server! server #:timeout 1)
            (if (equal? first "HTTP/1.1 400") "(16)" first))))))
  ;; Requests that are being handled are answered before a server ends.
  (test "slow"
    (with-client
      (lambda (input output)
        (send output (frame 1 5 1 (head "GET" "/slow")))
        (let ((answer (spawn (lambda () (body-of input 1)))))
          (sleep 0.02)
          (stop-server! server #:timeout 5)
          (await answer))))))

(test-finish)
