;;; (canny postgresql errors): the conditions that a client raises: what the server refused, and
;;; what we say ourselves.
;;;
;;; A condition of the kind `postgresql` has the message as its text, and as irritants names of
;;; parts and their values by turns. This library does not know which errors a connection survives.

(define-library (canny postgresql errors)
  (export postgresql-error? postgresql-error-code postgresql-error-severity postgresql-error-detail
          postgresql-error-hint postgresql-error-position postgresql-error-constraint
          postgresql-error-table postgresql-error-column postgresql-error-sql
          serialization-failure? deadlock-detected?
          failure error-of)
  (import (canny primitives) (canny syntax)
          (only (canny machine arguments) check-argument)
          (only (canny databases sql) %sql-error-part)
          (canny postgresql wire))
  (begin

    ;; Making them.

    (define (failure who message . parts)
      (%make-condition 'postgresql message parts who))

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

    ;; Looking at them.

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
