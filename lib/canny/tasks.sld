;;; (canny tasks): tasks, futures, waiting for them.
;;;
;;; A task runs a procedure beside its starter, on any of the threads of the pool.  What it gives, or raises, is found in
;;; its future.  `await` waits for a future and holds up nobody else: the task that waits is put away and its thread takes
;;; up another one.
;;;
;;;     (let ((a (start (fetch "one")))
;;;           (b (start (fetch "two"))))
;;;       (list (await a) (await b)))
;;;
;;; How a wait works.  Each wait has a *waiter*, a record that whoever can end the wait gets to know: a future, a timer, a
;;; channel, somebody who cancels the task.  The first one to claim it wakes the task and says with what; to all others it
;;; is of no interest any more.  A task that waits has put its continuation into its record first, so that it may be
;;; woken, and go on elsewhere, before its thread has finished putting it away.
;;;
;;; | record | its fields are changed by | under |
;;; |---|---|---|
;;; | waiter | whoever claims it | the claim |
;;; | task: continuation | the task that puts itself away, the thread that takes it up | there is one at a time |
;;; | task: waiter, cancelled | the task, whoever cancels it | the lock of the task |
;;; | future | the task that settles it, those that wait | the lock of the future |
;;;
;;; The machine knows the first fields of waiters and tasks; the file of primitive rows `tasks` says which.  While
;;; `(%current-task)` is #f, as in the middle of putting a task away, and under a lock, the thread is not given to
;;; another task.  Under a lock nothing is called that could raise or wait.

