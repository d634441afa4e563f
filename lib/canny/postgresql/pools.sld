;;; (canny postgresql pools): connections that are used again.
;;;
;;; | field | changed under |
;;; |---|---|
;;; | free, closed | the lock |
;;;
;;; There are as many permits as there may be connections in use. Free ones are taken before new
;;; ones are made, so that there are never more open than permits.

(define-library (canny postgresql pools)
  (export make-postgresql-pool postgresql-pool? call-with-pooled close-postgresql-pool)
  (import (canny primitives) (canny syntax)
          (only (canny machine control) raise guard dynamic-wind)
          (only (canny data lists) for-each)
          (only (canny tasks) call-with-timeout %with-lock)
          (only (canny sync) make-semaphore call-with-semaphore)
          (canny machine arguments)
          (canny postgresql errors) (canny postgresql connection)
          (canny postgresql sessions) (canny postgresql statements))
  (begin

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

    ;; Up to `#:size` connections, made when they are wanted. One that was unused for more than
    ;; `#:idle-time` seconds is not used any more. `#:connect-timeout` is for making one.
    (define* (make-postgresql-pool #:optional (string "") #:key (size 10) (idle-time 60)
                                   (connect-timeout #f) (statements 100))
      (check-argument 'make-postgresql-pool 1 string? "string" string)
      (if (not (and (exact-nonnegative-integer? size) (> size 0)))
          (raise-bad-option 'make-postgresql-pool "#:size" "a number above 0" size))
      (if (not (and (real? idle-time) (>= idle-time 0)))
          (raise-bad-option 'make-postgresql-pool "#:idle-time" "a number of seconds" idle-time))
      (new-pool #f string connect-timeout statements idle-time
                (make-semaphore size #:name "postgresql pool") '() #f))

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

    ;; Calls a procedure with a connection that no other task has meanwhile. A transaction that it
    ;; leaves open closes it.
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
      (values))))
