;;; (canny databases sql): what the libraries of databases have in common: NULL, and what an error
;;; says.
;;;
;;; NULL is the symbol `null`, as in `(canny json)`. No value of a database is a symbol, so nothing
;;; else looks like it; #f is a boolean, and '() the list of no rows.

(define-library (canny databases sql)
  (export sql-null sql-null? sql-error? constraint-violation? unique-violation?
          foreign-key-violation?
          not-null-violation? check-violation? %sql-error-part)
  (import (canny primitives) (canny syntax) (only (canny data lists) member))
  (begin

    ;; The object for NULL.
    (define sql-null 'null)

    (define (sql-null? object)
      (eq? object 'null))

    ;; Whether an object was raised because a database refused something.
    (define (sql-error? object)
      (and (error-object? object)
           (memq (condition-kind object) '(sqlite postgresql))
           #t))

    ;; The part of an error with this name, or #f.
    (define (%sql-error-part condition name)
      (let loop ((rest (error-object-irritants condition)))
        (cond ((or (null? rest) (null? (cdr rest))) #f)
              ((eq? (car rest) name) (cadr rest))
              (else (loop (cddr rest))))))

    ;; Extended codes of SQLite are numbers, those of PostgreSQL strings.
    (define (has-code? object codes)
      (and (sql-error? object)
           (member (%sql-error-part object 'code) codes)
           #t))

    ;; Whether a row was refused by any constraint.
    (define (constraint-violation? object)
      (and (sql-error? object)
           (let ((code (%sql-error-part object 'code)))
             (if (string? code)
                 (string-prefix? "23" code)
                 (and code (= (modulo code 256) 19))))))

    ;; Because another row has the same key: `unique` or `primary key`.
    (define (unique-violation? object)
      (has-code? object '(2067 1555 2579 "23505")))

    ;; Because it refers to a row that is not there, or is referred to.
    (define (foreign-key-violation? object)
      (has-code? object '(787 "23503")))

    (define (not-null-violation? object)
      (has-code? object '(1299 "23502")))

    (define (check-violation? object)
      (has-code? object '(275 "23514")))))
