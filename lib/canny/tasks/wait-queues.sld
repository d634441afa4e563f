;;; (canny tasks wait-queues): rings of entries, in which tasks stand that wait for a future, a
;;; channel or a lock.
;;;
;;; An entry is linked and withdrawn in constant time, wherever it stands. It may be withdrawn
;;; before it is linked, by a wait that ends while it is being published: then it is not linked any
;;; more.
;;;
;;; Everything here is called under the lock of the record that owns the queue; nothing raises or
;;; waits.

(define-library (canny tasks wait-queues)
  (export make-queue queue-empty? queue-first queue-items take-all!
          make-entry entry-item set-entry-item! entry-tag entry-waiter set-entry-waiter!
          entry-linked? entry-withdrawn link! unlink! withdraw!)
  (import (canny primitives) (canny syntax))
  (begin

    ;; An entry of a queue, or the queue itself, which is an entry between the last and the first
    ;; one.
    (define-record-type entry
      (new-entry %waiter item tag next previous withdrawn)
      entry?
      (%waiter entry-waiter set-entry-waiter!)
      ;; The object that was handed to the entry, or that it hands over.
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

    (define (queue-empty? queue)
      (eq? (entry-next queue) queue))

    ;; The first entry; not of an empty queue.
    (define (queue-first queue)
      (entry-next queue))

    ;; The items of all entries, the last one first.
    (define (queue-items queue)
      (let loop ((entry (entry-next queue)) (items '()))
        (if (eq? entry queue)
            items
            (loop (entry-next entry) (cons (entry-item entry) items)))))

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

    ;; Moves all entries to a queue of their own, so that tasks that come meanwhile are not among
    ;; them.
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
        all))))
