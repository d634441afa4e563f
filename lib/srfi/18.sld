;;; (srfi 18): multithreading support.
;;;
;;; A thread is a task of `(canny tasks)`, run by any of the system threads of the pool. Threads of
;;; a program run at the same time. A task that was started by other means is a thread too, once it
;;; asks for itself.
;;;
;;; - A mutex that is unlocked while threads wait for it goes to the one that has waited longest.
;;; - `thread-terminate!` ends a thread at once for everybody else: its state, its mutexes, those
;;;   that join it. The thread itself leaves what it is in by the after procedures of its
;;;   `dynamic-wind`s, at its next wait or at the next safepoint at which others get their turn; the
;;;   caller waits for that, though not longer than a second.
;;; - A thread that waits for a mutex that it has itself waits for another one to unlock it.
;;;
;;; | record | is changed under |
;;; |---|---|
;;; | thread | its lock |
;;; | mutex: state, waiters | its lock |
;;; | condition variable: waiters | its lock |
;;;
;;; The locks of a condition variable, a mutex and a thread are taken one at a time.

(define-library (srfi 18)
  (export current-thread thread? make-thread thread-name thread-specific thread-specific-set!
          thread-start! thread-yield! thread-sleep! thread-terminate! thread-join!
          mutex? make-mutex mutex-name mutex-specific mutex-specific-set! mutex-state
          mutex-lock! mutex-unlock!
          condition-variable? make-condition-variable condition-variable-name
          condition-variable-specific condition-variable-specific-set!
          condition-variable-signal! condition-variable-broadcast!
          current-time time? time->seconds seconds->time
          current-exception-handler with-exception-handler raise
          join-timeout-exception? abandoned-mutex-exception? terminated-thread-exception?
          uncaught-exception? uncaught-exception-reason)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny data lists)
          (canny tasks)
          (canny machine arguments))
  (begin

    ;; Exceptions.

    (define-record-type thread-exception
      (make-thread-exception kind reason)
      thread-exception?
      (kind exception-kind)
      (reason exception-reason))

    (define (exception-of-kind? object kind)
      (and (thread-exception? object)
           (eq? (exception-kind object) kind)))

    (define (raise-exception kind reason)
      (raise (make-thread-exception kind reason)))

    (define (join-timeout-exception? object)
      (exception-of-kind? object 'join-timeout))

    (define (abandoned-mutex-exception? object)
      (exception-of-kind? object 'abandoned-mutex))

    (define (terminated-thread-exception? object)
      (exception-of-kind? object 'terminated-thread))

    (define (uncaught-exception? object)
      (exception-of-kind? object 'uncaught))

    (define (uncaught-exception-reason object)
      (check-argument 'uncaught-exception-reason 1 uncaught-exception? "uncaught exception" object)
      (exception-reason object))

    ;; The handler that `raise` would call.
    (define (current-exception-handler)
      (let loop ((handlers (%handlers)))
        (cond ((null? handlers) raise)
              ((procedure? (car handlers)) (car handlers))
              (else (loop (cdr handlers))))))

    ;; Times and timeouts.

    (define-record-type time
      (make-time nanoseconds)
      time?
      (nanoseconds time-nanoseconds))

    (define (current-time)
      (make-time (%clock-nanoseconds clock/realtime)))

    (define (time->seconds time)
      (check-argument 'time->seconds 1 time? "time" time)
      (/ (time-nanoseconds time) 1e9))

    (define (seconds->time seconds)
      (check-argument 'seconds->time 1 real? "real number" seconds)
      (make-time (exact (round (* seconds 1000000000)))))

    ;; Nanoseconds from now on, of a time, a number of seconds, or #f, which is never.
    (define (patience who position timeout)
      (cond ((not timeout) #f)
            ((time? timeout)
             (max 0 (- (time-nanoseconds timeout) (%clock-nanoseconds clock/realtime))))
            ((and (real? timeout) (< timeout 1e9))
             (max 0 (exact (ceiling (* timeout 1000000000)))))
            ((real? timeout) #f)
            (else (%type-error who position "time, number of seconds or #f" timeout))))

    ;; Waits until another task wakes the waiter that was given to `(enqueue! waiter)`, which may do
    ;; so itself. If the time is over before, it gives 1. `(forget! waiter)` undoes the former.
    (define (wait-for-turn why patience enqueue! forget!)
      (let* ((ticket (and patience (%arm-timer patience)))
             (mine #f)
             (wake
              (%park why
                     (lambda (waiter)
                       (set! mine waiter)
                       (enqueue! waiter)
                       (and ticket (%park-ticket! ticket waiter))))))
        (if (and ticket (not (eqv? wake 1)))
            (%disarm-ticket! ticket))
        (if (memv wake '(1 cancelled))
            (forget! mine))
        (%check-cancelled wake)))

    ;; Threads.

    ;; The state is `new`, `started`, `value`, `exception` or `terminated`; `end` is a future that
    ;; is settled when the thread has ended.
    (define-record-type thread
      (new-thread lock state thunk name specific parameters task result mutexes end leave)
      thread?
      (lock thread-lock)
      (state thread-state set-thread-state!)
      (thunk thread-thunk)
      (name %thread-name)
      (specific %thread-specific set-thread-specific!)
      ;; Those of where it was made.
      (parameters thread-parameters)
      (task thread-task set-thread-task!)
      (result thread-result set-thread-result!)
      (mutexes thread-mutexes set-thread-mutexes!)
      (end thread-end)
      (leave thread-leave set-thread-leave!))

    (define (check-thread who object)
      (check-argument who 1 thread? "thread" object))

    (define own-thread (make-parameter #f))

    ;; Threads for tasks that were not started by thread-start!.
    (define-record-type register
      (make-register lock table)
      register?
      (lock register-lock)
      (table register-table))

    (define others (make-register #f (%make-hash-table 'eq 'key 0)))

    (define (current-thread)
      (let ((thread (own-thread))
            (task (current-task)))
        (if (and thread (eq? (thread-task thread) task))
            thread
            (or (%with-lock others (%hash-table-ref (register-table others) task #f))
                (let ((thread (new-thread #f 'started #f (task-name task) (void) '() task
                                          #f '()
                                          (make-future) #f)))
                  (%with-lock others
                    (let ((known (%hash-table-ref (register-table others) task #f)))
                      (or known
                          (begin
                            (%hash-table-set! (register-table others) task thread)
                            thread)))))))))

    (define (make-thread thunk . name)
      (check-procedure 'make-thread 1 thunk)
      (new-thread #f 'new thunk (if (pair? name) (car name) (void)) (void) (%parameters) #f #f
                  '() (make-future) #f))

    (define (thread-name thread)
      (check-thread 'thread-name thread)
      (%thread-name thread))

    (define (thread-specific thread)
      (check-thread 'thread-specific thread)
      (%thread-specific thread))

    (define (thread-specific-set! thread object)
      (check-thread 'thread-specific-set! thread)
      (set-thread-specific! thread object))

    (define (thread-start! thread)
      (check-thread 'thread-start! thread)
      (if (not (%with-lock thread
                 (if (eq? (thread-state thread) 'new)
                     (begin
                       (set-thread-state! thread 'started)
                       #t)
                     #f)))
          (%range-error 'thread-start! 1 "the thread is not new" thread))
      (without-scope
       (spawn (lambda () (run-thread thread)) #:name (%thread-name thread)))
      thread)

    (define (run-thread thread)
      (%set-parameters! (thread-parameters thread))
      ;; A thread that terminates it before this finds no task, and then it finds its state.
      (%with-lock thread
        (set-thread-task! thread (current-task)))
      (call-with-escape-continuation
       (lambda (leave)
         (set-thread-leave! thread leave)
         (if (eq? (thread-state thread) 'started)
             (let ((failure
                    (guard (object (else
                                    (end-thread! thread 'exception object)
                                    (list object)))
                      (let ((result (parameterize ((own-thread thread))
                                      (without-scope ((thread-thunk thread))))))
                        (end-thread! thread 'value result)
                        #f))))
               ;; It is reported if no thread joins this one.
               (if failure
                   (raise (car failure))))))))

    (define (ended? thread)
      (memq (thread-state thread) '(value exception terminated)))

    ;; The end of a thread, unless it has ended before: its mutexes are abandoned, those that join
    ;; it resume.
    (define (end-thread! thread state result)
      (let ((mutexes
             (%with-lock thread
               (if (ended? thread)
                   #f
                   (let ((mutexes (thread-mutexes thread)))
                     (set-thread-result! thread result)
                     (set-thread-state! thread state)
                     (set-thread-mutexes! thread '())
                     mutexes)))))
        (if mutexes
            (begin
              (for-each (lambda (mutex) (abandon! mutex thread)) mutexes)
              (future-resolve! (thread-end thread) #t)))))

    (define (thread-yield!)
      (yield))

    (define (thread-sleep! timeout)
      (if (not timeout)
          (%type-error 'thread-sleep! 1 "time or number of seconds" timeout))
      (let ((patience (patience 'thread-sleep! 1 timeout)))
        (sleep (if patience (/ patience 1000000000) 1e9))))

    ;; How long thread-terminate! waits for the thread to leave what it is in.
    (define grace 1)

    (define (thread-terminate! thread)
      (check-thread 'thread-terminate! thread)
      (let ((task (thread-task thread)))
        (end-thread! thread 'terminated #f)
        (cond ((not task) (void))
              ((not (eq? task (current-task)))
               (cancel! task)
               ;; The result of the task is ignored, but not a cancellation of this one meanwhile.
               (if (thread-leave thread)
                   (await/default (settled task) grace #f))
               (void))
              ((thread-leave thread) ((thread-leave thread) #f))
              (else (exit)))))

    ;; A future of the end of a task, however it ends.
    (define (settled task)
      (let ((end (make-future)))
        (without-scope
         (start (guard (object (else #f)) (await task))
                (future-resolve! end #t)))
        end))

    (define (thread-join! thread . options)
      (check-thread 'thread-join! thread)
      (if (eq? thread (current-thread))
          (raise (%make-condition 'deadlock "a thread cannot wait for itself" (list thread)
                                  'thread-join!)))
      (let* ((patience (patience 'thread-join! 2 (and (pair? options) (car options))))
             (in-time? (if patience
                           (await/default (thread-end thread) (/ patience 1000000000) #f)
                           (await (thread-end thread)))))
        (cond (in-time?
               (case (thread-state thread)
                 ((value) (thread-result thread))
                 ((exception)
                  (%observe! (thread-task thread))
                  (raise-exception 'uncaught (thread-result thread)))
                 (else (raise-exception 'terminated-thread thread))))
              ((and (pair? options) (pair? (cdr options))) (cadr options))
              (else (raise-exception 'join-timeout thread)))))

    ;; Mutexes.

    ;; The state is `not-abandoned`, `abandoned`, `not-owned` or the thread that owns it. The
    ;; waiters are pairs of waiters and of the next owner, the first one first.
    (define-record-type mutex
      (new-mutex lock state waiters name specific)
      mutex?
      (lock mutex-lock)
      (state %mutex-state set-mutex-state!)
      (waiters mutex-waiters set-mutex-waiters!)
      (name %mutex-name)
      (specific %mutex-specific set-mutex-specific!))

    (define (check-mutex who object)
      (check-argument who 1 mutex? "mutex" object))

    (define (make-mutex . name)
      (new-mutex #f 'not-abandoned '() (if (pair? name) (car name) (void)) (void)))

    (define (mutex-name mutex)
      (check-mutex 'mutex-name mutex)
      (%mutex-name mutex))

    (define (mutex-specific mutex)
      (check-mutex 'mutex-specific mutex)
      (%mutex-specific mutex))

    (define (mutex-specific-set! mutex object)
      (check-mutex 'mutex-specific-set! mutex)
      (set-mutex-specific! mutex object))

    (define (mutex-state mutex)
      (check-mutex 'mutex-state mutex)
      (%mutex-state mutex))

    (define (unlocked? mutex)
      (memq (%mutex-state mutex) '(not-abandoned abandoned)))

    ;; Under its lock: locks a mutex that is not locked; gives the state before, or #f if it was
    ;; locked.
    (define (try-mutex! mutex owner)
      (if (unlocked? mutex)
          (let ((before (%mutex-state mutex)))
            (set-mutex-state! mutex (or owner 'not-owned))
            before)
          #f))

    (define (mutex-lock! mutex . options)
      (check-mutex 'mutex-lock! mutex)
      (let* ((patience (patience 'mutex-lock! 2 (and (pair? options) (car options))))
             (owner (if (and (pair? options) (pair? (cdr options)))
                        (cadr options)
                        (current-thread)))
             (before (begin
                       (if (not (or (not owner) (thread? owner)))
                           (%type-error 'mutex-lock! 3 "thread or #f" owner))
                       (or (%with-lock mutex (try-mutex! mutex owner))
                           (wait-for-mutex mutex owner patience)))))
        (cond ((eqv? before 1) #f)
              (else
               (if owner (add-mutex! owner mutex))
               (if (eq? before 'abandoned)
                   (raise-exception 'abandoned-mutex mutex)
                   #t)))))

    (define (wait-for-mutex mutex owner patience)
      (wait-for-turn mutex patience
                     (lambda (waiter)
                       (%with-lock mutex
                         (set-mutex-waiters! mutex
                                             (append (mutex-waiters mutex)
                                                     (list (cons waiter owner))))
                         ;; It may have been unlocked in the meantime.
                         (if (unlocked? mutex)
                             (pass-on! mutex (%mutex-state mutex)))))
                     (lambda (waiter)
                       (%with-lock mutex
                         (set-mutex-waiters! mutex (without waiter (mutex-waiters mutex)))))))

    (define (without waiter entries)
      (cond ((null? entries) '())
            ((eq? (caar entries) waiter) (cdr entries))
            (else (cons (car entries) (without waiter (cdr entries))))))

    ;; Notes that a thread owns a mutex.  One that has ended abandons it.
    (define (add-mutex! thread mutex)
      (if (not (%with-lock thread
                 (if (ended? thread)
                     #f
                     (begin
                       (set-thread-mutexes! thread (cons mutex (thread-mutexes thread)))
                       #t))))
          (abandon! mutex thread)))

    (define (drop-mutex! thread mutex)
      (%with-lock thread
        (set-thread-mutexes! thread (%remove-waiter mutex (thread-mutexes thread)))))

    ;; Under its lock: hands the mutex to the task that has waited longest, or leaves it in that
    ;; state.
    (define (pass-on! mutex state)
      (let ((waiters (mutex-waiters mutex)))
        (if (null? waiters)
            (set-mutex-state! mutex state)
            (let ((first (car waiters)))
              (set-mutex-waiters! mutex (cdr waiters))
              (set-mutex-state! mutex (or (cdr first) 'not-owned))
              (if (not (%wake! (car first) state))
                  (pass-on! mutex state))))))

    (define (abandon! mutex thread)
      (%with-lock mutex
        (if (eq? (%mutex-state mutex) thread)
            (pass-on! mutex 'abandoned))))

    (define (release! mutex)
      (%with-lock mutex
        (if (unlocked? mutex)
            (set-mutex-state! mutex 'not-abandoned)
            (pass-on! mutex 'not-abandoned))))

    (define (mutex-unlock! mutex . options)
      (check-mutex 'mutex-unlock! mutex)
      (let* ((condition (and (pair? options) (car options)))
             (patience (patience 'mutex-unlock! 3
                                 (and (pair? options) (pair? (cdr options)) (cadr options))))
             (owner (%mutex-state mutex)))
        (if (not (or (not condition) (condition-variable? condition)))
            (%type-error 'mutex-unlock! 2 "condition variable or #f" condition))
        ;; Before another thread can own it: who owns a mutex again later notes it again.
        (if (thread? owner)
            (drop-mutex! owner mutex))
        (if condition
            (not (eqv? 1 (wait-for-signal mutex condition patience)))
            (begin
              (release! mutex)
              #t))))

    ;; Condition variables.

    (define-record-type condition-variable
      (new-condition-variable lock waiters name specific)
      condition-variable?
      (lock condition-lock)
      (waiters condition-waiters set-condition-waiters!)
      (name condition-name)
      (specific condition-specific set-condition-specific!))

    (define (check-condition who object)
      (check-argument who 1 condition-variable? "condition variable" object))

    (define (make-condition-variable . name)
      (new-condition-variable #f '() (if (pair? name) (car name) (void)) (void)))

    (define (condition-variable-name condition)
      (check-condition 'condition-variable-name condition)
      (condition-name condition))

    (define (condition-variable-specific condition)
      (check-condition 'condition-variable-specific condition)
      (condition-specific condition))

    (define (condition-variable-specific-set! condition object)
      (check-condition 'condition-variable-specific-set! condition)
      (set-condition-specific! condition object))

    ;; Claimed by the task that unlocks the mutex of a wait: the wait, or a cancellation before it.
    (define-record-type turn
      (make-turn claimed)
      turn?
      (claimed turn-claimed))

    ;; A thread that signals after the mutex was unlocked finds the waiter.
    (define (wait-for-signal mutex condition patience)
      (let ((turn (make-turn #f)))
        (wait-for-turn condition patience
                       (lambda (waiter)
                         (if (%claim! turn)
                             (begin
                               (%with-lock condition
                                 (set-condition-waiters! condition
                                                         (append (condition-waiters condition)
                                                                 (list waiter))))
                               (release! mutex))))
                       (lambda (waiter)
                         (if (%claim! turn)
                             (release! mutex)
                             (%with-lock condition
                               (set-condition-waiters! condition
                                                       (%remove-waiter
                                                        waiter
                                                        (condition-waiters condition)))))))))

    ;; Wakes the first one that still waits, whether there was one.
    (define (wake-first! condition)
      (let ((waiter (%with-lock condition
                      (let ((waiters (condition-waiters condition)))
                        (if (null? waiters)
                            #f
                            (begin
                              (set-condition-waiters! condition (cdr waiters))
                              (car waiters)))))))
        (and waiter
             (or (%wake! waiter 'signalled)
                 (wake-first! condition)))))

    (define (condition-variable-signal! condition)
      (check-condition 'condition-variable-signal! condition)
      (wake-first! condition)
      (void))

    (define (condition-variable-broadcast! condition)
      (check-condition 'condition-variable-broadcast! condition)
      (let ((waiters (%with-lock condition
                       (let ((waiters (condition-waiters condition)))
                         (set-condition-waiters! condition '())
                         waiters))))
        (for-each (lambda (waiter) (%wake! waiter 'signalled)) waiters)))

    (%describe-waits! mutex 'lock "a mutex" 'name #f)
    (%describe-waits! condition-variable 'condition "a condition variable" 'name #f)))
