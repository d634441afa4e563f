;;; (canny postgresql sessions): the beginning and the end of a session with a server.
;;;
;;; Exchanges in between are a matter of (canny postgresql connection) and its users.

(define-library (canny postgresql sessions)
  (export open-postgresql close-postgresql call-with-postgresql postgresql-open?
          postgresql-parameter)
  (import (canny primitives) (canny syntax)
          (only (canny machine control) raise guard dynamic-wind)
          (only (canny data lists) assoc)
          (only (canny tasks) call-with-timeout)
          (only (canny sync) make-mutex with-mutex)
          (canny machine arguments)
          (canny postgresql wire) (canny postgresql settings) (canny postgresql connection)
          (canny postgresql transport) (canny postgresql authentication))
  (begin

    ;; Opening.

    ;; Connects to a server. The string is a URI, or words such as "host=localhost dbname=shop"; the
    ;; environment variables of libpq say what it does not. `#:timeout` is for the whole.
    ;; `#:statements` prepared statements are kept.
    (define* (open-postgresql #:optional (string "") #:key (timeout #f) (statements 100))
      (check-argument 'open-postgresql 1 string? "string" string)
      (check-argument 'open-postgresql 2 exact-nonnegative-integer? "number of statements"
                      statements)
      (let* ((settings (connection-settings string))
             (timeout (or timeout
                          (let ((seconds (string->number (setting settings 'connect_timeout "0"))))
                            (and seconds (> seconds 0) seconds)))))
        (if timeout
            (call-with-timeout timeout (lambda () (open-with settings statements)))
            (open-with settings statements))))

    (define (open-with settings statements)
      (let* ((wire (open-wire settings #f))
             (database
              (make-postgresql wire settings (make-mutex #:name "postgresql" #:recursive #t) '() 0 0
                               (%make-hash-table 'string #f 0)
                               0
                               #f
                               0
                               #f
                               (max 1 statements))))
        (guard (condition (#t
                           (close-quietly wire)
                           (raise condition)))
          (begin-session! database settings))
        database))

    (define (begin-session! database settings)
      (let ((wire (wire-of database)))
        (send-plain-message! wire (int32 196608)
                             (c-string "user")
                             (c-string (setting settings 'user ""))
                             (c-string "database")
                             (c-string (setting settings 'dbname ""))
                             (c-string "client_encoding")
                             (c-string "UTF8")
                             (c-string "DateStyle")
                             (c-string "ISO")
                             (optional-parameter settings 'application_name "application_name")
                             (optional-parameter settings 'options "options")
                             #u8(0))
        (flush-wire! wire)
        (authenticate! database settings)
        (let ((error
               (read-until-ready database 'open-postgresql #f
                                 (lambda (message)
                                   (if (char=? (message-kind message) #\K)
                                       (begin
                                         (set-process! database
                                                       (s32-at (message-bytes message)
                                                               (message-start message)))
                                         (set-secret! database
                                                      (bytevector-copy (message-bytes message)
                                                                       (+ 4 (message-start message))
                                                                       (message-end message)))))))))
          (if error
              (raise error)))))

    (define (optional-parameter settings name word)
      (let ((value (setting settings name #f)))
        (if value
            (bytevector-append (c-string word) (c-string value))
            #u8())))

    ;; Closing.

    (define (close-postgresql database)
      (check-connection 'close-postgresql database)
      (if (listens? database)
          ;; Its task finds that out.
          (shut! database)
          (with-mutex (lock-of database)
            (if (status-of database)
                (begin
                  (guard (condition (#t #f))
                    (send-message! (wire-of database) #\X)
                    (flush-wire! (wire-of database)))
                  (shut! database)))))
      (values))

    ;; Connects with options of `open-postgresql`, calls a procedure with the connection and closes
    ;; it however that is left.
    (define (call-with-postgresql string procedure . options)
      (check-procedure 'call-with-postgresql 2 procedure)
      (let ((database (apply open-postgresql string options)))
        (dynamic-wind
         values
         (lambda () (procedure database))
         (lambda () (close-postgresql database)))))

    ;; Properties.

    (define (postgresql-open? database)
      (check-connection 'postgresql-open? database)
      (and (status-of database) #t))

    ;; A parameter of the server: "server_version", "TimeZone" and so on, or #f.
    (define (postgresql-parameter database name)
      (check-connection 'postgresql-parameter database)
      (let ((found (assoc name (parameters-of database))))
        (and found (cdr found))))))
