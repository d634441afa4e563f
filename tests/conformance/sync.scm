;; (canny sync): mutexes, condition variables, semaphores, locks, barriers, latches.

(import (scheme base) (canny sync) (canny tasks) (canny test)
        (only (canny base) condition-kind) (only (srfi 1) iota filter))

(define-syntax failure
  (syntax-rules ()
    ((_ expression)
     (guard (e ((error-object? e) (condition-kind e)))
       expression
       'none))))

(define (repeat count thunk)
  (do ((i 0 (+ i 1)))
      ((= i count))
    (thunk)))

;; Starts as many tasks that do the same, and waits for them.
(define (together count thunk)
  (map await (map (lambda (i) (spawn thunk)) (iota count))))

(define-syntax after-cancelling
  (syntax-rules ()
    ((_ task) (begin (cancel! task) (failure (await task))))))

(test-group "mutexes"
  (define m (make-mutex #:name 'm))
  (test '(#t #f m #f) (list (mutex? m) (mutex? 'm) (mutex-name m) (mutex-owner m)))
  (mutex-lock! m)
  (test #t (eq? (mutex-owner m) (current-task)))
  (test #f (mutex-try-lock! m))
  (test 'deadlock (failure (mutex-lock! m)))
  (test #f (await (start (mutex-try-lock! m))))
  (test 'timeout (await (start (failure (mutex-lock! m #:timeout 0.001)))))
  (test 'error (await (start (failure (mutex-unlock! m)))))
  (mutex-unlock! m)
  (test 'error (failure (mutex-unlock! m)))
  (test #t (mutex-try-lock! m))
  (mutex-unlock! m)
  (test #f (mutex-owner m)))

(test-group "recursive mutexes"
  (define m (make-mutex #:recursive #t))
  (mutex-lock! m)
  (mutex-lock! m)
  (test #t (mutex-try-lock! m))
  (mutex-unlock! m)
  (mutex-unlock! m)
  (test #f (await (start (mutex-try-lock! m))))
  (mutex-unlock! m)
  (test #f (mutex-owner m))
  (test #t (await (start (and (mutex-try-lock! m) (begin (mutex-unlock! m) #t))))))

(test-group "with-mutex"
  (define m (make-mutex))
  (test 'value (with-mutex m 'value))
  (test 'oops (guard (e (else e)) (with-mutex m (raise 'oops))))
  (test #f (mutex-owner m))
  (test 'out (call-with-current-continuation (lambda (k) (with-mutex m (k 'out)))))
  (test #f (mutex-owner m))
  ;; The body may unlock it.
  (with-mutex m (mutex-unlock! m))
  (test #f (mutex-owner m))
  ;; Cancelled in the middle.
  (define other (start (with-mutex m (sleep 1000))))
  (define (until-locked) (if (not (mutex-owner m)) (begin (yield) (until-locked))))
  (until-locked)
  (test 'cancelled (after-cancelling other))
  (test #f (mutex-owner m))
  (test 'timeout
        (with-mutex m
          (await (start (failure (call-with-mutex m (lambda () 'got) #:timeout 0.001)))))))

(test-group "exclusion"
  (define m (make-mutex))
  (define count 0)
  (together 20
            (lambda ()
              (repeat 100
                      (lambda ()
                        (with-mutex m
                          (let ((before count))
                            (if (= 0 (modulo before 7)) (yield))
                            (set! count (+ before 1))))))))
  (test 2000 count))

(test-group "cancelled while waiting"
  (define m (make-mutex))
  (define got '())
  (define tasks
    (with-mutex m
      (let ((tasks (map (lambda (i) (start (with-mutex m (set! got (cons i got))))) (iota 10))))
        (sleep 0.002)
        (for-each (lambda (task i) (if (odd? i) (cancel! task))) tasks (iota 10))
        tasks)))
  (test '(none cancelled none cancelled none cancelled none cancelled none cancelled)
        (map (lambda (task) (failure (await task))) tasks))
  (test 5 (length got))
  (test '() (filter odd? got))
  (test #f (mutex-owner m)))

(test-group "condition variables"
  (define m (make-mutex))
  (define v (make-condition-variable #:name 'v))
  (test '(#t #f) (list (condition-variable? v) (condition-variable? m)))
  (test #f (condition-variable-signal! v))
  (condition-variable-broadcast! v)
  (test 'error (failure (condition-variable-wait! v m)))
  (test 'timeout
        (failure (with-mutex m (condition-variable-wait! v m #:timeout 0.001))))
  ;; The mutex is locked again after the time limit.
  (test #t
        (with-mutex m
          (guard (e (else (eq? (mutex-owner m) (current-task))))
            (condition-variable-wait! v m #:timeout 0.001))))
  (test #f (mutex-owner m))
  ;; A queue.
  (define items '())
  (define (put! x)
    (with-mutex m
      (set! items (append items (list x)))
      (condition-variable-signal! v)))
  (define (get!)
    (with-mutex m
      (let wait ()
        (if (null? items)
            (begin
              (condition-variable-wait! v m)
              (wait))
            (let ((x (car items)))
              (set! items (cdr items))
              x)))))
  (define consumers
    (map (lambda (i) (start (let loop ((sum 0)) (let ((x (get!))) (if x (loop (+ sum x)) sum)))))
         (iota 5)))
  (for-each put! (iota 500))
  (repeat 5 (lambda () (put! #f)))
  (test (apply + (iota 500)) (apply + (map await consumers)))
  ;; Cancelled: the mutex is unlocked, others get their signals.
  (define ready #f)
  (define (waiter)
    (start (with-mutex m
             (let wait () (if (not ready) (begin (condition-variable-wait! v m) (wait))))
             'ready)))
  (define gone (waiter))
  (define tasks (map (lambda (i) (waiter)) (iota 5)))
  (sleep 0.002)
  (test 'cancelled (after-cancelling gone))
  (test #f (mutex-owner m))
  (with-mutex m
    (set! ready #t)
    (condition-variable-broadcast! v))
  (test '(ready ready ready ready ready) (map await tasks))
  ;; A recursive mutex is released whole.
  (define r (make-mutex #:recursive #t))
  (define woken
    (start (with-mutex r
             (with-mutex r
               (condition-variable-wait! v r)
               (mutex-unlock! r)
               (eq? (mutex-owner r) (current-task))))))
  (define (until-signalled)
    (if (not (with-mutex r (condition-variable-signal! v)))
        (begin
          (yield)
          (until-signalled))))
  (until-signalled)
  (test #t (await woken)))

(test-group "semaphores"
  (define s (make-semaphore 2))
  (test '(#t #f 2) (list (semaphore? s) (semaphore? 2) (semaphore-count s)))
  (test '(#t #t #f)
        (let* ((a (semaphore-try-acquire! s)) (b (semaphore-try-acquire! s)))
          (list a b (semaphore-try-acquire! s))))
  (test 'timeout (failure (semaphore-acquire! s #:timeout 0.001)))
  (semaphore-release! s 2)
  (test 2 (semaphore-count s))
  (define m (make-mutex))
  (define inside 0)
  (define most 0)
  (define (change n)
    (with-mutex m
      (set! inside (+ inside n))
      (set! most (max most inside))))
  (together 20
            (lambda ()
              (repeat 10
                      (lambda ()
                        (with-semaphore s
                          (change 1)
                          (yield)
                          (change -1))))))
  (test '(0 #t 2) (list inside (<= most 2) (semaphore-count s)))
  (test 'oops (guard (e (else e)) (with-semaphore s (raise 'oops))))
  (test 2 (semaphore-count s))
  ;; A cancelled task has not taken any.
  (define none (make-semaphore 0))
  (define task (start (semaphore-acquire! none)))
  (test 'cancelled (after-cancelling task))
  (semaphore-release! none)
  (test 1 (semaphore-count none)))

(test-group "read-write locks"
  (define lock (make-read-write-lock))
  (test '(#t #f) (list (read-write-lock? lock) (read-write-lock? 1)))
  (read-lock! lock)
  (test '(#t #f) (list (read-try-lock! lock) (write-try-lock! lock)))
  (read-unlock! lock)
  (read-unlock! lock)
  (test 'error (failure (read-unlock! lock)))
  (test 'error (failure (write-unlock! lock)))
  (test #t (write-try-lock! lock))
  (test 'deadlock (failure (read-lock! lock)))
  (test 'deadlock (failure (write-lock! lock)))
  (test '(#f #f timeout timeout error)
        (await (start (list (read-try-lock! lock)
                            (write-try-lock! lock)
                            (failure (read-lock! lock #:timeout 0.001))
                            (failure (write-lock! lock #:timeout 0.001))
                            (failure (write-unlock! lock))))))
  (write-unlock! lock)
  (define a 0)
  (define b 0)
  (define torn 0)
  (together 12
            (lambda ()
              (let loop ((i 0))
                (if (< i 60)
                    (begin
                      (if (= 0 (modulo i 5))
                          (with-write-lock lock
                            (set! a (+ a 1))
                            (yield)
                            (set! b (+ b 1)))
                          (with-read-lock lock
                            (let ((before a))
                              (yield)
                              (if (not (= before b)) (set! torn (+ torn 1))))))
                      (loop (+ i 1)))))))
  (test '(144 144 0) (list a b torn))
  ;; A writer that gives up lets the readers behind it resume.
  (read-lock! lock)
  (define writer (start (write-lock! lock)))
  (sleep 0.002)
  (define reader (start (with-read-lock lock 'read)))
  (test 'cancelled (after-cancelling writer))
  (test 'read (await reader))
  (read-unlock! lock)
  (test 'oops (guard (e (else e)) (with-write-lock lock (raise 'oops))))
  (test #t (write-try-lock! lock))
  (write-unlock! lock))

(test-group "barriers"
  (define barrier (make-barrier 6))
  (define round (make-vector 50 0))
  (define m (make-mutex))
  (define early 0)
  (define lasts
    (together 6
              (lambda ()
                (let loop ((i 0) (lasts 0))
                  (if (= i 50)
                      lasts
                      (begin
                        (with-mutex m (vector-set! round i (+ (vector-ref round i) 1)))
                        (let ((last? (barrier-wait! barrier)))
                          (if (not (= 6 (vector-ref round i))) (set! early (+ early 1)))
                          (loop (+ i 1) (+ lasts (if last? 1 0))))))))))
  (test '(50 0) (list (apply + lasts) early))
  ;; A task that stops waiting does not count.
  (define two (make-barrier 2))
  (test 'timeout (failure (barrier-wait! two #:timeout 0.001)))
  (define task (start (barrier-wait! two)))
  (test 'cancelled (after-cancelling task))
  (test 'timeout (failure (barrier-wait! two #:timeout 0.001)))
  (test #t (barrier-wait! (make-barrier 1))))

(test-group "latches"
  (define latch (make-latch 3))
  (test '(#t #f 3) (list (latch? latch) (latch? 3) (latch-count latch)))
  (test 'timeout (failure (latch-wait! latch #:timeout 0.001)))
  (define tasks (map (lambda (i) (start (latch-wait! latch) 'open)) (iota 5)))
  (latch-count-down! latch)
  (test 2 (latch-count latch))
  (latch-count-down! latch 7)
  (test 0 (latch-count latch))
  (test '(open open open open open) (map await tasks))
  (latch-wait! latch)
  (latch-wait! (make-latch 0)))

(test-group "once"
  (define once (make-once))
  (define m (make-mutex))
  (define calls 0)
  (test #f (once-done? once))
  (test '(value value value value)
        (together 4
                  (lambda ()
                    (call-once once
                               (lambda ()
                                 (with-mutex m (set! calls (+ calls 1)))
                                 (sleep 0.002)
                                 'value)))))
  (test '(1 #t value) (list calls (once-done? once) (call-once once (lambda () 'other))))
  ;; An error leaves it to the next one.
  (define again (make-once))
  (test 'oops (guard (e (else e)) (call-once again (lambda () (raise 'oops)))))
  (test #f (once-done? again))
  (test 'deadlock (failure (call-once again (lambda () (call-once again list)))))
  (test 'fine (call-once again (lambda () 'fine))))

(test-group "bad input"
  (test 'type (failure (mutex-lock! 1)))
  (test 'type (failure (mutex-unlock! 1)))
  (test 'type (failure (mutex-lock! (make-mutex) #:timeout 'x)))
  (test 'type (failure (with-mutex 1 2)))
  (test 'type (failure (call-with-mutex (make-mutex) 1)))
  (test 'type (failure (condition-variable-wait! 1 (make-mutex))))
  (test 'type (failure (condition-variable-wait! (make-condition-variable) 1)))
  (test 'type (failure (condition-variable-signal! 1)))
  (test 'type (failure (make-semaphore -1)))
  (test 'type (failure (semaphore-acquire! 1)))
  (test 'type (failure (semaphore-release! (make-semaphore 1) -1)))
  (test 'type (failure (make-barrier 0)))
  (test 'type (failure (barrier-wait! 1)))
  (test 'type (failure (read-lock! 1)))
  (test 'type (failure (write-unlock! 1)))
  (test 'type (failure (make-latch 'x)))
  (test 'type (failure (latch-wait! 1)))
  (test 'type (failure (latch-count-down! (make-latch 1) -1)))
  (test 'type (failure (call-once 1 list)))
  (test 'type (failure (call-once (make-once) 1))))

(test-finish)
