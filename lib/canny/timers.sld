;;; (canny timers): points in time as futures, tasks and supplies.
;;;
;;; Every timer is a task: `cancel!` stops it, `await` waits for it, and a scope waits for those
;;; that were started in it.
;;;
;;; Invariants:
;;; - A repeating timer keeps to the grid of its interval, counted from when it began: its ticks do
;;;   not drift. Missed ticks, of a slow procedure or consumer, become one tick, which comes at
;;;   once.
;;; - An error in the procedure of a repeating timer is reported and ends nothing, unless an option
;;;   says otherwise.
;;; - A point of the calendar is waited for by the clock of the calendar, which may be set
;;;   meanwhile.

(define-library (canny timers)
  (export after every at)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny tasks)
          (canny machine arguments)
          (only (srfi 19) date? date->time-utc time? time-type time-second time-nanosecond
                time-tai->time-utc time-monotonic->time-utc)
          (canny supplies))
  (begin

    (define (check-seconds who position object)
      (if (not (and (real? object) (>= object 0)))
          (%type-error who position "number of seconds that is not negative" object)))

    (define (check-thunk who position object)
      (if object (check-procedure who position object)))

    ;; A task that calls a procedure after so many seconds: its value is that of the procedure.
    (define (after seconds . thunk)
      (check-seconds 'after 1 seconds)
      (let ((thunk (if (pair? thunk) (car thunk) void)))
        (check-procedure 'after 2 thunk)
        (spawn (lambda ()
                 (sleep seconds)
                 (thunk))
               #:name 'after)))

    ;; Calls a procedure with the number of each tick of a grid of nanoseconds, the first one being
    ;; 1, while it gives true.
    (define (for-each-tick interval procedure)
      (let ((start (%clock-nanoseconds clock/monotonic)))
        (let loop ((last 0))
          (let* ((passed (quotient (- (%clock-nanoseconds clock/monotonic) start) interval))
                 (next (if (> passed last) passed (+ last 1)))
                 (left (- (+ start (* next interval)) (%clock-nanoseconds clock/monotonic))))
            (if (> left 0)
                (sleep (/ left 1000000000)))
            (if (procedure next)
                (loop next))))))

    ;; A supply of the ticks of an interval: the number of intervals that have passed since it was
    ;; tapped. With a procedure, a task that calls it with each. `#:on-error` says what becomes of
    ;; an error in it: `report` and continue, `stop`, or a procedure that is called with it.
    (define* (every seconds #:optional (procedure #f) #:key (on-error 'report))
      (check-seconds 'every 1 seconds)
      (check-thunk 'every 2 procedure)
      (if (not (or (memq on-error '(report stop)) (procedure? on-error)))
          (raise (%make-condition 'type "#:on-error is not report, stop or a procedure"
                                  (list on-error)
                                  'every)))
      (let ((interval (exact (ceiling (* seconds 1000000000)))))
        (if (= interval 0)
            (%range-error 'every 1 "the interval must not be zero" seconds))
        (if procedure
            (spawn (lambda ()
                     (for-each-tick interval
                                    (lambda (tick)
                                      (call-reporting on-error (lambda () (procedure tick)))
                                      #t)))
                   #:name 'every)
            (on-demand-supply (lambda (emit) (for-each-tick interval emit))))))

    (define (call-reporting on-error thunk)
      (if (eq? on-error 'stop)
          (thunk)
          (guard (object ((not (cancelled-error? object))
                          (if (eq? on-error 'report)
                              (report object)
                              (on-error object))))
            (thunk))))

    (define (report object)
      (let ((port (current-error-port)))
        (write-string (string-append "error in a timer: " (condition->string object) "\n") port)
        (flush-output-port port)))

    ;; A task that calls a procedure at a point in time. That is a number of seconds on the
    ;; clock of `current-second`, or a date or time of `(srfi 19)`. A time in the past means
    ;; now.
    (define (at when . thunk)
      (let ((due (calendar-nanoseconds when))
            (thunk (if (pair? thunk) (car thunk) void)))
        (check-procedure 'at 2 thunk)
        (spawn (lambda ()
                 (let loop ()
                   (let ((left (- due (%clock-nanoseconds clock/realtime))))
                     (if (> left 0)
                         (begin
                           (sleep (min (/ left 1000000000) longest-sleep))
                           (loop)))))
                 (thunk))
               #:name 'at)))

    ;; So many seconds after the clock was set, a timer knows of it.
    (define longest-sleep 30)

    (define (calendar-nanoseconds when)
      (cond ((and (real? when) (< -1e12 when 1e12))
             (- (exact (ceiling (* when 1000000000))) (leap-nanoseconds)))
            ((date? when) (time-nanoseconds (date->time-utc when)))
            ((time? when)
             (case (time-type when)
               ((time-utc) (time-nanoseconds when))
               ((time-tai) (time-nanoseconds (time-tai->time-utc when)))
               ((time-monotonic) (time-nanoseconds (time-monotonic->time-utc when)))
               (else (%type-error 'at 1 "point in time" when))))
            (else (%type-error 'at 1 "number of seconds, date or time" when))))

    ;; The whole seconds by which the clock of `current-second` is ahead of the calendar's.
    (define (leap-nanoseconds)
      (* 1000000000
         (exact (round (- (current-second) (/ (%clock-nanoseconds clock/realtime) 1000000000))))))

    (define (time-nanoseconds time)
      (+ (* (time-second time) 1000000000) (time-nanosecond time)))))
