;;; (canny postgresql connection): the record of a connection, and exchanges in it.
;;;
;;; Both sides must agree on where they are. An exchange begins and ends with a server that is
;;; ready. After an error of the server its messages are read up to the one that it is ready again;
;;; only then is it raised. Something else may end an exchange, above all a cancellation of the
;;; task. Then the server is asked to cancel the statement, over a connection of its own. After
;;; that the same follows. If the server is not ready within `patience` the connection is closed.
;;;
;;; | field | changed by | under |
;;; |---|---|---|
;;; | lock | a task that runs a statement or has a transaction open | itself |
;;; | process, secret | the task that opens it | none: no other task has it yet |
;;; | parameters | the task that reads messages | the lock |
;;; | statements, counter, depth | tasks that run statements | the lock |
;;; | status | tasks that run statements | the lock |
;;; | status of a listening connection | its task; the task that closes it, to #f | none |
;;; | listens | `postgresql-listen`, once and for all | none |
;;;
;;; It knows neither how a session begins nor what exchanges are about.

(define-library (canny postgresql connection)
  (export make-postgresql postgresql? check-connection check-sql
          wire-of lock-of place-of parameters-of set-process! set-secret! statements-of next-number!
          prepared-max
          status-of depth-of set-depth! listens? set-listens! shut!
          next-message unexpected read-until-ready tag-number sync!
          exchange control! patience)
  (import (canny primitives) (canny syntax)
          (only (canny machine control) raise guard)
          (only (canny tasks) call-with-timeout)
          (only (canny sync) mutex-lock! mutex-try-lock! mutex-unlock!)
          (only (canny net) network-error? connection-input)
          (canny machine arguments)
          (canny postgresql wire) (canny postgresql errors) (canny postgresql transport)
          (only (canny postgresql settings) setting))
  (begin

    (define-record-type postgresql
      (make-postgresql wire settings lock parameters process secret statements counter status depth
                       listens prepared-max)
      postgresql?
      (wire wire-of)
      (settings settings-of)
      (lock lock-of)
      ;; The server's parameters.
      (parameters parameters-of set-parameters!)
      ;; These two numbers cancel a statement.
      (process process-of set-process!)
      (secret secret-of set-secret!)
      ;; Prepared statements by their text.
      (statements statements-of)
      (counter counter-of set-counter!)
      ;; #\I, #\T in a transaction, #\E in one that failed; #f once the connection is closed.
      (status status-of set-status!)
      (depth depth-of set-depth!)
      ;; Whether it waits for notifications and is for nothing else.
      (listens listens? set-listens!)
      (prepared-max prepared-max))

    (define (check-connection who object)
      (check-argument who 1 postgresql? "connection to PostgreSQL" object))

    (define (check-sql who object)
      (check-argument who 2 string? "string" object))

    ;; The name of the database, and host and port of its server, as far as they were given.
    (define (place-of database)
      (let ((settings (settings-of database)))
        (list (setting settings 'dbname #f) (setting settings 'host #f)
              (setting settings 'port #f))))

    (define (next-number! database)
      (set-counter! database (+ 1 (counter-of database)))
      (counter-of database))

    (define (shut! database)
      (set-status! database #f)
      (close-quietly (wire-of database)))

    ;; Input.

    ;; The next message that belongs to an exchange.
    (define (next-message database)
      (let ((message (read-message (wire-of database))))
        (case (message-kind message)
          ((#\S)
           (note-parameter! database message)
           (next-message database))
          ;; Notices; notifications that no task waits for.
          ((#\N #\A) (next-message database))
          (else message))))

    (define (note-parameter! database message)
      (let* ((bytes (message-bytes message))
             (start (message-start message))
             (name (text-of bytes start))
             (value (text-of bytes (+ 1 (text-end bytes start)))))
        (set-parameters! database (cons (cons name value) (parameters-of database)))))

    (define (note-status! database message)
      (set-status! database
                   (integer->char
                    (bytevector-u8-ref (message-bytes message) (message-start message)))))

    (define (unexpected message)
      (raise (failure 'query "what the server says is not PostgreSQL's protocol" 'code "08P01"
                      'message
                      (message-kind message))))

    ;; Reads messages until the server is ready. `(take message)` gets those that are neither errors
    ;; nor that. The first error, or #f.
    (define (read-until-ready database who sql take)
      (let loop ((error #f))
        (let ((message (next-message database)))
          (case (message-kind message)
            ((#\Z)
             (note-status! database message)
             error)
            ((#\E) (loop (or error (error-of message who sql))))
            (else
             (if (not error)
                 (take message))
             (loop error))))))

    (define (sync! database)
      (send-message! (wire-of database) #\S)
      (flush-wire! (wire-of database)))

    ;; The number at the end of the tag of a command: "INSERT 0 5".
    (define (tag-number message)
      (let* ((tag (text-of (message-bytes message) (message-start message)))
             (space (last-space tag)))
        (or (and space (string->number (substring tag (+ space 1) (string-length tag))))
            0)))

    (define (last-space string)
      (let loop ((index (- (string-length string) 1)))
        (cond ((< index 0) #f)
              ((char=? (string-ref string index) #\space) index)
              (else (loop (- index 1))))))

    ;; Exchanges.

    ;; Evaluates an expression that talks with the server and leaves it ready; its value is raised
    ;; if it is a condition.
    (define-syntax exchange
      (syntax-rules ()
        ((_ who database expression)
         (run-exchange who database (lambda () expression)))))

    (define (run-exchange who database talk)
      (let ((lock (lock-of database)))
        (if (not (mutex-try-lock! lock))
            (mutex-lock! lock))
        (let ((result
               (guard (condition (#t
                                  (recover! database condition)
                                  (mutex-unlock! lock)
                                  (raise condition)))
                 (check-usable who database)
                 (talk))))
          (mutex-unlock! lock)
          (if (error-object? result)
              (raise result)
              result))))

    (define (check-usable who database)
      (if (not (status-of database))
          (raise (failure who "the connection is closed" 'code "08003")))
      (if (listens? database)
          (raise (failure who "the connection waits for notifications and is for nothing else" 'code
                          "08003"))))

    ;; Runs a text without arguments, for what it does.
    (define (control! database sql)
      (exchange 'with-transaction database
                (begin
                  (send-message! (wire-of database) #\Q (c-string sql))
                  (flush-wire! (wire-of database))
                  (read-until-ready database 'with-transaction sql values))))

    ;; Recovery.

    ;; Seconds that the server has to cancel a statement.
    (define patience 5)

    ;; After something has ended an exchange midway.
    (define (recover! database condition)
      (if (and (status-of database) (not (listens? database)))
          (if (or (network-error? condition)
                  (postgresql-error? condition))
              (shut! database)
              (let ((ready?
                     (guard (condition (#t #f))
                       (call-with-timeout patience
                         (lambda ()
                           (cancel-statement! database)
                           (resynchronize! database)
                           #t)))))
                (if (not ready?)
                    (shut! database))))))

    ;; Asks the server to cancel its work for this connection.
    (define (cancel-statement! database)
      (let ((wire (open-wire (settings-of database) patience)))
        (send-plain-message! wire (int32 80877102) (int32 (process-of database))
                             (secret-of database))
        (flush-wire! wire)
        ;; The server closes when it has done so.
        (read-u8 (connection-input (wire-connection wire)))
        (close-quietly wire)))

    ;; Reads until the answer to a marker of our own: an empty statement.
    (define (resynchronize! database)
      ;; A message that ends a copy is ignored otherwise; after an error the server skips messages
      ;; before the second.
      (send-message! (wire-of database) #\f (c-string "given up"))
      (send-message! (wire-of database) #\S)
      (send-message! (wire-of database) #\Q (c-string ""))
      (flush-wire! (wire-of database))
      (let loop ()
        (let ((message (next-message database)))
          (case (message-kind message)
            ;; EmptyQueryResponse
            ((#\I) (read-until-ready database 'query #f values))
            ((#\Z)
             (note-status! database message)
             (loop))
            (else (loop))))))))
