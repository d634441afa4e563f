;;; Part of (canny tasks): settling futures, waiting for them, and failures that no task waits for.
;;;
;;; A future is settled once. Those that wait for it have entries in its queue, which are taken out
;;; one after the other under its lock and woken without it. A task's failure that no one has
;;; observed is reported: when the collector finds its future, or when the program ends.

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

;; Whether no task waits for a future.
(define (alone? future)
  (or (not (future-queue future))
      (queue-empty? (future-queue future))))

;; Settles a future with a value, or with an object to raise; whether it was not settled before.
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
    ;; No task adds an entry any more.
    (if (and mine? (future-queue future))
        (begin
          (tell-all! future)
          (set-future-queue! future #f)))
    mine?))

;; Wakes all waiters in the order of their arrival. A task that leaves meanwhile does so under
;; the lock.
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

;; Adds an entry to a future; #f if it is settled, and then adds none.
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

;; Waits until a future is settled, or for so many nanoseconds unless #f; whether it is. The task
;; waits for `why`, the future or its task. Time in which a task stands still in a debugger does
;; not count.
(define (settled-within? why future patience)
  (let ((still (and patience (%stood-still))))
    (or (settled-in-time? why future patience)
        (and still
             (let ((more (- (%stood-still) still)))
               (and (> more 0)
                    (settled-within? why future more)))))))

(define (settled-in-time? why future patience)
  (or (not (pending? future))
      (let* ((ticket (and patience (%arm-timer patience)))
             (entry (make-entry #f #f))
             (wake
              (%park why
                     (lambda (waiter)
                       (set-entry-waiter! entry waiter)
                       ;; The ticket first, so that the task that wakes this one cannot have
                       ;; disarmed it already.
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

;; The value of a future; raises the object that it was rejected with. `timeout` is in seconds.
(define* (await future #:key (timeout #f))
  (check-not-mine 'await future)
  (let ((plain (future-of 'await 1 future)))
    (if (not (or (not timeout) (seconds? timeout)))
        (raise-bad-option 'await "#:timeout" "a number of seconds that is not negative"
                          timeout))
    (if (settled-within? future plain (and timeout (whole-nanoseconds timeout)))
        (result-of plain)
        (raise
         (%make-condition 'timeout "the future has no value in time" (list future) 'await)))))

;; The same, but a default after so many seconds.
(define (await/default future seconds default)
  (check-not-mine 'await/default future)
  (let ((plain (future-of 'await/default 1 future)))
    (if (settled-within? future plain (nanoseconds 'await/default 2 seconds))
        (result-of plain)
        default)))

;; Failures that no task waits for. A guardian returns the futures that no task can wait for any
;; more. The list of weak pairs has all, for the end of the program.

(define-record-type register
  (make-register %lock guardian futures reporters)
  register?
  (%lock register-lock)
  (guardian register-guardian)
  (futures register-futures set-register-futures!)
  ;; How many tasks are reporting failures just now.
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

;; The failure is kept before the future is settled, so that a task that sees the end and ends
;; the program reports it. If a task waits, which may stop just now, it is kept afterwards.
(define (settle-failure! future object)
  (let ((alone? (alone? future)))
    (if (and alone? (not (future-observed future)))
        (keep-failure! future))
    (settle! future 'error object)
    (if (not (or alone? (future-observed future)))
        (keep-failure! future))))

;; Marks the failures of a task as observed: another part of the program handles them.
(define (%observe! task)
  (set-future-observed! (task-future task) #t))

;; Reports the failures that no task can wait for any more.
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
  ;; First the futures that no weak pair has any more.
  (report-lost-failures)
  (await-reporters 1000)
  (let loop ((pairs (%with-lock failures (register-futures failures))))
    (if (pair? pairs)
        (let ((future (weak-car (car pairs))))
          (loop (cdr pairs))
          (if future
              (report-failure future))))))

;; Waits for reports that other tasks are about to make, unless that takes too long.
(define (await-reporters milliseconds)
  (if (and (> (register-reporters failures) 0) (> milliseconds 0))
      (begin
        (sleep 1/1000)
        (await-reporters (- milliseconds 1)))))
