;;; (canny tasks): tasks, futures, waiting for them.
;;;
;;; A task runs a procedure beside its starter, on any of the threads of the pool. What it gives, or
;;; raises, is found in its future. `await` waits for a future and blocks no other task: the task
;;; that waits is parked and its thread takes up another one.
;;;
;;;     (let ((a (start (fetch "one")))
;;;           (b (start (fetch "two"))))
;;;       (list (await a) (await b)))
;;;
;;; How a wait works. Each wait has a *waiter*, a record that whoever can end the wait gets to know:
;;; a future, a timer, a channel, somebody who cancels the task. The first one to claim it wakes the
;;; task and says with what; to all others it is of no interest any more. A task that waits has put
;;; its continuation into its record first, so that it may be woken, and resume elsewhere, before
;;; its thread has finished putting it away.
;;;
;;; | record | its fields are changed by | under |
;;; |---|---|---|
;;; | waiter | whoever claims it | the claim |
;;; | task: continuation | the task that puts itself away, the thread that takes it up | there is one at a time |
;;; | task: waiter, cancelled, interruptions | the task, whoever cancels it | the lock of the task |
;;; | future, the entries of its queue | the task that settles it, those that wait | the lock of the future |
;;; | scope, the entries of its tasks | its tasks, the task that has opened it | the lock of the scope |
;;; | scope: owner, body? | the task that has opened it | the lock of that task |
;;;
;;; The machine knows the first fields of waiters and tasks; the file of primitive rows `tasks` says
;;; which. While `(%current-task)` is #f, as in the middle of putting a task away, and under a lock,
;;; the thread is not given to another task. Under a lock nothing is called that could raise or
;;; wait.
;;;
;;; A task that is cancelled raises that where it waits. One that computes is *forced* after a
;;; while: it raises when it is made to give way, wherever that is. What must be done to its end
;;; even so is in a critical section.

