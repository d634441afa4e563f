;; (canny web server), (canny web message): requests over real connections.

(import (scheme base) (scheme write) (canny web server) (canny web message) (canny net)
        (canny tasks) (canny test))

(include "include/raw-requests.scm")

(define (contains? text part)
  (let ((end (- (string-length text) (string-length part))))
    (let loop ((index 0))
      (cond ((> index end) #f)
            ((string=? part (substring text index (+ index (string-length part)))) #t)
            (else (loop (+ index 1)))))))

(define (status text) (substring text 9 12))

(define (body text)
  (let loop ((index 0))
    (if (string=? "\r\n\r\n" (substring text index (+ index 4)))
        (substring text (+ index 4) (string-length text))
        (loop (+ index 1)))))

(define (with-server handler body . options)
  (let ((server (apply start-server handler #:port 0 options)))
    (dynamic-wind
     (lambda () #f)
     (lambda () (body server))
     (lambda () (stop-server! server #:timeout 2)))))

(define (show . objects)
  (let ((port (open-output-string)))
    (for-each (lambda (object) (display object port) (display " " port)) objects)
    (get-output-string port)))

(define (handler request body)
  (let ((path (request-path request)))
    (cond ((string=? path "/hello")
           (values '((content-type . (text/plain))) "Hello, World!"))
          ((string=? path "/show")
           (values '()
                   (show (request-method request) (request-target request)
                         (request-path request) (request-query request)
                         (request-version request) (request-header request 'accept-encoding)
                         (request-field request 'x-twice) (request-header request 'missing 'none)
                         (request-header request 'if-modified-since 'malformed)
                         (length (request-malformed-headers request)))))
          ((string=? path "/length")
           (values '() (show (string-length (read-request-text request)))))
          ((string=? path "/echo")
           (values '((content-type . (application/octet-stream)))
                   (lambda (port)
                     (let loop ()
                       (let ((part (read-bytevector 100 body)))
                         (if (not (eof-object? part))
                             (begin
                               (write-bytevector part port)
                               (loop))))))))
          ((string=? path "/ignore") "ignored")
          ((string=? path "/trailers")
           (let ((before (request-trailers request))
                 (text (read-request-text request)))
             (make-response #:headers '((content-type . (text/plain)))
                            #:body (show before text (request-trailers request))
                            #:trailers (lambda ()
                                         (list (cons 'digest (string-length text))
                                               '(content-length . 3)
                                               '(etag . ("v" . #t)))))))
          ((string=? path "/wrong-trailer")
           (make-response #:body "body" #:trailers '((x-a . "b\r\nc: d"))))
          ((string=? path "/stream")
           (values '((content-type . (text/plain)))
                   (lambda (port)
                     (do ((i 0 (+ i 1))) ((= i 20000))
                       (write i port)
                       (newline port)))))
          ((string=? path "/port")
           (values '((content-type . (text/plain)))
                   (open-input-string "from a port, with ü")))
          ((string=? path "/empty") (make-response #:status 204))
          ((string=? path "/moved")
           (make-response #:status 301 #:headers '((location . "/hello"))))
          ((string=? path "/values")
           (make-response #:headers
                          '((etag . ("v" . #t)) (cache-control . ((max-age . 60) no-store))
                            (x-number . 12))
                          #:body (bytevector 65 66)))
          ((string=? path "/inject")
           (make-response #:headers '((x-a . "b\r\nSet-Cookie: c=d"))))
          ((string=? path "/wide") (values '() "λ is wide"))
          ((string=? path "/fails") (error "this handler fails" 1 2))
          ((string=? path "/fails-late")
           (values '((content-type . (text/plain)))
                   (lambda (port)
                     (write-string "a part" port)
                     (flush-output-port port)
                     (raise 'late))))
          ((string=? path "/nothing") 'nonsense)
          ((string=? path "/sleep") (sleep 0.2) (values '() "slept"))
          ((string=? path "/raw")
           (make-response #:status 101 #:headers '((upgrade . "raw"))
                          #:body (lambda (input output)
                                   (write-bytevector (read-bytevector 4 input) output)
                                   (write-string "" (current-output-port)))))
          (else (make-response #:status 404 #:body "no such page")))))

(define (quiet thunk)
  (parameterize ((current-error-port (open-output-string))) (thunk)))

(with-server handler
  (lambda (server)
    (test-group "responses"
      (let ((text (get server "/hello")))
        (test "200" (status text))
        (test "Hello, World!" (body text))
        (test-assert (contains? text "\r\nContent-Type: text/plain; charset=utf-8\r\n"))
        (test-assert (contains? text "\r\nContent-Length: 13\r\n"))
        (test-assert (contains? text "\r\nConnection: close\r\n"))
        (test-assert (contains? text "\r\nDate: ")))
      (test "λ is wide" (body (get server "/wide")))
      (test-assert (contains? (get server "/wide") "Content-Length: 10\r\n"))
      (test "404" (status (get server "/")))
      (test #f (contains? (get server "/empty") "Content-Length"))
      (test-assert (contains? (get server "/moved") "Location: /hello\r\n"))
      (let ((text (get server "/values")))
        (test-assert (contains? text "Etag: \"v\"\r\n"))
        (test-assert (contains? text "Cache-Control: max-age=60, no-store\r\n"))
        (test-assert (contains? text "X-Number: 12\r\n"))
        (test "AB" (body text)))
      (let ((text (get server "/stream")))
        (test-assert (contains? text "Transfer-Encoding: chunked\r\n"))
        (test-assert (contains? text "19999\n\r\n0\r\n\r\n")))
      (test-assert (contains? (get server "/port") "from a port, with ü"))
      (let ((text (exchange server "HEAD /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")))
        (test "" (body text))
        (test-assert (contains? text "Content-Length: 13\r\n")))
      (let ((text (exchange server "GET /stream HTTP/1.0\r\n\r\n")))
        (test #f (contains? text "chunked"))
        (test-assert (contains? text "19999\n"))))

    (test-group "trailers"
      (let ((text (exchange server "POST /trailers HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                            "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 1\r\n"
                            "Content-Length: 5\r\nx-sum:  2\r\n\r\n")))
        (test-assert (contains? text "() ab ((x-sum . 1) (x-sum . 2)) "))
        (test-assert (contains? text "\r\n0\r\nDigest: 2\r\nEtag: \"v\"\r\n\r\n")))
      ;; Nothing to read, and nobody who could take them.
      (test "() ab () "
            (body (exchange server
                            "POST /trailers HTTP/1.0\r\nContent-Length: 2\r\n\r\nab")))
      (quiet
       (lambda ()
         (test #f (contains? (get server "/wrong-trailer") "c: d")))))

    (test-group "requests"
      (test "GET /show?a=b /show a=b (1 . 1) ((gzip . 1000) (br . 500)) 1, 2 none malformed 1 "
            (body (get server "/show?a=b" "Accept-Encoding: br;q=0.5, gzip\r\n"
                       "X-Twice: 1\r\nx-twice: 2\r\n" "If-Modified-Since: yesterday\r\n")))
      (test "404" (status (get server "http://other/")))
      (test "13 " (body (exchange server "POST /length HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                                  "Content-Length: 13\r\n\r\nHello, " "World!")))
      (test "5 " (body (exchange server "POST /length HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                                 "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r" "\n3;x\r\ncde\r\n0"
                                 "\r\nTrailer: x\r\n\r\n")))
      (test-assert
       (contains? (exchange server "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                            "Content-Length: 5\r\n\r\nhello")
                  "\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
      (test-assert
       (contains? (exchange server "POST /length HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                            "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n" "ab")
                  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"))
      ;; A body that nobody reads is skipped.
      (let ((text
             (exchange server "POST /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
                       "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")))
        (test-assert (contains? text "ignored"))
        (test-assert (contains? text "Hello, World!")))
      ;; Several requests at once.
      (let ((text (exchange server (string-append "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
                                                  "GET /wide HTTP/1.1\r\nHost: a\r\n\r\n"
                                                  "GET /x HTTP/1.0\r\n\r\n"))))
        (test-assert (contains? text "Hello, World!HTTP/1.1 200"))
        (test-assert (contains? text "λ is wideHTTP/1.1 404"))))

    (test-group "failures"
      (quiet
       (lambda ()
         (let ((text (get server "/fails")))
           (test "500" (status text))
           (test "Internal Server Error\n" (body text)))
         (test "500" (status (get server "/nothing")))
         (let ((text (get server "/inject")))
           (test "500" (status text))
           (test #f (contains? text "Set-Cookie")))
         (let ((text (get server "/fails-late")))
           (test-assert (contains? text "a part"))
           ;; It is seen to be incomplete.
           (test #f (contains? text "0\r\n\r\n")))
         (test "400" (status (exchange server "POST /length HTTP/1.1\r\nHost: a\r\n"
                                       "Transfer-Encoding: chunked\r\n\r\nx\r\n")))
         (test "413" (status (exchange server (string-append
                                               "POST /length HTTP/1.1\r\nHost: a\r\n"
                                               "Content-Length: 2000000\r\n\r\n")))))))

    (test-group "other protocols"
      (test-assert
       (contains? (exchange server "GET /raw HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
                            "Upgrade: raw\r\n\r\n" "ping")
                  "\r\n\r\nping")))

    (test-group "many at once"
      (let ((tasks (map (lambda (i) (start (body (get server "/sleep")))) (make-list 50 0))))
        (test (make-list 50 "slept") (map await tasks))))))

(test-group "limits"
  (with-server handler
    (lambda (server)
      (test "431" (status (get server "/hello" "A: " (make-string 200 #\b) "\r\n")))
      (test "414" (status (get server (string-append "/" (make-string 50 #\a)))))
      (test "413" (status (exchange server "POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: \
                                            11\r\n\r\n")))
      (quiet
       (lambda ()
         (test "413" (status (exchange server "POST /length HTTP/1.1\r\nHost: a\r\n"
                                       "Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n")))))
      ;; Slow heads, and connections without requests.
      (test "408" (status (exchange server "GET /hello HTTP/1.1\r\n")))
      (test "" (exchange server ""))
      (test "Hello, World!" (body (exchange server "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"))))
    #:max-header-bytes 150 #:max-target-bytes 40 #:max-body-bytes 10
    #:header-timeout 0.2 #:idle-timeout 0.2 #:body-timeout 5)
  (with-server handler
    (lambda (server)
      (call-with-connection (connect (car (server-addresses server)))
        (lambda (input output)
          (test "Hello, World!" (body (get server "/hello")))
          (call-with-connection (connect (car (server-addresses server)))
            (lambda (input output)
              (test "" (guard (e (#t "")) (get server "/hello"))))))))
    #:max-connections-per-client 2))

(test-group "the end"
  (let* ((server (start-server handler #:port 0))
         (address (car (server-addresses server)))
         (answer (start (body (get server "/sleep")))))
    (sleep 0.05)
    (test-assert (server-running? server))
    (stop-server! server)
    (test #f (server-running? server))
    (test "slept" (await answer))
    (test-error (connect address))))

(test-group "arguments"
  (test-error (start-server 5))
  (test-error (start-server handler #:port 'x))
  (test-error (start-server handler #:idle-timeout 0))
  (test-error (make-response #:status 99))
  (test-error (request-path 5))
  (let ((request (make-request 'GET "/a?b" #:headers '((accept . "text/html")) #:body "text")))
    (test "/a" (request-path request))
    (test "b" (request-query request))
    (test "text" (read-request-text request))
    (test #f (request-attribute request 'user))
    (set-request-attribute! request 'user 5)
    (test 5 (request-attribute request 'user))))

(test-finish)
