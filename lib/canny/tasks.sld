;;; (canny tasks): tasks, futures, waiting for them.
;;;
;;; A task runs a procedure beside its starter, on any of the threads of the pool. Its result, or
;;; the object that it raises, settles its future. `await` waits for a future and blocks no other
;;; task: the waiting task is parked and its thread resumes another one.
;;;
;;;     (let ((a (start (fetch "one")))
;;;           (b (start (fetch "two"))))
;;;       (list (await a) (await b)))
;;;
;;; This file has tasks, scopes and combinations of futures. It includes `tasks/records.scm`, with
;;; the table of locks, `tasks/parking.scm`, which says how a wait works, `tasks/futures.scm` and
;;; `tasks/descriptions.scm`.
;;;
;;; A cancelled task raises a condition where it waits. One that computes is *forced* after a while:
;;; it raises when it is preempted, wherever that is. Code that must run to its end even so is in a
;;; critical section.

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
          ;; For libraries that inspect tasks.
          %all-tasks %task-number %task-label %task-continuation %task-waits? %task-waits-for
          %describe-wait %task-since)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny data lists)
          (canny tasks wait-queues) (only (canny machine posix) timeout-error? condition-of-kind?)
          (canny machine arguments))
  (include "tasks/records.scm" "tasks/parking.scm" "tasks/futures.scm" "tasks/descriptions.scm")
  (begin

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

    ;; Ends a task when its time is over. Time in which a task stands still in a debugger does not
    ;; count.
    (define (expire-after! task patience)
      (let ((still (%stood-still)))
        (wait-for-ticket 'sleep (%arm-timer patience))
        (let ((more (- (%stood-still) still)))
          (if (> more 0)
              (expire-after! task more)
              (begin
                (set-task-expired! task #t)
                (cancel! task))))))

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

    ;; The outermost handlers settle the future of a task that raises: when the winders run, the
    ;; frames of the raise have been noted. A continuation of the task resumes in the task that
    ;; calls it. So another task may return from these frames, and then that task ends.
    (define (run-task task thunk)
      (%end-task
       (call-with-escape-continuation
        (lambda (return)
          (with-exception-handler
            (lambda (object)
              (%note-task! object (task-name* (%current-task)))
              (if (eq? (%current-task) task)
                  (return (list object))
                  ;; The frame to escape to need not be below: a before procedure may have raised on
                  ;; the way.
                  (begin
                    (%rewind '())
                    (%end-task (list object)))))
            (lambda ()
              (if (is-cancelled? task)
                  (raise-cancelled))
              (let ((value (thunk)))
                (if (eq? (%current-task) task)
                    (begin
                      ;; It has ended: all of the following must be done.
                      (%with-lock task
                        (set-task-cancelled! task 'told))
                      (settle! (task-future task) 'value value)
                      #f)
                    (list (%foreign-end task))))))))))

    ;; The error of a task that returned from the frames of another one, by a continuation of that.
    ;; If it ended with that value, the rest of its own work would be lost silently.
    (define (%foreign-end task)
      (%make-condition 'error
                       (string-append "a continuation of " (%task-label task)
                                      " was called in another task, which has come to the end of \
                                       that one and has no value of its own")
                       '() #f))

    ;; Ends the current task; `failure` is a list of the object that it raised, or #f if its future
    ;; is settled.
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

    ;; Whether a task raises an object because it was cancelled, which is no failure of its scope.
    (define (ends-as-cancelled? task object)
      (and (eq? (task-cancelled task) 'told)
           (cancelled-error? object)))

    ;; Cancels a task: its wait, or its next one, raises in it; if it computes for long, it raises
    ;; in the middle of that. Returns #f if the task had ended before.
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

    ;; Registers a procedure that ends an operation of a task that blocks its thread, #f when the
    ;; operation is over. The procedure is called with the task, on any thread, maybe late and
    ;; several times; it neither raises nor waits.
    (define (%set-interrupter! task interrupter)
      (set-task-interrupter! task interrupter))

    (define (interrupt-operation! task)
      (let ((interrupter (task-interrupter task)))
        (if interrupter
            (interrupter task))))

    ;; Raises the condition in the current task that its next wait would raise.
    (define (%raise-if-interrupted)
      (if (interrupted? (%current-task))
          (raise-cancelled)))

    ;; Tasks that were cancelled while they computed and have not reached a wait yet.
    (define-record-type forced-tasks
      (make-forced-tasks %lock tasks)
      forced-tasks?
      (%lock forced-tasks-lock)
      (tasks tasks-to-force set-tasks-to-force!))

    (define cancelled-tasks (make-forced-tasks #f '()))

    ;; Seconds that a task has to reach a wait by itself.
    (define grace 0.05)

    ;; How often a task that does not end is interrupted; it may be in a procedure of the library
    ;; each time, or in foreign code.
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

    ;; Makes the task that runs the body raise when it waits, unless it has left the body or ends
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
                               "a continuation from the body of with-tasks was called in another \
                                task than "
                               (%task-label owner))
                              '() 'with-tasks))))
      (set-scope-owner! scope (%current-task))
      (set-scope-body! scope #t))

    ;; After this the failure of a task interrupts nothing.
    (define (leave-body! scope)
      (let ((task (scope-owner scope)))
        (%with-lock task
          (set-scope-body! scope #f)
          (set-task-interruptions! task (%remove-waiter scope (task-interruptions task))))))

    ;; Calls a procedure; returns as well when the failure of a task interrupts it.
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

    ;; Waits until the scope has no task any more.
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

    ;; Evaluates the body and waits for all tasks that were started in it, by any task. If one of
    ;; them raises, the others and the wait of the body are cancelled, and the form raises the same
    ;; object.
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

    ;; Calls a procedure in a task of its own; returns its value, or `default` after so many
    ;; seconds, and cancels the task then.
    (define* (call-with-timeout seconds thunk #:key (default no-default))
      (let ((patience (nanoseconds 'call-with-timeout 1 seconds)))
        (check-procedure 'call-with-timeout 2 thunk)
        (let* ((task (start-task thunk 'with-timeout #f #f))
               (future (task-future task)))
          (dynamic-wind
           (lambda () #f)
           (lambda ()
             (cond ((settled-within? task future patience) (result-of future))
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

    ;; A future of the result of a procedure at the value of a future.
    (define (future-then future procedure)
      (future-of 'future-then 1 future)
      (check-procedure 'future-then 2 procedure)
      (spawn (lambda () (procedure (await future)))))

    ;; A future of the result of a procedure at the values of several futures.
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

    ;; Calls `done` with each future once it is settled, in some task or at once, until `result` is
    ;; settled. Then the other futures keep no entry of this.
    (define (when-each-settled futures result done)
      (define (tell future)
        (done future)
        (if (not (pending? result))
            (drop-all)))
      (define entries
        (map (lambda (future) (make-entry #f (lambda () (tell future)))) futures))
      (define (drop-all)
        (for-each drop-entry! futures entries))
      ;; Late results are ignored.
      (for-each (lambda (future) (set-future-observed! future #t)) futures)
      (for-each (lambda (future entry)
                  (if (and (pending? result)
                           (not (add-entry! future entry)))
                      (tell future)))
                futures entries)
      ;; Another task may have settled the result while entries were added.
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

    ;; A future that is settled as the first one of several is.
    (define (future-race futures)
      (let ((plain (plain-futures 'future-race futures))
            (result (make-future)))
        (reject-empty! 'future-race plain result)
        (when-each-settled plain result
                           (lambda (future)
                             (settle! result (future-state future) (future-value future))))
        result))

    ;; Waits for an operation on a port or the like that returned a ticket. The operation is called
    ;; again afterwards.
    (define (wait-for-operation ticket)
      (%ticket-over! ticket (wait-for-ticket 'io ticket)))

    (%set-idle-procedures!
     (lambda () (end-wait-of-main! (deadlock)))
     (lambda () (end-wait-of-main! (%make-condition 'interrupt "interrupted" '() #f))))
    (%begin-tasks! (lambda () (%serve)) wait-for-operation
                   (lambda (unused) (%raise-if-interrupted)))
    (%set-failure-procedure! report-failures)
    (%set-preempt-procedure! give-way)
    (%set-profile-task-type! task)
    (%set-current-task! main-task)))
