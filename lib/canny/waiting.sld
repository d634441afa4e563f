;;; (canny waiting): queues of tasks that wait, for channels and locks.
;;;
;;; Whoever waits stands in a queue with an *entry*; a select has one in the queue of each of its channels, all of them with
;;; the same waiter.  Who has something for a queue takes its first entry and tries to wake the waiter with it.  That
;;; fails if the wait has ended some other way, by another channel, its time limit or who cancels the task; then the
;;; next entry is tried.  So what is given to an entry is either taken by a task that waits, or still the giver's.
;;;
;;; | shared state | changed by | under |
;;; |---|---|---|
;;; | links, item and `withdrawn` of an entry | its task, whoever has something for it | the lock of the record that owns the queue |
;;; | waiter of an entry | its task, before the entry is linked | the same |
;;;
;;; A wait that ends while its task is still publishing it is gone on with by another thread, which may withdraw the
;;; entry before it is linked: an entry that was withdrawn is not linked any more.
;;;
;;; Nothing here is called under a lock but what says so.  Those procedures neither raise nor wait.

(define-library (canny waiting)
  (export make-queue queue-empty? queue-first
          make-entry entry-item set-entry-item! entry-tag entry-waiter set-entry-waiter!
          link! withdraw! wake-first! wake-entry! take-all!
          wait-in-queue check-timeout attempt-or-wait wake-all!
          raise-timeout bad-option deadline-of patience-left cancelled-condition
          next-random)
  (import (canny primitives) (canny syntax) (canny control) (canny tasks))
  (begin

    ;; An entry of a queue, or the queue itself, which is an entry between the last and the first one.
    (define-record-type entry
      (new-entry waiter item tag next previous withdrawn)
      entry?
      (waiter entry-waiter set-entry-waiter!)
      ;; What was given to the entry, or what it has to give.
      (item entry-item set-entry-item!)
      ;; For its owner: the index of a clause, the kind of a lock.
      (tag entry-tag)
      (next entry-next set-entry-next!)
      (previous entry-previous set-entry-previous!)
      (withdrawn entry-withdrawn set-entry-withdrawn!))

    (define (make-queue)
      (let ((queue (new-entry #f #f #f #f #f #f)))
        (set-entry-next! queue queue)
        (set-entry-previous! queue queue)
        queue))

    (define (make-entry item tag)
      (new-entry #f item tag #f #f #f))

    ;; To be called under the lock of the queue's owner, all of them.

    (define (queue-empty? queue)
      (eq? (entry-next queue) queue))

    ;; The first entry; not of an empty queue.
    (define (queue-first queue)
      (entry-next queue))

    (define (entry-linked? entry)
      (if (entry-next entry) #t #f))

    ;; Adds an entry at the end, unless it was withdrawn.
    (define (link! queue entry)
      (if (not (entry-withdrawn entry))
          (let ((last (entry-previous queue)))
            (set-entry-previous! entry last)
            (set-entry-next! entry queue)
            (set-entry-next! last entry)
            (set-entry-previous! queue entry))))

    (define (unlink! entry)
      (let ((next (entry-next entry)))
        (if next
            (let ((previous (entry-previous entry)))
              (set-entry-next! previous next)
              (set-entry-previous! next previous)
              (set-entry-next! entry #f)
              (set-entry-previous! entry #f)))))

    ;; Takes an entry out for good.
    (define (withdraw! entry)
      (set-entry-withdrawn! entry #t)
      (unlink! entry))

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

    ;; Moves all entries to a queue of their own, so that those who come meanwhile are not among them.
    (define (take-all! queue)
      (let ((all (make-queue)))
        (if (not (queue-empty? queue))
            (let ((first (entry-next queue))
                  (last (entry-previous queue)))
              (set-entry-next! all first)
              (set-entry-previous! first all)
              (set-entry-previous! all last)
              (set-entry-next! last all)
              (set-entry-next! queue queue)
              (set-entry-previous! queue queue)))
        all))

    ;; The end of what is called under locks.

    ;; Wakes everybody in a queue that `take-all!` gave, each under the lock for itself, so that others get their turn.
    (define (wake-all! record all item)
      (let loop ()
        (if (%with-lock record
              (wake-first! all item))
            (loop))))

    ;; Puts the task away.  `(publish waiter)` lets others know of the waiter; if there turns out to be nothing to wait
    ;; for, it wakes the waiter itself.  It runs in the middle of the switch: it must not raise.  Gives what the wait
    ;; ended with, the symbols `timed-out` and `cancelled` included; for these `(withdraw)` is called.
    (define (wait-in-queue why patience publish withdraw)
      (if patience
          (let* ((ticket (%arm-timer patience))
                 (wake
                  (%park why
                         (lambda (waiter)
                           ;; First, so that who wakes the task cannot have given the ticket up already.
                           (let ((at-once (%park-ticket! ticket waiter)))
                             (if at-once
                                 (%wake! waiter at-once)
                                 (publish waiter)))
                           #f))))
            (cond ((eqv? wake 1)
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

    ;; Does something to a record, or waits in a queue of it until who wakes the task has done it instead.  `(attempt!)`
    ;; tries it, #f if it cannot be done; `(possible?)` is whether to try, and if not the entry is linked.  `(left was-linked?)` is called for an entry that
    ;; was withdrawn.  All three are called under the lock of the record.  Gives what the attempt gave, or the entry.
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

    ;; The condition with which a wait ends that was cancelled.  It is taken note of: the next wait is not ended by it.
    (define (cancelled-condition)
      (guard (condition (else condition))
        (%check-cancelled 'cancelled)))

    (define (raise-timeout who what)
      (raise (%make-condition 'timeout "the time is over" (list what) who)))

    ;; The point in time, in nanoseconds, where a time limit in seconds ends; #f if there is none.
    (define (deadline-of who seconds)
      (cond ((not seconds) #f)
            ((not (and (real? seconds) (>= seconds 0)))
             (bad-option who "#:timeout" "a number of seconds that is not negative" seconds))
            ((< seconds 1000000000)
             (+ (nanoseconds-now) (exact (ceiling (* seconds 1000000000)))))
            (else 1000000000000000000)))

    ;; Raises that the value of a keyword is of the wrong kind.
    (define (bad-option who keyword expected object)
      (raise (%make-condition 'type (string-append keyword " is not " expected) (list object) who)))

    ;; How many nanoseconds are left.
    (define (patience-left deadline)
      (and deadline
           (max 0 (- deadline (nanoseconds-now)))))

    (define (nanoseconds-now)
      (quotient (* (current-jiffy) 1000000000) (jiffies-per-second)))

    ;; A number below a bound that nobody can foresee well.  Threads that race for the state do no harm.
    (define random-state 88172645)

    (define (next-random bound)
      (let ((next (bitwise-and (+ (* random-state 1103515245) 12345) 2147483647)))
        (set! random-state next)
        (quotient (* (quotient next 8) bound) 268435456)))))
