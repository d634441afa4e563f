;;; (canny postgresql): a client of PostgreSQL servers.
;;;
;;;     (define db (open-postgresql "postgresql://ada@localhost/shop"))
;;;     (execute db "insert into items (name, price) values ($1, $2)" "tea" 5/2)   ; => 1
;;;     (query db "select id, name from items where price < $1" 3)                 ; => (#(1 "tea"))
;;;     (close-postgresql db)
;;;
;;; Values get into a statement as its arguments only.  A connection is used by one task at a time, by a mutex: a statement holds it
;;; while it runs, a transaction from its beginning to its end.
;;;
;;; Both sides must agree on where they are.  After an error of the server its messages are read up to the one that it is ready
;;; again; only then is it raised.  Whatever else ends an exchange, above all the cancellation of the task, asks the server to give up
;;; the statement, over a connection of its own, and then does the same; if the server is not ready within seconds the connection is
;;; closed.

(define-library (canny postgresql)
  (export open-postgresql close-postgresql call-with-postgresql postgresql? postgresql-open?
          postgresql-parameter
          execute execute-script query query-alists query-row query-alist query-value query-columns
          for-each-row fold-rows
          with-transaction call-with-transaction in-transaction?
          copy-in copy-out
          postgresql-listen notification? notification-channel notification-payload
          notification-process
          make-postgresql-pool postgresql-pool? call-with-pooled close-postgresql-pool
          sql-null sql-null?
          postgresql-error? postgresql-error-code postgresql-error-severity postgresql-error-detail
          postgresql-error-hint postgresql-error-position postgresql-error-constraint
          postgresql-error-table postgresql-error-column postgresql-error-sql
          constraint-violation? unique-violation? foreign-key-violation? not-null-violation?
          check-violation?
          serialization-failure? deadlock-detected?)
  (import (canny primitives) (canny syntax) (canny control) (canny sql)
          (canny postgresql wire)
          (canny postgresql settings)
          (canny postgresql values)
          (canny crypto)
          (only (canny base64) base64-encode base64-decode hex-encode)
          (only (canny lists) for-each map)
          (only (canny tasks) spawn cancelled-error? call-with-timeout timeout-error? %with-lock)
          (only (canny channels) make-channel channel-send! channel-close!)
          (canny sync)
          (canny net)
          (canny arguments))
  (begin

    (define-record-type postgresql
      (make-postgresql wire settings lock parameters process secret statements counter status depth
                       listens prepared-max)
      postgresql?
      (wire wire-of set-wire!)
      (settings settings-of)
      (lock lock-of)
      ;; What the server says of itself.
      (parameters parameters-of set-parameters!)
      ;; By these two numbers a statement is given up.
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

    ;; A prepared statement: its name, types of the parameters, names, types and formats of the columns, when it was used.
    (define-record-type statement
      (make-statement name parameter-types columns types formats stamp)
      statement?
      (name statement-name)
      (parameter-types statement-parameter-types)
      (columns statement-columns)
      (types statement-types)
      (formats statement-formats)
      (stamp statement-stamp set-statement-stamp!))

    (define (check-connection who object)
      (check-argument who 1 postgresql? "connection to PostgreSQL" object))

    (define (check-sql who object)
      (check-argument who 2 string? "string" object))

    (define (failure who message . parts)
      (%make-condition 'postgresql message parts who))

    ;; Errors and notices.

    (define fields
      '((#\C . code) (#\V . severity) (#\D . detail) (#\H . hint) (#\P . position) (#\s . schema)
        (#\t . table)
        (#\c . column)
        (#\n . constraint)
        (#\W . where)))

    ;; The condition for an ErrorResponse.
    (define (error-of message who sql)
      (let ((bytes (message-bytes message)))
        (let loop ((at (message-start message)) (text "") (parts '()))
          (if (or (>= at (message-end message)) (= 0 (bytevector-u8-ref bytes at)))
              (%make-condition 'postgresql text
                               (append (reverse parts) (if sql (list 'sql sql) '()))
                               who)
              (let* ((field (integer->char (bytevector-u8-ref bytes at)))
                     (value (text-of bytes (+ at 1)))
                     (next (+ 1 (text-end bytes (+ at 1))))
                     (known (assv field fields)))
                (cond ((char=? field #\M) (loop next value parts))
                      ((not known) (loop next text parts))
                      (else
                       (loop next text
                             (cons (if (eq? (cdr known) 'position)
                                       ;; Counted from 1.
                                       (- (string->number value) 1)
                                       value)
                                   (cons (cdr known) parts))))))))))

    ;; The next message that belongs to an exchange.
    (define (next-message database)
      (let ((message (read-message (wire-of database))))
        (case (message-kind message)
          ((#\S)
           (note-parameter! database message)
           (next-message database))
          ;; Notices; notifications that nobody waits for.
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

    ;; Reads messages until the server is ready. `(take message)` gets those that are neither errors nor that. The first error, or #f.
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

    ;; Opening.

    (define (number-setting settings name)
      (let ((value (string->number (setting settings name ""))))
        (if (not (exact-nonnegative-integer? value))
            (raise (%make-condition 'range "a setting is not a number" (list name)
                                    'open-postgresql)))
        value))

    (define (connect-to settings timeout)
      (let ((host (setting settings 'host #f))
            (port (number-setting settings 'port)))
        (if (string-prefix? "/" host)
            (unix-connect (string-append host "/.s.PGSQL." (number->string port))
                          #:timeout timeout)
            (tcp-connect host port #:timeout timeout))))

    ;; Whether servers are believed, and which.
    (define (context-for settings mode)
      (let ((root (setting settings 'sslrootcert #f)))
        (tls-client-context #:trust (cond ((member mode '("verify-ca" "verify-full")) (or root #t))
                                          ((and root (string=? mode "require")) root)
                                          (else #f))
                            #:certificate (setting settings 'sslcert #f)
                            #:key (setting settings 'sslkey #f))))

    (define (member object list)
      (and (pair? list)
           (or (equal? (car list) object)
               (member object (cdr list)))))

    (define (secure! wire settings mode timeout)
      (let ((connection (wire-connection wire)))
        (send-plain-message! wire (int32 80877103))
        (flush-wire! wire)
        (let ((answer (read-u8 (connection-input connection))))
          (cond ((eqv? answer 83)
                 (connection-start-tls! connection (context-for settings mode)
                                        #:server-name (setting settings 'host #f)
                                        #:timeout timeout))
                ((and (eqv? answer 78) (string=? mode "prefer")) #f)
                ((eqv? answer 78)
                 (raise (failure 'open-postgresql "the server does not speak TLS" 'code "08001")))
                (else
                 (raise (failure 'open-postgresql "the server does not speak PostgreSQL's protocol"
                                 'code "08P01")))))))

    (define modes '("disable" "allow" "prefer" "require" "verify-ca" "verify-full"))

    ;; A wire to the server, encrypted if that is wanted.
    (define (open-wire settings timeout)
      (let ((mode (setting settings 'sslmode "prefer")))
        (if (not (member mode modes))
            (raise (%make-condition 'range "sslmode is none of those that there are" (list mode)
                                    'open-postgresql)))
        (let* ((connection (connect-to settings timeout))
               (wire (make-wire connection)))
          (if (not (or (member mode '("disable" "allow"))
                       (string-prefix? "/" (setting settings 'host ""))))
              (guard (condition (#t
                                 (close-quietly wire)
                                 (raise condition)))
                (secure! wire settings mode timeout)))
          wire)))

    (define (close-quietly wire)
      (guard (condition (#t #f))
        (close-wire wire)))

    ;; Connects to a server.  The string is a URI, or words such as "host=localhost dbname=shop"; the environment variables of libpq say
    ;; what it does not.  `#:timeout` is for the whole.  `#:statements` prepared statements are kept.
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

    ;; Who we are.

    (define (password-of settings)
      (or (setting settings 'password #f)
          (raise (failure 'open-postgresql "the server wants a password, and there is none" 'code
                          "28P01"))))

    (define (authentication-message database)
      (let ((message (next-message database)))
        (case (message-kind message)
          ((#\R) message)
          ((#\E) (raise (error-of message 'open-postgresql #f)))
          ;; A server that does not know a newer protocol says so.
          ((#\v) (authentication-message database))
          (else (unexpected message)))))

    (define (authenticate! database settings)
      (let* ((message (authentication-message database))
             (bytes (message-bytes message))
             (start (message-start message)))
        (case (s32-at bytes start)
          ((0) #t)
          ((3)
           (send-password! database (c-string (password-of settings)))
           (authenticate! database settings))
          ((5)
           (send-password! database
                           (c-string
                            (md5-answer (setting settings 'user "") (password-of settings)
                                        (bytevector-copy bytes (+ start 4) (+ start 8)))))
           (authenticate! database settings))
          ((10)
           (if (not (member "SCRAM-SHA-256" (mechanisms bytes (+ start 4))))
               (raise
                (failure 'open-postgresql "the server wants a way to log in that we do not know"
                         'code "28000")))
           (scram! database (password-of settings))
           (authenticate! database settings))
          (else
           (raise (failure 'open-postgresql "the server wants a way to log in that we do not know"
                           'code "28000"))))))

    (define (send-password! database bytes)
      (send-message! (wire-of database) #\p bytes)
      (flush-wire! (wire-of database)))

    (define (md5-answer user password salt)
      (let ((inner (hex-encode (digest 'md5 (string-append password user)))))
        (string-append "md5"
                       (hex-encode (digest 'md5 (bytevector-append (string->utf8 inner) salt))))))

    (define (mechanisms bytes at)
      (if (= 0 (bytevector-u8-ref bytes at))
          '()
          (cons (text-of bytes at)
                (mechanisms bytes (+ 1 (text-end bytes at))))))

    ;; SCRAM-SHA-256, RFC 5802 and 7677: both sides prove that they know the password, and neither tells it.
    (define (scram! database password)
      (let* ((nonce (base64-encode (random-bytes 18)))
             (first-bare (string-append "n=,r=" nonce))
             (first (string->utf8 (string-append "n,," first-bare))))
        (send-password! database
                        (bytevector-append (c-string "SCRAM-SHA-256")
                                           (int32 (bytevector-length first))
                                           first))
        (let* ((server-first (sasl-text database 11))
               (server-nonce (attribute server-first "r="))
               (salt (base64-decode (attribute server-first "s=")))
               (iterations (string->number (attribute server-first "i=")))
               (without-proof (string-append "c=biws,r=" server-nonce)))
          (if (not (and (string-prefix? nonce server-nonce)
                        (exact-nonnegative-integer? iterations)
                        (<= 1 iterations 10000000)))
              (scram-failure))
          (let* ((salted (pbkdf2 'sha-256 (string-normalize-nfkc password) salt iterations 32))
                 (client-key (hmac 'sha-256 salted "Client Key"))
                 (exchange (string-append first-bare "," server-first "," without-proof))
                 (signature (hmac 'sha-256 (digest 'sha-256 client-key) exchange))
                 (proof (exclusive-or client-key signature))
                 (expected (hmac 'sha-256 (hmac 'sha-256 salted "Server Key") exchange)))
            (send-password! database
                            (string->utf8
                             (string-append without-proof ",p=" (base64-encode proof))))
            (let ((server-final (sasl-text database 12)))
              (if (not (timing-safe=? expected (base64-decode (attribute server-final "v="))))
                  (scram-failure)))))))

    (define (scram-failure)
      (raise (failure 'open-postgresql "the server has not proved that it knows the password" 'code
                      "28000")))

    (define (sasl-text database kind)
      (let* ((message (authentication-message database))
             (bytes (message-bytes message))
             (start (message-start message)))
        (if (not (= kind (s32-at bytes start)))
            (scram-failure))
        (utf8->string bytes (+ start 4) (message-end message))))

    ;; The value of an attribute, in a list with commas.
    (define (attribute text name)
      (let loop ((start 0))
        (let ((end (comma-from text start)))
          (cond ((string-prefix? name (substring text start end))
                 (substring text (+ start (string-length name)) end))
                ((= end (string-length text)) (scram-failure))
                (else (loop (+ end 1)))))))

    (define (comma-from text index)
      (cond ((= index (string-length text)) index)
            ((char=? (string-ref text index) #\,) index)
            (else (comma-from text (+ index 1)))))

    (define (exclusive-or a b)
      (let ((result (bytevector-copy a)))
        (do ((index 0 (+ index 1))) ((= index (bytevector-length a)) result)
          (bytevector-u8-set! result index
                              (bitwise-xor (bytevector-u8-ref a index)
                                           (bytevector-u8-ref b index))))))

    ;; Closing.

    (define (postgresql-open? database)
      (check-connection 'postgresql-open? database)
      (and (status-of database) #t))

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

    (define (shut! database)
      (set-status! database #f)
      (close-quietly (wire-of database)))

    ;; Connects with options of `open-postgresql`, calls a procedure with the connection and closes it however that is left.
    (define (call-with-postgresql string procedure . options)
      (check-procedure 'call-with-postgresql 2 procedure)
      (let ((database (apply open-postgresql string options)))
        (dynamic-wind
         values
         (lambda () (procedure database))
         (lambda () (close-postgresql database)))))

    ;; What the server says of itself: "server_version", "TimeZone" and so on, or #f.
    (define (postgresql-parameter database name)
      (check-connection 'postgresql-parameter database)
      (let ((found (assoc* name (parameters-of database))))
        (and found (cdr found))))

    (define (assoc* key list)
      (cond ((null? list) #f)
            ((equal? (caar list) key) (car list))
            (else (assoc* key (cdr list)))))

    ;; Exchanges.

    ;; Evaluates an expression that talks with the server and leaves it ready; its value is raised if it is a condition.
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

    ;; Seconds that the server has to give up a statement.
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

    ;; Asks the server to give up what it does for this connection.
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
      ;; What ends a copy counts for nothing otherwise; after an error the server passes over what comes before the second.
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
            (else (loop))))))

    ;; Prepared statements.

    (define (sync! database)
      (send-message! (wire-of database) #\S)
      (flush-wire! (wire-of database)))

    (define (next-number! database)
      (set-counter! database (+ 1 (counter-of database)))
      (counter-of database))

    ;; The prepared statement of a text, or a condition.
    (define (prepared database who sql)
      (let ((known (%hash-table-ref (statements-of database) sql #f)))
        (if known
            (begin
              (set-statement-stamp! known (next-number! database))
              known)
            (prepare! database who sql))))

    (define (prepare! database who sql)
      (drop-oldest! database)
      (let* ((stamp (next-number! database))
             (name (string-append "canny" (number->string stamp)))
             (wire (wire-of database))
             (parameter-types '())
             (columns '()))
        (send-message! wire #\P (c-string name) (c-string sql) (int16 0))
        (send-message! wire #\D #u8(83) (c-string name))
        (sync! database)
        (let ((error
               (read-until-ready database who sql
                                 (lambda (message)
                                   (case (message-kind message)
                                     ((#\t) (set! parameter-types (types-in message)))
                                     ((#\T) (set! columns (columns-in message))))))))
          (or error
              (let ((statement
                     (make-statement name parameter-types
                                     (map car columns)
                                     (list->vector (map cdr columns))
                                     (%apply bytevector-append
                                             (map (lambda (column)
                                                    (int16 (result-format (cdr column))))
                                                  columns))
                                     stamp)))
                (%hash-table-set! (statements-of database) sql statement)
                statement)))))

    (define (types-in message)
      (let* ((bytes (message-bytes message))
             (start (message-start message))
             (count (u16-at bytes start)))
        (let loop ((index (- count 1)) (types '()))
          (if (< index 0)
              types
              (loop (- index 1) (cons (s32-at bytes (+ start 2 (* 4 index))) types))))))

    ;; Names and types of the columns.
    (define (columns-in message)
      (let ((bytes (message-bytes message))
            (count (u16-at (message-bytes message) (message-start message))))
        (let loop ((index 0) (at (+ 2 (message-start message))) (columns '()))
          (if (= index count)
              (reverse columns)
              (let ((end (text-end bytes at)))
                (loop (+ index 1)
                      (+ end 19)
                      (cons (cons (string->symbol (utf8->string bytes at end))
                                  (s32-at bytes (+ end 7)))
                            columns)))))))

    (define (drop-oldest! database)
      (let ((table (statements-of database)))
        (if (>= (%hash-table-count table) (prepared-max database))
            (let ((oldest #f))
              (for-each (lambda (sql)
                          (let ((statement (%hash-table-ref table sql #f)))
                            (if (or (not oldest)
                                    (< (statement-stamp statement) (statement-stamp (cdr oldest))))
                                (set! oldest (cons sql statement)))))
                        (%hash-table-keys table))
              (forget! database (car oldest))))))

    ;; Before another message, with whose answer the one to this is read.
    (define (forget! database sql)
      (let ((statement (%hash-table-ref (statements-of database) sql #f)))
        (if statement
            (begin
              (%hash-table-delete! (statements-of database) sql)
              (send-message! (wire-of database) #\C #u8(83)
                             (c-string (statement-name statement)))))))

    ;; Running.

    (define (encode-all arguments types)
      (if (not (= (length arguments) (length types)))
          (raise (%make-condition 'type
                                  (string-append "the statement has "
                                                 (number->string (length types))
                                                 " parameters, but "
                                                 (number->string (length arguments))
                                                 " were given")
                                  '()
                                  'query)))
      (let loop ((arguments arguments) (types types) (position 1))
        (if (null? arguments)
            '()
            (cons (encode (car arguments) (car types) position)
                  (loop (cdr arguments) (cdr types) (+ position 1))))))

    ;; The same, or a condition: nothing has been sent yet.
    (define (encoded-arguments arguments statement)
      (guard (condition ((error-object? condition) condition))
        (encode-all arguments (statement-parameter-types statement))))

    (define (value-part value)
      (cond ((not value) (int32 -1))
            ((string? value) (sized (string->utf8 value)))
            (else (sized value))))

    (define (sized bytes)
      (bytevector-append (int32 (bytevector-length bytes)) bytes))

    (define (bind! database portal statement values)
      (send-message! (wire-of database) #\B
                     (c-string portal)
                     (c-string (statement-name statement))
                     (int16 (length values))
                     (%apply bytevector-append
                             (map (lambda (value) (int16 (if (bytevector? value) 1 0))) values))
                     (int16 (length values))
                     (%apply bytevector-append (map value-part values))
                     (int16 (vector-length (statement-types statement)))
                     (statement-formats statement)))

    (define (execute! database portal rows-max)
      (send-message! (wire-of database) #\E (c-string portal) (int32 rows-max)))

    (define (row-vector message types)
      (let* ((bytes (message-bytes message))
             (count (vector-length types))
             (row (make-vector count)))
        (let loop ((index 0) (at (+ 2 (message-start message))))
          (if (= index count)
              row
              (let ((length (s32-at bytes at)))
                (if (< length 0)
                    (begin
                      (vector-set! row index 'null)
                      (loop (+ index 1) (+ at 4)))
                    (let ((end (+ at 4 length)))
                      (vector-set! row index
                                   (decode (vector-ref types index) bytes (+ at 4) end))
                      (loop (+ index 1) end))))))))

    (define (row-alist message statement)
      (map cons (statement-columns statement)
           (vector->list (row-vector message (statement-types statement)))))

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

    ;; Runs a statement.  `(make-row message statement)` makes its rows; the number of its tag for #f.
    (define (run who database sql arguments make-row)
      (check-connection who database)
      (check-sql who sql)
      (exchange who database (run-now who database sql arguments make-row #t)))

    (define (run-now who database sql arguments make-row again?)
      (let ((statement (prepared database who sql)))
        (if (error-object? statement)
            statement
            (let ((encoded (encoded-arguments arguments statement)))
              (if (error-object? encoded)
                  encoded
                  (let* ((was (status-of database))
                         (result (run-prepared who database sql statement encoded make-row)))
                    (if (and again? (eqv? was #\I) (is-stale? result))
                        (begin
                          (forget! database sql)
                          (run-now who database sql arguments make-row #f))
                        (begin
                          (if (is-stale? result)
                              (%hash-table-delete! (statements-of database) sql))
                          result))))))))

    ;; Whether a statement has to be prepared anew, since a table has changed or somebody has dropped the statement.
    (define (is-stale? result)
      (and (error-object? result)
           (member (%sql-error-part result 'code) '("0A000" "26000"))))

    (define (run-prepared who database sql statement encoded make-row)
      (let ((rows '()) (changes 0))
        (bind! database "" statement encoded)
        (execute! database "" 0)
        (sync! database)
        (let ((error
               (read-until-ready database who sql
                                 (lambda (message)
                                   (case (message-kind message)
                                     ((#\D)
                                      (if make-row
                                          (set! rows (cons (make-row message statement) rows))))
                                     ((#\C) (set! changes (tag-number message)))
                                     ;; A statement that copies cannot be run so.
                                     ((#\G) (end-copy! database)))))))
          (cond (error error)
                (make-row (reverse rows))
                (else changes)))))

    (define (end-copy! database)
      (send-message! (wire-of database) #\f (c-string "use copy-in"))
      (sync! database))

    (define (vectors message statement)
      (row-vector message (statement-types statement)))

    ;; Runs a statement for what it does; the number of rows that it has inserted, changed, deleted or selected.
    (define (execute database sql . arguments)
      (run 'execute database sql arguments #f))

    ;; Runs all statements of a text, which have no arguments.
    (define (execute-script database sql)
      (check-connection 'execute-script database)
      (check-sql 'execute-script sql)
      (exchange 'execute-script database
                (begin
                  (send-message! (wire-of database) #\Q (c-string sql))
                  (flush-wire! (wire-of database))
                  (read-until-ready database 'execute-script sql
                                    (lambda (message)
                                      (if (char=? (message-kind message) #\G)
                                          (begin
                                            (send-message! (wire-of database) #\f
                                                           (c-string "use copy-in"))
                                            (flush-wire! (wire-of database))))))))
      (values))

    ;; The rows of a statement in a list.
    (define (query database sql . arguments)
      (run 'query database sql arguments vectors))

    ;; The same as association lists of column names and values.
    (define (query-alists database sql . arguments)
      (run 'query-alists database sql arguments row-alist))

    (define (first-of rows)
      (and (pair? rows) (car rows)))

    ;; The first row, or #f.
    (define (query-row database sql . arguments)
      (first-of (run 'query-row database sql arguments vectors)))

    ;; The first row as an association list, or #f.
    (define (query-alist database sql . arguments)
      (first-of (run 'query-alist database sql arguments row-alist)))

    ;; The first value of the first row, or #f if there is no row.  A boolean may be #f, too.
    (define (query-value database sql . arguments)
      (let ((row (first-of (run 'query-value database sql arguments vectors))))
        (and row (vector-ref row 0))))

    ;; The names of the columns that a statement would give, as symbols.
    (define (query-columns database sql)
      (check-connection 'query-columns database)
      (check-sql 'query-columns sql)
      (exchange 'query-columns database
                (let ((statement (prepared database 'query-columns sql)))
                  (if (error-object? statement)
                      statement
                      (statement-columns statement)))))

    ;; Rows one after the other.

    ;; So many rows are asked for at a time.
    (define batch-rows 100)

    ;; Calls a procedure with each row of a statement; the server makes the next ones when these have been taken.  It is done in a
    ;; transaction.
    (define (for-each-row procedure database sql . arguments)
      (check-procedure 'for-each-row 1 procedure)
      (check-argument 'for-each-row 2 postgresql? "connection to PostgreSQL" database)
      (check-argument 'for-each-row 3 string? "string" sql)
      (call-with-transaction
        database
        (lambda ()
          (let* ((portal (string-append "canny_rows_" (number->string (next-number! database))))
                 (statement
                  (exchange 'for-each-row database
                            (let ((statement (prepared database 'for-each-row sql)))
                              (if (error-object? statement)
                                  statement
                                  (begin-rows! database portal sql statement arguments))))))
            (let loop ()
              (let ((batch
                     (exchange 'for-each-row database (fetch database portal sql statement))))
                (for-each procedure (cdr batch))
                (if (car batch)
                    (loop))))
            (exchange 'for-each-row database
                      (begin
                        (send-message! (wire-of database) #\C #u8(80) (c-string portal))
                        (sync! database)
                        (read-until-ready database 'for-each-row sql values))))))
      (values))

    (define (begin-rows! database portal sql statement arguments)
      (let ((encoded (encoded-arguments arguments statement)))
        (if (error-object? encoded)
            encoded
            (begin
              (bind! database portal statement encoded)
              (sync! database)
              (or (read-until-ready database 'for-each-row sql values)
                  statement)))))

    ;; Whether there are more, and the next rows.
    (define (fetch database portal sql statement)
      (let ((rows '()) (more? #f))
        (execute! database portal batch-rows)
        (sync! database)
        (or (read-until-ready database 'for-each-row sql
                              (lambda (message)
                                (case (message-kind message)
                                  ((#\D) (set! rows (cons (vectors message statement) rows)))
                                  ((#\s) (set! more? #t)))))
            (cons more? (reverse rows)))))

    ;; `(procedure row state)` gives the next state; the last one is the value.
    (define (fold-rows procedure state database sql . arguments)
      (check-procedure 'fold-rows 1 procedure)
      (check-argument 'fold-rows 3 postgresql? "connection to PostgreSQL" database)
      (apply for-each-row
             (lambda (row) (set! state (procedure row state)))
             database sql arguments)
      state)

    ;; Transactions.

    (define (control! database sql)
      (exchange 'with-transaction database
                (begin
                  (send-message! (wire-of database) #\Q (c-string sql))
                  (flush-wire! (wire-of database))
                  (read-until-ready database 'with-transaction sql values))))

    (define (savepoint depth)
      (string-append "canny_" (number->string depth)))

    (define isolations
      '((#f . "begin") (read-committed . "begin isolation level read committed")
        (repeatable-read . "begin isolation level repeatable read")
        (serializable . "begin isolation level serializable")))

    (define (begin-transaction! database isolation read-only?)
      (mutex-lock! (lock-of database))
      (guard (condition (#t
                         (mutex-unlock! (lock-of database))
                         (raise condition)))
        (control! database
                  (if (= 0 (depth-of database))
                      (string-append isolation (if read-only? " read only" ""))
                      (string-append "savepoint " (savepoint (depth-of database)))))
        (set-depth! database (+ 1 (depth-of database)))))

    (define (commit! database)
      (let ((depth (- (depth-of database) 1)))
        ;; In one that has failed the server would roll back and call that a success.
        (if (eqv? (status-of database) #\E)
            (raise (failure 'with-transaction "the transaction has failed and was rolled back" 'code
                            "25P02")))
        (control! database
                  (if (= depth 0)
                      "commit"
                      (string-append "release savepoint " (savepoint depth))))))

    (define (end-transaction! database committed?)
      (let ((depth (- (depth-of database) 1)))
        (set-depth! database depth)
        (if (and (not committed?) (memv (status-of database) '(#\T #\E)))
            (guard (condition (#t (shut! database)))
              (if (= depth 0)
                  (control! database "rollback")
                  (begin
                    (control! database
                              (string-append "rollback to savepoint " (savepoint depth)))
                    (control! database (string-append "release savepoint " (savepoint depth)))))))
        (mutex-unlock! (lock-of database))))

    ;; Calls a procedure in a transaction, which is committed when it returns and rolled back when it is left any other way.  In another
    ;; one of the task it is a savepoint.  It cannot be entered again.
    (define* (call-with-transaction database thunk #:key (isolation #f) (read-only? #f))
      (check-connection 'call-with-transaction database)
      (check-procedure 'call-with-transaction 2 thunk)
      (let ((found (assq isolation isolations)) (state 'new))
        (if (not found)
            (raise-bad-option 'call-with-transaction "#:isolation"
                              "read-committed, repeatable-read or serializable" isolation))
        (dynamic-wind
         (lambda ()
           (if (not (eq? state 'new))
               (raise (failure 'call-with-transaction
                               "a transaction that was left cannot be entered again")))
           (begin-transaction! database (cdr found) read-only?)
           (set! state 'open))
         (lambda ()
           (call-with-values
             thunk
             (lambda results
               (commit! database)
               (set! state 'committed)
               (apply values results))))
         (lambda ()
           (if (memq state '(open committed))
               (let ((committed? (eq? state 'committed)))
                 (set! state 'over)
                 (end-transaction! database committed?)))))))

    (define-syntax with-transaction
      (syntax-rules ()
        ((_ database body0 body ...)
         (call-with-transaction database (lambda () body0 body ...)))))

    ;; Whether the current task has a transaction open.
    (define (in-transaction? database)
      (check-connection 'in-transaction? database)
      (and (eq? (mutex-owner (lock-of database)) (%current-task))
           (> (depth-of database) 0)))

    ;; Copying.

    ;; Runs `copy … from stdin`.  `next` is a generator of strings and bytevectors, which are sent as they are; the number of rows.
    (define (copy-in database sql next)
      (check-connection 'copy-in database)
      (check-sql 'copy-in sql)
      (check-procedure 'copy-in 3 next)
      (let ((changes 0))
        (exchange 'copy-in database
                  (begin
                    (send-message! (wire-of database) #\Q (c-string sql))
                    (flush-wire! (wire-of database))
                    (read-until-ready
                     database 'copy-in sql
                     (lambda (message)
                       (case (message-kind message)
                         ((#\G) (send-copy! database next))
                         ((#\C) (set! changes (tag-number message))))))))
        changes))

    ;; Sends what a generator gives.
    (define (send-copy! database next)
      (let ((wire (wire-of database)))
        (let loop ()
          (let ((chunk (next)))
            (if (eof-object? chunk)
                (send-message! wire #\c)
                (begin
                  (send-message! wire #\d
                                 (cond ((bytevector? chunk) chunk)
                                       ((string? chunk) (string->utf8 chunk))
                                       (else
                                        (%type-error 'copy-in 3
                                                     "generator of strings and bytevectors"
                                                     chunk))))
                  (loop)))))
        (flush-wire! wire)))

    ;; Runs `copy … to stdout` and calls a procedure with each row, a bytevector as the server sends it; the number of rows.
    (define (copy-out procedure database sql)
      (check-procedure 'copy-out 1 procedure)
      (check-argument 'copy-out 2 postgresql? "connection to PostgreSQL" database)
      (check-argument 'copy-out 3 string? "string" sql)
      (let ((changes 0))
        (exchange 'copy-out database
                  (begin
                    (send-message! (wire-of database) #\Q (c-string sql))
                    (flush-wire! (wire-of database))
                    (read-until-ready database 'copy-out sql
                                      (lambda (message)
                                        (case (message-kind message)
                                          ((#\d)
                                           (procedure (bytevector-copy (message-bytes message)
                                                                       (message-start message)
                                                                       (message-end message))))
                                          ((#\C) (set! changes (tag-number message))))))))
        changes))

    ;; Notifications.

    (define-record-type notification
      (make-notification channel payload process)
      notification?
      (channel notification-channel)
      (payload notification-payload)
      (process notification-process))

    (define (quoted-name name)
      (let ((port (open-output-string)))
        (write-char #\" port)
        (string-for-each (lambda (char)
                           (if (char=? char #\")
                               (write-char char port))
                           (write-char char port))
                         name)
        (write-char #\" port)
        (get-output-string port)))

    (define (string-for-each procedure string)
      (do ((index 0 (+ index 1))) ((= index (string-length string)))
        (procedure (string-ref string index))))

    ;; Listens to channels of the server, by their names; a channel of (canny channels) with the notifications.  From then on the connection
    ;; is for nothing else; closing it closes the channel.
    (define* (postgresql-listen database names #:key (capacity #f))
      (check-connection 'postgresql-listen database)
      (if (not (and (pair? names) (list? names)))
          (%type-error 'postgresql-listen 2 "list of names" names))
      (for-each (lambda (name) (check-argument 'postgresql-listen 2 string? "string" name)) names)
      (for-each (lambda (name) (control! database (string-append "listen " (quoted-name name))))
                names)
      (let ((channel (if capacity (make-channel capacity) (make-channel #f))))
        (set-listens! database #t)
        (spawn (lambda () (pass-on! database channel)))
        channel))

    (define (pass-on! database channel)
      (dynamic-wind
       values
       (lambda ()
         (guard (condition (#t #f))
           (let loop ()
             (let ((message (read-message (wire-of database))))
               (if (char=? (message-kind message) #\A)
                   (let* ((bytes (message-bytes message))
                          (start (message-start message))
                          (name-end (text-end bytes (+ start 4))))
                     (channel-send! channel
                                    (make-notification (utf8->string bytes (+ start 4) name-end)
                                                       (text-of bytes (+ name-end 1))
                                                       (s32-at bytes start)))))
               (loop)))))
       (lambda ()
         (channel-close! channel)
         (shut! database))))

    ;; Pools.

    (define-record-type postgresql-pool
      (new-pool %lock string timeout statements idle-time permits free closed)
      postgresql-pool?
      (%lock pool-lock)
      (string pool-string)
      (timeout pool-timeout)
      (statements pool-statements)
      (idle-time pool-idle-time)
      (permits pool-permits)
      ;; Pairs of connections and when they were given back, the last one first.
      (free pool-free set-pool-free!)
      (closed pool-closed set-pool-closed!))

    (define (now)
      (/ (current-jiffy) (jiffies-per-second)))

    ;; Up to `#:size` connections, made when they are wanted.  One that was unused for more than `#:idle-time` seconds is not used any
    ;; more.  `#:connect-timeout` is for making one.
    (define* (make-postgresql-pool #:optional (string "") #:key (size 10) (idle-time 60)
                                   (connect-timeout #f) (statements 100))
      (check-argument 'make-postgresql-pool 1 string? "string" string)
      (if (not (and (exact-nonnegative-integer? size) (> size 0)))
          (raise-bad-option 'make-postgresql-pool "#:size" "a number above 0" size))
      (if (not (and (real? idle-time) (>= idle-time 0)))
          (raise-bad-option 'make-postgresql-pool "#:idle-time" "a number of seconds" idle-time))
      (new-pool #f string connect-timeout statements idle-time (make-semaphore size) '() #f))

    (define (check-pool who object)
      (check-argument who 1 postgresql-pool? "pool of connections to PostgreSQL" object))

    (define (take-free! pool)
      (%with-lock pool
        (let ((free (pool-free pool)))
          (and (pair? free)
               (begin
                 (set-pool-free! pool (cdr free))
                 (car free))))))

    (define (take-connection! pool)
      (if (pool-closed pool)
          (raise (failure 'call-with-pooled "the pool is closed" 'code "08003")))
      (let ((found (take-free! pool)))
        (cond ((not found)
               (open-postgresql (pool-string pool) #:timeout (pool-timeout pool)
                                #:statements (pool-statements pool)))
              ((and (< (- (now) (cdr found)) (pool-idle-time pool))
                    (alive? (car found) (- (now) (cdr found))))
               (car found))
              (else
               (close-postgresql (car found))
               (take-connection! pool)))))

    ;; One that was used within a second is believed to be.
    (define (alive? database idle)
      (or (< idle 1)
          (guard (condition (#t #f))
            (call-with-timeout patience (lambda () (execute-script database "")))
            #t)))

    (define (give-back! pool database)
      (if (or (pool-closed pool)
              (not (eqv? (status-of database) #\I)))
          (close-postgresql database)
          (let ((time (now)))
            (if (%with-lock pool
                  (if (pool-closed pool)
                      #t
                      (begin
                        (set-pool-free! pool (cons (cons database time) (pool-free pool)))
                        #f)))
                (close-postgresql database)))))

    ;; Calls a procedure with a connection that nobody else has meanwhile.  A transaction that it leaves open closes it.
    (define* (call-with-pooled pool procedure #:key (timeout #f))
      (check-pool 'call-with-pooled pool)
      (check-procedure 'call-with-pooled 2 procedure)
      (let ((database #f))
        (call-with-semaphore
          (pool-permits pool)
          (lambda ()
            (dynamic-wind
             (lambda () (set! database (take-connection! pool)))
             (lambda () (procedure database))
             (lambda ()
               (if database
                   (let ((used database))
                     (set! database #f)
                     (give-back! pool used))))))
          #:timeout timeout)))

    ;; Closes all connections, those in use when they are given back.
    (define (close-postgresql-pool pool)
      (check-pool 'close-postgresql-pool pool)
      (for-each (lambda (entry) (close-postgresql (car entry)))
                (%with-lock pool
                  (let ((free (pool-free pool)))
                    (set-pool-closed! pool #t)
                    (set-pool-free! pool '())
                    free)))
      (values))

    ;; Errors.

    (define (postgresql-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'postgresql)))

    (define (part who condition name)
      (check-argument who 1 postgresql-error? "error of PostgreSQL" condition)
      (%sql-error-part condition name))

    ;; The SQLSTATE, five characters.
    (define (postgresql-error-code condition) (part 'postgresql-error-code condition 'code))

    (define (postgresql-error-severity condition)
      (part 'postgresql-error-severity condition 'severity))

    (define (postgresql-error-detail condition) (part 'postgresql-error-detail condition 'detail))

    (define (postgresql-error-hint condition) (part 'postgresql-error-hint condition 'hint))

    ;; The index of the character of the statement that the error is about.
    (define (postgresql-error-position condition)
      (part 'postgresql-error-position condition 'position))

    (define (postgresql-error-constraint condition)
      (part 'postgresql-error-constraint condition 'constraint))

    (define (postgresql-error-table condition) (part 'postgresql-error-table condition 'table))

    (define (postgresql-error-column condition) (part 'postgresql-error-column condition 'column))

    (define (postgresql-error-sql condition) (part 'postgresql-error-sql condition 'sql))

    ;; The transaction should be tried again.
    (define (serialization-failure? object)
      (and (postgresql-error? object)
           (equal? (%sql-error-part object 'code) "40001")))

    (define (deadlock-detected? object)
      (and (postgresql-error? object)
           (equal? (%sql-error-part object 'code) "40P01")))))
