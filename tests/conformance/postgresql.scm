;;; (canny postgresql): the protocol against a server that says what the test says, and all of it
;;; against a real one if the variable CANNY_TEST_POSTGRESQL has a connection string.

(import (scheme base) (scheme write) (scheme process-context) (canny postgresql)
        (canny postgresql settings)
        (canny postgresql values)
        (canny net)
        (canny crypto)
        (canny base64)
        (canny tasks)
        (canny channels)
        (canny test)
        (srfi 19))

(define-syntax failure
  (syntax-rules ()
    ((_ look expression)
     (guard (e ((postgresql-error? e) (look e)))
       expression
       'nothing-raised))))

(test-group "connection strings"
  (define (look string . names)
    (let ((settings (connection-settings string)))
      (map (lambda (name) (setting settings name #f)) names)))
  (test '("ada" "a b" "db.example" "5433" "shop" "require")
        (look "postgresql://ada:a%20b@db.example:5433/shop?sslmode=require"
              'user 'password 'host 'port 'dbname 'sslmode))
  (test '("::1" "5433") (look "postgres://[::1]:5433" 'host 'port))
  (test '("/tmp/x" "shop") (look "postgresql:///shop?host=/tmp/x" 'host 'dbname))
  (test '("it's a\\b" "h") (look "password='it\\'s a\\\\b' host = h" 'password 'host))
  (test '("ada" "ada") (look "user=ada" 'user 'dbname))
  (test-error (connection-settings "host"))
  (test-error (connection-settings "colour=red"))
  (test-error (connection-settings "password='open"))
  (test-error (connection-settings "postgresql://h/?colour=red"))
  (test-error (connection-settings "postgresql://a%2:b@h/")))

;; A server that takes one connection and does what a procedure says.

(define (int32 n)
  (bytevector (modulo (quotient n 16777216) 256) (modulo (quotient n 65536) 256)
              (modulo (quotient n 256) 256)
              (modulo n 256)))
(define (int16 n) (bytevector (quotient n 256) (modulo n 256)))
(define (text string) (bytevector-append (string->utf8 string) #u8(0)))

(define (say port kind . parts)
  (let ((body (apply bytevector-append parts)))
    (write-u8 (char->integer kind) port)
    (write-bytevector (int32 (+ 4 (bytevector-length body))) port)
    (write-bytevector body port)
    (flush-output-port port)))

(define (number-at bytes at)
  (+ (* 16777216 (bytevector-u8-ref bytes at)) (* 65536 (bytevector-u8-ref bytes (+ at 1)))
     (* 256 (bytevector-u8-ref bytes (+ at 2)))
     (bytevector-u8-ref bytes (+ at 3))))

(define (bytes-from port count)
  (if (= count 0) #u8() (read-bytevector count port)))

;; The next message: its kind and its bytes.
(define (hear port)
  (let ((kind (read-u8 port)))
    (if (eof-object? kind)
        (cons 'end #u8())
        (let ((length (number-at (read-bytevector 4 port) 0)))
          (cons (integer->char kind) (bytes-from port (- length 4)))))))

(define (hear-until port kind)
  (if (not (memv (car (hear port)) (list kind 'end)))
      (hear-until port kind)))

(define (ready port) (say port #\Z (bytevector 73)))

(define (greet in out)
  (let ((length (number-at (read-bytevector 4 in) 0)))
    (read-bytevector (- length 4) in)
    (say out #\R (int32 0))
    (say out #\S (text "server_version") (text "99"))
    (say out #\K (int32 7) (int32 8))
    (ready out)))

(define (with-fake-server serve use . words)
  (let* ((listener (tcp-listen "127.0.0.1" 0))
         (server (start (let* ((connection (accept-connection listener #:timeout 20))
                               (in (connection-input connection))
                               (out (connection-output connection)))
                          (guard (e (#t #f)) (serve in out))
                          (guard (e (#t #f)) (close-connection connection)))))
         (string (string-append "host=127.0.0.1 user=ada password=secret sslmode=disable port="
                                (number->string (address-port (listener-address listener)))))
         (result (use (if (pair? words) (string-append string (car words)) string))))
    (close-listener listener)
    (cancel! server)
    result))

(define (column name type)
  (bytevector-append (text name) (int32 0) (int16 0) (int32 type) (int16 4) (int32 0) (int16 1)))

(test-group "the protocol"
  ;; A statement is prepared once.
  (test '("99" (#(5)) (#(5)) 2)
        (let ((parses 0))
          (with-fake-server
            (lambda (in out)
              (greet in out)
              (let loop ()
                (let ((message (hear in)))
                  (case (car message)
                    ((#\P)
                     (set! parses (+ parses 1))
                     (say out #\1))
                    ((#\D)
                     (say out #\t (int16 1) (int32 23))
                     (say out #\T (int16 1) (column "n" 23)))
                    ((#\B) (say out #\2))
                    ((#\E)
                     ;; A notice in between is passed over.
                     (say out #\N (text "SNOTICE") #u8(0))
                     (say out #\D (int16 1) (int32 4) (int32 5))
                     (say out #\C (text "SELECT 1")))
                    ((#\S) (ready out)))
                  (if (not (memv (car message) '(#\X end)))
                      (loop)))))
            (lambda (string)
              (let* ((db (open-postgresql string))
                     (version (postgresql-parameter db "server_version"))
                     (a (query db "select $1" 5))
                     (b (query db "select $1" 5)))
                (close-postgresql db)
                (list version a b (+ 1 parses)))))))
  ;; Errors of the server at the beginning.
  (test '("no such user" "28000" "FATAL")
        (with-fake-server
          (lambda (in out)
            (read-bytevector (- (number-at (read-bytevector 4 in) 0) 4) in)
            (say out #\E (text "SFATAL") (text "VFATAL") (text "C28000") (text "Mno such user")
                 #u8(0)))
          (lambda (string)
            (failure (lambda (e)
                       (list (error-object-message e) (postgresql-error-code e)
                             (postgresql-error-severity e)))
                     (open-postgresql string)))))
  ;; A server that goes away.
  (test "08006"
        (with-fake-server
          (lambda (in out) (greet in out) (hear-until in #\S))
          (lambda (string)
            (let ((db (open-postgresql string)))
              (let ((code (failure postgresql-error-code (query db "select 1"))))
                (test-false (postgresql-open? db))
                (test "08003" (failure postgresql-error-code (query db "select 1")))
                code)))))
  ;; Nonsense in place of the protocol.
  (test-true (with-fake-server
               (lambda (in out) (write-bytevector (make-bytevector 100 0) out))
               (lambda (string) (failure postgresql-error? (open-postgresql string)))))
  ;; One that does not answer.
  (test-true (with-fake-server
               (lambda (in out) (sleep 10))
               (lambda (string)
                 (guard (e ((timeout-error? e) #t))
                   (open-postgresql string #:timeout 0.1)))))
  ;; One that cannot prove that it knows the password.
  (test "28000"
        (with-fake-server
          (lambda (in out)
            (read-bytevector (- (number-at (read-bytevector 4 in) 0) 4) in)
            (say out #\R (int32 10) (text "SCRAM-SHA-256") #u8(0))
            (hear in)
            (say out #\R (int32 11) (string->utf8 "r=other,s=c2FsdA==,i=4096"))
            (hear in))
          (lambda (string) (failure postgresql-error-code (open-postgresql string)))))
  (test-true (guard (e ((network-error? e) #t))
               (open-postgresql "host=127.0.0.1 port=1 user=ada sslmode=disable")))
  (test-error (open-postgresql 1))
  (test-error (open-postgresql "sslmode=perhaps host=127.0.0.1")))

(test-group "arguments"
  (test "5" (encode 5 23 1))
  (test #f (encode 'null 23 1))
  (test "true" (encode #t 16 1))
  (test "2.5" (encode 5/2 1700 1))
  (test "-0.0625" (encode -1/16 1700 1))
  (test "Infinity" (encode +inf.0 701 1))
  (test "{\"1\",NULL,\"3\"}" (encode '(1 null 3) 1007 1))
  (test "{{\"a\"},{\"b\\\"\\\\\"}}" (encode '#(#("a") #("b\"\\")) 1009 1))
  (test "{\"a\":1}" (encode '((a . 1)) 3802 1))
  (test "2024-02-29" (encode (make-date 0 5 4 3 29 2 2024 0) 1082 1))
  (test "2024-02-29 03:04:05.000006-01:30" (encode (make-date 6000 5 4 3 29 2 2024 -5400) 1184 1))
  (test "1970-01-01 00:00:00.000000+00:00" (encode (make-time time-utc 0 0) 1184 1))
  (test-error (encode 1/3 1700 1))
  (test-error (encode car 23 1)))

;; A real server.

(define server (get-environment-variable "CANNY_TEST_POSTGRESQL"))

(define (try-values db)
  (test '(#(1 "a" #t 1.5 123456789/10000 -1/10000 null 100000000 #u8(1 2)))
        (query db
               "select 1, 'a', true, 1.5::float8, 12345.6789::numeric, -0.0001::numeric, null, \
                   100000000::numeric, '\\x0102'::bytea"))
  (test '(("2000-01-01") ("2000-02-29") ("1970-01-01") ("2100-12-31") ("0001-01-01"))
        (map (lambda (day)
               (list (date->string (query-value db "select $1::date" day) "~Y-~m-~d")))
             '("2000-01-01" "2000-02-29" "1970-01-01" "2100-12-31" "0001-01-01")))
  (test #(#(1 2 null) #(#("a" "b") #("c" "d e")) #() ((a . #(1 null))) "infinity")
        (query-row db "select '{1,2,null}'::int[], '{{a,b},{c,\"d e\"}}'::text[], '{}'::int[], \
                       '{\"a\": [1, null]}'::json, 'infinity'::date"))
  ;; Values that are sent come back.
  (for-each (lambda (type value)
              (test value
                    (query-value db (string-append "select $1::" type) value)))
            '("int8" "numeric" "numeric" "text" "bytea" "bool" "float8" "text[]" "jsonb" "uuid")
            (list -9223372036854775808 (expt 10 40) 1/1024 "Grüße" #u8(0 255) #f 0.1
                  '#("a" "b \"q\\" null)
                  '((b . #(1 2)))
                  "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"))
  (let ((moment (make-time time-utc 123456000 1709210096)))
    (test-true (time=? moment (query-value db "select $1::timestamptz" moment))))
  (let ((date (make-date 500000000 59 58 23 31 12 1999 0)))
    (test-true (equal? (date->string date "~5")
                       (date->string (query-value db "select $1::timestamp" date) "~5"))))
  (let ((time (make-time time-duration 250000000 3661)))
    (test-true (time=? time (query-value db "select $1::time" time)))))

(define (try-statements db)
  (execute db "create temp table t (id serial primary key, name text unique, n int check (n > 0))")
  (test 2 (execute db "insert into t (name, n) values ($1, $2), ($3, 2)" "a" 1 "b"))
  (test '(((name . "a") (n . 1))) (query-alists db "select name, n from t where id = $1" 1))
  (test '((name . "b")) (query-alist db "select name from t where n = 2"))
  (test #f (query-row db "select 1 where false"))
  (test '(id name n) (query-columns db "select * from t"))
  (let ((e (guard (e (#t e)) (execute db "insert into t (name) values ($1)" "a"))))
    (test-true (unique-violation? e))
    (test '("23505" "t_name_key" "t")
          (list (postgresql-error-code e) (postgresql-error-constraint e)
                (postgresql-error-table e)))
    (test-true (string? (postgresql-error-detail e))))
  (test-true (failure check-violation? (execute db "insert into t (n) values (0)")))
  (test 9 (failure postgresql-error-position (query db "select * form t")))
  (test-error (query db "select $1::int"))
  (test-error (query db "select $1::int" "no number"))
  (test 0 (query-value db "select count(*) from t where name = $1" "' or true --"))
  ;; A table that changes under a prepared statement.
  (query db "select * from t")
  (execute db "alter table t add column extra text")
  (test '(id name n extra) (map car (query-alist db "select * from t where id = 1")))
  (do ((i 0 (+ i 1))) ((= i 150)) (query db (string-append "select " (number->string i))))
  (execute-script db "create temp table u (a int); insert into u values (1), (2)")
  (test 2 (query-value db "select count(*) from u"))
  (test 500500 (fold-rows (lambda (row sum) (+ sum (vector-ref row 0))) 0 db
                          "select * from generate_series(1, $1)" 1000))
  (test 3 (call-with-current-continuation
           (lambda (return)
             (for-each-row (lambda (row) (if (= 3 (vector-ref row 0)) (return 3)))
                           db "select * from generate_series(1, 100000)"))))
  (test-false (in-transaction? db)))

(define (try-transactions db)
  (execute db "create temp table s (name text unique)")
  (with-transaction db
    (execute db "insert into s values ('x')")
    (failure values (with-transaction db (execute db "insert into s values ('x')")))
    (execute db "insert into s values ('y')"))
  (test 2 (query-value db "select count(*) from s"))
  (test 'no (guard (e ((symbol? e) e))
              (with-transaction db (execute db "insert into s values ('z')") (raise 'no))))
  (test 2 (query-value db "select count(*) from s"))
  ;; A failed statement that was taken does not make a failed transaction one that succeeds.
  (test "25P02" (failure postgresql-error-code
                         (with-transaction db
                           (failure values (execute db "insert into s values ('x')")))))
  (test 1 (call-with-transaction db (lambda () (query-value db "select 1"))
            #:isolation 'serializable #:read-only? #t))
  (test-error (call-with-transaction db values #:isolation 'none)))

(define (try-copies db)
  (define (generator list)
    (lambda ()
      (if (null? list)
          (eof-object)
          (let ((first (car list))) (set! list (cdr list)) first))))
  (execute db "create temp table c (a int, b text)")
  (test 2 (copy-in db "copy c from stdin" (generator '("2\ttwo\n" #u8(51 9 120 10)))))
  (test '("2\ttwo\n" "3\tx\n")
        (let* ((rows '())
               (count (copy-out (lambda (row) (set! rows (cons (utf8->string row) rows))) db
                                "copy c to stdout")))
          (test 2 count)
          (reverse rows)))
  (test 'broken (guard (e ((symbol? e) e))
                  (copy-in db "copy c from stdin" (lambda () (raise 'broken)))))
  (test-true (failure postgresql-error? (copy-in db "copy c from stdin" (generator '("bad\n")))))
  (test 2 (query-value db "select count(*) from c"))
  (test-true (failure postgresql-error? (execute db "copy c from stdin")))
  (test 2 (query-value db "select count(*) from c")))

(define (try-tasks db)
  (test-true
   (guard (e ((timeout-error? e) #t)) (with-timeout 0.2 (query db "select pg_sleep(20)"))))
  (test 42 (query-value db "select 42"))
  (let ((task (start (with-transaction db (query db "select pg_sleep(20)")))))
    (sleep 0.1)
    (cancel! task)
    (test-true (guard (e ((cancelled-error? e) #t)) (await task))))
  (test 43 (query-value db "select 43"))
  (test '(1 2 3 4)
        (map await (map (lambda (n) (start (query-value db "select $1::int" n))) '(1 2 3 4)))))

(define (try-notifications db)
  (let* ((listening (open-postgresql server))
         (channel (postgresql-listen listening '("canny \"news\""))))
    (execute db "select pg_notify('canny \"news\"', $1)" "hello")
    (let ((notification (channel-receive channel)))
      (test '("canny \"news\"" "hello")
            (list (notification-channel notification) (notification-payload notification))))
    (test "08003" (failure postgresql-error-code (query listening "select 1")))
    (close-postgresql listening)
    (test-true (guard (e ((channel-closed-error? e) #t) (#t e))
                 (eof-object? (channel-receive channel))))))

(define (try-pool)
  (let ((pool (make-postgresql-pool server #:size 3)) (inside 0) (most 0))
    (with-tasks
      (do ((i 0 (+ i 1))) ((= i 12))
        (start (call-with-pooled pool
                 (lambda (db)
                   (set! inside (+ inside 1))
                   (set! most (max most inside))
                   (query db "select pg_sleep(0.01)")
                   (set! inside (- inside 1)))))))
    (test-true (<= 1 most 3))
    ;; A connection that the server has ended is replaced.
    (test 1 (call-with-pooled pool (lambda (db) (query-value db "select 1"))))
    (failure values
             (call-with-pooled pool
               (lambda (db) (query db "select pg_terminate_backend(pg_backend_pid())"))))
    (test 1 (call-with-pooled pool (lambda (db) (query-value db "select 1"))))
    (close-postgresql-pool pool)
    (test-true (failure postgresql-error? (call-with-pooled pool values)))))

(if server
    (test-group "a real server"
      (call-with-postgresql
        server
        (lambda (db)
          (try-values db)
          (try-statements db)
          (try-transactions db)
          (try-copies db)
          (try-tasks db)
          (try-notifications db)))
      (try-pool)))

(test-finish)
