;; The access log of (canny web server): what is in it, where it goes, and what it outlives.

(import (scheme base) (scheme write) (scheme file) (canny web server) (canny web message)
        (canny net) (canny tasks) (canny test) (canny files) (canny fs) (canny json)
        (canny signals)
        (only (canny machine posix) rename-file)
        (only (canny base) string-search-forward string-split string-prefix?))

(define (has? text part) (and (string-search-forward part text 0) #t))

(include "include/raw-requests.scm")

(define (answer request body)
  (let ((path (request-path request)))
    (cond ((string=? path "/fail") (error "no luck"))
          ((string=? path "/half")
           (make-response #:body (lambda (port)
                                   (write-string "half" port)
                                   (flush-output-port port)
                                   (error "no luck"))))
          ((string=? path "/parts")
           (make-response #:headers '((content-type . "text/plain"))
                          #:body (lambda (port) (write-string "in parts" port))))
          ((string=? path "/slow")
           (sleep 0.2)
           "late")
          ((string=? path "/upgrade")
           (make-response #:status 101 #:headers '((upgrade . "echo"))
                          #:body (lambda (input output) (write-u8 33 output))))
          (else (make-response #:status 200 #:headers '((x-request-id . "id-7"))
                               #:body "Hello")))))

(define (call-with-log options body)
  (let* ((records '())
         (server (apply start-server answer #:port 0
                        #:access-log (lambda (record) (set! records (cons record records)))
                        options)))
    (body server)
    (stop-server! server #:timeout 2)
    (reverse records)))

(define (value record name) (cdr (assq name record)))

(define errors (open-output-string))

(define-syntax quietly
  (syntax-rules ()
    ((_ body ...) (parameterize ((current-error-port errors)) body ...))))

(test-group "records"
  (define records
    (quietly
     (call-with-log
       '()
       (lambda (server)
         (get server "/a?b=c" "Referer: http://r/\r\nUser-Agent: test\r\n")
         (get server "/parts")
         (get server "/fail")
         (get server "/half")
         (get server "/upgrade" "Upgrade: echo\r\n")
         (exchange server "HEAD / HTTP/1.0\r\n\r\n")))))
  (define (all name) (map (lambda (record) (value record name)) records))
  (test '("/a?b=c" "/parts" "/fail" "/half" "/upgrade" "/") (all 'target))
  (test '("GET" "GET" "GET" "GET" "GET" "HEAD") (all 'method))
  (test '(200 200 500 200 101 200) (map exact (all 'status)))
  (test '("complete" "complete" "complete" "aborted" "upgraded" "complete")
    (all 'outcome))
  (test '("1.1" "1.1" "1.1" "1.1" "1.1" "1.0") (all 'version))
  (let ((first (car records)))
    (test "127.0.0.1" (value first 'peer))
    (test 5 (exact (value first 'bytes)))
    (test "http://r/" (value first 'referer))
    (test "test" (value first 'user_agent))
    (test "id-7" (value first 'request_id))
    (test-assert (<= 0 (value first 'duration)))
    (test 27 (string-length (value first 'time))))
  (test #f (value (cadr records) 'referer))
  (test #f (value (cadr records) 'request_id))
  (test 0 (exact (value (list-ref records 5) 'bytes))))

(test-group "what no handler sees"
  (define records
    (call-with-log
      '(#:header-timeout 1 #:max-target-bytes 20 #:max-header-bytes 200)
      (lambda (server)
        (exchange server "GE(T / HTTP/1.1\r\nHost: x\r\n\r\n")
        (get server "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
        (get server "/" "X: " (make-string 300 #\a) "\r\n")
        ;; It drips.
        (exchange server "GET /drip HTTP/1.1\r\n")
        ;; It says nothing.
        (exchange server "")
        ;; It goes away in the midst of its head.
        (let ((connection (connect (car (server-addresses server)))))
          (write-bytevector (string->utf8 "GET /gone HT") (connection-output connection))
          (close-connection connection)
          (sleep 0.1)))))
  (define (all name) (map (lambda (record) (value record name)) records))
  (test '(400 414 431 408 #f #f)
    (map (lambda (status) (and status (exact status))) (all 'status)))
  (test '("refused" "refused" "refused" "timed-out" "timed-out" "client-gone")
    (all 'outcome))
  (test '("GE(T / HTTP/1.1" "GET /drip HTTP/1.1" "" "GET /gone HT")
    (let ((lines (all 'line))) (list (car lines) (list-ref lines 3) (list-ref lines 4)
                                     (list-ref lines 5))))
  (test '(#f #f #f #f #f #f) (all 'target)))

(test-group "connections that are turned away"
  (define records
    (call-with-log
      '(#:max-connections-per-client 1)
      (lambda (server)
        (call-with-connection (connect (car (server-addresses server)))
          (lambda (input output)
            (write-bytevector (string->utf8 "GET / HTTP/1.1\r\nHost: x\r\n\r\n") output)
            (flush-output-port output)
            (read-u8 input)
            (guard (object (#t #f)) (get server "/second")))))))
  (test-assert (member "turned-away" (map (lambda (record) (value record 'outcome)) records))))

(test-group "clients that go away while a handler works"
  (define records
    (call-with-log
      '()
      (lambda (server)
        (let ((connection (connect (car (server-addresses server)))))
          (write-bytevector
           (string->utf8 "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
           (connection-output connection))
          (close-connection connection)
          (sleep 0.3)))))
  (test 1 (length records))
  (test "POST" (value (car records) 'method)))

;; Lines.

(define (log-lines format . requests)
  (call-with-temporary-directory
    (lambda (directory)
      (let* ((file (path-join directory "log"))
             (server (start-server answer #:port 0 #:access-log file
                                   #:access-log-format format)))
        (for-each (lambda (request) (exchange server request)) requests)
        (stop-server! server #:timeout 2)
        (file->lines file)))))

(test-group "lines"
  (define request
    "GET /a HTTP/1.0\r\nReferer: http://\"r\\\r\nUser-Agent: x\ty \x00e9;\r\n\r\n")
  (define common (car (log-lines 'common request)))
  (test-assert (string-prefix? "127.0.0.1 - - [" common))
  (test-assert (has? common " +0000] \"GET /a HTTP/1.0\" 200 5"))
  (define combined (car (log-lines 'combined request)))
  (test-assert (has? combined
                     " 200 5 \"http://\\\"r\\\\\" \"x\\x09y \\xc3\\xa9\""))
  (define record (string->json (car (log-lines 'json request))))
  (test "http://\"r\\" (value record 'referer))
  (test "x\ty \x00e9;" (value record 'user_agent)))

(test-group "nothing that a client sends begins a line or ends a text"
  (for-each
   (lambda (format)
     (define lines
       (log-lines format
                  "GET /\" 200 5\n127.0.0.1 - - [now] \"GET /forged HTTP/1.1\r\n\r\n"
                  (bytevector-append #u8(255 27 91 34 0 10)
                                     (string->utf8 "{\"forged\":1}\r\n\r\n"))
                  "\x1b;[2J / HTTP/1.1\r\n\r\n"))
     (test 3 (length lines))
     (for-each (lambda (line)
                 (test-assert (not (has? line "\x1b;")))
                 (if (eq? format 'json)
                     (test "refused" (value (string->json line) 'outcome))))
               lines))
   '(common combined json)))

;; Files.

(test-group "a file that is renamed is opened anew, and SIGHUP does so too"
  (call-with-temporary-directory
    (lambda (directory)
      (let* ((file (path-join directory "log"))
             (old (path-join directory "log.1"))
             (server (start-server answer #:port 0 #:access-log file)))
        (define (lines file) (if (file-exists? file) (file->lines file) '()))
        (define (wait-for-lines file count)
          (let loop ((rounds 0))
            (if (and (< (length (lines file)) count) (< rounds 500))
                (begin
                  (sleep 0.01)
                  (loop (+ rounds 1)))))
          (length (lines file)))
        (get server "/one")
        (test 1 (wait-for-lines file 1))
        (rename-file file old)
        (get server "/two")
        (test 1 (wait-for-lines file 1))
        (test-assert (has? (car (lines file)) "/two"))
        (test 1 (length (lines old)))
        (raise-signal 'sighup)
        (sleep 0.1)
        (get server "/three")
        (test 2 (wait-for-lines file 2))
        (test-assert (server-running? server))
        (stop-server! server #:timeout 2)))))

(test-group "nothing is lost when the server stops"
  (call-with-temporary-directory
    (lambda (directory)
      (let* ((file (path-join directory "log"))
             (server (start-server answer #:port 0 #:access-log file)))
        (call-with-connection (connect (car (server-addresses server)))
          (lambda (input output)
            (let loop ((count 0))
              (if (< count 2000)
                  (begin
                    (write-bytevector (string->utf8 "GET /many HTTP/1.1\r\nHost: x\r\n\r\n")
                                      output)
                    (loop (+ count 1)))))
            (write-bytevector
             (string->utf8 "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") output)
            (flush-output-port output)
            (text-of input)))
        (stop-server! server #:timeout 5)
        (test 2001 (length (file->lines file)))))))

(test-group "the server outlives a full disk"
  (define told (open-output-string))
  (parameterize ((current-error-port told))
    (let ((server (start-server answer #:port 0 #:access-log "/dev/full")))
      (test-assert (has? (get server "/a") "Hello"))
      (sleep 0.2)
      (test-assert (has? (get server "/b") "Hello"))
      (sleep 0.2)
      (stop-server! server #:timeout 2)))
  (test 2 (length (string-split (get-output-string told) #\newline)))
  (test-assert (has? (get-output-string told) "the access log cannot be written")))

(test-group "a procedure that fails loses records only"
  (define told (open-output-string))
  (parameterize ((current-error-port told))
    (let ((server (start-server answer #:port 0 #:access-log (lambda (record) (error "no")))))
      (test-assert (has? (get server "/a") "Hello"))
      (stop-server! server #:timeout 2)))
  (test-assert (has? (get-output-string told) "lines are lost: no")))

(test-group "standard error, ports"
  (define told (open-output-string))
  (define bytes (open-output-bytevector))
  (parameterize ((current-error-port told))
    (let ((server (start-server answer #:port 0 #:access-log #t)))
      (get server "/a")
      (stop-server! server #:timeout 2)))
  (test-assert (has? (get-output-string told) "GET /a HTTP/1.1\" 200 5"))
  (let ((server (start-server answer #:port 0 #:access-log bytes)))
    (get server "/b")
    (stop-server! server #:timeout 2))
  (test-assert (has? (utf8->string (get-output-bytevector bytes)) "GET /b HTTP/1.1\" 200 5")))

(test-group "options"
  (test-error (start-server answer #:port 0 #:access-log 7))
  (test-error (start-server answer #:port 0 #:access-log #t #:access-log-format 'xml))
  ;; Addresses that it had begun to listen at are free again.
  (let* ((server (start-server answer #:port 0))
         (address (car (server-addresses server))))
    (stop-server! server #:timeout 2)
    (test-error (start-server answer #:listen address #:access-log "/nowhere/log"))
    (test-error (start-server answer #:listen (list address "192.0.2.1:1")))
    (let ((again (start-server answer #:listen address)))
      (test-assert (has? (get again "/a") "Hello"))
      (stop-server! again #:timeout 2))))

(test-finish)
