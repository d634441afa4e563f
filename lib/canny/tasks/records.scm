;;; Part of (canny tasks): the records of tasks, waits, futures and scopes, and how they are locked.
;;;
;;; | record | its fields are changed by | under |
;;; |---|---|---|
;;; | waiter | the event that claims it | the claim |
;;; | task: continuation | the task that parks, the thread that resumes it | one has it at a time |
;;; | task: waiter, cancelled, interruptions | the task, a task that cancels it | lock of the task |
;;; | future, entries of its queue | the task that settles it, waiting tasks | lock of the future |
;;; | scope, entries of its tasks | its tasks, the task that opened it | lock of the scope |
;;; | scope: owner, body? | the task that opened it | lock of that task |
;;;
;;; The machine knows the first fields of waiters and tasks; the rows of protocols say which. While
;;; `(%current-task)` is #f, as in the middle of parking, and under a lock, the thread does not
;;; switch to another task. Code under a lock neither raises nor waits.

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
  ;; #f; `asked`; `forced` if it is to raise that wherever it is; `told` once it has raised
  ;; it or has ended.
  (cancelled task-cancelled set-task-cancelled!)
  ;; The scopes whose failure is to interrupt what the task waits for, the innermost first.
  (interruptions task-interruptions set-task-interruptions!)
  (future task-future)
  (number task-number)
  (name task-name*)
  (waits-for task-waits-for set-task-waits-for!)
  (since task-since set-task-since!)
  ;; #f, or a procedure that ends the operation that the task is in the middle of and that is no
  ;; wait.
  (interrupter task-interrupter set-task-interrupter!)
  ;; Whether it is cancelled because its time is over.
  (expired task-expired set-task-expired!)
  ;; The scope whose task it is, or #f, and its entry there.
  (scope task-scope)
  (entry task-entry set-task-entry!)
  ;; #f, or a procedure that is called with the object when a failure ends the task, in the
  ;; task.
  (abandon task-abandon %set-abandon!))

(define (make-task continuation parameters lane account future name scope)
  (new-task #f continuation parameters lane account #f #f '() future (%new-task-number) name
            #f #f #f #f scope #f #f))

;; The state is `pending`, `value` or `error`. The queue, #f until a task waits, has entries of
;; waiters, and ones whose tag is a procedure to call. A future is observed once its failure was
;; raised in a task or reported.
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

;; Scopes: the tasks that must have ended when the scope does.
(define-record-type scope
  (make-scope %lock depth count failure ending tasks waiter owner body? notice)
  scope?
  (%lock scope-lock)
  ;; How many scopes are around it.
  (depth scope-depth)
  (count scope-count set-scope-count!)
  ;; A list of the object that the first task to fail has raised, or #f.
  (failure scope-failure set-scope-failure!)
  ;; Whether its tasks are cancelled, and those that start later.
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

;; All task records that the collector has not freed, those of ended tasks among them.
(define (%all-tasks)
  (%live-instances task))
