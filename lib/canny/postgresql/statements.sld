;;; (canny postgresql statements): running statements: preparing them, sending arguments, taking
;;; rows.
;;;
;;; Prepared statements are kept by their text, as many as an option of `open-postgresql` says; the
;;; one that was not used for longest goes first. Rows come all at once, or a hundred at a time out
;;; of a portal, which is what the protocol calls a cursor. That lives in a transaction.
;;;
;;; Arguments and rows are converted by (canny postgresql values).

(define-library (canny postgresql statements)
  (export execute execute-script query query-alists query-row query-alist query-value query-columns
          for-each-row fold-rows)
  (import (canny primitives) (canny syntax)
          (only (canny machine control) raise guard)
          (only (canny data lists) for-each map member)
          (only (canny databases sql) %sql-error-part)
          (only (canny telemetry observers) %statement-observer)
          (canny machine arguments)
          (canny postgresql wire) (canny postgresql values) (canny postgresql connection)
          (canny postgresql transactions))
  (begin

    ;; A prepared statement: its name, types of the parameters, names, types and formats of the
    ;; columns, when it was used.
    (define-record-type statement
      (make-statement name parameter-types columns types formats stamp)
      statement?
      (name statement-name)
      (parameter-types statement-parameter-types)
      (columns statement-columns)
      (types statement-types)
      (formats statement-formats)
      (stamp statement-stamp set-statement-stamp!))

    ;; Preparing.

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

    ;; Arguments.

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

    ;; Rows.

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

    (define (vectors message statement)
      (row-vector message (statement-types statement)))

    ;; Running.

    ;; Runs a statement. `(make-row message statement)` makes its rows; the number of its tag for
    ;; #f.
    (define (run who database sql arguments make-row)
      (check-connection who database)
      (check-sql who sql)
      (let ((observe (%statement-observer)))
        (if observe
            (observe 'postgresql sql (place-of database)
                     (lambda ()
                       (exchange who database (run-now who database sql arguments make-row #t))))
            (exchange who database (run-now who database sql arguments make-row #t)))))

    (define (observed database sql thunk)
      (let ((observe (%statement-observer)))
        (if observe
            (observe 'postgresql sql (place-of database) thunk)
            (thunk))))

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

    ;; Whether a statement has to be prepared again, since a table has changed or the statement was
    ;; dropped.
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

    ;; Runs a statement for what it does; the number of rows that it has inserted, changed, deleted
    ;; or selected.
    (define (execute database sql . arguments)
      (run 'execute database sql arguments #f))

    ;; Runs all statements of a text, which have no arguments.
    (define (execute-script database sql)
      (check-connection 'execute-script database)
      (check-sql 'execute-script sql)
      (observed database sql (lambda () (run-script database sql)))
      (values))

    (define (run-script database sql)
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
                                            (flush-wire! (wire-of database)))))))))

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

    ;; So many rows are requested at a time.
    (define batch-rows 100)

    ;; Calls a procedure with each row of a statement; the server makes the next ones when these
    ;; have been taken. It is done in a transaction.
    (define (for-each-row procedure database sql . arguments)
      (check-procedure 'for-each-row 1 procedure)
      (check-argument 'for-each-row 2 postgresql? "connection to PostgreSQL" database)
      (check-argument 'for-each-row 3 string? "string" sql)
      (observed database sql (lambda () (walk-rows procedure database sql arguments)))
      (values))

    (define (walk-rows procedure database sql arguments)
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
                        (read-until-ready database 'for-each-row sql values)))))))

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
      state)))
