;;; (canny postgresql transactions): transactions, and savepoints within them.
;;;
;;; A transaction holds the lock of its connection from beginning to end. The depth of the
;;; connection is how many the task has open within one another.

(define-library (canny postgresql transactions)
  (export call-with-transaction with-transaction in-transaction?)
  (import (canny primitives) (canny syntax)
          (only (canny machine control) raise guard dynamic-wind)
          (only (canny sync) mutex-lock! mutex-unlock! mutex-owner)
          (canny machine arguments)
          (canny postgresql errors) (canny postgresql connection))
  (begin

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

    ;; Calls a procedure in a transaction, which is committed when it returns and rolled back when
    ;; it is left any other way. In another one of the task it is a savepoint. It cannot be entered
    ;; again.
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
           (> (depth-of database) 0)))))