(define-library (canny tasks)
  (export start spawn task? current-task task-name yield sleep
          await await/default future? make-future future-done? future-resolve! future-reject!
          future-then future-map future-all future-any future-race
          cancel! cancelled-error? with-timeout
          with-tasks without-scope
          deadlock-error?
          ;; For libraries of other ways to wait.
          %park %wake! %waiter-task %check-cancelled %remove-waiter %with-lock %observe!)
  (import (canny primitives) (canny syntax) (canny control) (canny lists)
          (only (canny posix) timeout-error? condition-of-kind?) (canny arguments))
  (begin

    (define-record-type waiter
      (make-waiter state task value)
      waiter?
      (state waiter-state)
      (task waiter-task)
      (value waiter-value set-waiter-value!))

    (define-record-type task
      (make-task lock continuation parameters lane waiter cancelled future name waits-for since)
      task?
      (lock task-lock)
      (continuation task-continuation set-task-continuation!)
      (parameters task-parameters)
      (lane task-lane)
      (waiter current-waiter set-current-waiter!)
      ;; #f, `asked`, or `told` once the task has raised it.
      (cancelled task-cancelled set-task-cancelled!)
      (future task-future)
      (name task-name)
      (waits-for task-waits-for set-task-waits-for!)
      (since task-since set-task-since!))

    ;; The state is `pending`, `value` or `error`; the waiters are a list of waiters and of procedures.  It is observed once
    ;; somebody got to know of its failure.
    (define-record-type future
      (make-future-record lock state value waiters observed)
      plain-future?
      (lock future-lock)
      (state future-state set-future-state!)
      (value future-value set-future-value!)
      (waiters future-waiters set-future-waiters!)
      (observed future-observed set-future-observed!))

    (define (%waiter-task waiter)
      (waiter-task waiter))

    ;; The task of the main program, made when this library is loaded.
    (define main-task
      (make-task #f #f '() (%worker) #f #f (make-future-record #f 'pending #f '() #f) 'main #f #f))

    (define (current-task)
      (%current-task))

    (define-syntax %with-lock
      (syntax-rules ()
        ((_ record body0 body ...)
         (begin
           (%lock! record)
           (let ((result (let () body0 body ...)))
             (%unlock! record)
             result)))))

    ;; Waiting.

    ;; Puts the current task away and has `(publish waiter)` tell those who may end the wait.  That gives #f, or else what
    ;; the wait gives at once.  It must not raise.  Gives what the task is woken with: the
    ;; symbol `cancelled` when that is why.
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
               ;; Somebody who was told may have been faster.
               (if (and at-once (%claim! waiter))
                   (begin
                     (set-task-continuation! task #f)
                     (%set-current-task! task)
                     at-once)
                   (%serve))))))))

    ;; Lets those who cancel the task find its waiter.  Whether it was cancelled before.
    (define (announce! task waiter why)
      (%with-lock task
        (if (eq? (task-cancelled task) 'asked)
            #t
            (begin
              (set-current-waiter! task waiter)
              (set-task-waits-for! task why)
              #f))))

    ;; Wakes a waiter with a value, unless somebody else has done so; whether it did.
    (define (%wake! waiter value)
      (if (%claim! waiter)
          (begin
            (set-waiter-value! waiter value)
            (%make-ready! waiter #f)
            #t)
          #f))

    ;; Ends a wait that was cancelled by raising that in the task.
    (define (%check-cancelled value)
      (if (eq? value 'cancelled)
          (raise-cancelled)
          value))

    (define (raise-cancelled)
      (set-task-cancelled! (%current-task) 'told)
      (raise (%make-condition 'cancelled "the task was cancelled" '() #f)))

    (define (cancelled-error? object)
      (condition-of-kind? object 'cancelled))

    (define (deadlock-error? object)
      (condition-of-kind? object 'deadlock))

    (define (%remove-waiter waiter list)
      (cond ((null? list) '())
            ((eq? (car list) waiter) (cdr list))
            (else (cons (car list) (%remove-waiter waiter (cdr list))))))

    ;; Lets others run first; a task that was preempted goes on without learning that it was cancelled.
    (define (give-way)
      (let ((task (%current-task))
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
              (%set-expired! expired)))))

    (define (yield)
      (give-way)
      (if (eq? (task-cancelled (%current-task)) 'asked)
          (raise-cancelled)))

    ;; Nanoseconds of a number of seconds, rounded up.
    (define (nanoseconds who position seconds)
      (if (not (and (real? seconds) (>= seconds 0)))
          (%type-error who position "number of seconds that is not negative" seconds))
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

    (define (make-future)
      (make-future-record #f 'pending #f '() #f))

    (define (future? object)
      (or (task? object) (plain-future? object)))

    (define (future-of who position object)
      (cond ((plain-future? object) object)
            ((task? object) (task-future object))
            (else (%type-error who position "future" object))))

    (define (future-done? object)
      (not (eq? (future-state (future-of 'future-done? 1 object)) 'pending)))

    ;; Gives a future its value, or what is raised for it; whether it had none.
    (define (settle! future state value)
      (let ((waiters
             (%with-lock future
               (if (eq? (future-state future) 'pending)
                   (let ((waiters (future-waiters future)))
                     (set-future-value! future value)
                     (set-future-state! future state)
                     (set-future-waiters! future '())
                     (if (pair? waiters)
                         (set-future-observed! future #t))
                     waiters)
                   #f))))
        (if waiters
            (begin
              (wake-all! waiters)
              #t)
            #f)))

    ;; Wakes in the order of arrival.
    (define (wake-all! waiters)
      (if (pair? waiters)
          (begin
            (wake-all! (cdr waiters))
            (if (waiter? (car waiters))
                (%wake! (car waiters) 'settled)
                ((car waiters))))))

    (define (future-resolve! future value)
      (if (not (plain-future? future))
          (%type-error 'future-resolve! 1 "future made by make-future" future))
      (settle! future 'value value))

    (define (future-reject! future object)
      (if (not (plain-future? future))
          (%type-error 'future-reject! 1 "future made by make-future" future))
      (settle! future 'error object))

    ;; Adds a waiter or procedure to a future; #f if it is settled, and then does not.
    (define (add-waiter! future waiter)
      (%with-lock future
        (if (eq? (future-state future) 'pending)
            (begin
              (set-future-waiters! future (cons waiter (future-waiters future)))
              #t)
            #f)))

    (define (drop-waiter! future waiter)
      (%with-lock future
        (set-future-waiters! future (%remove-waiter waiter (future-waiters future)))))

    (define (result-of future)
      (if (eq? (future-state future) 'value)
          (future-value future)
          (begin
            (set-future-observed! future #t)
            (raise (future-value future)))))

    ;; Waits until a future is settled, or for so many nanoseconds unless #f; whether it is.
    (define (settled-within? future patience)
      (or (not (eq? (future-state future) 'pending))
          (let* ((ticket (and patience (%arm-timer patience)))
                 (mine #f)
                 (wake
                  (%park future
                         (lambda (waiter)
                           (set! mine waiter)
                           (cond ((not (add-waiter! future waiter)) 'settled)
                                 (ticket (%park-ticket! ticket waiter))
                                 (else #f))))))
            (if (not (eq? wake 'settled))
                (drop-waiter! future mine))
            (if (and ticket (not (eqv? wake 1)))
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
        (if (settled-within? plain (and timeout (nanoseconds 'await "timeout" timeout)))
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
      (make-scope lock count failure tasks waiter)
      scope?
      (lock scope-lock)
      (count scope-count set-scope-count!)
      (failure scope-failure set-scope-failure!)
      (tasks scope-tasks set-scope-tasks!)
      (waiter scope-waiter set-scope-waiter!))

    (define current-scope (make-parameter #f))

    (define* (spawn thunk #:key (name #f))
      (if (not (procedure? thunk))
          (%type-error 'spawn 1 "procedure" thunk))
      (start-task thunk name #f (current-scope)))

    (define (start-task thunk name lane scope)
      (let* ((future (make-future))
             (task (make-task #f #f (%parameters) lane #f #f future name #f #f))
             (waiter (make-waiter #t task #f)))
        (set-task-continuation! task (lambda () (run-task task future thunk scope)))
        (%task-counted! 1)
        (if scope
            (enter-scope! scope task))
        (%make-ready! waiter #f)
        task))

    (define-syntax start
      (syntax-rules ()
        ((_ expression0 expression ...)
         (spawn (lambda () expression0 expression ...)))))

    ;; What a task raises is given to its future by the handlers around everything: when the winders are run, the frames
    ;; of the raise have been noted.
    (define (run-task task future thunk scope)
      (let ((failure
             (call-with-escape-continuation
              (lambda (return)
                (with-exception-handler
                  (lambda (object)
                    (%note-task! object (task-name task))
                    (return (list object)))
                  (lambda ()
                    (if (eq? (task-cancelled task) 'asked)
                        (raise-cancelled))
                    (settle! future 'value (thunk))
                    #f))))))
        (if failure
            (begin
              (if (or scope (cancelled-error? (car failure)))
                  (settle! future 'error (car failure))
                  (settle-failure! future (car failure)))
              (if scope
                  (scope-failed! scope task (car failure))))))
      (if scope
          (leave-scope! scope task))
      (report-lost-failures)
      (%set-current-task! #f)
      (%task-counted! -1)
      (%serve))

    ;; Failures that nobody waits for.  A guardian gives the futures that nobody can wait for any more; the list of weak pairs has
    ;; all, for the end of the program.

    (define-record-type register
      (make-register lock guardian futures)
      register?
      (lock register-lock)
      (guardian register-guardian)
      (futures register-futures set-register-futures!))

    (define failures (make-register #f (%make-guardian) '()))

    (define (keep-failure! future)
      (%with-lock failures
        (%guardian-register! (register-guardian failures) future)
        (set-register-futures! failures (cons (weak-cons future #f) (register-futures failures)))
        #t)
      (report-lost-failures))

    ;; Before it is settled, so that whoever sees its end and ends the program has it told; unless somebody waits, who may
    ;; give up just now.
    (define (settle-failure! future object)
      (let ((alone? (null? (future-waiters future))))
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
          (let loop ((found? #f))
            (let ((future (%with-lock failures
                            (%guardian-next (register-guardian failures) #f))))
              (cond (future
                     (report-failure future)
                     (loop #t))
                    (found?
                     (%with-lock failures
                       (set-register-futures! failures
                                              (unobserved (register-futures failures))))))))))

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
      (let loop ((pairs (%with-lock failures (register-futures failures))))
        (if (pair? pairs)
            (let ((future (weak-car (car pairs))))
              (loop (cdr pairs))
              (if future
                  (report-failure future))))))

    ;; Asks a task to end: what it waits for, or its next wait, raises in it.  #f if it has ended.
    (define (cancel! task)
      (if (not (task? task))
          (%type-error 'cancel! 1 "task" task))
      (let ((waiter
             (%with-lock task
               (if (not (task-cancelled task))
                   (set-task-cancelled! task 'asked))
               (current-waiter task))))
        (if (and waiter (eq? (task-cancelled task) 'asked))
            (%wake! waiter 'cancelled))
        (eq? (future-state (task-future task)) 'pending)))

    ;; Scopes.

    (define (enter-scope! scope task)
      (%with-lock scope
        (set-scope-count! scope (+ (scope-count scope) 1))
        (set-scope-tasks! scope (cons task (scope-tasks scope)))))

    (define (leave-scope! scope task)
      (let ((waiter
             (%with-lock scope
               (set-scope-count! scope (- (scope-count scope) 1))
               (set-scope-tasks! scope (%remove-waiter task (scope-tasks scope)))
               (and (= (scope-count scope) 0) (scope-waiter scope)))))
        (if waiter
            (%wake! waiter 'settled))))

    ;; The first failure of a task ends the others.
    (define (scope-failed! scope task object)
      (if (%with-lock scope
            (if (scope-failure scope)
                #f
                (begin
                  (set-scope-failure! scope (list object))
                  #t)))
          (cancel-all! (%remove-waiter task (scope-tasks scope)))))

    (define (cancel-all! tasks)
      (for-each cancel! tasks))

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
                (begin
                  (cancel-all! (scope-tasks scope))
                  (set-task-cancelled! (%current-task) 'told)
                  (wait-for-scope scope)
                  (raise-cancelled))))))

    (define (call-with-scope thunk)
      (let* ((scope (make-scope #f 0 #f '() #f))
             (normal? #f))
        (dynamic-wind
         (lambda () #f)
         (lambda ()
           (let ((result (parameterize ((current-scope scope)) (thunk))))
             (wait-for-scope scope)
             (set! normal? #t)
             (if (scope-failure scope)
                 (raise (car (scope-failure scope)))
                 result)))
         (lambda ()
           (if (not normal?)
               (begin
                 (cancel-all! (scope-tasks scope))
                 (wait-for-scope scope)))))))

    ;; Evaluates the body and waits for all tasks that were started in it, by whomever.  If one of them raises, the others
    ;; are cancelled and the form raises the same.
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

    ;; Calls a procedure in a task of its own; gives its value, or `default` after so many seconds, when the task is
    ;; cancelled.
    (define* (with-timeout seconds thunk #:key (default no-default))
      (let* ((patience (nanoseconds 'with-timeout 1 seconds))
             (task (start-task thunk 'with-timeout #f #f))
             (future (task-future task)))
        (dynamic-wind
         (lambda () #f)
         (lambda ()
           (cond ((settled-within? future patience) (result-of future))
                 ((not (eq? default no-default)) default)
                 (else
                  (raise (%make-condition 'timeout "the time is over" (list seconds)
                                          'with-timeout)))))
         (lambda () (cancel! task)))))

    ;; Combinations.

    ;; A future of what a procedure gives for the value of a future.
    (define (future-then future procedure)
      (future-of 'future-then 1 future)
      (if (not (procedure? procedure))
          (%type-error 'future-then 2 "procedure" procedure))
      (spawn (lambda () (procedure (await future)))))

    (define (future-map procedure . futures)
      (spawn (lambda () (%apply procedure (map await futures)))))

    ;; Calls `done` with a future once it is settled, in some task or at once.
    (define (when-settled future done)
      (if (not (add-waiter! future (lambda () (done future))))
          (begin
            (set-future-observed! future #t)
            (done future))))

    ;; A future of the list of all values; the first one to be rejected rejects it.
    (define (future-all futures)
      (let* ((plain (map (lambda (future) (future-of 'future-all 1 future)) futures))
             (result (make-future))
             (left (make-counter #f (length plain))))
        (if (null? plain)
            (settle! result 'value '())
            (for-each
             (lambda (future)
               (when-settled future
                             (lambda (future)
                               (if (eq? (future-state future) 'value)
                                   (if (= (count-down! left) 0)
                                       (settle! result 'value (map future-value plain)))
                                   (settle! result 'error (future-value future))))))
             plain))
        result))

    (define-record-type counter
      (make-counter lock count)
      counter?
      (lock counter-lock)
      (count counter-count set-counter-count!))

    (define (count-down! counter)
      (%with-lock counter
        (set-counter-count! counter (- (counter-count counter) 1))
        (counter-count counter)))

    ;; A future of the first value; rejected with the last rejection if there is none.
    (define (future-any futures)
      (let* ((plain (map (lambda (future) (future-of 'future-any 1 future)) futures))
             (result (make-future))
             (left (make-counter #f (length plain))))
        (if (null? plain)
            (settle! result 'error
                     (%make-condition 'error "there is no future" '() 'future-any))
            (for-each
             (lambda (future)
               (when-settled future
                             (lambda (future)
                               (if (eq? (future-state future) 'value)
                                   (settle! result 'value (future-value future))
                                   (if (= (count-down! left) 0)
                                       (settle! result 'error (future-value future)))))))
             plain))
        result))

    ;; A future of what the first one to be settled gives or raises.
    (define (future-race futures)
      (let ((plain (map (lambda (future) (future-of 'future-race 1 future)) futures))
            (result (make-future)))
        (for-each
         (lambda (future)
           (when-settled future
                         (lambda (future)
                           (settle! result (future-state future) (future-value future)))))
         plain)
        result))

    ;; An operation on a port or the like has given up, in place of waiting, for a ticket; it is done again afterwards.
    (define (wait-for-operation ticket)
      (%ticket-over! ticket (wait-for-ticket 'io ticket)))

    (%begin-tasks! (lambda () (%serve)) wait-for-operation)
    (%set-failure-procedure! report-failures)
    (%set-preempt-procedure! give-way)
    (%set-current-task! main-task)))
