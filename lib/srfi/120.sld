;;; (srfi 120): timer APIs.
;;;
;;; A timer runs its tasks one after the other; different timers run beside each other. Each task of
;;; a timer has a task of `(canny tasks)`, which waits until it is due and then goes through the
;;; timer's gate.
;;;
;;; A periodic task keeps to the grid of its period.  An identifier is an exact integer.

(define-library (srfi 120)
  (export make-timer timer? timer-cancel! timer-schedule! timer-reschedule! timer-task-remove!
          timer-task-exists? make-timer-delta timer-delta?)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny tasks)
          (canny machine arguments)
          (only (canny data lists) for-each)
          (only (canny supplies streams) make-gate call-through-gate))
  (begin

    ;; `jobs` are the jobs that are scheduled; `failure` is #f, or a list of the object that stopped
    ;; the timer.
    (define-record-type timer
      (new-timer lock gate handler jobs next failure stopped)
      timer?
      (lock timer-lock)
      (gate timer-gate)
      (handler timer-handler)
      (jobs timer-jobs set-timer-jobs!)
      (next timer-next set-timer-next!)
      (failure timer-failure set-timer-failure!)
      (stopped timer-stopped set-timer-stopped!))

    (define-record-type job
      (make-job number thunk task)
      job?
      (number job-number)
      (thunk job-thunk)
      (task job-task set-job-task!))

    ;; A length of time, in nanoseconds.
    (define-record-type timer-delta
      (new-delta nanoseconds)
      timer-delta?
      (nanoseconds delta-nanoseconds))

    (define (make-timer-delta n unit)
      (check-argument 'make-timer-delta 1 exact-integer? "exact integer" n)
      (new-delta (* n (case unit
                        ((h) 3600000000000)
                        ((m) 60000000000)
                        ((s) 1000000000)
                        ((ms) 1000000)
                        ((us) 1000)
                        ((ns) 1)
                        (else (%type-error 'make-timer-delta 2
                                           "unit of time: h, m, s, ms, us or ns" unit))))))

    (define (make-timer . handler)
      (let ((handler (and (pair? handler) (car handler))))
        (if handler (check-procedure 'make-timer 1 handler))
        (new-timer #f (make-gate) handler '() 1 #f #f)))

    (define (check-timer who object)
      (check-argument who 1 timer? "timer" object))

    ;; Nanoseconds of a number of milliseconds or a delta.
    (define (span who position object)
      (cond ((exact-nonnegative-integer? object) (* object 1000000))
            ((and (timer-delta? object) (>= (delta-nanoseconds object) 0))
             (delta-nanoseconds object))
            (else
             (%type-error who position
                          "number of milliseconds that is not negative, or timer delta" object))))

    (define (period-of who position rest)
      (if (and (pair? rest) (car rest))
          (span who position (car rest))
          0))

    ;; Adds a job with that number, or #f for the next one, and starts it; gives the number.
    (define (add-job! timer number thunk when period)
      (let* ((job
              (%with-lock timer
                (let ((job (make-job (or number (timer-next timer)) thunk #f)))
                  (set-timer-jobs! timer (cons job (timer-jobs timer)))
                  (if (not number)
                      (set-timer-next! timer (+ (timer-next timer) 1)))
                  job)))
             (begin-of-grid (+ (%clock-nanoseconds clock/monotonic) when)))
        (set-job-task! job
                       (without-scope
                        (spawn (lambda () (run-job timer job begin-of-grid period))
                               #:name 'timer)))
        (job-number job)))

    (define (scheduled? timer job)
      (and (not (timer-stopped timer))
           (memq job (timer-jobs timer))))

    (define (run-job timer job begin-of-grid period)
      (let loop ((due begin-of-grid))
        (let ((left (- due (%clock-nanoseconds clock/monotonic))))
          (if (> left 0)
              (sleep (/ left 1000000000))))
        (call-through-gate
         (timer-gate timer)
         (lambda ()
           (if (scheduled? timer job)
               (begin
                 (if (= period 0)
                     (drop-job! timer job))
                 (call-job timer job)))))
        (if (and (> period 0) (scheduled? timer job))
            (let ((passed (quotient (- (%clock-nanoseconds clock/monotonic) begin-of-grid) period)))
              (loop (max (+ due period) (+ begin-of-grid (* passed period))))))))

    (define (call-job timer job)
      (guard (object ((not (own-end? job object)) (stop-with! timer object)))
        (if (timer-handler timer)
            (guard (object ((not (own-end? job object)) ((timer-handler timer) object)))
              ((job-thunk job)))
            ((job-thunk job)))))

    ;; Whether a job ends because it was removed.
    (define (own-end? job object)
      (cancelled-error? object))

    (define (stop-with! timer object)
      (%with-lock timer
        (if (not (timer-failure timer))
            (set-timer-failure! timer (list object))))
      (stop! timer))

    (define (stop! timer)
      (let ((jobs (%with-lock timer
                    (let ((jobs (timer-jobs timer)))
                      (set-timer-stopped! timer #t)
                      (set-timer-jobs! timer '())
                      jobs))))
        (for-each cancel-job! jobs)))

    ;; A job that ends itself, from its thunk, continues to the end of that.
    (define (cancel-job! job)
      (let ((task (job-task job)))
        (if (and task (not (eq? task (current-task))))
            (cancel! task))))

    (define (drop-job! timer job)
      (%with-lock timer
        (set-timer-jobs! timer (%remove-waiter job (timer-jobs timer)))))

    ;; The job with a number, or #f.
    (define (find-job timer number)
      (let loop ((jobs (timer-jobs timer)))
        (cond ((null? jobs) #f)
              ((eqv? (job-number (car jobs)) number) (car jobs))
              (else (loop (cdr jobs))))))

    (define (check-running who timer)
      (check-timer who timer)
      (if (timer-stopped timer)
          (%range-error who 1 "the timer has stopped" timer)))

    ;; Stops a timer; raises what an error of a task has left.
    (define (timer-cancel! timer)
      (check-timer 'timer-cancel! timer)
      (stop! timer)
      (let ((failure (%with-lock timer
                       (let ((failure (timer-failure timer)))
                         (set-timer-failure! timer #f)
                         failure))))
        (if failure
            (raise (car failure)))
        timer))

    (define (timer-schedule! timer thunk when . period)
      (check-running 'timer-schedule! timer)
      (check-procedure 'timer-schedule! 2 thunk)
      (let* ((when (span 'timer-schedule! 3 when))
             (period (period-of 'timer-schedule! 4 period)))
        (add-job! timer #f thunk when period)))

    (define (timer-reschedule! timer number when . period)
      (check-running 'timer-reschedule! timer)
      (let* ((when (span 'timer-reschedule! 3 when))
             (period (period-of 'timer-reschedule! 4 period))
             (job (find-job timer number)))
        (if (not job)
            (%range-error 'timer-reschedule! 2 "there is no such task" number))
        (drop-job! timer job)
        (cancel-job! job)
        (add-job! timer number (job-thunk job) when period)))

    (define (timer-task-remove! timer number)
      (check-timer 'timer-task-remove! timer)
      (let ((job (find-job timer number)))
        (if job
            (begin
              (drop-job! timer job)
              (cancel-job! job)
              #t)
            #f)))

    (define (timer-task-exists? timer number)
      (check-timer 'timer-task-exists? timer)
      (if (find-job timer number) #t #f))))
