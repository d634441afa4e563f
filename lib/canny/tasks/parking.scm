;;; Part of (canny tasks): how a task waits and is woken, and how cancelling it ends its wait.
;;;
;;; Each wait has a *waiter*, a record that everything gets that can end the wait. That may be a
;;; future, a timer, a channel, a task that cancels this one. The first event to claim it wakes
;;; the task and gives it a value; later ones find it claimed and do nothing. A task that waits
;;; puts its continuation into its record first. So it may be woken, and resume elsewhere, before
;;; its thread has finished parking it.
;;;
;;; The task of the main program ends a wait as well when its thread is idle. It ends with the
;;; condition that no task can run any more, or with an interrupt.

;; Parks the current task. `(publish waiter)` hands the waiter to the objects that may end the
;; wait. It returns #f, or the result of the wait if there is one at once, and must not raise.
;; Returns the value that the task is woken with: the symbol `cancelled` if it was cancelled.
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
           ;; A task that has the waiter already may have been faster.
           (if (and at-once (%claim! waiter))
               (begin
                 (set-task-continuation! task #f)
                 (%set-current-task! task)
                 at-once)
               (%serve))))))))

;; Makes the waiter known to tasks that cancel this one. Whether it was cancelled before.
(define (announce! task waiter why)
  (%with-lock task
    (if (interrupted? task)
        #t
        (begin
          (set-current-waiter! task waiter)
          (set-task-waits-for! task why)
          (set-task-since! task (%recent-jiffy))
          #f))))

;; Wakes a waiter with a value, unless it was claimed before; whether it did.
(define (%wake! waiter value)
  (if (%claim! waiter)
      (begin
        (set-waiter-value! waiter value)
        (%make-ready! waiter #f)
        #t)
      #f))

;; The same, but the task runs on this worker when nothing else is ready there: no worker is
;; woken for it.
(define (%call-standby! waiter value)
  (if (%claim! waiter)
      (begin
        (set-waiter-value! waiter value)
        (%hand-over! waiter)
        #t)
      #f))

;; Whether a task was cancelled and has not raised that yet.
(define (is-cancelled? task)
  (let ((cancelled (task-cancelled task)))
    (or (eq? cancelled 'asked) (eq? cancelled 'forced))))

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

;; The condition that the current task is to raise. It is raised once, so that winders can wait.
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

;; Lets other tasks run first. It raises only if the task is forced to end, a handler takes
;; that, and no procedure of the library was interrupted. Such a procedure may be in the
;; middle of something.
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

;; Waits with a ticket; returns its result.
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

;; The condition that ends the wait of the main task, in place of a cancellation.
(define main-notice #f)

;; Ends the wait of the main task while its thread is idle; the thread runs no task, and serves
;; afterwards.
(define (end-wait-of-main! condition)
  (set! main-notice condition)
  (set-task-cancelled! main-task 'asked)
  (%wake! (current-waiter main-task) 'cancelled)
  (%serve))
