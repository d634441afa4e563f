;;; (canny postgresql copying): `copy`, which moves many rows at once.
;;;
;;; Rows are bytes here: their format is what the statement says.

(define-library (canny postgresql copying)
  (export copy-in copy-out)
  (import (canny primitives) (canny syntax)
          (canny machine arguments)
          (canny postgresql wire) (canny postgresql connection))
  (begin

    ;; Runs `copy … from stdin`. `next` is a generator of strings and bytevectors, which are sent as
    ;; they are; the number of rows.
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

    ;; Runs `copy … to stdout` and calls a procedure with each row, a bytevector as the server sends
    ;; it; the number of rows.
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
        changes))))
