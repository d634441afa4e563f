;;; (canny sqlite): databases in files, by SQLite, which is part of the command.
;;;
;;;     (define db (open-database "shop.db"))
;;;     (execute db "create table items (id integer primary key, name text not null)")
;;;     (execute db "insert into items (name) values (?)" "tea")        ; => 1
;;;     (query db "select id, name from items")                         ; => (#(1 "tea"))
;;;     (close-database db)
;;;
;;; Values get into a statement as its arguments only; nothing here puts them into its text.
;;;
;;; A database is used by one task at a time. The lock is a mutex of `(canny sync)`: a task that
;;; waits for it blocks no thread. A statement holds it while it runs, a transaction from its
;;; beginning to its end. A statement runs in a critical section, so that nothing interrupts its
;;; task between locking and unlocking; primitives give conditions instead of raising them.
;;;
;;; | fields | changed by | under |
;;; |---|---|---|
;;; | depth, lost | transactions, what fails in one | the mutex of the database |
;;; | free readers of a pool | who takes one or gives it back | the lock of the pool |

(define-library (canny sqlite)
  (export open-database open-memory-database close-database call-with-database database?
          database-open?
          execute execute-script query query-alists query-row query-alist query-value query-columns
          for-each-row fold-rows row-generator call-with-row-generator
          last-insert-id in-transaction?
          with-transaction with-deferred-transaction call-with-transaction
          make-database-pool database-pool? call-with-reader call-with-writer close-database-pool
          migrate! backup-database database-interrupt!
          blob-size blob-read blob-write!
          sql-null sql-null?
          sqlite-error? sqlite-error-code sqlite-error-sql sqlite-error-offset
          constraint-violation? unique-violation? foreign-key-violation? not-null-violation?
          check-violation?
          database-busy? database-full? database-corrupt? database-read-only? database-interrupted?
          sqlite-version)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny databases sql)
          (only (canny telemetry observers) %statement-observer)
          (only (canny data lists) for-each map)
          (only (canny tasks) sleep %task-number %set-interrupter! %raise-if-interrupted %with-lock
                %park %describe-waits!)
          (canny sync)
          (canny machine arguments))
  (begin

    (define-record-type database
      (make-database handle lock interrupter path mode shape depth lost)
      database?
      (handle database-handle)
      (lock database-lock)
      ;; Ends what a task runs; see (canny tasks).
      (interrupter database-interrupter)
      (path database-path)
      (mode database-mode)
      ;; The form of rows: 1 vectors, 2 association lists.
      (shape database-shape)
      ;; How many transactions, one in the other, are open.
      (depth database-depth set-database-depth!)
      ;; Whether SQLite has rolled back the transaction by itself, so that nothing more may be done
      ;; in it.
      (lost database-lost set-database-lost!))

    (define (check-database who object)
      (check-argument who 1 database? "database" object))

    (define (check-sql who position object)
      (check-argument who position string? "string" object))

    (define (sqlite-version)
      (%sqlite-version))

    ;; Opening.

    (define (choose who keyword choices object)
      (let ((found (assq object choices)))
        (if found
            (cdr found)
            (raise-bad-option who keyword
                              (call-with-output-string
                                (lambda (port)
                                  (write-string "one of " port)
                                  (write (map car choices) port)))
                              object))))

    (define (call-with-output-string write-to)
      (let ((port (open-output-string)))
        (write-to port)
        (get-output-string port)))

    (define (milliseconds who seconds)
      (if (not (and (real? seconds) (>= seconds 0)))
          (raise-bad-option who "#:busy-timeout" "a number of seconds that is not negative"
                            seconds))
      (exact (round (* 1000 (min seconds 1000000)))))

    (define modes (list (cons 'read database-mode/read)
                        (cons 'write database-mode/write)
                        (cons 'create database-mode/create)
                        (cons 'memory database-mode/memory)))
    (define shapes (list (cons 'vector row-shape/vectors) (cons 'alist row-shape/alists)))
    (define journals
      '((wal . "wal") (delete . "delete") (truncate . "truncate") (persist . "persist")
        (memory . "memory")
        (off . "off")
        (#f . #f)))
    (define synchronous-levels
      '((full . "full") (normal . "normal") (off . "off") (extra . "extra")))

    ;; Opens the database in a file. `#:mode` is `create`, the default, `write` or `read` for one
    ;; that has to be there. A statement waits up to `#:busy-timeout` seconds for other connections.
    ;; `#:journal` is `wal`, or another journal of SQLite's; `#f` leaves what the file has.
    ;; `#:synchronous` is `full`: what a transaction has written outlasts a loss of power. Or it is
    ;; `normal`, which outlasts the end of the process only, and is faster. `#:rows` says what rows
    ;; are, `vector` or `alist`. `#:statements` prepared statements are kept.
    (define* (open-database path #:key (mode 'create) (busy-timeout 5) (journal 'wal)
                            (synchronous 'full) (foreign-keys #t) (rows 'vector) (statements 100))
      (check-argument 'open-database 1 string? "string" path)
      (check-argument 'open-database 2 exact-nonnegative-integer? "number of statements"
                      statements)
      (let ((mode-number (choose 'open-database "#:mode" modes mode))
            (wait (milliseconds 'open-database busy-timeout))
            (journal (choose 'open-database "#:journal" journals journal))
            (level (choose 'open-database "#:synchronous" synchronous-levels synchronous))
            (shape (choose 'open-database "#:rows" shapes rows)))
        (open-with path mode mode-number wait shape statements
                   (append (if (and journal (memq mode '(write create)))
                               (list (string-append "pragma journal_mode = " journal))
                               '())
                           (list (string-append "pragma synchronous = " level)
                                 (if foreign-keys
                                     "pragma foreign_keys = on"
                                     "pragma foreign_keys = off")
                                 ;; Whether the file is a database at all.
                                 "select count(*) from sqlite_schema")))))

    ;; A database of its own in memory, which goes when it is closed.
    (define* (open-memory-database #:key (foreign-keys #t) (rows 'vector) (statements 100))
      (open-with "" 'memory database-mode/memory 0
                 (choose 'open-memory-database "#:rows" shapes rows) statements
                 (if foreign-keys
                     '("pragma foreign_keys = on")
                     '("pragma foreign_keys = off"))))

    (define (open-with path mode mode-number wait shape statements pragmas)
      (let ((handle (%sqlite-open 'open-database path mode-number wait statements)))
        (if (error-object? handle)
            (raise handle))
        (let ((database
               (make-database handle
                              (make-mutex #:name "database" #:recursive #t)
                              (lambda (task) (%sqlite-interrupt! handle (%task-number task)))
                              path mode shape 0 #f)))
          (for-each (lambda (pragma)
                      (let ((result (run-pragma database pragma wait)))
                        (if (error-object? result)
                            (begin
                              (%sqlite-close handle)
                              (refuse result)))))
                    pragmas)
          database)))

    ;; SQLite does not wait where several connections change the journal of a file at once: this
    ;; does, for so many milliseconds.
    (define (run-pragma database pragma wait)
      (let retry ((left wait))
        (%enter-critical!)
        (let ((result
               (finish-offloaded 'open-database database 1
                                 (%sqlite-run 'open-database (database-handle database) pragma
                                              '() row-shape/vectors 0))))
          (%leave-critical!)
          (if (and (> left 0) (database-busy? result))
              (begin
                (sleep 0.005)
                (retry (- left 5)))
              result))))

    (define (database-open? database)
      (check-database 'database-open? database)
      (%sqlite-open? (database-handle database)))

    ;; Closes a database once no task uses it; a second time does nothing.
    (define (close-database database)
      (check-database 'close-database database)
      (with-mutex (database-lock database)
        (%sqlite-close (database-handle database)))
      (values))

    ;; Opens a database with options of `open-database`, calls a procedure with it and closes it
    ;; however that is left.
    (define (call-with-database path procedure . options)
      (check-procedure 'call-with-database 2 procedure)
      (let ((database (apply open-database path options)))
        (dynamic-wind
         values
         (lambda () (procedure database))
         (lambda () (close-database database)))))

    ;; Statements.

    ;; Evaluates an expression, which gives a value or a condition, with the database locked.
    ;; `token` is the number by which it can be interrupted, `shape` how its value looks if it comes
    ;; later. The condition is raised.
    (define-syntax using
      (syntax-rules ()
        ((_ who database token shape expression)
         (let* ((task (%current-task))
                (token (%task-number task)))
           (%raise-if-interrupted)
           (lock! who database)
           (%enter-critical!)
           (%set-interrupter! task (database-interrupter database))
           (let ((result (finish-offloaded who database shape expression)))
             (%set-interrupter! task #f)
             (if (error-object? result)
                 (take-note! database))
             (mutex-unlock! (database-lock database))
             (%leave-critical!)
             (if (error-object? result)
                 (refuse result)
                 result))))))

    ;; The result of an operation. If it was offloaded to a helper thread, the task is parked until
    ;; it ends. Called within a critical section.
    (define (finish-offloaded who database shape result)
      (if (eq? result 'offloaded)
          (let* ((handle (database-handle database))
                 (ticket (%sqlite-ticket handle)))
            (%leave-critical!)
            (let ((wake (%park database (lambda (waiter) (%park-ticket! ticket waiter)))))
              (%enter-critical!)
              (if (eq? wake 'cancelled)
                  (begin
                    (%disarm-ticket! ticket)
                    (%sqlite-abandon! handle)))
              (%sqlite-finish who handle shape)))
          result))

    (define (lock! who database)
      (let ((lock (database-lock database)))
        (if (not (mutex-try-lock! lock))
            (mutex-lock! lock))
        (if (database-lost database)
            (begin
              (mutex-unlock! lock)
              (raise (%make-condition 'sqlite "the transaction has been rolled back" '() who))))))

    ;; After a failure: whether the transaction is still there.
    (define (take-note! database)
      (if (and (> (database-depth database) 0)
               (eq? (%sqlite-state 'query (database-handle database)
                                   database-state/in-transaction) #f))
          (set-database-lost! database #t)))

    (define (refuse condition)
      (if (database-interrupted? condition)
          (%raise-if-interrupted))
      (raise condition))

    (define (wants-alists? database)
      (= (database-shape database) row-shape/alists))

    (define (run who database sql arguments shape)
      (check-database who database)
      (check-sql who 2 sql)
      (let ((observe (%statement-observer)))
        (if observe
            (observe 'sqlite sql (database-path database)
                     (lambda () (run-now who database sql arguments shape)))
            (run-now who database sql arguments shape))))

    (define (run-now who database sql arguments shape)
      (using who database token shape
             (%sqlite-run who (database-handle database) sql arguments shape token)))

    ;; Runs a statement for what it does; the number of rows that it has inserted, changed or
    ;; deleted.
    (define (execute database sql . arguments)
      (run 'execute database sql arguments row-shape/changes))

    ;; Runs all statements of a text, which have no arguments.
    (define (execute-script database sql)
      (check-database 'execute-script database)
      (check-sql 'execute-script 2 sql)
      (observed database sql
                (lambda ()
                  (using 'execute-script database token row-shape/nothing
                         (%sqlite-script 'execute-script (database-handle database) sql token))))
      (values))

    (define (observed database sql thunk)
      (let ((observe (%statement-observer)))
        (if observe
            (observe 'sqlite sql (database-path database) thunk)
            (thunk))))

    ;; The rows of a statement in a list.
    (define (query database sql . arguments)
      (check-database 'query database)
      (run 'query database sql arguments (database-shape database)))

    ;; The same as association lists of column names and values.
    (define (query-alists database sql . arguments)
      (run 'query-alists database sql arguments row-shape/alists))

    ;; The first row, or #f.
    (define (query-row database sql . arguments)
      (check-database 'query-row database)
      (run 'query-row database sql arguments
           (if (wants-alists? database) row-shape/alist row-shape/vector)))

    ;; The first row as an association list, or #f.
    (define (query-alist database sql . arguments)
      (run 'query-alist database sql arguments row-shape/alist))

    ;; The first value of the first row, or #f if there is no row.
    (define (query-value database sql . arguments)
      (run 'query-value database sql arguments row-shape/value))

    ;; The names of the columns that a statement would give, as symbols.
    (define (query-columns database sql)
      (check-database 'query-columns database)
      (check-sql 'query-columns 2 sql)
      (using 'query-columns database token row-shape/nothing
             (%sqlite-columns 'query-columns (database-handle database) sql)))

    ;; The number of the row that was inserted last. Other tasks may insert between that and this,
    ;; except in a transaction.
    (define (last-insert-id database)
      (check-database 'last-insert-id database)
      (using 'last-insert-id database token row-shape/nothing
             (%sqlite-state 'last-insert-id (database-handle database)
                            database-state/last-insert-id)))

    ;; Whether the current task has a transaction open.
    (define (in-transaction? database)
      (check-database 'in-transaction? database)
      (and (eq? (mutex-owner (database-lock database)) (%current-task))
           (> (database-depth database) 0)))

    ;; Ends what is running with an error that satisfies `database-interrupted?`; whether there was
    ;; something.
    (define (database-interrupt! database)
      (check-database 'database-interrupt! database)
      (%sqlite-interrupt! (database-handle database) #f))

    ;; Rows one after the other.

    (define (open-cursor who database sql arguments)
      (check-database who database)
      (check-sql who 2 sql)
      (using who database token row-shape/nothing
             (%sqlite-cursor who (database-handle database) sql arguments)))

    (define (close-cursor! database cursor)
      (with-mutex (database-lock database)
        (%sqlite-cursor-close cursor)))

    ;; Up to `count` rows.
    (define (fetch who database cursor count)
      (using who database token (database-shape database)
             (%sqlite-fetch who cursor count (wants-alists? database) token)))

    ;; Rows are fetched in batches that grow up to this.
    (define batch-rows 256)

    (define (for-each-of-cursor who procedure database cursor)
      (let loop ((count 8))
        (let ((rows (fetch who database cursor count)))
          (if (pair? rows)
              (begin
                (for-each procedure rows)
                (loop (min batch-rows (* count 2))))))))

    ;; Calls a procedure with each row of a statement, some of which are fetched at a time; leaving
    ;; it ends the statement.
    (define (for-each-row procedure database sql . arguments)
      (check-procedure 'for-each-row 1 procedure)
      (check-argument 'for-each-row 2 database? "database" database)
      (check-sql 'for-each-row 3 sql)
      (observed database sql
                (lambda ()
                  (let ((cursor (open-cursor 'for-each-row database sql arguments)))
                    (dynamic-wind
                     values
                     (lambda () (for-each-of-cursor 'for-each-row procedure database cursor))
                     (lambda () (close-cursor! database cursor))))))
      (values))

    ;; `(procedure row state)` gives the next state; the last one is the value.
    (define (fold-rows procedure state database sql . arguments)
      (check-procedure 'fold-rows 1 procedure)
      (check-argument 'fold-rows 3 database? "database" database)
      (apply for-each-row
             (lambda (row) (set! state (procedure row state)))
             database sql arguments)
      state)

    ;; A generator of the rows of a statement. The statement ends with the last row, or when the
    ;; generator is garbage.
    (define (row-generator database sql . arguments)
      (check-database 'row-generator database)
      (cursor-generator database (open-cursor 'row-generator database sql arguments)))

    (define (cursor-generator database cursor)
      (let ((rows '()) (count 8))
        (lambda ()
          (if (and (null? rows) cursor)
              (begin
                (set! rows (fetch 'row-generator database cursor count))
                (set! count (min batch-rows (* count 2)))
                (if (null? rows)
                    (begin
                      (close-cursor! database cursor)
                      (set! cursor #f)))))
          (if (null? rows)
              (eof-object)
              (let ((row (car rows)))
                (set! rows (cdr rows))
                row)))))

    ;; Calls a procedure with such a generator, and ends the statement however that is left.
    (define (call-with-row-generator procedure database sql . arguments)
      (check-procedure 'call-with-row-generator 1 procedure)
      (check-argument 'call-with-row-generator 2 database? "database" database)
      (let ((cursor (open-cursor 'call-with-row-generator database sql arguments)))
        (dynamic-wind
         values
         (lambda () (procedure (cursor-generator database cursor)))
         (lambda () (close-cursor! database cursor)))))

    ;; Transactions.

    ;; Runs a statement of a transaction with the database locked; gives a condition if it fails. If
    ;; `ends?` is true, cancelling the task does not end this wait: a transaction is always ended.
    (define (run-control database sql ends?)
      (let ((task (%current-task)))
        (%enter-critical!)
        (if (not ends?)
            (%set-interrupter! task (database-interrupter database)))
        (let ((result
               (finish-offloaded 'with-transaction database 0
                                 (%sqlite-run 'with-transaction (database-handle database) sql '()
                                              row-shape/changes
                                              (if ends? 0 (%task-number task))))))
          (%set-interrupter! task #f)
          (%leave-critical!)
          result)))

    (define (check-control result)
      (if (error-object? result)
          (refuse result)))

    (define (savepoint depth)
      (string-append "canny_" (number->string depth)))

    (define (begin-transaction! database mode)
      (mutex-lock! (database-lock database))
      (let* ((depth (database-depth database))
             (result
              (run-control database
                           (if (= depth 0)
                               (string-append "begin " mode)
                               (string-append "savepoint " (savepoint depth)))
                           #f)))
        (if (error-object? result)
            (begin
              (mutex-unlock! (database-lock database))
              (refuse result)))
        (set-database-depth! database (+ depth 1))))

    (define (commit! database)
      (if (database-lost database)
          (raise (%make-condition 'sqlite "the transaction has been rolled back" '()
                                  'with-transaction)))
      (let ((depth (- (database-depth database) 1)))
        (check-control
         (run-control database
                      (if (= depth 0)
                          "commit"
                          (string-append "release " (savepoint depth)))
                      #t))))

    ;; Ends the innermost transaction, rolled back unless it was committed.
    (define (end-transaction! database committed?)
      (let ((depth (- (database-depth database) 1)))
        (if (and (not committed?) (eq? (%sqlite-state 'query (database-handle database)
                                                      database-state/in-transaction) #t))
            (if (= depth 0)
                (run-control database "rollback" #t)
                (begin
                  (run-control database (string-append "rollback to " (savepoint depth)) #t)
                  (run-control database (string-append "release " (savepoint depth)) #t))))
        (set-database-depth! database depth)
        (if (= depth 0)
            (set-database-lost! database #f))
        (mutex-unlock! (database-lock database))))

    ;; Calls a procedure in a transaction, which is committed when it returns and rolled back when
    ;; it is left any other way. In another transaction of the task it is a part of that. `#:mode`
    ;; is `immediate`: no other connection writes meanwhile. Or it is `deferred`: the transaction
    ;; is one for reading until it writes, and fails then if another connection has written. It
    ;; cannot be entered again.
    (define* (call-with-transaction database thunk #:key (mode #f))
      (check-database 'call-with-transaction database)
      (check-procedure 'call-with-transaction 2 thunk)
      (let ((mode
             (choose 'call-with-transaction "#:mode"
                     '((immediate . "immediate") (deferred . "deferred")
                       (exclusive . "exclusive"))
                     (or mode (if (eq? (database-mode database) 'read) 'deferred 'immediate))))
            (state 'new))
        (dynamic-wind
         (lambda ()
           (if (not (eq? state 'new))
               (raise (%make-condition 'sqlite "a transaction that was left cannot be entered again"
                                       '() 'call-with-transaction)))
           (begin-transaction! database mode)
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

    ;; One that reads; see `call-with-transaction`.
    (define-syntax with-deferred-transaction
      (syntax-rules ()
        ((_ database body0 body ...)
         (call-with-transaction database (lambda () body0 body ...) #:mode 'deferred))))

    ;; Pools.

    (define-record-type database-pool
      (new-pool %lock writer writing readers free open closed)
      database-pool?
      (%lock pool-lock)
      (writer pool-writer)
      ;; The task that has the writer for several statements.
      (writing pool-writing)
      ;; As many permits as there may be readers in use.
      (readers pool-readers)
      (free free-readers set-free-readers!)
      ;; Opens a reader.
      (open pool-open)
      (closed pool-closed set-pool-closed!))

    (define (check-pool who object)
      (check-argument who 1 database-pool? "database pool" object))

    ;; One connection that writes and up to `#:readers` that read beside it and each other. Options
    ;; are those of `open-database`.
    (define* (make-database-pool path #:key (readers 4) (busy-timeout 5) (synchronous 'full)
                                 (foreign-keys #t) (rows 'vector) (statements 100))
      (if (not (and (exact-nonnegative-integer? readers) (> readers 0)))
          (raise-bad-option 'make-database-pool "#:readers" "a number above 0" readers))
      (let ((writer
             (open-database path #:busy-timeout busy-timeout #:synchronous synchronous
                            #:foreign-keys foreign-keys #:rows rows #:statements statements)))
        (new-pool #f writer (make-mutex #:name "writer" #:recursive #t)
                  (make-semaphore readers #:name "readers") '()
                  (lambda ()
                    (open-database path #:mode 'read #:busy-timeout busy-timeout
                                   #:rows rows
                                   #:statements statements))
                  #f)))

    (define (check-pool-open who pool)
      (if (pool-closed pool)
          (raise (%make-condition 'sqlite "the pool is closed" '() who))))

    (define (take-reader! pool)
      (or (%with-lock pool
            (let ((free (free-readers pool)))
              (and (pair? free)
                   (begin
                     (set-free-readers! pool (cdr free))
                     (car free)))))
          ((pool-open pool))))

    (define (give-back! pool reader)
      (if (%with-lock pool
            (if (pool-closed pool)
                #t
                (begin
                  (set-free-readers! pool (cons reader (free-readers pool)))
                  #f)))
          (close-database reader)))

    ;; Calls a procedure with a connection that only reads, and that no other task has meanwhile.
    (define* (call-with-reader pool procedure #:key (timeout #f))
      (check-pool 'call-with-reader pool)
      (check-procedure 'call-with-reader 2 procedure)
      (let ((reader #f))
        (call-with-semaphore
          (pool-readers pool)
          (lambda ()
            (dynamic-wind
             (lambda ()
               (check-pool-open 'call-with-reader pool)
               (set! reader (take-reader! pool)))
             (lambda () (procedure reader))
             (lambda ()
               (if reader
                   (let ((used reader))
                     (set! reader #f)
                     (give-back! pool used))))))
          #:timeout timeout)))

    ;; Calls a procedure with the connection that writes, and that no other task has meanwhile.
    (define* (call-with-writer pool procedure #:key (timeout #f))
      (check-pool 'call-with-writer pool)
      (check-procedure 'call-with-writer 2 procedure)
      (call-with-mutex (pool-writing pool)
        (lambda ()
          (check-pool-open 'call-with-writer pool)
          (procedure (pool-writer pool)))
        #:timeout timeout))

    ;; Closes all connections, those in use when they are given back.
    (define (close-database-pool pool)
      (check-pool 'close-database-pool pool)
      (let ((free
             (%with-lock pool
               (let ((free (free-readers pool)))
                 (set-pool-closed! pool #t)
                 (set-free-readers! pool '())
                 free))))
        (for-each close-database free)
        (with-mutex (pool-writing pool)
          (close-database (pool-writer pool))))
      (values))

    ;; Migrations.

    (define migrations-table
      "create table if not exists canny_migrations (
         name text primary key, sql text not null, applied_at text not null default \
current_timestamp)")

    (define (check-migration object)
      (if (not (and (pair? object) (string? (car object)) (list? object)
                    (every-string-or-procedure? (cdr object))))
          (%type-error 'migrate! 2 "list of migrations, each a name and texts or procedures"
                       object)))

    (define (every-string-or-procedure? list)
      (or (null? list)
          (and (or (string? (car list)) (procedure? (car list)))
               (every-string-or-procedure? (cdr list)))))

    (define (text-of steps)
      (let loop ((steps steps) (text ""))
        (if (null? steps)
            text
            (loop (cdr steps)
                  (string-append text (if (string? (car steps)) (car steps) "<procedure>")
                                 ";\n")))))

    ;; Runs those migrations that the database has not had yet, in the order of the list, each in a
    ;; transaction. A migration is a list of a name and texts of statements, or procedures that are
    ;; called with the database. The names of those that were run.
    (define (migrate! database migrations)
      (check-database 'migrate! database)
      (check-argument 'migrate! 2 list? "list" migrations)
      (for-each check-migration migrations)
      (execute-script database migrations-table)
      (let loop ((rest migrations) (done '()))
        (if (null? rest)
            (reverse done)
            (loop (cdr rest)
                  (if (apply-migration! database (caar rest) (cdar rest))
                      (cons (caar rest) done)
                      done)))))

    (define (apply-migration! database name steps)
      (with-transaction database
        (let ((known
               (query-value database "select sql from canny_migrations where name = ?" name))
              (text (text-of steps)))
          (cond ((not known)
                 (for-each (lambda (step)
                             (if (string? step)
                                 (execute-script database step)
                                 (step database)))
                           steps)
                 (execute database "insert into canny_migrations (name, sql) values (?, ?)" name
                          text)
                 #t)
                ((string=? known text) #f)
                (else
                 (raise (%make-condition 'sqlite
                                         "a migration is not the one that the database has had"
                                         (list 'name name)
                                         'migrate!)))))))

    ;; Copies, and parts of blobs.

    ;; Copies the whole database, as it is at one moment, to a file, whose contents it replaces.
    (define (backup-database database path)
      (check-database 'backup-database database)
      (check-argument 'backup-database 2 string? "string" path)
      (using 'backup-database database token row-shape/nothing
             (%sqlite-backup 'backup-database (database-handle database) path token))
      (values))

    (define (check-blob who database table column row)
      (check-database who database)
      (check-argument who 2 string? "string" table)
      (check-argument who 3 string? "string" column)
      (check-argument who 4 exact-integer? "exact integer" row))

    ;; Number of bytes of the blob in a column of the row with this number.
    (define (blob-size database table column row)
      (check-blob 'blob-size database table column row)
      (using 'blob-size database token row-shape/nothing
             (%sqlite-blob-size 'blob-size (database-handle database) table column row)))

    ;; Bytes of a blob, without reading the others.
    (define* (blob-read database table column row #:optional (start 0) (end #f))
      (check-blob 'blob-read database table column row)
      (check-index 'blob-read 5 start)
      (if end
          (check-index 'blob-read 6 end))
      (using 'blob-read database token row-shape/nothing
             (%sqlite-blob-read 'blob-read (database-handle database) table column row start
                                (if end (max 0 (- end start)) (greatest-fixnum)))))

    ;; Replaces bytes of a blob, from one on.  Its size stays: `zeroblob` makes one of a size.
    (define (blob-write! database table column row start bytes)
      (check-blob 'blob-write! database table column row)
      (check-index 'blob-write! 5 start)
      (check-argument 'blob-write! 6 bytevector? "bytevector" bytes)
      (using 'blob-write! database token row-shape/nothing
             (%sqlite-blob-write 'blob-write! (database-handle database) table column row start
                                 bytes))
      (values))

    (define (greatest-fixnum) 1073741823)

    ;; Errors.

    (define (sqlite-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'sqlite)))

    (define (part who condition name)
      (check-argument who 1 sqlite-error? "error of SQLite" condition)
      (%sql-error-part condition name))

    ;; SQLite's extended result code, or #f for what Canny has refused.
    (define (sqlite-error-code condition)
      (part 'sqlite-error-code condition 'code))

    ;; The text of the statement, or #f.
    (define (sqlite-error-sql condition)
      (part 'sqlite-error-sql condition 'sql))

    ;; The index of the character that the error is about, or #f.
    (define (sqlite-error-offset condition)
      (part 'sqlite-error-offset condition 'offset))

    (define (has-code? object codes)
      (and (sqlite-error? object)
           (let ((code (%sql-error-part object 'code)))
             (and code (memv (modulo code 256) codes) #t))))

    ;; Another connection had locked the database for too long.
    (define (database-busy? object) (has-code? object '(5 6)))

    ;; There is no room, on the disk or within the limit of pages.
    (define (database-full? object) (has-code? object '(13)))

    ;; The file is damaged or no database.
    (define (database-corrupt? object) (has-code? object '(11 26)))

    (define (database-read-only? object) (has-code? object '(8)))

    (define (database-interrupted? object) (has-code? object '(9)))

    (%describe-waits! database 'database "a statement of SQLite" 'path #f)))
