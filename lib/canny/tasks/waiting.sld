;;; (canny tasks waiting): how tasks wait in queues, for channels and locks.
;;;
;;; A waiting task stands in a queue with an *entry*. A select has one in the queue of each of its
;;; channels, all of them with the same waiter. A task that has an object for a queue takes its
;;; first entry and tries to wake the waiter with it. That fails if the wait has ended in another
;;; way, by another channel, its time limit or a cancellation; then the next entry is tried. So an
;;; object that is handed to an entry is either taken by a waiting task, or still the giver's.
;;;
;;; | shared state | changed by | under |
;;; |---|---|---|
;;; | links, item, `withdrawn` of an entry | its task, a task that hands it an object | the lock |
;;; | waiter of an entry | its task, before the entry is linked | the lock |
;;;
;;; The lock is that of the record that owns the queue.
;;;
;;; If a wait ends while its task is still publishing it, another thread resumes the task and may
;;; withdraw the entry before it is linked. A withdrawn entry is not linked any more.
;;;
;;; Only procedures that say so are called under a lock. They neither raise nor wait.

(define-library (canny tasks waiting)
  (export wake-first! wake-entry! wait-in-queue check-timeout attempt-or-wait wake-all!
          raise-timeout deadline-of patience-left cancelled-condition next-random)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny tasks)
          (canny tasks wait-queues)
          (only (canny machine arguments) raise-bad-option))
  (begin

    ;; To be called under the lock of the queue's owner, both of them.

    ;; Takes an entry out and wakes its waiter with it; whether the wait had not ended yet.
    (define (wake-entry! entry item)
      (unlink! entry)
      (set-entry-item! entry item)
      (%wake! (entry-waiter entry) entry))

    ;; The first entry whose waiter could be woken, with this item; #f if there is none.
    (define (wake-first! queue item)
      (let loop ()
        (if (queue-empty? queue)
            #f
            (let ((entry (queue-first queue)))
              (if (wake-entry! entry item)
                  entry
                  (loop))))))

    ;; Wakes all waiters of a queue that `take-all!` returned, each under the lock for itself, so
    ;; that other tasks get their turn.
    (define (wake-all! record all item)
      (%uninterrupted
       (let loop ()
         (if (%with-lock record
               (wake-first! all item))
             (loop)))))

    ;; Parks the task. `(publish waiter)` makes the waiter known; if there turns out to be nothing
    ;; to wait for, it wakes the waiter itself. It runs in the middle of the switch and must not
    ;; raise. Returns the value that ended the wait, the symbols `timed-out` and `cancelled`
    ;; included; for these `(withdraw)` is called.
    (define (wait-in-queue why patience publish withdraw)
      (if patience
          (let* ((ticket (%arm-timer patience))
                 (wake
                  (%park why
                         (lambda (waiter)
                           ;; First, so that the task that wakes this one cannot have disarmed the
                           ;; ticket already.
                           (let ((at-once (%park-ticket! ticket waiter)))
                             (if at-once
                                 (%wake! waiter at-once)
                                 (publish waiter)))
                           #f))))
            (cond ((eqv? wake ticket/timed-out)
                   (withdraw)
                   'timed-out)
                  (else
                   (%disarm-ticket! ticket)
                   (if (eq? wake 'cancelled)
                       (withdraw))
                   wake)))
          (let ((wake (%park why (lambda (waiter) (publish waiter) #f))))
            (if (eq? wake 'cancelled)
                (withdraw))
            wake)))

    ;; Changes a record, or waits in a queue of it until the task that wakes this one has changed it
    ;; instead. `(attempt!)` tries, #f if it cannot be done; `(possible?)` is whether to try again,
    ;; and if not the entry is linked. `(left was-linked?)` is called for an entry that was
    ;; withdrawn. All three are called under the lock of the record. Returns the result of the
    ;; attempt, or the entry.
    (define (attempt-or-wait who record queue deadline tag attempt! possible? left)
      (or (%with-lock record
            (attempt!))
          (let* ((entry (make-entry #f tag))
                 (wake
                  (wait-in-queue record (patience-left deadline)
                                 (lambda (waiter)
                                   (if (%with-lock record
                                         (cond ((entry-withdrawn entry) #f)
                                               ((possible?) #t)
                                               (else
                                                (set-entry-waiter! entry waiter)
                                                (link! queue entry)
                                                #f)))
                                       (%wake! waiter 'again)))
                                 (lambda ()
                                   (%with-lock record
                                     (let ((was-linked? (entry-linked? entry)))
                                       (withdraw! entry)
                                       (left was-linked?)))))))
            (cond ((eq? wake entry) entry)
                  ((eq? wake 'again)
                   (attempt-or-wait who record queue deadline tag attempt! possible? left))
                  (else (check-timeout who record wake))))))

    ;; The value that ended a wait; raises if the time was over or the task was cancelled.
    (define (check-timeout who what wake)
      (cond ((eq? wake 'timed-out) (raise-timeout who what))
            ((eq? wake 'cancelled) (%check-cancelled wake))
            (else wake)))

    ;; The condition of a cancelled wait. It is used up: it does not end the next wait.
    (define (cancelled-condition)
      (guard (condition (else condition))
        (%check-cancelled 'cancelled)))

    (define (raise-timeout who what)
      (raise (%make-condition 'timeout "the time is over" (list what) who)))

    ;; The point in time, in nanoseconds, where a time limit in seconds ends; #f if there is none.
    (define (deadline-of who seconds)
      (cond ((not seconds) #f)
            ((not (and (real? seconds) (>= seconds 0)))
             (raise-bad-option who "#:timeout" "a number of seconds that is not negative" seconds))
            ((< seconds 1000000000)
             (+ (nanoseconds-now) (exact (ceiling (* seconds 1000000000)))))
            (else 1000000000000000000)))

    ;; The remaining nanoseconds.
    (define (patience-left deadline)
      (and deadline
           (max 0 (- deadline (nanoseconds-now)))))

    (define (nanoseconds-now)
      (quotient (* (current-jiffy) 1000000000) (jiffies-per-second)))

    ;; A number below a bound that is hard to predict. Threads that race for the state do no harm.
    (define random-state 88172645)

    (define (next-random bound)
      (let ((next (bitwise-and (+ (* random-state 1103515245) 12345) 2147483647)))
        (set! random-state next)
        (quotient (* (quotient next 8) bound) 268435456)))))
