;;; Waits of tasks that are put off: connections, look-ups of names, locks of files, named pipes,
;;; changes of files. While they wait another task runs, and there are few system threads.

(import (scheme base) (scheme file) (scheme read) (only (canny base) collect-garbage condition-kind)
        (canny files)
        (canny fs) (canny io) (canny net) (canny tasks)
        (canny test) (only (srfi 1) count every iota list-tabulate))

(define-syntax failure
  (syntax-rules ()
    ((_ expression)
     (guard (e ((timeout-error? e) 'timeout)
               ((cancelled-error? e) 'cancelled)
               ((network-error? e) 'network)
               ((error-object? e) (condition-kind e)))
       expression
       'none))))

;; The result of a procedure, or the symbol for the reason of its failure.
(define (failure-or thunk)
  (let* ((result #f)
         (outcome (failure (set! result (thunk)))))
    (if (eq? outcome 'none) result outcome)))

(define (thread-count)
  (call-with-input-file "/proc/self/status"
    (lambda (port)
      (let loop ((line (read-line port)))
        (cond ((eof-object? line) 0)
              ((and (> (string-length line) 8) (string=? (substring line 0 8) "Threads:"))
               (let ((digits (open-input-string (substring line 8 (string-length line)))))
                 (read digits)))
              (else (loop (read-line port))))))))

(define (descriptor-count)
  (length (directory-list "/proc/self/fd")))

;; Far fewer than there are tasks that wait, and some more than a busy machine has.
(define threads-few 150)

(define ticks 0)
(define threads-max 0)

;; Calls a procedure while a task counts; gives its value if that went on and the threads stayed
;; few, else what was seen.
(define (beside-ticks thunk)
  (set! ticks 0)
  (set! threads-max 0)
  (let* ((ticker
          (start (let loop ()
                   (set! ticks (+ ticks 1))
                   (set! threads-max (max threads-max (thread-count)))
                   (sleep 0.002)
                   (loop))))
         (result (thunk)))
    (cancel! ticker)
    (failure (await ticker))
    (if (and (> ticks 0) (< threads-max threads-few))
        result
        (list result 'ticks ticks 'threads threads-max))))

;; Whether all results are some of these.
(define (one-of? expected results)
  (every (lambda (result) (and (memq result expected) #t)) results))

(define (port-of listener)
  (address-port (listener-address listener)))

(define (many n procedure)
  (map (lambda (i) (start (procedure i))) (iota n)))

(test-group "connections that nobody accepts"
  (define listener (tcp-listen "127.0.0.1" 0 #:backlog 2))
  (define descriptors (descriptor-count))
  (define (one i)
    (failure (close-connection
              (tcp-connect "127.0.0.1" (port-of listener) #:timeout (+ 0.1 (/ i 2000.0))))))
  ;; The first ones find room in the line of those that wait to be accepted.
  (define (fits? results)
    (and (>= (count (lambda (result) (eq? result 'timeout)) results) 290)
         (one-of? '(timeout none) results)))
  (test #t (beside-ticks (lambda () (fits? (map await (many 300 one))))))
  (define waiting
    (many 100 (lambda (i) (tcp-connect "127.0.0.1" (port-of listener)))))
  (sleep 0.05)
  (for-each cancel! waiting)
  (test #t (beside-ticks
            (lambda () (let ((results (map (lambda (task) (failure (await task))) waiting)))
                         (sleep 0.02)
                         (one-of? '(cancelled) results)))))
  ;; All begun operations have been abandoned.
  (test descriptors (descriptor-count))
  (test 'late (with-timeout 0.05
                (lambda () (tcp-connect "127.0.0.1" (port-of listener)))
                #:default 'late))
  (close-listener listener))

(test-group "connections that are accepted late"
  (call-with-temporary-directory
    (lambda (directory)
      (define listener (unix-listen (path-join directory "socket") #:backlog 1))
      (define clients
        (many 100
              (lambda (i)
                (let* ((connection (unix-connect (path-join directory "socket") #:timeout 60))
                       (byte (read-u8 (connection-input connection))))
                  (close-connection connection)
                  byte))))
      (define (serve i)
        (let ((connection (accept-connection listener #:timeout 60)))
          (write-u8 i (connection-output connection))
          (close-connection connection)))
      (test (apply + (iota 100))
            (beside-ticks (lambda ()
                            (sleep 0.03)
                            (for-each serve (iota 100))
                            (apply + (map await clients)))))
      (close-listener listener)))
  (define listener (tcp-listen "127.0.0.1" 0))
  (define accepted (start (accept-connection listener #:timeout 60)))
  (define connection (connect (listener-address listener) #:timeout 60))
  (close-connection (await accepted))
  (test #t (eof-object? (read-u8 (connection-input connection))))
  (close-connection connection)
  ;; One that would take a connection takes none in time.
  (test 'timeout (await (start (failure (accept-connection listener #:timeout 0.02)))))
  (define address (listener-address listener))
  (close-listener listener)
  (test 'network (await (start (failure (connect address))))))

(test-group "names"
  (define (found? i)
    (pair? (resolve-host "localhost" i #:timeout 60)))
  (test #t (beside-ticks (lambda ()
                           (let ((results (map await (many 200 found?))))
                             (sleep 0.02)
                             (every (lambda (result) result) results)))))
  (define (unknown i)
    (failure (resolve-host (string-append "canny-" (number->string i) ".invalid") 1 #:timeout 0.5)))
  (test #t (one-of? '(network timeout) (map await (many 40 unknown))))
  (define waiting
    (many 20 (lambda (i) (resolve-host (string-append "canny-" (number->string i) ".invalid") 1))))
  (for-each cancel! waiting)
  (test #t (one-of? '(cancelled network)
                    (map (lambda (task) (failure (await task))) waiting))))

(test-group "locks of files"
  (call-with-temporary-file
    (lambda (path)
      (define (open) (open-binary-output-file path))
      (define holder (open))
      (test #t (lock-port holder))
      (test #f (await (start (let* ((port (open))
                                    (locked? (lock-port port 'exclusive #:wait? #f)))
                               (close-port port)
                               locked?))))
      (define order '())
      (define others
        (many 20
              (lambda (i)
                (let ((port (open)))
                  (lock-port port)
                  (set! order (cons i order))
                  (close-port port)))))
      (define impatient
        (start (let ((port (open)))
                 (set-port-timeout! port 0.03)
                 (let ((outcome (failure (lock-port port))))
                   (close-port port)
                   outcome))))
      (test 'timeout (beside-ticks (lambda () (await impatient))))
      (test '() order)
      (close-port holder)
      (for-each await others)
      (test 20 (length order)))))

(test-group "named pipes and rests of ports"
  (call-with-temporary-directory
    (lambda (directory)
      (define name (path-join directory "pipe"))
      (create-fifo name)
      (define reader
        (start (let* ((port (open-input-file name))
                      (text (port->string port)))
                 (close-port port)
                 text)))
      (test "one two three "
            (beside-ticks
             (lambda ()
               (sleep 0.02)
               (let ((port (open-output-file name)))
                 (for-each (lambda (word)
                             (write-string word port)
                             (write-string " " port)
                             (flush-output-port port)
                             (sleep 0.01))
                           '("one" "two" "three"))
                 (close-port port)
                 (await reader))))))))

(test-group "ports whose other side takes nothing are closed all the same"
  (call-with-temporary-directory
    (lambda (directory)
      (define name (path-join directory "socket"))
      (define listener (unix-listen name))
      (define others '())
      ;; A port that holds bytes for which there is no room on the way.
      (define (full-port seconds)
        (let* ((accepted (start (accept-connection listener)))
               (port (connection-output (unix-connect name))))
          (set! others (cons (connection-input (await accepted)) others))
          (set-port-timeout! port 0.02)
          (let loop ()
            (if (eq? 'none (failure (write-bytevector (make-bytevector 65536 1) port)))
                (loop)))
          (set-port-timeout! port seconds)
          port))
      (define (outcome port)
        (list (failure (close-port port)) (output-port-open? port)))
      (define (outcome-of-a-task port)
        (await (start (outcome port))))
      (define (outcome-when-cancelled port)
        (let ((task (start (close-port port))))
          (sleep 0.02)
          (cancel! task)
          (list (failure (await task)) (output-port-open? port))))
      (test '(timeout #f) (outcome (full-port 0.05)))
      (test '(timeout #f) (outcome-of-a-task (full-port 0.05)))
      (test '(cancelled #f) (outcome-when-cancelled (full-port #f)))
      (test '(cancelled #f) (outcome-when-cancelled (full-port 100)))
      ;; The other side learns of the end.
      (test #t (every (lambda (port)
                        (let loop ()
                          (or (eof-object? (read-bytevector 65536 port)) (loop))))
                      others))
      ;; Those that wait for it need no threads, and whoever takes something gets all.
      (set! others '())
      (define closing (map (lambda (port) (start (outcome port)))
                           (list-tabulate 30 (lambda (i) (full-port #f)))))
      (test #t (beside-ticks (lambda ()
                               (for-each (lambda (port)
                                           (start (let loop ()
                                                    (if (not (eof-object?
                                                              (read-bytevector 65536 port)))
                                                        (loop)))))
                                         others)
                               (every (lambda (outcome) (equal? outcome '(none #f)))
                                      (map await closing)))))
      ;; A collection waits for nobody either: these are not closed, and nobody can any more.
      (define (forget count)
        (if (> count 0)
            (begin
              (full-port #f)
              (forget (- count 1)))))
      (set! others '())
      (forget 3)
      (collect-garbage)
      (collect-garbage)
      ;; Their buffered bytes are written when there is room, by a later collection or at the end.
      (for-each (lambda (port)
                  (set-port-timeout! port 0.02)
                  (let loop ()
                    (if (bytevector? (failure-or (lambda () (read-bytevector 65536 port))))
                        (loop))))
                others)
      (collect-garbage)
      (test-assert "a collection ends" #t))))

(test-group "changes of files"
  (call-with-temporary-directory
    (lambda (directory)
      (define watcher (open-watcher directory))
      (test #f (await (start (watcher-next watcher #:timeout 0.02))))
      (define next (start (path-file-name (change-path (watcher-next watcher)))))
      (test "file"
            (beside-ticks
             (lambda ()
               (sleep 0.02)
               (close-port (open-output-file (path-join directory "file")))
               (await next))))
      (define waiting (start (let loop () (watcher-next watcher) (loop))))
      (sleep 0.02)
      (close-watcher watcher)
      (test 'range (failure (await waiting))))))

(test-finish)