(define-library (canny tasks)
  (export start spawn task? current-task task-name yield sleep
          await await/default future? make-future future-done? future-resolve! future-reject!
          future-then future-map future-all future-any future-race
          cancel! cancelled-error? with-timeout call-with-timeout
          with-tasks without-scope
          deadlock-error? timeout-error?
          ;; For libraries of other ways to wait.
          %park %wake! %waiter-task %check-cancelled %remove-waiter %with-lock %uninterrupted
          %describe-waits! %observe!
          %call-standby! %spawn-standby %end-task %foreign-end
          %set-abandon!
          %set-interrupter! %raise-if-interrupted
          ;; For those who look at tasks.
          %all-tasks %task-number %task-label %task-continuation %task-waits? %task-waits-for
          %describe-wait %task-since)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny data lists)
          (canny tasks wait-queues) (only (canny machine posix) timeout-error? condition-of-kind?)
          (canny machine arguments))
  (begin

    (define-record-type waiter
      (make-waiter %state task value)
      waiter?
      (%state waiter-state)
      (task waiter-task)
      (value waiter-value set-waiter-value!))

    (define-record-type task
      (new-task %lock continuation parameters lane account waiter cancelled interruptions future
                number name waits-for since interrupter expired scope entry abandon)
      task?
      (%lock task-lock)
      (continuation task-continuation set-task-continuation!)
      (parameters task-parameters)
      (lane task-lane)
      ;; The number of the account of the memory that it uses.
      (account task-account)
      (waiter current-waiter set-current-waiter!)
      ;; #f, `asked`, `forced` if it is to raise that wherever it is, or `told` once it has, or will not any more.
      (cancelled task-cancelled set-task-cancelled!)
      ;; The scopes whose failure is to interrupt what the task waits for, the innermost first.
      (interruptions task-interruptions set-task-interruptions!)
      (future task-future)
      (number task-number)
      (name task-name*)
      (waits-for task-waits-for set-task-waits-for!)
      (since task-since set-task-since!)
      ;; #f, or what ends an operation that the task is in the middle of and that is no wait.
      (interrupter task-interrupter set-task-interrupter!)
      ;; Whether it is cancelled since its time is over.
      (expired task-expired set-task-expired!)
      ;; The scope whose task it is, or #f, and its entry there.
      (scope task-scope)
      (entry task-entry set-task-entry!)
      ;; #f, or what is called with the object when a failure ends the task, in the task.
      (abandon task-abandon %set-abandon!))

    (define (make-task continuation parameters lane account future name scope)
      (new-task #f continuation parameters lane account #f #f '() future (%new-task-number) name
                #f #f #f #f scope #f #f))

    ;; The state is `pending`, `value` or `error`. The queue, #f until somebody waits, has entries
    ;; of waiters, and ones whose tag is a procedure to be called. It is observed once somebody got
    ;; to know of its failure.
    (define-record-type future
      (make-future-record %lock state value queue observed)
      plain-future?
      (%lock future-lock)
      (state future-state set-future-state!)
      (value future-value set-future-value!)
      (queue future-queue set-future-queue!)
      (observed future-observed set-future-observed!))

    (define (make-future)
      (make-future-record #f 'pending #f #f #f))

    (define (%waiter-task waiter)
      (waiter-task waiter))

    ;; The task of the main program, made when this library is loaded.
    (define main-task
      (make-task #f '() (%worker) 0 (make-future) 'main #f))

    (define (current-task)
      (%current-task))

    (define (task-name task)
      (check-argument 'task-name 1 task? "task" task)
      (task-name* task))

    (define-syntax %with-lock
      (syntax-rules ()
        ((_ record body0 body ...)
         (begin
           (%lock! record)
           (let ((result (let () body0 body ...)))
             (%unlock! record)
             result)))))

    ;; The thread is not given to another task in the body, which must neither raise nor wait.
    (define-syntax %uninterrupted
      (syntax-rules ()
        ((_ body0 body ...)
         (begin
           (%enter-critical!)
           (let ((result (let () body0 body ...)))
             (%leave-critical!)
             result)))))

    ;; Waiting.

    ;; Puts the current task away and has `(publish waiter)` tell those who may end the wait. That
    ;; gives #f, or else what the wait gives at once. It must not raise. Gives what the task is
    ;; woken with: the symbol `cancelled` when that is why.
    (define (%park why publish)
      (let ((task (%current-task)))
        (call-with-current-continuation
         (lambda (continuation)
           (let ((waiter (make-waiter #f task #f)))
             (%set-current-task! #f)
             (set-task-continuation! task continuation)
             (let ((at-once (if (announce! task waiter why)
                                'cancelled
                                (publish waiter))))
               ;; A task that was notified may have been faster.
               (if (and at-once (%claim! waiter))
                   (begin
                     (set-task-continuation! task #f)
                     (%set-current-task! task)
                     at-once)
                   (%serve))))))))

    ;; Lets those who cancel the task find its waiter.  Whether it was cancelled before.
    (define (announce! task waiter why)
      (%with-lock task
        (if (interrupted? task)
            #t
            (begin
              (set-current-waiter! task waiter)
              (set-task-waits-for! task why)
              (set-task-since! task (%recent-jiffy))
              #f))))

    ;; Wakes a waiter with a value, unless somebody else has done so; whether it did.
    (define (%wake! waiter value)
      (if (%claim! waiter)
          (begin
            (set-waiter-value! waiter value)
            (%make-ready! waiter #f)
            #t)
          #f))

    ;; The same, for this worker, when nothing else is ready there: nobody is woken for it.
    (define (%call-standby! waiter value)
      (if (%claim! waiter)
          (begin
            (set-waiter-value! waiter value)
            (%hand-over! waiter)
            #t)
          #f))

    ;; Whether a task was cancelled and has not raised that yet.
    (define (is-cancelled? task)
      (memq (task-cancelled task) '(asked forced)))

    ;; Whether the next wait of a task is to raise.
    (define (interrupted? task)
      (or (is-cancelled? task)
          (pair? (task-interruptions task))))

    ;; Ends a wait that was cancelled by raising that in the task.
    (define (%check-cancelled value)
      (if (eq? value 'cancelled)
          (raise-cancelled)
          value))

    (define (raise-cancelled)
      (raise (take-interruption!)))

    ;; The condition that the current task is to raise. It is raised once, so that what is done on
    ;; the way out can wait.
    (define (take-interruption!)
      (let* ((task (%current-task))
             (notice (and (eq? task main-task) main-notice)))
        (if notice
            (begin
              (set! main-notice #f)
              (set-task-cancelled! task #f)
              notice)
            (take-cancellation! task))))

    (define (take-cancellation! task)
      (let* ((scopes (task-interruptions task))
             (condition
              (if (and (is-cancelled? task) (task-expired task))
                  (%make-condition 'timeout "the time limit of the task is over" '() #f)
                  (%make-condition 'cancelled
                                   (if (or (is-cancelled? task) (null? scopes))
                                       "the task was cancelled"
                                       "another task of the scope has failed")
                                   '() #f))))
        (%with-lock task
          (cond ((is-cancelled? task)
                 (set-task-cancelled! task 'told)
                 (set-task-interruptions! task '()))
                ((pair? (task-interruptions task))
                 (set-scope-notice! (car (task-interruptions task)) condition)
                 (set-task-interruptions! task (cdr (task-interruptions task))))))
        condition))

    (define (cancelled-error? object)
      (condition-of-kind? object 'cancelled))

    (define (deadlock-error? object)
      (condition-of-kind? object 'deadlock))

    (define (%remove-waiter waiter list)
      (cond ((null? list) '())
            ((eq? (car list) waiter) (cdr list))
            (else (cons (car list) (%remove-waiter waiter (cdr list))))))

    ;; Lets others run first. It raises only if the task is forced to end, somebody takes that, and
    ;; no procedure of the library was interrupted, which may be in the middle of something.
    (define (give-way)
      (let* ((in-library? (%preempted-in-library?))
             (task (%current-task))
             (expired (%expired?)))
        (if task
            (begin
              (call-with-current-continuation
               (lambda (continuation)
                 (let ((waiter (make-waiter #t task #f)))
                   (%set-current-task! #f)
                   (set-task-continuation! task continuation)
                   (%make-ready! waiter #t)
                   (%serve))))
              (%set-expired! expired)
              (if (and (eq? (task-cancelled task) 'forced)
                       (not in-library?)
                       (pair? (%handlers)))
                  (raise-cancelled))))))

    (define (yield)
      (give-way)
      (if (interrupted? (%current-task))
          (raise-cancelled))
      (values))

    (define (seconds? object)
      (and (real? object) (>= object 0)))

    ;; Nanoseconds of a number of seconds that is an argument, rounded up.
    (define (nanoseconds who position seconds)
      (check-argument who position seconds? "number of seconds that is not negative" seconds)
      (whole-nanoseconds seconds))

    (define (whole-nanoseconds seconds)
      (if (< seconds 1000000000)
          (exact (ceiling (* seconds 1000000000)))
          1000000000000000000))

    ;; Waits with a ticket: gives 0 or 1, as tickets do.
    (define (wait-for-ticket why ticket)
      (let ((wake (%park why (lambda (waiter) (%park-ticket! ticket waiter)))))
        (if (eq? wake 'cancelled)
            (begin
              (%disarm-ticket! ticket)
              (raise-cancelled))
            wake)))

    (define (sleep seconds)
      (wait-for-ticket 'sleep (%arm-timer (nanoseconds 'sleep 1 seconds)))
      (values))

    ;; Futures.

    (define (future? object)
      (or (task? object) (plain-future? object)))

    (define (future-of who position object)
      (cond ((plain-future? object) object)
            ((task? object) (task-future object))
            (else (%type-error who position "future" object))))

    (define (pending? future)
      (eq? (future-state future) 'pending))

    (define (future-done? object)
      (not (pending? (future-of 'future-done? 1 object))))

    ;; Whether nobody waits for a future.
    (define (alone? future)
      (or (not (future-queue future))
          (queue-empty? (future-queue future))))

    ;; Gives a future its value, or what is raised for it; whether it had none.
    (define (settle! future state value)
      (%uninterrupted (settle-now! future state value)))

    (define (settle-now! future state value)
      (let ((mine?
             (%with-lock future
               (if (pending? future)
                   (begin
                     (set-future-value! future value)
                     (set-future-state! future state)
                     (if (not (alone? future))
                         (set-future-observed! future #t))
                     #t)
                   #f))))
        ;; Nobody comes any more.
        (if (and mine? (future-queue future))
            (begin
              (tell-all! future)
              (set-future-queue! future #f)))
        mine?))

    ;; Tells everybody in the order of arrival.  Those that leave meanwhile do so under the lock.
    (define (tell-all! future)
      (let ((queue (future-queue future)))
        (let loop ()
          (let ((entry
                 (%with-lock future
                   (if (queue-empty? queue)
                       #f
                       (let ((entry (queue-first queue)))
                         (unlink! entry)
                         entry)))))
            (if entry
                (begin
                  (if (entry-tag entry)
                      ((entry-tag entry))
                      (%wake! (entry-waiter entry) 'settled))
                  (loop)))))))

    (define (check-settleable who future)
      (check-argument who 1 plain-future? "future made by make-future" future))

    (define (future-resolve! future value)
      (check-settleable 'future-resolve! future)
      (settle! future 'value value))

    (define (future-reject! future object)
      (check-settleable 'future-reject! future)
      (settle! future 'error object))

    ;; Adds an entry to a future; #f if it is settled, and then does not.
    (define (add-entry! future entry)
      (%with-lock future
        (if (pending? future)
            (begin
              (if (not (future-queue future))
                  (set-future-queue! future (make-queue)))
              (link! (future-queue future) entry)
              #t)
            #f)))

    (define (drop-entry! future entry)
      (%with-lock future
        (withdraw! entry)))

    (define (result-of future)
      (if (eq? (future-state future) 'value)
          (future-value future)
          (begin
            (set-future-observed! future #t)
            (raise (future-value future)))))

    ;; Waits until a future is settled, or for so many nanoseconds unless #f; whether it is.
    (define (settled-within? future patience)
      (or (not (pending? future))
          (let* ((ticket (and patience (%arm-timer patience)))
                 (entry (make-entry #f #f))
                 (wake
                  (%park future
                         (lambda (waiter)
                           (set-entry-waiter! entry waiter)
                           ;; The ticket first, so that who wakes the task cannot have given it up
                           ;; already.
                           (or (and ticket (%park-ticket! ticket waiter))
                               (if (add-entry! future entry)
                                   #f
                                   'settled))))))
            (if (not (eq? wake 'settled))
                (drop-entry! future entry))
            (if (and ticket (not (eqv? wake ticket/timed-out)))
                (%disarm-ticket! ticket))
            (%check-cancelled wake)
            (eq? wake 'settled))))

    (define (check-not-mine who task)
      (if (and (task? task) (eq? task (%current-task)))
          (raise (%make-condition 'deadlock "a task cannot wait for itself" (list task) who))))

    ;; The value of a future; raises what it was rejected with.  `timeout` is in seconds.
    (define* (await future #:key (timeout #f))
      (check-not-mine 'await future)
      (let ((plain (future-of 'await 1 future)))
        (if (not (or (not timeout) (seconds? timeout)))
            (raise-bad-option 'await "#:timeout" "a number of seconds that is not negative"
                              timeout))
        (if (settled-within? plain (and timeout (whole-nanoseconds timeout)))
            (result-of plain)
            (raise
             (%make-condition 'timeout "the future has no value in time" (list future) 'await)))))

    ;; The same, but a default after so many seconds.
    (define (await/default future seconds default)
      (check-not-mine 'await/default future)
      (let ((plain (future-of 'await/default 1 future)))
        (if (settled-within? plain (nanoseconds 'await/default 2 seconds))
            (result-of plain)
            default)))

    ;; Tasks.

    ;; Scopes: the tasks that must have ended when the scope does.
    (define-record-type scope
      (make-scope %lock depth count failure ending tasks waiter owner body? notice)
      scope?
      (%lock scope-lock)
      ;; How many scopes are around it.
      (depth scope-depth)
      (count scope-count set-scope-count!)
      ;; A list of what the first task to fail has raised, or #f.
      (failure scope-failure set-scope-failure!)
      ;; Whether its tasks are cancelled, those included that are still to come.
      (ending scope-ending set-scope-ending!)
      ;; A queue of entries whose items are the tasks.
      (tasks scope-tasks)
      ;; The waiter of the task that waits for all others.
      (waiter scope-waiter set-scope-waiter!)
      ;; The task that runs the body, whether it does so now, and the condition that has interrupted
      ;; it.
      (owner scope-owner set-scope-owner!)
      (body? scope-body? set-scope-body!)
      (notice scope-notice set-scope-notice!))

    (define current-scope (make-parameter #f))

    (define* (spawn thunk #:key (name #f) (memory-limit #f) (time-limit #f))
      (check-procedure 'spawn 1 thunk)
      (if (or memory-limit time-limit)
          (start-limited thunk name memory-limit time-limit)
          (start-task thunk name #f (current-scope))))

    (define (start-limited thunk name memory-limit time-limit)
      (if (not (or (not memory-limit) (positive-index? memory-limit)))
          (raise-bad-option 'spawn "#:memory-limit" "a number of bytes" memory-limit))
      (if (not (or (not time-limit) (and (seconds? time-limit) (> time-limit 0))))
          (raise-bad-option 'spawn "#:time-limit" "a number of seconds" time-limit))
      (let ((account (if memory-limit (%new-account memory-limit) (%child-account)))
            (watcher #f))
        (start-task-for-account
         (lambda ()
           (dynamic-wind
            (lambda ()
              (if (and time-limit (not watcher))
                  (let ((task (%current-task))
                        (patience (whole-nanoseconds time-limit)))
                    (set! watcher
                          (start-task (lambda () (expire-after! task patience))
                                      'time-limit #f #f)))))
            thunk
            (lambda ()
              (if watcher (cancel! watcher))
              (if memory-limit (%close-account! account #t)))))
         name #f (current-scope) account)))

    (define (positive-index? object)
      (and (exact-integer? object) (> object 0) (< object 1152921504606846976)))

    ;; Ends a task when its time is over.
    (define (expire-after! task patience)
      (wait-for-ticket 'sleep (%arm-timer patience))
      (set-task-expired! task #t)
      (cancel! task))

    ;; A task without a scope that runs on this worker when nothing else is ready there.
    (define (%spawn-standby thunk name)
      (new-task-with thunk name #f #f (%child-account) %hand-over!))

    (define (start-task thunk name lane scope)
      (start-task-for-account thunk name lane scope (%child-account)))

    (define (start-task-for-account thunk name lane scope account)
      (new-task-with thunk name lane scope account (lambda (waiter) (%make-ready! waiter #f))))

    ;; `begin!` gives its waiter to the workers.
    (define (new-task-with thunk name lane scope account begin!)
      (let* ((task (make-task #f (%parameters) lane account (make-future) name scope))
             (waiter (make-waiter #t task #f)))
        (set-task-continuation! task (lambda () (run-task task thunk)))
        (if scope
            (set-task-entry! task (make-entry task #f)))
        (%task-counted! 1)
        (if scope
            (enter-scope! scope task (task-entry task)))
        (begin! waiter)
        task))

    (define-syntax start
      (syntax-rules ()
        ((_ expression0 expression ...)
         (spawn (lambda () expression0 expression ...)))))

    ;; What a task raises is given to its future by the handlers around everything: when the winders
    ;; are run, the frames of the raise have been noted. A continuation of the task resumes in
    ;; whatever task calls it: so another one may come to the end of these frames, and it is that
    ;; one that ends then.
    (define (run-task task thunk)
      (%end-task
       (call-with-escape-continuation
        (lambda (return)
          (with-exception-handler
            (lambda (object)
              (%note-task! object (task-name* (%current-task)))
              (if (eq? (%current-task) task)
                  (return (list object))
                  ;; What it would escape from need not be below: a before procedure may have raised
                  ;; on the way.
                  (begin
                    (%rewind '())
                    (%end-task (list object)))))
            (lambda ()
              (if (is-cancelled? task)
                  (raise-cancelled))
              (let ((value (thunk)))
                (if (eq? (%current-task) task)
                    (begin
                      ;; It has ended: nothing of what follows may be left out.
                      (%with-lock task
                        (set-task-cancelled! task 'told))
                      (settle! (task-future task) 'value value)
                      #f)
                    (list (%foreign-end task))))))))))

    ;; What is raised in a task that has come to the end of another one, by a continuation of that.
    ;; To end with its value would be to lose silently what the task itself had still to do.
    (define (%foreign-end task)
      (%make-condition 'error
                       (string-append "a continuation of " (%task-label task)
                                      " was called in another task, which has come to the end of that one"
                                      " and has no value of its own")
                       '() #f))

    ;; Ends the current task; `failure` is a list of what it has raised, or #f if its future is
    ;; settled.
    (define (%end-task failure)
      (let* ((task (%current-task))
             (abandon (and failure (task-abandon task))))
        ;; The end of the program is not here. There are no handlers any more, so that it is
        ;; reported.
        (if (and failure (eq? task main-task))
            (raise (car failure)))
        (if abandon
            (begin
              (%set-abandon! task #f)
              (abandon (car failure))
              (settle! (task-future task) 'value #f))
            (if failure
                (fail-task! task (car failure))))
        (if (task-scope task)
            (leave-scope! (task-scope task) (task-entry task)))
        (%close-account! (task-account task) #f)
        (%uninterrupted (report-lost-failures))
        (%set-current-task! #f)
        (%task-counted! -1)
        (%serve)))

    (define (fail-task! task object)
      (let ((future (task-future task))
            (scope (task-scope task)))
        (if (or scope (cancelled-error? object))
            (settle! future 'error object)
            (%uninterrupted (settle-failure! future object)))
        (if (and scope (not (ends-as-cancelled? task object)))
            (scope-failed! scope object))))

    ;; Whether a task raises that because it was cancelled, which is no failure of its scope.
    (define (ends-as-cancelled? task object)
      (and (eq? (task-cancelled task) 'told)
           (cancelled-error? object)))

    ;; Failures that nobody waits for. A guardian gives the futures that nobody can wait for any
    ;; more; the list of weak pairs has all, for the end of the program.

    (define-record-type register
      (make-register %lock guardian futures reporters)
      register?
      (%lock register-lock)
      (guardian register-guardian)
      (futures register-futures set-register-futures!)
      ;; How many tasks are telling of failures just now.
      (reporters register-reporters set-register-reporters!))

    (define failures (make-register #f (%make-guardian) '() 0))

    (define (count-reporter! change)
      (%with-lock failures
        (set-register-reporters! failures (+ (register-reporters failures) change))))

    (define (keep-failure! future)
      (%with-lock failures
        (%guardian-register! (register-guardian failures) future)
        (set-register-futures! failures (cons (weak-cons future #f) (register-futures failures)))
        #t)
      (report-lost-failures))

    ;; Before it is settled, so that whoever sees its end and ends the program has it told; unless
    ;; somebody waits, who may stop just now.
    (define (settle-failure! future object)
      (let ((alone? (alone? future)))
        (if (and alone? (not (future-observed future)))
            (keep-failure! future))
        (settle! future 'error object)
        (if (not (or alone? (future-observed future)))
            (keep-failure! future))))

    ;; Somebody takes care of what a task may raise.
    (define (%observe! task)
      (set-future-observed! (task-future task) #t))

    ;; Tells of the failures that nobody can wait for any more.
    (define (report-lost-failures)
      (if (pair? (register-futures failures))
          (begin
            (count-reporter! 1)
            (let loop ((found? #f))
              (let ((future (%with-lock failures
                              (%guardian-next (register-guardian failures) #f))))
                (cond (future
                       (report-failure future)
                       (loop #t))
                      (found?
                       (%with-lock failures
                         (set-register-futures! failures
                                                (unobserved (register-futures failures))))))))
            (count-reporter! -1))))

    (define (report-failure future)
      (if (and (eq? (future-state future) 'error) (not (future-observed future)))
          (begin
            (set-future-observed! future #t)
            (%report-failure (future-value future)))))

    (define (unobserved pairs)
      (let loop ((pairs pairs) (kept '()))
        (if (null? pairs)
            (reverse kept)
            (let ((future (weak-car (car pairs))))
              (loop (cdr pairs)
                    (if (and future (not (future-observed future)))
                        (cons (car pairs) kept)
                        kept))))))

    ;; At the end of the program: in the order in which the tasks failed.
    (define (report-failures)
      ;; Those that no weak pair has any more.
      (report-lost-failures)
      (await-reporters 1000)
      (let loop ((pairs (%with-lock failures (register-futures failures))))
        (if (pair? pairs)
            (let ((future (weak-car (car pairs))))
              (loop (cdr pairs))
              (if future
                  (report-failure future))))))

    ;; A report that another task is about to make is made before the program ends, unless that
    ;; takes too long.
    (define (await-reporters milliseconds)
      (if (and (> (register-reporters failures) 0) (> milliseconds 0))
          (begin
            (sleep 1/1000)
            (await-reporters (- milliseconds 1)))))

    ;; Asks a task to end: what it waits for, or its next wait, raises in it; if it computes for
    ;; long, whatever it does then.
    ;; #f if it had ended before.
    (define (cancel! task)
      (check-argument 'cancel! 1 task? "task" task)
      (let* ((running? (pending? (task-future task)))
             (asked?
              (%with-lock task
                (if (task-cancelled task)
                    #f
                    (begin
                      (set-task-cancelled! task 'asked)
                      #t))))
             (waiter (current-waiter task)))
        (if (and running? asked? (not (and waiter (%wake! waiter 'cancelled))))
            (begin
              (interrupt-operation! task)
              (force-later! task)))
        running?))

    ;; Says how to end an operation of a task that blocks its thread, #f when that is over. The
    ;; procedure is called with the task, on any thread, maybe late and several times; it neither
    ;; raises nor waits.
    (define (%set-interrupter! task interrupter)
      (set-task-interrupter! task interrupter))

    (define (interrupt-operation! task)
      (let ((interrupter (task-interrupter task)))
        (if interrupter
            (interrupter task))))

    ;; Raises in the current task what its next wait would raise.
    (define (%raise-if-interrupted)
      (if (interrupted? (%current-task))
          (raise-cancelled)))

    ;; The tasks that were cancelled while they computed, and have not reached a wait yet.
    (define-record-type forced-tasks
      (make-forced-tasks %lock tasks)
      forced-tasks?
      (%lock forced-tasks-lock)
      (tasks tasks-to-force set-tasks-to-force!))

    (define cancelled-tasks (make-forced-tasks #f '()))

    ;; Seconds that a task has to reach a wait by itself.
    (define grace 0.05)

    ;; So often a task that does not end is interrupted; it may be in a procedure of the library
    ;; each time, or a foreign one.
    (define attempts 100)

    (define (force-later! task)
      (if (%with-lock cancelled-tasks
            (let ((first? (null? (tasks-to-force cancelled-tasks))))
              (set-tasks-to-force! cancelled-tasks
                                   (cons (cons task attempts) (tasks-to-force cancelled-tasks)))
              first?))
          (start-task reap 'canceller #f #f)))

    (define (reap)
      (sleep grace)
      (if (%with-lock cancelled-tasks
            (begin
              (set-tasks-to-force! cancelled-tasks (force-all (tasks-to-force cancelled-tasks)))
              (pair? (tasks-to-force cancelled-tasks))))
          (begin
            (%preempt-all!)
            (reap))))

    ;; Those of the tasks that have still to be forced.
    (define (force-all entries)
      (cond ((null? entries) '())
            ((and (is-cancelled? (caar entries))
                  (pending? (task-future (caar entries)))
                  (> (cdar entries) 0))
             (set-task-cancelled! (caar entries) 'forced)
             (interrupt-operation! (caar entries))
             (cons (cons (caar entries) (- (cdar entries) 1)) (force-all (cdr entries))))
            (else (force-all (cdr entries)))))

    ;; Scopes.

    (define (enter-scope! scope task entry)
      (if (%with-lock scope
            (begin
              (set-scope-count! scope (+ (scope-count scope) 1))
              (link! (scope-tasks scope) entry)
              (scope-ending scope)))
          (cancel! task)))

    (define (leave-scope! scope entry)
      (let ((waiter
             (%with-lock scope
               (set-scope-count! scope (- (scope-count scope) 1))
               (withdraw! entry)
               (and (= (scope-count scope) 0) (scope-waiter scope)))))
        (if waiter
            (%wake! waiter 'settled))))

    ;; The first failure of a task ends the others and the body.
    (define (scope-failed! scope object)
      (if (%with-lock scope
            (if (scope-failure scope)
                #f
                (begin
                  (set-scope-failure! scope (list object))
                  #t)))
          (begin
            (end-tasks! scope)
            (interrupt-body! scope))))

    ;; Cancels all tasks of a scope.
    (define (end-tasks! scope)
      (for-each cancel!
                (%with-lock scope
                  (begin
                    (set-scope-ending! scope #t)
                    (queue-items (scope-tasks scope))))))

    ;; Has the task that runs the body raise when it waits, unless it has left the body or ends
    ;; anyway.
    (define (interrupt-body! scope)
      (let* ((task (scope-owner scope))
             (waiter
              (%with-lock task
                (if (and (scope-body? scope) (not (task-cancelled task)))
                    (begin
                      (set-task-interruptions! task
                                               (add-scope scope (task-interruptions task)))
                      (current-waiter task))
                    #f))))
        (if waiter
            (%wake! waiter 'cancelled))
        (interrupt-operation! task)))

    (define (add-scope scope scopes)
      (if (or (null? scopes) (> (scope-depth scope) (scope-depth (car scopes))))
          (cons scope scopes)
          (cons (car scopes) (add-scope scope (cdr scopes)))))

    (define (enter-body! scope)
      (let ((owner (scope-owner scope)))
        (if (and owner (not (eq? owner (%current-task))))
            (raise
             (%make-condition 'error
                              (string-append
                               "a continuation from the body of with-tasks was called in another task than "
                               (%task-label owner))
                              '() 'with-tasks))))
      (set-scope-owner! scope (%current-task))
      (set-scope-body! scope #t))

    ;; From here on the failure of a task interrupts nothing.
    (define (leave-body! scope)
      (let ((task (scope-owner scope)))
        (%with-lock task
          (set-scope-body! scope #f)
          (set-task-interruptions! task (%remove-waiter scope (task-interruptions task))))))

    ;; Calls a procedure, and returns as well when the failure of a task interrupts it.
    (define (call-interruptibly scope thunk)
      (call-with-escape-continuation
       (lambda (return)
         (with-exception-handler
           (lambda (object)
             (if (and (scope-notice scope) (eq? object (scope-notice scope)))
                 (return #f)
                 (raise-continuable object)))
           (lambda ()
             (parameterize ((current-scope scope)) (thunk)))))))

    ;; Waits until no task of the scope is left.
    (define (wait-for-scope scope)
      (if (> (scope-count scope) 0)
          (let ((wake
                 (%park scope
                        (lambda (waiter)
                          (%with-lock scope
                            (if (= (scope-count scope) 0)
                                'settled
                                (begin
                                  (set-scope-waiter! scope waiter)
                                  #f)))))))
            (if (eq? wake 'cancelled)
                (let ((condition (take-interruption!)))
                  (end-tasks! scope)
                  (wait-for-scope scope)
                  (raise condition))))))

    (define (call-with-scope thunk)
      (let* ((outer (current-scope))
             (depth (if outer (+ (scope-depth outer) 1) 0))
             (scope (make-scope #f depth 0 #f #f (make-queue) #f #f #f #f))
             (normal? #f))
        (dynamic-wind
         (lambda () (enter-body! scope))
         (lambda ()
           (let ((result (call-interruptibly scope thunk)))
             (leave-body! scope)
             (wait-for-scope scope)
             (set! normal? #t)
             (if (scope-failure scope)
                 (raise (car (scope-failure scope)))
                 result)))
         (lambda ()
           (if (not normal?)
               (begin
                 (leave-body! scope)
                 (end-tasks! scope)
                 (wait-for-scope scope)))))))

    ;; Evaluates the body and waits for all tasks that were started in it, by whomever. If one of
    ;; them raises, the others are cancelled, what the body waits for as well, and the form raises
    ;; the same.
    (define-syntax with-tasks
      (syntax-rules ()
        ((_ body0 body ...)
         (call-with-scope (lambda () body0 body ...)))))

    ;; Tasks that are started in the body belong to no scope.
    (define-syntax without-scope
      (syntax-rules ()
        ((_ body0 body ...)
         (parameterize ((current-scope #f)) body0 body ...))))

    (define no-default (list 'no-default))

    ;; Calls a procedure in a task of its own; gives its value, or `default` after so many seconds,
    ;; when the task is cancelled.
    (define* (call-with-timeout seconds thunk #:key (default no-default))
      (let ((patience (nanoseconds 'call-with-timeout 1 seconds)))
        (check-procedure 'call-with-timeout 2 thunk)
        (let* ((task (start-task thunk 'with-timeout #f #f))
               (future (task-future task)))
          (dynamic-wind
           (lambda () #f)
           (lambda ()
             (cond ((settled-within? future patience) (result-of future))
                   ((not (eq? default no-default)) default)
                   (else
                    (raise (%make-condition 'timeout "the time is over" (list seconds)
                                            'call-with-timeout)))))
           (lambda () (cancel! task))))))

    (define-syntax with-timeout
      (syntax-rules ()
        ((_ seconds body0 body ...)
         (call-with-timeout seconds (lambda () body0 body ...)))))

    ;; Combinations.

    ;; A future of what a procedure gives for the value of a future.
    (define (future-then future procedure)
      (future-of 'future-then 1 future)
      (check-procedure 'future-then 2 procedure)
      (spawn (lambda () (procedure (await future)))))

    ;; A future of what a procedure gives for the values of several.
    (define (future-map procedure . futures)
      (check-procedure 'future-map 1 procedure)
      (let loop ((rest futures) (position 2))
        (if (pair? rest)
            (begin
              (future-of 'future-map position (car rest))
              (loop (cdr rest) (+ position 1)))))
      (spawn (lambda () (%apply procedure (map await futures)))))

    ;; The plain futures of a list of them.
    (define (plain-futures who futures)
      (check-argument who 1 list? "list of futures" futures)
      (map (lambda (future) (future-of who 1 future)) futures))

    ;; Calls `done` with each future once it is settled, in some task or at once, until a result is:
    ;; then nothing of this is left in the others.
    (define (when-each-settled futures result done)
      (define (tell future)
        (done future)
        (if (not (pending? result))
            (drop-all)))
      (define entries
        (map (lambda (future) (make-entry #f (lambda () (tell future)))) futures))
      (define (drop-all)
        (for-each drop-entry! futures entries))
      ;; What becomes of those that come too late is of no interest.
      (for-each (lambda (future) (set-future-observed! future #t)) futures)
      (for-each (lambda (future entry)
                  (if (and (pending? result)
                           (not (add-entry! future entry)))
                      (tell future)))
                futures entries)
      ;; Somebody may have settled the result while entries were added.
      (if (not (pending? result))
          (drop-all)))

    ;; A future of the list of all values; the first one to be rejected rejects it.
    (define (future-all futures)
      (let* ((plain (plain-futures 'future-all futures))
             (result (make-future))
             (left (make-counter #f (length plain))))
        (if (null? plain)
            (settle! result 'value '()))
        (when-each-settled plain result
                           (lambda (future)
                             (if (eq? (future-state future) 'value)
                                 (if (= (count-down! left) 0)
                                     (settle! result 'value (map future-value plain)))
                                 (settle! result 'error (future-value future)))))
        result))

    (define-record-type counter
      (make-counter %lock count)
      counter?
      (%lock counter-lock)
      (count counter-count set-counter-count!))

    (define (count-down! counter)
      (%with-lock counter
        (set-counter-count! counter (- (counter-count counter) 1))
        (counter-count counter)))

    (define (reject-empty! who futures result)
      (if (null? futures)
          (settle! result 'error
                   (%make-condition 'error "there is no future to wait for" '() who))))

    ;; A future of the first value; rejected with the last rejection if there is none.
    (define (future-any futures)
      (let* ((plain (plain-futures 'future-any futures))
             (result (make-future))
             (left (make-counter #f (length plain))))
        (reject-empty! 'future-any plain result)
        (when-each-settled plain result
                           (lambda (future)
                             (if (eq? (future-state future) 'value)
                                 (settle! result 'value (future-value future))
                                 (if (= (count-down! left) 0)
                                     (settle! result 'error (future-value future))))))
        result))

    ;; A future of what the first one to be settled gives or raises.
    (define (future-race futures)
      (let ((plain (plain-futures 'future-race futures))
            (result (make-future)))
        (reject-empty! 'future-race plain result)
        (when-each-settled plain result
                           (lambda (future)
                             (settle! result (future-state future) (future-value future))))
        result))

    ;; An operation on a port or the like has returned a ticket in place of waiting; it is done
    ;; again afterwards.
    (define (wait-for-operation ticket)
      (%ticket-over! ticket (wait-for-ticket 'io ticket)))

    ;; Looking at tasks.

    ;; All that have not been forgotten, those that have ended among them.
    (define (%all-tasks)
      (%live-instances task))

    (define (%task-number task)
      (task-number task))

    (define (%task-continuation task)
      (task-continuation task))

    ;; Whether nobody has ended its wait.
    (define (%task-waits? task)
      (let ((waiter (current-waiter task)))
        (and waiter (task-continuation task) (not (waiter-state waiter)))))

    (define (%task-since task)
      (task-since task))

    ;; What a task waits for; the task itself where that is its future.
    (define (%task-waits-for task)
      (let ((why (task-waits-for task)))
        (or (and (plain-future? why) (task-of why (%all-tasks))) why)))

    (define (task-of future tasks)
      (cond ((null? tasks) #f)
            ((eq? (task-future (car tasks)) future) (car tasks))
            (else (task-of future (cdr tasks)))))

    (define (%task-label task)
      (cond ((eq? task main-task) "the main task")
            ((task-name* task)
             (string-append "task " (number->string (task-number task)) " ("
                            (text (task-name* task))
                            ")"))
            (else (string-append "task " (number->string (task-number task))))))

    (define (text name)
      (cond ((symbol? name) (symbol->string name))
            ((string? name) name)
            ((number? name) (number->string name))
            (else "…")))

    ;; What other libraries have tasks wait for: a predicate, what it is called, and a procedure
    ;; that gives the task that has it, or #f.
    (define kinds-of-waits '())

    (define (%describe-waits! predicate name owner)
      (set! kinds-of-waits (cons (vector predicate name owner) kinds-of-waits)))

    (define (kind-of-wait why)
      (let loop ((kinds kinds-of-waits))
        (cond ((null? kinds) #f)
              (((vector-ref (car kinds) 0) why) (car kinds))
              (else (loop (cdr kinds))))))

    ;; What is waited for, as a text, and the task that could end the wait, or #f.
    (define (describe-wait why)
      (cond ((task? why) (cons (%task-label why) why))
            ((plain-future? why) (cons "a future that is no task's" #f))
            ((scope? why)
             (let ((tasks (queue-items (scope-tasks why))))
               (if (pair? tasks)
                   (cons (string-append "the tasks of a scope, one of which is "
                                        (%task-label (car tasks)))
                         (car tasks))
                   (cons "the tasks of a scope" #f))))
            ((kind-of-wait why)
             => (lambda (kind)
                  (let ((owner ((vector-ref kind 2) why)))
                    (cons (if (task? owner)
                              (string-append (vector-ref kind 1) " that " (%task-label owner)
                                             " has")
                              (vector-ref kind 1))
                          (and (task? owner) owner)))))
            ((eq? why 'sleep) (cons "a point in time" #f))
            ((eq? why 'io) (cons "input or output" #f))
            ((eq? why 'select) (cons "one of several channels" #f))
            (else (cons "something" #f))))

    ;; What is waited for, as a text.
    (define (%describe-wait why)
      (car (describe-wait why)))

    ;; A text that says which task waits for what: from the main task on, up to the one that waits
    ;; for one of the others again.
    (define (waits-from task)
      (let loop ((task task) (seen '()) (so-far ""))
        (let* ((described (describe-wait (%task-waits-for task)))
               (now (string-append so-far (%task-label task) " waits for " (car described)))
               (next (cdr described)))
          (if (and next (not (memq next (cons task seen))))
              (loop next (cons task seen) (string-append now ", "))
              now))))

    (define (deadlock)
      (%make-condition 'deadlock
                       (string-append "all tasks wait for each other: " (waits-from main-task))
                       '() #f))

    ;; What the wait of the main task ends with, in place of a cancellation.
    (define main-notice #f)

    ;; Ends the wait of the main task while its thread is idle; the thread runs no task, and serves
    ;; afterwards.
    (define (end-wait-of-main! condition)
      (set! main-notice condition)
      (set-task-cancelled! main-task 'asked)
      (%wake! (current-waiter main-task) 'cancelled)
      (%serve))

    (%set-idle-procedures!
     (lambda () (end-wait-of-main! (deadlock)))
     (lambda () (end-wait-of-main! (%make-condition 'interrupt "interrupted" '() #f))))
    (%begin-tasks! (lambda () (%serve)) wait-for-operation
                   (lambda (unused) (%raise-if-interrupted)))
    (%set-failure-procedure! report-failures)
    (%set-preempt-procedure! give-way)
    (%set-current-task! main-task)))
