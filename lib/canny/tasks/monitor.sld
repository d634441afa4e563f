;;; (canny tasks monitor): a list of the tasks and their waits, and the state of the pool of
;;; threads.

(define-library (canny tasks monitor)
  (export all-tasks task-number task-state task-waits-for task-waiting-time task-backtrace
          write-tasks pool-statistics trace-pool!)
  (import (scheme base) (scheme write) (only (scheme time) current-jiffy jiffies-per-second)
          (only (canny primitives) %frames-of %pool-statistics %trace-pool!)
          (only (canny base) filter list-sort define*) (canny machine arguments) (canny tasks))
  (begin

    ;; Tasks that have not ended, the oldest first.
    (define (all-tasks)
      (list-sort (lambda (one other) (< (%task-number one) (%task-number other)))
                 (filter (lambda (task) (not (future-done? task))) (%all-tasks))))

    ;; The main task has number 0; later tasks have greater ones.
    (define (task-number task)
      (check-argument 'task-number 1 task? "task" task)
      (%task-number task))

    ;; `running`, `ready`, `waiting` or `ended`.
    (define (task-state task)
      (check-argument 'task-state 1 task? "task" task)
      (state-of task))

    (define (state-of task)
      (cond ((future-done? task) 'ended)
            ((not (%task-continuation task)) 'running)
            ((%task-waits? task) 'waiting)
            (else 'ready)))

    ;; The object that a task waits for. It is another task or future, a lock, a channel, or the
    ;; symbol `sleep` or `io`; #f if it does not wait.
    (define (task-waits-for task)
      (and (eq? (task-state task) 'waiting)
           (%task-waits-for task)))

    ;; Seconds for which it has waited; #f if it does not.
    (define (task-waiting-time task)
      (and (eq? (task-state task) 'waiting)
           (seconds-of-wait task)))

    (define (seconds-of-wait task)
      (inexact (/ (- (current-jiffy) (%task-since task)) (jiffies-per-second))))

    (define default-frames 8)

    ;; The place where a task waits, or resumes when it gets a thread: texts, the newest frame
    ;; first, without those of the library. The list is empty for a task that runs or has not begun.
    (define* (task-backtrace task #:optional (frames default-frames))
      (check-argument 'task-backtrace 1 task? "task" task)
      (check-index 'task-backtrace 2 frames)
      (%frames-of (%task-continuation task) frames))

    ;; A line for each task, and below it its backtrace if `#:backtraces` is true.
    (define* (write-tasks #:optional (port (current-output-port)) #:key (backtraces #f))
      (for-each (lambda (task) (write-task task port backtraces)) (all-tasks)))

    (define (write-task task port backtraces?)
      (let ((state (state-of task)))
        (write-string (%task-label task) port)
        (write-string ": " port)
        (write-string (symbol->string state) port)
        (if (eq? state 'waiting)
            (begin
              (write-string " for " port)
              (write-string (%describe-wait (%task-waits-for task)) port)
              (write-string ", " port)
              (write (/ (round (* 1000 (seconds-of-wait task))) 1000) port)
              (write-string " s so far" port)))
        (newline port)
        (if backtraces?
            (for-each (lambda (frame)
                        (write-string "  in " port)
                        (write-string frame port)
                        (newline port))
                      (task-backtrace task)))))

    ;; Numbers about the workers and the queued work, by name.
    (define (pool-statistics)
      (%pool-statistics))

    ;; Switches messages on standard error on or off: why each worker starts and ends.
    (define (trace-pool! on?)
      (%trace-pool! on?))))
