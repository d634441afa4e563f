;;; (canny sqlite): statements, rows, values, transactions, pools, migrations, errors, tasks beside
;;; each other.

(import (scheme base) (scheme file) (scheme write) (canny sqlite) (canny tasks) (canny fs)
        (canny test))

(define scratch (make-temporary-directory #:prefix "canny-sqlite-"))
(define (scratch-file name) (string-append scratch "/" name))

;; The error that an expression raises, looked at by a procedure.
(define-syntax failure
  (syntax-rules ()
    ((_ look expression)
     (guard (e ((sqlite-error? e) (look e)))
       expression
       'nothing-raised))))

(define (message-and-offset e) (list (error-object-message e) (sqlite-error-offset e)))

(define-syntax with-memory
  (syntax-rules ()
    ((_ (db) body ...)
     (let ((db (open-memory-database)))
       (execute-script db
                       "create table t (id integer primary key, name text unique, size real, data \
                        blob)")
       (let ((result (let () body ...)))
         (close-database db)
         result)))))

(define endless
  "with recursive n(i) as (values (1) union all select i + 1 from n) select count(*) from n")
(define (counting n)
  (string-append "with recursive n(i) as (values (1) union all select i + 1 from n where i < "
                 (number->string n)
                 ") select i from n"))

(test-group "values"
  (define db (open-memory-database))
  (define (back value) (query-value db "select ?" value))
  (test 'null (back sql-null))
  (test-true (sql-null? (query-value db "select null")))
  (test 0 (back 0))
  (test -9223372036854775808 (back -9223372036854775808))
  (test 9223372036854775807 (back 9223372036854775807))
  (test 1.5 (back 1.5))
  (test +inf.0 (back +inf.0))
  (test 'null (back +nan.0))
  (test "" (back ""))
  (test "Grüße, 日本 \x1f600;" (back "Grüße, 日本 \x1f600;"))
  (test "a\x0;b" (back "a\x0;b"))
  (test #u8() (back #u8()))
  (test #u8(0 255) (back #u8(0 255)))
  (test 1 (back #t))
  (test 0 (back #f))
  (test "argument 2 of the statement does not fit into 64 bits"
        (guard (e (#t (error-object-message e)))
          (query db "select ?, ?" 1 9223372036854775808)))
  (test-error (back 1/2))
  (test-error (back 'symbol))
  (test-error (back '(1 2)))
  (test-error (query db 'symbol))
  (test-error (query 1 "select 1"))
  (close-database db)
  (close-database db)
  (test-false (database-open? db))
  (test "the database is closed" (failure error-object-message (query db "select 1"))))

(test-group "statements"
  (test '(0 2 1 3)
        (with-memory (db)
          (let* ((a (execute db "create table u (a)"))
                 (b (execute db "insert into t (name) values (?), (?)" "a" "b"))
                 (c (execute db "update t set size = 2 where name = 'a'"))
                 (d (begin (execute db "insert into t (name) values ('c')") (last-insert-id db))))
            (list a b c d))))
  (with-memory (db)
    (execute db "insert into t (name, size) values ('a', 1), ('b', 2)")
    (test '(#(1 "a") #(2 "b")) (query db "select id, name from t order by id"))
    (test '() (query db "select * from t where id = 9"))
    (test '(((id . 1) (name . "a")) ((id . 2) (name . "b")))
          (query-alists db "select id, name from t order by id"))
    (test #(1 "a") (query-row db "select id, name from t order by id"))
    (test '((name . "b")) (query-alist db "select name from t where id = 2"))
    (test "b" (query-value db "select name from t where id = ?" 2))
    (test #f (query-row db "select 1 where 0"))
    (test #f (query-alist db "select 1 where 0"))
    (test #f (query-value db "select 1 where 0"))
    (test '(id name) (query-columns db "select id, name from t"))
    (test '(#(3)) (query db "insert into t (name) values ('c') returning id"))
    (test 4 (query-value db "insert into t (name) values ('d'), ('e') returning id"))
    (test 5 (query-value db "select count(*) from t"))
    (test '(#("bm")) (query db "select name || 'm' from t where name = :name" #:name "b"))
    (test '(#("b")) (query db "select name from t where name = @name" '((name . "b"))))
    (test '(#("b")) (query db "select name from t where id = $id" '(("id" . 2))))
    (test "the parameter :b was not given"
          (failure error-object-message (query db "select :a, :b" #:a 1)))
    (test "the statement has no parameter c"
          (failure error-object-message (query db "select :a" #:a 1 #:c 1)))
    (test "the statement has 2 parameters, but 1 were given"
          (failure error-object-message (query db "select ?, ?" 1)))
    (test-error (query db "select :a" #:a))
    ;; An argument is no text of a statement.
    (test 0 (query-value db "select count(*) from t where name = ?" "' or 1 = 1 --"))
    ;; More statements than are kept.
    (do ((i 0 (+ i 1))) ((= i 300)) (query db (string-append "select " (number->string i))))
    (test 7 (query-value db "select 7; -- with a remark"))
    (test '("there is more than one statement in the text" 9)
          (failure message-and-offset (query db "select 1; drop table t")))
    (test-error (query db ""))
    (test-error (query db "select 1\x0;"))
    (execute-script db "create table v (a); -- two statements\n insert into v values (1);\n")
    (test 1 (query-value db "select a from v"))
    (test 20 (failure sqlite-error-offset (execute-script db "create table w (a); selec 1")))
    (test '((a . 1)) (query-alist db "select 1 as a")))
  (let ((db (open-memory-database #:rows 'alist)))
    (test '(((a . 1))) (query db "select 1 as a"))
    (test '((a . 1)) (query-row db "select 1 as a"))
    (test '((a . 1)) ((row-generator db "select 1 as a")))
    (close-database db))
  (test-error (open-memory-database #:rows 'list)))

(test-group "rows one after the other"
  (define naturals
    "with recursive n(i) as (values (1) union all select i + 1 from n) select i from n")
  (with-memory (db)
    (test 500500 (fold-rows (lambda (row sum) (+ (vector-ref row 0) sum)) 0 db (counting 1000)))
    ;; A statement without an end is left.
    (test '(3 2 1)
          (call-with-current-continuation
           (lambda (return)
             (let ((seen '()))
               (for-each-row (lambda (row)
                               (set! seen (cons (vector-ref row 0) seen))
                               (if (= (length seen) 3) (return seen)))
                             db naturals)))))
    ;; Its table is not locked by it any more.
    (execute db "drop table t")
    (let ((next (row-generator db (counting 20))))
      (test '#(1) (next))
      (test 209 (let loop ((sum 0))
                  (let ((row (next)))
                    (if (eof-object? row) sum (loop (+ sum (vector-ref row 0)))))))
      (test-true (eof-object? (next))))
    (test '(1 2) (call-with-row-generator
                   (lambda (next)
                     (let* ((a (next)) (b (next))) (list (vector-ref a 0) (vector-ref b 0))))
                   db naturals))
    (let ((kept (call-with-row-generator values db naturals)))
      (test-true (failure sqlite-error? (kept))))
    ;; Other statements between two rows.
    (execute db "create table seen (n)")
    (for-each-row (lambda (row) (execute db "insert into seen values (?)" (vector-ref row 0)))
                  db (counting 50))
    (test 50 (query-value db "select count(*) from seen"))
    (test "no such table: missing"
          (failure error-object-message (for-each-row values db "select * from missing")))
    (test-error (for-each-row 1 db "select 1"))))

(test-group "errors"
  (with-memory (db)
    (execute-script db "create table child (t integer references t (id), n integer check (n > 0), \
                        x not null)")
    (execute db "insert into t (id, name) values (1, 'a')")
    (let ((unique (guard (e (#t e)) (execute db "insert into t (name) values ('a')"))))
      (test-true (sqlite-error? unique))
      (test-true (unique-violation? unique))
      (test-true (constraint-violation? unique))
      (test-false (foreign-key-violation? unique))
      (test 2067 (sqlite-error-code unique))
      (test "insert into t (name) values ('a')" (sqlite-error-sql unique))
      (test #f (sqlite-error-offset unique)))
    (test-true (failure unique-violation? (execute db "insert into t (id) values (1)")))
    (test-true (failure foreign-key-violation? (execute db "insert into child values (7, 1, 1)")))
    (test-true (failure check-violation? (execute db "insert into child values (1, 0, 1)")))
    (test-true (failure not-null-violation? (execute db "insert into child values (1, 1, null)")))
    (test '("near \"form\": syntax error" 9)
          (failure message-and-offset (query db "select * form t")))
    ;; The offset counts characters.
    (test '("no such column: x" 12) (failure message-and-offset (query db "select 'ä', x from t")))
    (test '("no such column: \"text\" - should this be a string literal in single-quotes?" 7)
          (failure message-and-offset (query db "select \"text\"")))
    (test #f (failure sqlite-error-code (query db "select ?")))
    (test-false (unique-violation? 1))
    (test-error (sqlite-error-code 1))))

(test-group "transactions"
  (define (count db) (query-value db "select count(*) from t"))
  (define-syntax swallowing
    (syntax-rules () ((_ body ...) (guard (e ((symbol? e) e)) body ...))))
  (with-memory (db)
    (test 'value (with-transaction db (execute db "insert into t (name) values ('a')") 'value))
    (test 1 (count db))
    (test 'no (swallowing (with-transaction db
                            (execute db "insert into t (name) values ('b')")
                            (raise 'no))))
    (test 1 (count db))
    (test '(1 2) (call-with-values (lambda () (call-with-transaction db (lambda () (values 1 2))))
                   list))
    (test 'out (call-with-current-continuation
                (lambda (return)
                  (with-transaction db
                    (execute db "insert into t (name) values ('b')")
                    (return 'out)))))
    (test 1 (count db))
    ;; Inner ones are savepoints.
    (with-transaction db
      (execute db "insert into t (name) values ('b')")
      (swallowing (with-transaction db
                    (execute db "insert into t (name) values ('c')")
                    (test-true (in-transaction? db))
                    (raise 'no)))
      (with-transaction db (execute db "insert into t (name) values ('d')")))
    (test '(#("a") #("b") #("d")) (query db "select name from t order by name"))
    (test-false (in-transaction? db))
    ;; A failed statement does not end a transaction.
    (with-transaction db
      (failure values (execute db "insert into t (name) values ('a')"))
      (execute db "insert into t (name) values ('e')"))
    (test 4 (count db))
    (with-deferred-transaction db (execute db "insert into t (name) values ('f')"))
    (test 5 (count db))
    ;; One that was left cannot be entered again.
    (let* ((again #f) (rounds 0)
           (result
            (failure error-object-message
                     (with-transaction db
                       (call-with-current-continuation (lambda (k) (set! again k)))))))
      (set! rounds (+ rounds 1))
      (if (= rounds 1)
          (again #f)
          (test "a transaction that was left cannot be entered again" result)))
    (test-false (in-transaction? db))
    ;; SQLite gives up a whole transaction.
    (execute-script db
                    "create table u (a primary key on conflict rollback); insert into u values (1)")
    (test "the transaction has been rolled back"
          (failure error-object-message
                   (with-transaction db
                     (execute db "insert into t (name) values ('g')")
                     (failure values (execute db "insert into u values (1)"))
                     (execute db "insert into t (name) values ('h')"))))
    (test 5 (count db))
    (test-true (failure foreign-key-violation?
                        (begin
                          (execute-script db "create table c (t references t (id) deferrable \
                                              initially deferred)")
                          (with-transaction db (execute db "insert into c values (99)")))))
    (test 0 (query-value db "select count(*) from c"))
    (test-error (call-with-transaction db values #:mode 'other))
    (test-error (call-with-transaction db 1))))

(test-group "files"
  (define file (scratch-file "a.db"))
  (test-true (failure sqlite-error? (open-database file #:mode 'write)))
  (test-true (failure sqlite-error? (open-database file #:mode 'read)))
  (test-true (failure sqlite-error? (open-database (scratch-file "no/a.db"))))
  (test 2 (call-with-database
            file
            (lambda (db)
              (execute-script db "create table t (a); insert into t values (1), (2)")
              (query-value db "select count(*) from t"))))
  (call-with-database
    file
    (lambda (db)
      (test "wal" (query-value db "pragma journal_mode"))
      (test 2 (query-value db "pragma synchronous"))
      (test 1 (query-value db "pragma foreign_keys"))))
  (call-with-database
    file
    (lambda (db)
      (test 2 (query-value db "select count(*) from t"))
      (test-true (failure database-read-only? (execute db "insert into t values (3)")))
      (test 2 (with-transaction db (query-value db "select count(*) from t"))))
    #:mode 'read)
  (call-with-database
    file
    (lambda (db)
      (test 1 (query-value db "pragma synchronous"))
      (test 0 (query-value db "pragma foreign_keys")))
    #:synchronous 'normal #:foreign-keys #f)
  (test-error (open-database file #:mode 'other))
  (test-error (open-database file #:journal 'other))
  (test-error (open-database file #:busy-timeout -1))
  (test-error (open-database 1))
  ;; Names that SQLite would take for something else.
  (let ((here (current-directory)))
    (dynamic-wind
     (lambda () (set-current-directory! scratch))
     (lambda ()
       (close-database (open-database ":memory:"))
       (test-true (file-exists? (scratch-file ":memory:"))))
     (lambda () (set-current-directory! here))))
  ;; A second connection that writes.
  (let ((a (open-database file)) (b (open-database file #:busy-timeout 0.05)))
    (with-transaction a
      (execute a "insert into t values (3)")
      (test-true (failure database-busy? (execute b "insert into t values (4)")))
      (test 2 (query-value b "select count(*) from t")))
    (test 3 (query-value b "select count(*) from t"))
    (close-database a)
    (close-database b))
  (let ((a (open-database file)) (b (open-database file)))
    (let ((other (spawn (lambda ()
                          (with-transaction a
                            (execute a "insert into t values (5)")
                            (sleep 0.1))))))
      (sleep 0.03)
      (execute b "insert into t values (6)")
      (await other))
    (test 5 (query-value b "select count(*) from t"))
    (close-database a)
    (close-database b))
  ;; A full disk.
  (call-with-database
    (scratch-file "full.db")
    (lambda (db)
      (execute db "create table t (a)")
      (query db "pragma max_page_count = 20")
      (test-true (failure database-full?
                          (with-transaction db
                            (do ((i 0 (+ i 1))) ((= i 1000))
                              (execute db "insert into t values (zeroblob(1000))")))))
      (test 0 (query-value db "select count(*) from t"))
      (test 1 (execute db "insert into t values (1)"))))
  ;; A file that is no database, and a damaged one.
  (call-with-output-file (scratch-file "text.db")
    (lambda (port) (write-string (make-string 5000 #\x) port)))
  (test-true (failure database-corrupt? (open-database (scratch-file "text.db"))))
  (let ((damaged (scratch-file "damaged.db")))
    (call-with-database damaged
      (lambda (db)
        (execute-script db "create table t (a primary key)")
        (with-transaction db
          (do ((i 0 (+ i 1))) ((= i 500))
            (execute db "insert into t values (hex(zeroblob(100)) || ?)" i))))
      #:journal 'delete)
    (let ((bytes (call-with-port (open-binary-input-file damaged)
                   (lambda (port) (read-bytevector 1000000 port)))))
      (do ((i 8192 (+ i 1))) ((= i (bytevector-length bytes))) (bytevector-u8-set! bytes i 77))
      (call-with-port (open-binary-output-file damaged)
        (lambda (port) (write-bytevector bytes port))))
    (let ((db (open-database damaged #:journal #f)))
      (test-true (failure database-corrupt? (query db "select * from t order by a")))
      (close-database db))))

(test-group "migrations"
  (with-memory (db)
    (define first '("001-notes" "create table notes (id integer primary key, body text)"
                    "create index by_body on notes (body)"))
    (define second
      (list "002-seed" (lambda (db) (execute db "insert into notes (body) values (?)" "hello"))))
    (test '("001-notes") (migrate! db (list first)))
    (test '("002-seed") (migrate! db (list first second)))
    (test '() (migrate! db (list first second)))
    (test "hello" (query-value db "select body from notes"))
    ;; One that fails leaves nothing.
    (test-true (failure sqlite-error?
                        (migrate! db (list first second '("003" "create table x (a)" "nonsense")))))
    (test 0 (query-value db "select count(*) from sqlite_schema where name = 'x'"))
    (test "a migration is not the one that the database has had"
          (failure error-object-message (migrate! db '(("001-notes" "create table other (a)")))))
    (test-error (migrate! db '("001")))))

(test-group "copies and blobs"
  (with-memory (db)
    (execute db "insert into t (id, data) values (1, zeroblob(10))")
    (blob-write! db "t" "data" 1 2 #u8(1 2 3))
    (test 10 (blob-size db "t" "data" 1))
    (test #u8(0 0 1 2 3 0 0 0 0 0) (blob-read db "t" "data" 1))
    (test #u8(2 3) (blob-read db "t" "data" 1 3 5))
    (test #u8() (blob-read db "t" "data" 1 100))
    (test-true (failure sqlite-error? (blob-write! db "t" "data" 1 9 #u8(1 2))))
    (test-true (failure sqlite-error? (blob-read db "t" "data" 2)))
    (test-true (failure sqlite-error? (blob-read db "t; drop table t" "data" 1)))
    (backup-database db (scratch-file "copy.db"))
    (test-true (failure sqlite-error? (backup-database db (scratch-file "no/copy.db")))))
  (call-with-database (scratch-file "copy.db")
    (lambda (db) (test #(1) (query-row db "select id from t")))
    #:mode 'read))

(test-group "interrupts"
  (with-memory (db)
    (test-true (guard (e ((timeout-error? e) #t)) (with-timeout 0.05 (query db endless))))
    (let ((task (start (query db endless))))
      (sleep 0.05)
      (cancel! task)
      (test-true (guard (e ((cancelled-error? e) #t)) (await task))))
    (let ((task (start (guard (e ((database-interrupted? e) 'interrupted)) (query db endless)))))
      (let loop () (if (not (database-interrupt! db)) (begin (sleep 0.01) (loop))))
      (test 'interrupted (await task)))
    (test-false (database-interrupt! db))
    ;; Rows that come slowly.
    (let ((task (start (for-each-row values db (string-append "select * from (" endless ")")))))
      (sleep 0.02)
      (cancel! task)
      (test-true (guard (e ((cancelled-error? e) #t)) (await task))))
    ;; In a transaction: it is rolled back.
    (let ((task (start (with-transaction db
                         (execute db "insert into t (name) values ('a')")
                         (query db endless)))))
      (sleep 0.05)
      (cancel! task)
      (test-true (guard (e ((cancelled-error? e) #t)) (await task))))
    (test 0 (query-value db "select count(*) from t"))))

(test-group "tasks beside each other"
  ;; Databases are opened in tasks, on whatever thread.
  (test 40
        (let loop ((i 0) (tasks '()))
          (if (< i 40)
              (loop (+ i 1)
                    (cons (start (call-with-database (scratch-file "many.db")
                                   (lambda (db) (query-value db "select 1"))))
                          tasks))
              (apply + (map await tasks)))))
  ;; Others go on while a statement runs.
  (with-memory (db)
    (let* ((slow (start (query db endless))) (ticks 0))
      (do ((i 0 (+ i 1))) ((= i 10)) (sleep 0.005) (set! ticks (+ ticks 1)))
      (test 10 ticks)
      (test-false (future-done? slow))
      (cancel! slow)))
  ;; Tasks that share a database take turns, transactions included.
  (with-memory (db)
    (execute db "insert into t (id, size) values (1, 0)")
    (with-tasks
      (do ((i 0 (+ i 1))) ((= i 20))
        (start (do ((j 0 (+ j 1))) ((= j 20))
                 (with-transaction db
                   (let ((size (query-value db "select size from t where id = 1")))
                     (yield)
                     (execute db "update t set size = ? where id = 1" (+ size 1))))))))
    (test 400.0 (query-value db "select size from t")))
  ;; Many that read, one that writes.
  (let ((pool (make-database-pool (scratch-file "pool.db") #:readers 3)))
    (call-with-writer pool
      (lambda (db) (execute-script db "create table t (a); insert into t values (0), (0)")))
    (let ((wrong 0))
      (with-tasks
        (start (do ((i 1 (+ i 1))) ((> i 50))
                 (call-with-writer
                   pool
                   (lambda (db)
                     (with-transaction db
                       (execute db "update t set a = ? where rowid = 1" i)
                       (yield)
                       (execute db "update t set a = ? where rowid = 2" i))))))
        (do ((i 0 (+ i 1))) ((= i 12))
          (start (do ((j 0 (+ j 1))) ((= j 20))
                   (call-with-reader
                     pool
                     (lambda (db)
                       (let ((values (query db "select a from t order by rowid")))
                         (if (not (equal? (car values) (cadr values)))
                             (set! wrong (+ wrong 1))))))))))
      (test 0 wrong))
    (test '(#(50)) (call-with-reader pool (lambda (db) (query db "select distinct a from t"))))
    (test-true (failure database-read-only?
                        (call-with-reader pool (lambda (db) (execute db "delete from t")))))
    (close-database-pool pool)
    (test "the pool is closed"
          (failure error-object-message (call-with-reader pool values)))
    (test-error (make-database-pool (scratch-file "pool.db") #:readers 0))))

(delete-tree scratch)

(test-finish)
