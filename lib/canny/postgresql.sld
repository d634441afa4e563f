;;; (canny postgresql): a client of PostgreSQL servers.
;;;
;;;     (define db (open-postgresql "postgresql://ada@localhost/shop"))
;;;     (execute db "insert into items (name, price) values ($1, $2)" "tea" 5/2)   ; => 1
;;;     (query db "select id, name from items where price < $1" 3)                 ; => (#(1 "tea"))
;;;     (close-postgresql db)
;;;
;;; Values get into a statement as its arguments only. A connection is used by one task at a time,
;;; by a mutex. A statement holds it while it runs, a transaction from its beginning to its end.
;;;
;;; | library | owns |
;;; |---|---|
;;; | `(canny postgresql settings)` | connection strings and the variables of the environment |
;;; | `(canny postgresql wire)` | messages as bytes, and a buffer of what has come |
;;; | `(canny postgresql values)` | types: what arguments and columns are in Scheme |
;;; | `(canny postgresql errors)` | the conditions, and their parts |
;;; | `(canny postgresql transport)` | TCP, sockets of the file system, TLS |
;;; | `(canny postgresql connection)` | the record of a connection; exchanges |
;;; | `(canny postgresql authentication)` | passwords, MD5, SCRAM |
;;; | `(canny postgresql sessions)` | opening and closing |
;;; | `(canny postgresql transactions)` | transactions and savepoints |
;;; | `(canny postgresql statements)` | running statements, their arguments and rows |
;;; | `(canny postgresql copying)` | `copy` |
;;; | `(canny postgresql notifications)` | `listen` |
;;; | `(canny postgresql pools)` | connections that are used again |
;;;
;;; Each imports from those above it only.

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
  (import (canny databases sql)
          (canny postgresql errors) (canny postgresql connection) (canny postgresql sessions)
          (canny postgresql transactions) (canny postgresql statements)
          (canny postgresql copying) (canny postgresql notifications) (canny postgresql pools)))
