;; Tasks that are cancelled, or run out of time, while they wait for each kind of thing: nothing is
;; lost, nobody sleeps on, and what they waited for keeps nothing of them.

(import (scheme base) (canny tasks) (canny channels) (canny sync) (canny atomic) (canny test)
        (only (canny base) condition-kind) (only (srfi 1) iota filter)
        (only (srfi 27) random-integer)
        (only (canny primitives) %live-instances record-type-descriptor))

(define (times count procedure)
  (do ((i 0 (+ i 1)))
      ((= i count))
    (procedure i)))

;; The outcome of a task: its value, or the kind of condition.
(define (outcome task)
  (guard (e ((error-object? e) (condition-kind e)))
    (await task)))

(define (count-of value values)
  (length (filter (lambda (x) (eqv? x value)) values)))

(define (tasks-of count procedure)
  (map (lambda (i) (start (procedure i) 'done)) (iota count)))

;; Cancels some of the tasks while something else happens, and gives the outcome of all.
(define (while-cancelling tasks thunk)
  (let ((canceller
         (start (for-each (lambda (task)
                            (if (= 0 (random-integer 3))
                                (begin
                                  (cancel! task)
                                  (if (= 0 (random-integer 5)) (yield)))))
                          tasks))))
    (thunk)
    (await canceller)
    (map outcome tasks)))

(define (only-done-or-cancelled? outcomes)
  (= (length outcomes) (+ (count-of 'done outcomes) (count-of 'cancelled outcomes))))

;; How many tasks the collector finds.
(define task-type (record-type-descriptor (current-task)))
(define (live-tasks) (length (%live-instances task-type)))

;; Whether waits that end leave nothing in what was waited for.
(define-syntax leaves-nothing?
  (syntax-rules ()
    ((_ wait) (leaves-no-task? (lambda () wait)))))

;; The stacks of threads may hold some old word that keeps a list of tasks alive: what is left
;; behind is so every time.
(define (leaves-no-task? wait)
  (let again ((left 4))
    (let ((before (live-tasks)))
      (let ((tasks (map (lambda (i) (spawn wait)) (iota 500))))
        (sleep 0.002)
        (for-each cancel! tasks)
        (for-each outcome tasks))
      (or (few-tasks? (+ before 100))
          (and (> left 0)
               (again (- left 1)))))))

;; A task may be about to end when its future is settled already.
(define (few-tasks? count)
  (let again ((left 50))
    (or (< (live-tasks) count)
        (and (> left 0)
             (begin
               (sleep 0.001)
               (again (- left 1)))))))

(test-group "semaphores"
  (define s (make-semaphore 0))
  (define tasks (tasks-of 400 (lambda (i) (semaphore-acquire! s))))
  (define outcomes
    (while-cancelling tasks
                      (lambda ()
                        (times 400 (lambda (i)
                                     (semaphore-release! s)
                                     (if (= 0 (modulo i 7)) (yield)))))))
  (test #t (only-done-or-cancelled? outcomes))
  (test 400 (+ (semaphore-count s) (count-of 'done outcomes)))
  ;; Time limits in place of cancellation.
  (define t (make-semaphore 0))
  (define late
    (tasks-of 300 (lambda (i) (semaphore-acquire! t #:timeout (* 0.00001 (modulo i 50))))))
  (times 300 (lambda (i) (semaphore-release! t)))
  (define ends (map outcome late))
  (test 300 (+ (count-of 'done ends) (count-of 'timeout ends)))
  (test 300 (+ (semaphore-count t) (count-of 'done ends)))
  (define u (make-semaphore 0))
  (test #t (leaves-nothing? (semaphore-acquire! u))))

(test-group "mutexes"
  (define m (make-mutex))
  (define inside (make-atomic-integer 0))
  (define most 0)
  (define passed 0)
  (define tasks
    (tasks-of 300
              (lambda (i)
                (with-mutex m
                  (set! most (max most (atomic-add-fetch! inside 1)))
                  (set! passed (+ passed 1))
                  (dynamic-wind
                   (lambda () #f)
                   yield
                   (lambda () (atomic-add-fetch! inside -1)))))))
  (define outcomes (while-cancelling tasks (lambda () (yield))))
  (test #t (only-done-or-cancelled? outcomes))
  (test 1 most)
  (test #t (<= (count-of 'done outcomes) passed))
  (test #f (mutex-owner m))
  (test #t (mutex-try-lock! m))
  (test #t (leaves-nothing? (mutex-lock! m))))

(test-group "condition variables"
  (define m (make-mutex))
  (define v (make-condition-variable))
  (define given 0)
  (define taken 0)
  (define tasks
    (tasks-of 300
              (lambda (i)
                (with-mutex m
                  (let wait ()
                    (if (= taken given)
                        (begin
                          (condition-variable-wait! v m)
                          (wait))))
                  (set! taken (+ taken 1))))))
  (define outcomes
    (while-cancelling tasks
                      (lambda ()
                        (times 300 (lambda (i)
                                     (with-mutex m
                                       (set! given (+ given 1))
                                       (condition-variable-signal! v)))))))
  (test #t (only-done-or-cancelled? outcomes))
  (test taken (count-of 'done outcomes))
  (test #f (mutex-owner m))
  (test #t
        (leaves-nothing?
         (with-mutex m (condition-variable-wait! v m))))
  (test #f (condition-variable-signal! v)))

(test-group "read-write locks"
  (define lock (make-read-write-lock))
  (define readers (make-atomic-integer 0))
  (define writers (make-atomic-integer 0))
  (define wrong (make-atomic-integer 0))
  (define (inside counter allowed?)
    (atomic-add-fetch! counter 1)
    (dynamic-wind
     (lambda () #f)
     (lambda ()
       (if (not (allowed?)) (atomic-add-fetch! wrong 1))
       (yield)
       (if (not (allowed?)) (atomic-add-fetch! wrong 1)))
     (lambda () (atomic-add-fetch! counter -1))))
  (define tasks
    (tasks-of 300
              (lambda (i)
                (if (= 0 (modulo i 5))
                    (with-write-lock lock
                      (inside writers
                              (lambda ()
                                (and (= 1 (atomic-integer-ref writers))
                                     (= 0 (atomic-integer-ref readers))))))
                    (with-read-lock lock
                      (inside readers
                              (lambda () (= 0 (atomic-integer-ref writers)))))))))
  (define outcomes (while-cancelling tasks (lambda () (yield))))
  (test #t (only-done-or-cancelled? outcomes))
  (test 0 (atomic-integer-ref wrong))
  (test #t (write-try-lock! lock))
  (test #t (leaves-nothing? (read-lock! lock)))
  (test #t (leaves-nothing? (write-lock! lock)))
  (write-unlock! lock)
  ;; A writer that gives up lets the readers behind it in.
  (read-lock! lock)
  (define writer (start (write-lock! lock)))
  (let again () (if (read-try-lock! lock) (begin (read-unlock! lock) (yield) (again))))
  (define behind (start (read-lock! lock) 'read))
  (yield)
  (cancel! writer)
  (test 'read (outcome behind)))

(test-group "barriers"
  (define b (make-barrier 4))
  (define tasks (tasks-of 200 (lambda (i) (barrier-wait! b))))
  (define canceller
    (start (for-each (lambda (task) (if (= 0 (random-integer 4)) (cancel! task))) tasks)))
  (await canceller)
  ;; Those that are left over need others.
  (define (left) (filter (lambda (task) (not (future-done? task))) tasks))
  (sleep 0.005)
  (let again ((count 0))
    (if (and (pair? (left)) (< count 1000))
        (begin
          (start (barrier-wait! b #:timeout 0.01))
          (sleep 0.001)
          (again (+ count 1)))))
  (test #t (only-done-or-cancelled? (map outcome tasks)))
  (define c (make-barrier 3))
  (times 50
         (lambda (i)
           (let ((first (start (barrier-wait! c))) (second (start (barrier-wait! c))))
             (if (odd? i) (yield))
             (cancel! first)
             (outcome first)
             (let ((third (start (barrier-wait! c))) (fourth (start (barrier-wait! c))))
               (for-each outcome (list second third fourth))))))
  (define d (make-barrier 1000000))
  (test #t (leaves-nothing? (barrier-wait! d))))

(test-group "latches and once"
  (define l (make-latch 3))
  (define tasks (tasks-of 300 (lambda (i) (latch-wait! l))))
  (define outcomes
    (while-cancelling tasks (lambda () (times 3 (lambda (i) (latch-count-down! l))))))
  (test #t (only-done-or-cancelled? outcomes))
  (define never (make-latch 1))
  (test #t (leaves-nothing? (latch-wait! never)))
  (define o (make-once))
  (define calls (make-atomic-integer 0))
  (define callers
    (tasks-of 100
              (lambda (i)
                (call-once o (lambda () (atomic-add-fetch! calls 1) (sleep 0.0005) i)))))
  (define ends (while-cancelling callers (lambda () (yield))))
  (test #t (only-done-or-cancelled? ends))
  (test #t (or (once-done? o) (= 0 (count-of 'done ends))))
  (define slow (make-once))
  (define doer (start (call-once slow (lambda () (sleep 1000)))))
  (yield)
  (test #t (leaves-nothing? (call-once slow (lambda () (sleep 1000)))))
  (cancel! doer))

(test-group "futures"
  (define f (make-future))
  (define tasks (tasks-of 2000 (lambda (i) (await f))))
  (define outcomes (while-cancelling tasks (lambda () (yield) (future-resolve! f 1))))
  (test #t (only-done-or-cancelled? outcomes))
  (define never (make-future))
  (test #t (leaves-nothing? (await never)))
  (test #t (leaves-nothing? (await/default never 0.001 1)))
  (test #t (leaves-nothing? (await (future-race (list never (start (yield)))))))
  (test #t (leaves-nothing? (sleep 1000))))

(test-group "channels"
  (define empty (make-channel))
  (define full (make-channel 1))
  (channel-send! full 'held)
  (test #t (leaves-nothing? (channel-receive empty)))
  (test #t (leaves-nothing? (channel-receive empty #:timeout 0.001)))
  (test #t (leaves-nothing? (channel-send! full 1)))
  (test #t
        (leaves-nothing?
         (select
          ((x (channel-receive empty)) x)
          ((channel-send! full 1) 'sent))))
  (test '(#f held #f) (list (channel-try-receive empty) (channel-receive full)
                            (channel-try-receive full)))
  ;; A select that takes from one channel stands in no other one's queue any more.
  (define busy (make-channel 1))
  (test #t
        (leaves-no-task?
         (lambda ()
           (channel-try-send! busy 1)
           (select
            ((x (channel-receive busy)) x)
            ((x (channel-receive empty)) x)))))
  (test #f (channel-try-send! empty 1))
  ;; Thousands that wait, in the order of their arrival as far as one task starts them.
  (define many (make-channel))
  (define receivers (map (lambda (i) (start (channel-receive many))) (iota 3000)))
  (times 3000 (lambda (i) (channel-send! many i)))
  (test (* 3000 2999 1/2) (apply + (map await receivers)))
  (define senders (map (lambda (i) (start (channel-send! many i))) (iota 3000)))
  (test (* 3000 2999 1/2)
        (let loop ((i 0) (sum 0))
          (if (= i 3000) sum (loop (+ i 1) (+ sum (channel-receive many))))))
  (for-each await senders)
  ;; Closing ends all waits, those of selects too.
  (define closing (make-channel))
  (define waiting
    (append
     (map (lambda (i) (start (channel-receive closing #:end 'end))) (iota 100))
     (map (lambda (i)
            (start (select
                    ((x (channel-receive closing)) (if (eof-object? x) 'end x))
                    ((x (channel-receive empty)) x))))
          (iota 100))))
  (sleep 0.002)
  (channel-close! closing)
  (test 200 (count-of 'end (map outcome waiting)))
  (define refused
    (map (lambda (i) (start (select
                             ((channel-send! full i) 'sent)
                             ((x (channel-receive empty)) x))))
         (iota 50)))
  (sleep 0.002)
  (channel-close! full)
  (define ends (map outcome refused))
  (test 50 (+ (count-of 'sent ends) (count-of 'channel-closed ends)))
  (test (count-of 'sent ends) (length (channel->list full)))
  ;; Of several clauses that can be done each is chosen as often as the others, about.
  (define ready (map (lambda (i) (make-channel 1)) (iota 4)))
  (define counts (make-vector 4 0))
  (for-each (lambda (c) (channel-send! c 'x)) ready)
  (times 4000
         (lambda (i)
           (let ((index
                  (channel-select (map (lambda (c i) (receive-case c (lambda (x) i)))
                                       ready (iota 4)))))
             (vector-set! counts index (+ 1 (vector-ref counts index)))
             (channel-send! (list-ref ready index) 'x))))
  (test #t (> (apply min (vector->list counts)) 600)))

(test-finish)
