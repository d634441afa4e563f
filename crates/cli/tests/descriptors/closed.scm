;;; Objects that are closed free their descriptors at once: descriptors are counted before and
;;; after, while no collection happens. Started by crates/cli/tests/descriptors.rs in a directory of
;;; its own; prints the kinds of object that leave descriptors open.

(import (only (canny primitives) %gc-statistics) (scheme base) (scheme write) (scheme file)
        (canny fs) (canny io) (canny net)
        (canny process) (canny sqlite) (canny tasks) (canny compression) (canny files)
        (only (srfi 170) open-directory read-directory close-directory open-file)
        (canny web client) (only (canny web middleware) answer-errors) (canny web message)
        (canny web server) (canny web websocket) (canny web events))

(define (descriptors)
  (length (directory-list "/proc/self/fd" #:hidden #t)))

(define rounds 12)

;; How many collections there were.
(define (collections)
  (cdr (assq 'collections (%gc-statistics))))

;; The number of descriptors that a kind of object leaves open, `collected` if a collection happened
;; meanwhile. The first times are not counted: threads and the like are begun then. The other side
;; of a connection, and a task that ends, may take a moment.
(define (left-open thunk)
  (thunk)
  (thunk)
  (settle (descriptors) 20)
  (let ((before (descriptors)) (collected (collections)))
    (do ((round 0 (+ round 1))) ((= round rounds)) (thunk))
    (if (not (= collected (collections)))
        'collected
        (let wait ((patience 1000))
          (let ((left (- (descriptors) before)))
            (if (or (<= left 0) (= patience 0))
                left
                (begin
                  (sleep 1/100)
                  (wait (- patience 1)))))))))

;; Waits until nothing changes.
(define (settle count quiet)
  (if (> quiet 0)
      (begin
        (sleep 1/100)
        (let ((now (descriptors)))
          (settle now (if (= now count) (- quiet 1) 20))))))

(define (check name thunk)
  (let again ()
    (let ((left (guard (object ((error-object? object)
                                (error-object-message object)))
                  (left-open thunk))))
      (cond ((eq? left 'collected) (again))
            ((not (and (number? left) (<= left 0)))
             (write (list name left))
             (newline))))))

;; Closes the ports of a connection, one after the other.
(define (close-both connection)
  (close-port (connection-output connection))
  (close-port (connection-input connection)))

;;; Files

(call-with-output-file "file" (lambda (port) (write-string "text\n" port)))

(check 'textual-ports
       (lambda ()
         (let ((in (open-input-file "file")) (out (open-output-file "other")))
           (read-line in)
           (write-string "x" out)
           (close-port in)
           (close-port out))))
(check 'binary-ports
       (lambda ()
         (let ((in (open-binary-input-file "file")) (out (open-binary-output-file "other")))
           (read-u8 in)
           (write-u8 1 out)
           (close-input-port in)
           (close-output-port out))))
(check 'ports-both-ways
       (lambda ()
         (let ((port (open-input/output "other")))
           (write-string "x" port)
           (close-port port))
         (call-with-values (lambda () (open-input-output "other"))
           (lambda (in out)
             (close-port in)
             (close-port out)))))
(check 'transcoded-ports
       (lambda ()
         (close-port (transcode-input (open-binary-input "file") #:encoding "UTF-16"))))
(check 'compressed-ports
       (lambda ()
         (let ((out (open-gzip-output (open-binary-output-file "packed") #:close? #t)))
           (write-u8 1 out)
           (close-port out))
         (close-port (open-gzip-input (open-binary-input-file "packed")))))
(check 'a-port-left-by-an-escape
       (lambda ()
         (guard (object (#t #f))
           (call-with-input-file "file" (lambda (port) (close-port port) (raise 'away))))))
(check 'whole-files
       (lambda ()
         (file->lines "file")
         (call-with-atomic-output-file "atomic" (lambda (port) (write-string "x" port)))
         (directory-list ".")
         (copy-file "file" "copy" #:replace #t)))
(check 'locks
       (lambda ()
         (let ((port (open-output "other")))
           (call-with-locked-port port (lambda (port) 1))
           (close-port port))))
(check 'directories
       (lambda ()
         (let ((directory (open-directory ".")))
           (read-directory directory)
           (close-directory directory))))
(check 'watches
       (lambda ()
         (let ((watcher (open-watcher "." #:recursive #t)))
           (close-watcher watcher))))
(check 'a-watch-that-is-waited-for
       (lambda ()
         (let* ((watcher (open-watcher "."))
                (waiting (start (guard (object (#t #f)) (watcher-next watcher)))))
           (sleep 1/50)
           (close-watcher watcher)
           (await waiting))))

;;; Processes

(check 'processes
       (lambda ()
         (let ((process (spawn-process '("cat") #:input 'pipe #:output 'pipe)))
           (write-string "x\n" (process-input process))
           (close-port (process-input process))
           (read-line (process-output process))
           (close-port (process-output process))
           (process-wait process))))
(check 'processes-that-are-closed
       (lambda ()
         (let ((process (spawn-process '("cat") #:input 'pipe #:output 'pipe #:error 'pipe)))
           (process-close process)
           (process-wait process))))
(check 'runs (lambda () (run->string '("echo" "a")) (run '("true"))))
(check 'calls-with-processes
       (lambda ()
         (call-with-process '("echo" "a")
           (lambda (process) (read-line (process-output process)))
           #:output 'pipe)))

;;; Databases

(check 'databases
       (lambda ()
         (let ((database (open-database "data")))
           (execute-script database "create table if not exists t (a); insert into t values (1)")
           (query database "select * from t")
           (close-database database))))
(check 'databases-in-the-midst-of-rows
       (lambda ()
         (let* ((database (open-database "data"))
                (rows (row-generator database "select * from t")))
           (rows)
           (close-database database))))
(check 'pools-of-databases
       (lambda ()
         (let ((pool (make-database-pool "data" #:readers 2)))
           (call-with-reader pool (lambda (database) (query database "select * from t")))
           (call-with-writer pool (lambda (database) (execute database "delete from t")))
           (close-database-pool pool))))

;;; Sockets

(define listener (tcp-listen "127.0.0.1" 0))
(define address (listener-address listener))

(check 'listeners (lambda () (close-listener (tcp-listen "127.0.0.1" 0))))
(check 'listeners-of-this-machine
       (lambda ()
         (close-listener (unix-listen "socket"))
         (if (file-exists? "socket") (delete-file "socket"))))
(check 'connections
       (lambda ()
         (let ((client (connect address)) (server (accept-connection listener)))
           (close-connection client)
           (close-connection server))))
(check 'ports-of-connections
       (lambda ()
         (let ((client (connect address)) (server (accept-connection listener)))
           (write-u8 1 (connection-output client))
           (close-both client)
           (read-u8 (connection-input server))
           (close-both server))))
(check 'connections-that-are-read-from
       (lambda ()
         (let* ((client (connect address))
                (server (accept-connection listener))
                (reader (start (guard (object (#t #f)) (read-u8 (connection-input server))))))
           (sleep 1/50)
           (close-connection server)
           (await reader)
           (close-connection client))))
(check 'datagrams (lambda () (close-datagram-socket (open-datagram-socket "127.0.0.1:0"))))

;;; The web

(define (ok request body)
  (cond ((string=? "/raises" (request-path request)) (raise-later))
        ((string=? "/parts" (request-path request))
         (make-response #:body (lambda (port) (write-string "a" port))))
        ((string=? "/half" (request-path request))
         (make-response #:body (lambda (port)
                                 (write-string "a" port)
                                 (flush-output-port port)
                                 (raise-later))))
        ((string=? "/file" (request-path request))
         (make-response #:body (open-binary-input-file "file")))
        ((string=? "/events" (request-path request))
         (event-stream-response request (lambda (send) (send "a"))))
        ((string=? "/socket" (request-path request))
         (websocket-response request
                             (lambda (socket)
                               (let ((message (websocket-receive socket)))
                                 (if (string? message) (websocket-send socket message))))))
        (body (make-response #:body (read-request-text request)))
        (else "ok")))

(define (raise-later)
  (raise (list 'on-purpose)))

(define server
  (start-server ((answer-errors #:report (lambda (request object) #f)) ok) #:port 0))
(define host (car (server-addresses server)))
(define (url path) (string-append "http://" host path))

;; Sends one request on a connection of its own, and gives the response.
(define (ask text)
  (let ((connection (connect host)))
    (write-bytevector (string->utf8 text) (connection-output connection))
    (flush-output-port (connection-output connection))
    (let loop ()
      (if (not (eof-object? (read-available (connection-input connection))))
          (loop)))
    (close-connection connection)))

(define (get path)
  (ask (string-append "GET " path " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")))

(for-each
 (lambda (path)
   (check path (lambda () (guard (object (#t #f)) (get path)))))
 '("/" "/raises" "/parts" "/half" "/file" "/events"))
(check 'bodies
       (lambda ()
         (ask "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab")))
(check 'clients-that-go
       (lambda ()
         (let ((connection (connect host)))
           (write-bytevector
            (string->utf8 "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200\r\n\r\nab")
            (connection-output connection))
           (flush-output-port (connection-output connection))
           (close-connection connection))))
(check 'websockets
       (lambda ()
         (let ((socket (websocket-connect (string-append "ws://" host "/socket"))))
           (websocket-send socket "hello")
           (websocket-receive socket)
           (websocket-close socket)
           (let loop () (if (not (eof-object? (websocket-receive socket))) (loop))))))
(check 'websockets-that-the-server-ends
       (lambda ()
         (let ((socket (websocket-connect (string-append "ws://" host "/socket"))))
           (websocket-send socket "hello")
           (let loop () (if (not (eof-object? (websocket-receive socket))) (loop))))))
(check 'http-clients
       (lambda ()
         (let ((client (make-http-client)))
           (http-response-text (http-get (url "/") #:client client))
           (close-http-client client))))
(check 'servers
       (lambda ()
         (let ((server (start-server ok #:port 0)))
           (stop-server! server))))

(stop-server! server)
(display "done")
(newline)
