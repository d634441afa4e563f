;; Requests that come through proxies: whom (canny web server) believes, and where it shows.

(import (scheme base) (scheme write) (canny web server) (canny web message) (canny web middleware)
        (canny net) (canny fs) (canny tasks) (canny files) (canny test)
        (only (canny base) string-search-forward string-split string-prefix?))

(include "include/raw-requests.scm")

(define (handler request body)
  (let ((port (open-output-string)))
    (write (list (request-client request) (request-secure? request)) port)
    (values '() (get-output-string port))))

;; The client that the handler saw in a request with some fields, and whether it was secure.
(define (seen server . fields)
  (let ((text (apply get server "/" (map (lambda (field) (string-append field "\r\n")) fields))))
    (substring text (+ 4 (string-search-forward "\r\n\r\n" text 0)) (string-length text))))

(define (with-server procedure . options)
  (let ((server (apply start-server handler #:port 0 options)))
    (dynamic-wind
     (lambda () #f)
     (lambda () (procedure server))
     (lambda () (stop-server! server)))))

(test-group "nobody is believed unless the server is told to"
  (with-server
    (lambda (server)
      (test "(\"127.0.0.1\" #f)" (seen server))
      (test "(\"127.0.0.1\" #f)"
            (seen server "X-Forwarded-For: 1.2.3.4" "X-Forwarded-Proto: https"
                  "Forwarded: for=1.2.3.4;proto=https"))))
  (with-server
    (lambda (server)
      (test "(\"127.0.0.1\" #f)"
            (seen server "X-Forwarded-For: 1.2.3.4" "X-Forwarded-Proto: https")))
    #:trusted-proxies '("10.0.0.0/8" "unix")))

(test-group "a proxy that is trusted"
  (with-server
    (lambda (server)
      (test "(\"127.0.0.1\" #f)" (seen server))
      (test "(\"1.2.3.4\" #t)" (seen server "X-Forwarded-For: 1.2.3.4" "X-Forwarded-Proto: https"))
      (test "(\"1.2.3.4\" #f)"
            (seen server "X-Forwarded-For: 9.9.9.9, 1.2.3.4" "X-Forwarded-For: 10.1.2.3"
                  "Forwarded: for=7.7.7.7;proto=https"))
      (test "(\"2001:db8::1\" #f)" (seen server "x-forwarded-for: [2001:db8::1]:4711"))
      (test "(\"127.0.0.1\" #f)" (seen server "X-Forwarded-For: 1.2.3.4, nonsense"))
      (test "(\"127.0.0.1\" #f)" (seen server "X-Forwarded-For: ")))
    #:trusted-proxies '("127.0.0.0/8" "10.0.0.0/8"))
  (with-server
    (lambda (server)
      (test "(\"1.2.3.4\" #t)"
            (seen server "Forwarded: for=9.9.9.9, for=\"1.2.3.4:80\";proto=https"
                  "X-Forwarded-For: 7.7.7.7")))
    #:trusted-proxies '("127.0.0.1") #:proxy-header 'forwarded))

(test-group "over a socket of the file system"
  (let ((path (string-append (make-temporary-directory) "/socket")))
    (with-server
      (lambda (server)
        (test "(#f #f)" (seen server))
        (test "(\"1.2.3.4\" #t)"
              (seen server "X-Forwarded-For: 1.2.3.4" "X-Forwarded-Proto: https")))
      #:listen (string-append "unix:" path) #:trusted-proxies '("unix"))))

(test-group "the log has the client"
  (let* ((file (string-append (make-temporary-directory) "/log"))
         (logged (lambda (format . fields)
                   (with-server
                     (lambda (server) (apply seen server fields))
                     #:access-log file #:access-log-format format
                     #:trusted-proxies '("127.0.0.1"))
                   (let ((text (file->string file)))
                     (delete-file file)
                     text))))
    (test #t (string-prefix? "1.2.3.4 - - [" (logged 'common "X-Forwarded-For: 1.2.3.4")))
    (test #t (string-prefix? "127.0.0.1 - - [" (logged 'combined)))
    (test #t (and (string-search-forward "\"peer\":\"2001:db8::1\""
                                         (logged 'json "X-Forwarded-For: 2001:db8::1") 0)
                  #t))))

(test-group "connections of a proxy are not counted as one client's"
  (with-server
    (lambda (server)
      (let ((held (map (lambda (n) (connect (car (server-addresses server)) #:timeout 10))
                       '(1 2 3 4))))
        (test "(\"1.2.3.4\" #f)" (seen server "X-Forwarded-For: 1.2.3.4"))
        (for-each close-connection held)))
    #:max-connections-per-client 2 #:trusted-proxies '("127.0.0.1")))

(test-group "rates are those of clients"
  (let ((server (start-server (with-middleware handler (rate-limit #:rate 1/1000 #:burst 1))
                              #:port 0 #:trusted-proxies '("127.0.0.1"))))
    (test "(\"1.1.1.1\" #f)" (seen server "X-Forwarded-For: 1.1.1.1"))
    (test "(\"2.2.2.2\" #f)" (seen server "X-Forwarded-For: 2.2.2.2"))
    (test #f (string-prefix? "(" (seen server "X-Forwarded-For: 1.1.1.1")))
    (stop-server! server)))

(test-group "requests without a server"
  (test "10.0.0.7" (request-client (make-request 'GET "/" #:peer "10.0.0.7:80")))
  (test "2001:db8::1" (request-client (make-request 'GET "/" #:peer "[2001:db8::1]:80")))
  (test #f (request-client (make-request 'GET "/" #:peer #f))))

(test-group "what is no proxy is refused"
  (for-each
   (lambda (wrong)
     (test-error (start-server handler #:port 0 #:trusted-proxies wrong)))
   '("127.0.0.1" ("127.0.0.1/33") ("localhost") (127) #t))
  (test-error (start-server handler #:port 0 #:proxy-header 'x-real-ip)))

(test-finish)
