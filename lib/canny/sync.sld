;;; (canny sync): locks and what else tasks wait for each other with.
;;;
;;; Each of them is a record with a lock of its own, which is held for moments only, and a queue of
;;; waiting tasks. These are served in the order of their arrival. The lock is handed to the task:
;;; the mutex belongs to it before it is woken, so that no other task overtakes it. A task whose
;;; wait has ended otherwise, by its time limit or a cancellation, is handed nothing. `(canny tasks
;;; waiting)` has the queues.
;;;
;;; All fields are changed under the lock of the record. The procedures that are marked so are
;;; called under it, and neither raise nor wait.

(define-library (canny sync)
  (export make-mutex mutex? mutex-name mutex-owner mutex-lock! mutex-try-lock! mutex-unlock!
          with-mutex call-with-mutex
          make-condition-variable condition-variable? condition-variable-wait!
          condition-variable-signal! condition-variable-broadcast!
          make-semaphore semaphore? semaphore-count semaphore-acquire! semaphore-try-acquire!
          semaphore-release! with-semaphore call-with-semaphore
          make-barrier barrier? barrier-wait!
          make-read-write-lock read-write-lock? read-lock! read-try-lock! read-unlock!
          write-lock! write-try-lock! write-unlock! with-read-lock with-write-lock
          call-with-read-lock call-with-write-lock
          make-latch latch? latch-count latch-count-down! latch-wait!
          make-once once? once-done? call-once)
  (import (canny primitives) (canny syntax) (canny machine control) (canny tasks)
          (canny tasks wait-queues)
          (canny tasks waiting)
          (canny machine arguments))
  (begin

    (define (raise-misuse who message record)
      (raise (%make-condition 'error message (list record) who)))

    (define (raise-deadlock who message record)
      (raise (%make-condition 'deadlock message (list record) who)))

    (define (nothing-left was-linked?)
      #f)

    ;; Mutexes.

    (define-record-type mutex
      (new-mutex %lock name recursive owner depth queue)
      mutex?
      (%lock mutex-lock)
      (name mutex-name)
      (recursive mutex-recursive)
      ;; The task that has locked it, and how often.
      (owner mutex-owner* set-mutex-owner!)
      (depth mutex-depth set-mutex-depth!)
      (queue mutex-queue))

    (define* (make-mutex #:key (name #f) (recursive #f))
      (new-mutex #f name recursive #f 0 (make-queue)))

    (define (check-mutex who position object)
      (if (not (mutex? object))
          (%type-error who position "mutex" object)))

    ;; The task that has locked a mutex, or #f.
    (define (mutex-owner mutex)
      (check-mutex 'mutex-owner 1 mutex)
      (mutex-owner* mutex))

    ;; Under the lock: makes a task the owner if there is none.
    (define (claim-mutex! mutex task)
      (if (mutex-owner* mutex)
          #f
          (begin
            (set-mutex-owner! mutex task)
            (set-mutex-depth! mutex 1)
            #t)))

    ;; Under the lock: hands the mutex to the first one that waits.
    (define (hand-over! mutex)
      (let ((queue (mutex-queue mutex)))
        (let loop ()
          (if (queue-empty? queue)
              (set-mutex-owner! mutex #f)
              (let ((entry (queue-first queue)))
                (set-mutex-owner! mutex (entry-tag entry))
                (set-mutex-depth! mutex 1)
                (if (not (wake-entry! entry #f))
                    (loop)))))))

    ;; Whether the mutex was locked by the task already and is so once more.
    (define (locked-again? who mutex task)
      (and (eq? (mutex-owner* mutex) task)
           (begin
             (if (not (mutex-recursive mutex))
                 (raise-deadlock who "the task has locked the mutex already" mutex))
             (set-mutex-depth! mutex (+ (mutex-depth mutex) 1))
             #t)))

    (define (lock-or-wait who mutex task deadline)
      (attempt-or-wait who mutex (mutex-queue mutex) deadline task
                       (lambda () (claim-mutex! mutex task))
                       (lambda () (not (mutex-owner* mutex)))
                       nothing-left))

    ;; Waits until the task has the mutex, up to `timeout` seconds.
    (define* (mutex-lock! mutex #:key (timeout #f))
      (check-mutex 'mutex-lock! 1 mutex)
      (let ((task (%current-task)))
        (if (not (locked-again? 'mutex-lock! mutex task))
            (lock-or-wait 'mutex-lock! mutex task (deadline-of 'mutex-lock! timeout))))
      (values))

    ;; Locks a mutex if that can be done at once; whether it could.
    (define (mutex-try-lock! mutex)
      (check-mutex 'mutex-try-lock! 1 mutex)
      (let ((task (%current-task)))
        (if (eq? (mutex-owner* mutex) task)
            (and (mutex-recursive mutex)
                 (locked-again? 'mutex-try-lock! mutex task))
            (%with-lock mutex
              (claim-mutex! mutex task)))))

    (define (check-owner who mutex)
      (if (not (eq? (mutex-owner* mutex) (%current-task)))
          (raise-misuse who
                        (if (mutex-owner* mutex)
                            "another task has locked the mutex"
                            "the mutex is not locked")
                        mutex)))

    (define (unlock! mutex)
      (let ((depth (mutex-depth mutex)))
        (if (> depth 1)
            (set-mutex-depth! mutex (- depth 1))
            (%with-lock mutex
              (hand-over! mutex)))))

    (define (mutex-unlock! mutex)
      (check-mutex 'mutex-unlock! 1 mutex)
      (check-owner 'mutex-unlock! mutex)
      (unlock! mutex)
      (values))

    ;; Calls a procedure while the mutex is locked, and unlocks it however that is left.
    (define* (call-with-mutex mutex thunk #:key (timeout #f))
      (check-mutex 'call-with-mutex 1 mutex)
      (check-procedure 'call-with-mutex 2 thunk)
      (dynamic-wind
       (lambda () (mutex-lock! mutex #:timeout timeout))
       thunk
       ;; The body may have unlocked it.
       (lambda ()
         (if (eq? (mutex-owner* mutex) (%current-task))
             (unlock! mutex)))))

    (define-syntax with-mutex
      (syntax-rules ()
        ((_ mutex body0 body ...)
         (call-with-mutex mutex (lambda () body0 body ...)))))

    ;; Condition variables. A task is in the queue before it unlocks the mutex. Until it waits its
    ;; entry has no waiter, and a signal is noted in the entry.

    (define-record-type condition-variable
      (new-condition-variable %lock name queue)
      condition-variable?
      (%lock condition-variable-lock)
      (name condition-variable-name)
      (queue condition-variable-queue))

    (define* (make-condition-variable #:key (name #f))
      (new-condition-variable #f name (make-queue)))

    (define (check-condition-variable who object)
      (if (not (condition-variable? object))
          (%type-error who 1 "condition variable" object)))

    ;; Under the lock: signals the first task in the queue; #f if there is none.
    (define (signal-first! queue)
      (let loop ()
        (if (queue-empty? queue)
            #f
            (let ((entry (queue-first queue)))
              (if (entry-waiter entry)
                  (or (wake-entry! entry #f)
                      (loop))
                  (begin
                    (withdraw! entry)
                    (set-entry-item! entry 'signalled)
                    #t))))))

    (define (signal! variable)
      (%with-lock variable
        (signal-first! (condition-variable-queue variable))))

    ;; Locks a mutex again after a wait, as often as it was, cancelled or not; gives the condition
    ;; if it was.
    (define (surely-lock! mutex task depth)
      (let loop ((cancelled #f))
        (let ((condition
               (guard (condition ((cancelled-error? condition) condition))
                 (lock-or-wait 'condition-variable-wait! mutex task #f)
                 #f)))
          (if condition
              (loop condition)
              (begin
                (set-mutex-depth! mutex depth)
                cancelled)))))

    ;; Unlocks a mutex, waits for a signal and locks the mutex again, which is so as well when the
    ;; wait ends otherwise.
    (define* (condition-variable-wait! variable mutex #:key (timeout #f))
      (check-condition-variable 'condition-variable-wait! variable)
      (check-mutex 'condition-variable-wait! 2 mutex)
      (check-owner 'condition-variable-wait! mutex)
      (let ((task (%current-task))
            (depth (mutex-depth mutex))
            (deadline (deadline-of 'condition-variable-wait! timeout))
            (entry (make-entry #f #f)))
        (%with-lock variable
          (link! (condition-variable-queue variable) entry))
        (%with-lock mutex
          (hand-over! mutex))
        (let* ((wake
                (wait-in-queue variable (patience-left deadline)
                               (lambda (waiter)
                                 (if (%with-lock variable
                                       (or (entry-item entry)
                                           (begin
                                             (set-entry-waiter! entry waiter)
                                             #f)))
                                     (%wake! waiter entry)))
                               (lambda ()
                                 (%with-lock variable (withdraw! entry)))))
               (cancelled
                (and (eq? wake 'cancelled)
                     (begin
                       ;; The signal is for another one.
                       (if (entry-item entry)
                           (signal! variable))
                       (cancelled-condition))))
               (cancelled-later (surely-lock! mutex task depth)))
          (cond (cancelled (raise cancelled))
                (cancelled-later (raise cancelled-later))
                ((and (eq? wake 'timed-out) (not (entry-item entry)))
                 (raise-timeout 'condition-variable-wait! variable))
                (else (values))))))

    ;; Wakes the task that has waited longest; whether there was one.
    (define (condition-variable-signal! variable)
      (check-condition-variable 'condition-variable-signal! variable)
      (signal! variable))

    ;; Wakes all tasks that wait.
    (define (condition-variable-broadcast! variable)
      (check-condition-variable 'condition-variable-broadcast! variable)
      (let ((all (%with-lock variable
                   (take-all! (condition-variable-queue variable)))))
        (let loop ()
          (if (%with-lock variable (signal-first! all))
              (loop))))
      (values))

    ;; Semaphores.

    (define-record-type semaphore
      (new-semaphore %lock name count queue)
      semaphore?
      (%lock semaphore-lock)
      (name semaphore-name)
      (count semaphore-count* set-semaphore-count!)
      (queue semaphore-queue))

    (define* (make-semaphore count #:key (name #f))
      (check-index 'make-semaphore 1 count)
      (new-semaphore #f name count (make-queue)))

    (define (check-semaphore who object)
      (if (not (semaphore? object))
          (%type-error who 1 "semaphore" object)))

    (define (semaphore-count semaphore)
      (check-semaphore 'semaphore-count semaphore)
      (semaphore-count* semaphore))

    (define (take-one! semaphore)
      (let ((count (semaphore-count* semaphore)))
        (and (> count 0)
             (begin
               (set-semaphore-count! semaphore (- count 1))
               #t))))

    ;; Waits until the count is above zero and takes one of it.
    (define* (semaphore-acquire! semaphore #:key (timeout #f))
      (check-semaphore 'semaphore-acquire! semaphore)
      (attempt-or-wait 'semaphore-acquire! semaphore (semaphore-queue semaphore)
                       (deadline-of 'semaphore-acquire! timeout) #f
                       (lambda () (take-one! semaphore))
                       (lambda () (> (semaphore-count* semaphore) 0))
                       nothing-left)
      (values))

    (define (semaphore-try-acquire! semaphore)
      (check-semaphore 'semaphore-try-acquire! semaphore)
      (%with-lock semaphore
        (take-one! semaphore)))

    ;; Adds to the count.
    (define* (semaphore-release! semaphore #:optional (count 1))
      (check-semaphore 'semaphore-release! semaphore)
      (check-index 'semaphore-release! 2 count)
      (let loop ((left count))
        (if (> left 0)
            (loop (%with-lock semaphore
                    (if (wake-first! (semaphore-queue semaphore) #f)
                        (- left 1)
                        (begin
                          (set-semaphore-count! semaphore (+ (semaphore-count* semaphore) left))
                          0))))))
      (values))

    (define* (call-with-semaphore semaphore thunk #:key (timeout #f))
      (check-semaphore 'call-with-semaphore semaphore)
      (check-procedure 'call-with-semaphore 2 thunk)
      (dynamic-wind
       (lambda () (semaphore-acquire! semaphore #:timeout timeout))
       thunk
       (lambda () (semaphore-release! semaphore))))

    (define-syntax with-semaphore
      (syntax-rules ()
        ((_ semaphore body0 body ...)
         (call-with-semaphore semaphore (lambda () body0 body ...)))))

    ;; Barriers.

    (define-record-type barrier
      (new-barrier %lock parties arrived openings queue)
      barrier?
      (%lock barrier-lock)
      (parties barrier-parties)
      (arrived barrier-arrived set-barrier-arrived!)
      ;; How often it was opened.
      (openings barrier-openings set-barrier-openings!)
      (queue barrier-queue))

    (define (make-barrier parties)
      (check-argument 'make-barrier 1 positive-index? "positive number of tasks" parties)
      (new-barrier #f parties 0 0 (make-queue)))

    (define (positive-index? object)
      (and (fixnum? object) (> object 0)))

    ;; Under the lock: resumes the tasks in the queue if one more makes the number complete; gives a
    ;; list of them.
    (define (open-barrier! barrier)
      (and (last-one? barrier)
           (begin
             (set-barrier-arrived! barrier 0)
             (set-barrier-openings! barrier (+ (barrier-openings barrier) 1))
             (list (take-all! (barrier-queue barrier))))))

    (define (last-one? barrier)
      (= (+ (barrier-arrived barrier) 1) (barrier-parties barrier)))

    ;; Waits until so many tasks have come; #t in the one that came last. The next ones start a new
    ;; round.
    (define* (barrier-wait! barrier #:key (timeout #f))
      (check-argument 'barrier-wait! 1 barrier? "barrier" barrier)
      (let* ((opening #f)
             (outcome
              (attempt-or-wait 'barrier-wait! barrier (barrier-queue barrier)
                               (deadline-of 'barrier-wait! timeout) #f
                               (lambda () (open-barrier! barrier))
                               (lambda ()
                                 (or (last-one? barrier)
                                     (begin
                                       (set! opening (barrier-openings barrier))
                                       (set-barrier-arrived! barrier
                                                             (+ (barrier-arrived barrier) 1))
                                       #f)))
                               ;; A task that leaves once the barrier was opened had arrived; the
                               ;; entry may be linked still.
                               (lambda (was-linked?)
                                 (if (and was-linked? (eqv? opening (barrier-openings barrier)))
                                     (set-barrier-arrived! barrier
                                                           (- (barrier-arrived barrier) 1)))))))
        (if (pair? outcome)
            (begin
              (wake-all! barrier (car outcome) #f)
              #t)
            #f)))

    ;; Locks for many readers or one writer. The tag of an entry is the task of a writer, #f for a
    ;; reader.

    (define-record-type read-write-lock
      (new-read-write-lock %lock name readers writer queue)
      read-write-lock?
      (%lock read-write-lock-lock)
      (name read-write-lock-name)
      (readers lock-readers set-lock-readers!)
      (writer lock-writer set-lock-writer!)
      (queue lock-queue))

    (define* (make-read-write-lock #:key (name #f))
      (new-read-write-lock #f name 0 #f (make-queue)))

    (define (check-lock who object)
      (if (not (read-write-lock? object))
          (%type-error who 1 "read-write lock" object)))

    ;; Under the lock, all of them.

    (define (may-read? lock)
      (and (not (lock-writer lock))
           (queue-empty? (lock-queue lock))))

    (define (may-write? lock)
      (and (may-read? lock)
           (eq? (lock-readers lock) 0)))

    (define (attempt-read! lock)
      (and (may-read? lock)
           (begin
             (set-lock-readers! lock (+ (lock-readers lock) 1))
             #t)))

    (define (attempt-write! lock task)
      (and (may-write? lock)
           (begin
             (set-lock-writer! lock task)
             #t)))

    ;; Lets in as many as may be from the front of the queue.
    (define (let-in! lock)
      (let ((queue (lock-queue lock)))
        (let loop ()
          (if (not (or (queue-empty? queue) (lock-writer lock)))
              (let* ((entry (queue-first queue)) (writer (entry-tag entry)))
                (cond ((not writer)
                       (set-lock-readers! lock (+ (lock-readers lock) 1))
                       (if (not (wake-entry! entry #f))
                           (set-lock-readers! lock (- (lock-readers lock) 1)))
                       (loop))
                      ((eq? (lock-readers lock) 0)
                       (set-lock-writer! lock writer)
                       (if (not (wake-entry! entry #f))
                           (begin
                             (set-lock-writer! lock #f)
                             (loop))))))))))

    ;; Waits until there is no writer, nor one that waits, and locks for reading.
    (define* (read-lock! lock #:key (timeout #f))
      (check-lock 'read-lock! lock)
      (if (eq? (lock-writer lock) (%current-task))
          (raise-deadlock 'read-lock! "the task has locked it for writing already" lock))
      (attempt-or-wait 'read-lock! lock (lock-queue lock) (deadline-of 'read-lock! timeout) #f
                       (lambda () (attempt-read! lock))
                       (lambda () (may-read? lock))
                       (lambda (was-linked?) (let-in! lock)))
      (values))

    ;; Waits until no other task has locked it, and locks for writing.
    (define* (write-lock! lock #:key (timeout #f))
      (check-lock 'write-lock! lock)
      (let ((task (%current-task)))
        (if (eq? (lock-writer lock) task)
            (raise-deadlock 'write-lock! "the task has locked it for writing already" lock))
        (attempt-or-wait 'write-lock! lock (lock-queue lock) (deadline-of 'write-lock! timeout) task
                         (lambda () (attempt-write! lock task))
                         (lambda () (may-write? lock))
                         (lambda (was-linked?) (let-in! lock))))
      (values))

    (define (read-try-lock! lock)
      (check-lock 'read-try-lock! lock)
      (%with-lock lock
        (attempt-read! lock)))

    (define (write-try-lock! lock)
      (check-lock 'write-try-lock! lock)
      (let ((task (%current-task)))
        (%with-lock lock
          (attempt-write! lock task))))

    (define (read-unlock! lock)
      (check-lock 'read-unlock! lock)
      (if (not (%with-lock lock
                 (and (> (lock-readers lock) 0)
                      (begin
                        (set-lock-readers! lock (- (lock-readers lock) 1))
                        (let-in! lock)
                        #t))))
          (raise-misuse 'read-unlock! "the lock is not locked for reading" lock))
      (values))

    (define (write-unlock! lock)
      (check-lock 'write-unlock! lock)
      (if (not (eq? (lock-writer lock) (%current-task)))
          (raise-misuse 'write-unlock!
                        (if (lock-writer lock)
                            "another task has locked it"
                            "the lock is not locked for writing")
                        lock))
      (%with-lock lock
        (set-lock-writer! lock #f)
        (let-in! lock))
      (values))

    (define* (call-with-read-lock lock thunk #:key (timeout #f))
      (check-lock 'call-with-read-lock lock)
      (check-procedure 'call-with-read-lock 2 thunk)
      (dynamic-wind
       (lambda () (read-lock! lock #:timeout timeout))
       thunk
       (lambda () (read-unlock! lock))))

    (define* (call-with-write-lock lock thunk #:key (timeout #f))
      (check-lock 'call-with-write-lock lock)
      (check-procedure 'call-with-write-lock 2 thunk)
      (dynamic-wind
       (lambda () (write-lock! lock #:timeout timeout))
       thunk
       (lambda () (write-unlock! lock))))

    (define-syntax with-read-lock
      (syntax-rules ()
        ((_ lock body0 body ...)
         (call-with-read-lock lock (lambda () body0 body ...)))))

    (define-syntax with-write-lock
      (syntax-rules ()
        ((_ lock body0 body ...)
         (call-with-write-lock lock (lambda () body0 body ...)))))

    ;; Latches.

    (define-record-type latch
      (new-latch %lock count queue)
      latch?
      (%lock latch-lock)
      (count latch-count* set-latch-count!)
      (queue latch-queue))

    (define (make-latch count)
      (check-index 'make-latch 1 count)
      (new-latch #f count (make-queue)))

    (define (latch-count latch)
      (check-argument 'latch-count 1 latch? "latch" latch)
      (latch-count* latch))

    ;; Counts down, at most to zero, and there resumes all waiting tasks.
    (define* (latch-count-down! latch #:optional (count 1))
      (check-argument 'latch-count-down! 1 latch? "latch" latch)
      (check-index 'latch-count-down! 2 count)
      (let ((all (%with-lock latch
                   (begin
                     (set-latch-count! latch (max 0 (- (latch-count* latch) count)))
                     (and (= (latch-count* latch) 0)
                          (take-all! (latch-queue latch)))))))
        (if all
            (wake-all! latch all #f)))
      (values))

    ;; Waits until the count is zero.
    (define* (latch-wait! latch #:key (timeout #f))
      (check-argument 'latch-wait! 1 latch? "latch" latch)
      (let ((open? (lambda () (eqv? (latch-count* latch) 0))))
        (attempt-or-wait 'latch-wait! latch (latch-queue latch)
                         (deadline-of 'latch-wait! timeout) #f
                         open? open? nothing-left))
      (values))

    ;; An action that is done once.

    (define-record-type once
      (new-once %lock state value queue)
      once?
      (%lock once-lock)
      ;; `fresh`, the task that does it, or `done`.
      (state once-state set-once-state!)
      (value once-value set-once-value!)
      (queue once-queue))

    (define (make-once)
      (new-once #f 'fresh #f (make-queue)))

    (define (once-done? once)
      (check-argument 'once-done? 1 once? "once" once)
      (eq? (once-state once) 'done))

    ;; Changes the state and wakes the waiting tasks, which check it.
    (define (leave-once! once state)
      (wake-all! once
                 (%with-lock once
                   (set-once-state! once state)
                   (take-all! (once-queue once)))
                 #f))

    (define (do-once once thunk)
      (let ((done? #f))
        (dynamic-wind
         (lambda () #f)
         (lambda ()
           (let ((value (thunk)))
             (set-once-value! once value)
             (set! done? #t)
             value))
         (lambda ()
           (leave-once! once (if done? 'done 'fresh))))))

    ;; The value of a procedure, which is called by the first one to come; others wait for it. If it
    ;; raises, the next one calls its own.
    (define (call-once once thunk)
      (check-argument 'call-once 1 once? "once" once)
      (check-procedure 'call-once 2 thunk)
      (let ((task (%current-task)))
        (let loop ()
          (let ((state (once-state once)))
            (cond ((eq? state 'done) (once-value once))
                  ((eq? state task)
                   (raise-deadlock 'call-once "the task is in the middle of it" once))
                  ((eq? (attempt-or-wait 'call-once once (once-queue once) #f #f
                                         (lambda ()
                                           (cond ((eq? (once-state once) 'done) 'done)
                                                 ((eq? (once-state once) 'fresh)
                                                  (set-once-state! once task)
                                                  'mine)
                                                 (else #f)))
                                         (lambda () (symbol? (once-state once)))
                                         nothing-left)
                        'mine)
                   (do-once once thunk))
                  (else (loop)))))))

    ;; The waiting task as others see it.
    (%describe-waits! mutex 'lock "a mutex" 'name 'owner)
    (%describe-waits! condition-variable 'condition "a condition variable" 'name #f)
    (%describe-waits! semaphore 'lock "a semaphore" 'name #f)
    (%describe-waits! barrier 'barrier "a barrier" #f #f)
    (%describe-waits! read-write-lock 'lock "a read-write lock" 'name 'writer)
    (%describe-waits! latch 'barrier "a latch" #f #f)
    (%describe-waits! once 'lock "what another task does once" #f 'state)))
