;;; (canny tasks waiting): how tasks wait in queues, for channels and locks.
;;;
;;; A waiting task stands in a queue with an *entry*; a select has one in the queue of each of its
;;; channels, all of them with the same waiter. A task that has something for a queue takes its
;;; first entry and tries to wake the waiter with it. That fails if the wait has ended some other
;;; way, by another channel, its time limit or who cancels the task; then the next entry is tried.
;;; So what is given to an entry is either taken by a task that waits, or still the giver's.
;;;
;;; | shared state | changed by | under |
;;; |---|---|---|
;;; | links, item and `withdrawn` of an entry | its task, whoever has something for it | the lock of the record that owns the queue |
;;; | waiter of an entry | its task, before the entry is linked | the same |
;;;
;;; A wait that ends while its task is still publishing it is resumed by another thread, which may
;;; withdraw the entry before it is linked: an entry that was withdrawn is not linked any more.
;;;
;;; Nothing here is called under a lock but what says so.  Those procedures neither raise nor wait.

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

    ;; Wakes everybody in a queue that `take-all!` gave, each under the lock for itself, so that
    ;; others get their turn.
    (define (wake-all! record all item)
      (%uninterrupted
       (let loop ()
         (if (%with-lock record
               (wake-first! all item))
             (loop)))))

    ;; Puts the task away. `(publish waiter)` lets others know of the waiter; if there turns out to
    ;; be nothing to wait for, it wakes the waiter itself. It runs in the middle of the switch: it
    ;; must not raise. Gives what the wait ended with, the symbols `timed-out` and `cancelled`
    ;; included; for these `(withdraw)` is called.
    (define (wait-in-queue why patience publish withdraw)
      (if patience
          (let* ((ticket (%arm-timer patience))
                 (wake
                  (%park why
                         (lambda (waiter)
                           ;; First, so that who wakes the task cannot have given the ticket up
                           ;; already.
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

    ;; Does something to a record, or waits in a queue of it until who wakes the task has done it
    ;; instead. `(attempt!)` tries it, #f if it cannot be done; `(possible?)` is whether to try, and
    ;; if not the entry is linked. `(left was-linked?)` is called for an entry that was withdrawn.
    ;; All three are called under the lock of the record. Gives what the attempt gave, or the entry.
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

    ;; What a wait ended with; raises if that is that the time was over or the task cancelled.
    (define (check-timeout who what wake)
      (cond ((eq? wake 'timed-out) (raise-timeout who what))
            ((eq? wake 'cancelled) (%check-cancelled wake))
            (else wake)))

    ;; The condition with which a wait ends that was cancelled. It is taken note of: the next wait
    ;; is not ended by it.
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

    ;; How many nanoseconds are left.
    (define (patience-left deadline)
      (and deadline
           (max 0 (- deadline (nanoseconds-now)))))

    (define (nanoseconds-now)
      (quotient (* (current-jiffy) 1000000000) (jiffies-per-second)))

    ;; A number below a bound that nobody can foresee well. Threads that race for the state do no
    ;; harm.
    (define random-state 88172645)

    (define (next-random bound)
      (let ((next (bitwise-and (+ (* random-state 1103515245) 12345) 2147483647)))
        (set! random-state next)
        (quotient (* (quotient next 8) bound) 268435456)))))
