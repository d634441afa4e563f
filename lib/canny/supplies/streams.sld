;;; (canny supplies streams): what supplies are made of: taps, sources that push into them, and
;;; their waits for each other.
;;;
;;; A supply is a procedure that connects a *tap*. A tap has three procedures, for a value, for the
;;; end and for an error. The pusher calls them, in its own task, and resumes when they return: a
;;; slow consumer blocks the emitter.
;;;
;;; Invariants:
;;; - The procedures of one tap never run at once. A source that several tasks may push into lets
;;;   them through a *gate*, one after the other, in the order in which they came. A value that a
;;;   task pushes while it is in the gate itself, from a procedure of the tap, is delayed until that
;;;   has returned.
;;; - After its end, after an error and after it was closed a tap gets nothing more.
;;; - The procedure for the end of a tap is called once, however the tap ends.
;;; - An error in a procedure of a tap ends that tap only. A cancellation of the task that pushes is
;;;   no error of the tap; it is raised again.
;;;
;;; | record | its fields are changed | under |
;;; |---|---|---|
;;; | tap: state, closers | by the task that ends it | its lock |
;;; | gate: owner, waiters | by tasks that enter or leave | its lock |
;;; | gate: deferred | by the task that is in the gate | that there is one |
;;; | pipe | by both sides | its lock |

(define-library (canny supplies streams)
  (export make-queue queue-empty? queue-count queue-add! queue-take!
          make-gate call-through-gate
          tap? make-tap tap-open? tap-on-close! tap-close! push! push-done! push-quit! forward!
          supply? supply-live? make-supply connect! derive
          supplier? make-supplier supplier-supply supplier-emit! supplier-done! supplier-quit!
          produce! stop-when-closed
          make-pipe pipe-put! pipe-take! pipe-end! pipe-close! no-more
          report-error)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny tasks))
  (begin

    ;; Queues, for holders of a lock.

    (define-record-type queue
      (make-queue-record head tail count)
      queue?
      (head queue-head set-queue-head!)
      (tail queue-tail set-queue-tail!)
      (count queue-count set-queue-count!))

    (define (make-queue)
      (make-queue-record '() '() 0))

    (define (queue-empty? queue)
      (null? (queue-head queue)))

    (define (queue-add! queue object)
      (let ((cell (list object)))
        (if (null? (queue-head queue))
            (set-queue-head! queue cell)
            (set-cdr! (queue-tail queue) cell))
        (set-queue-tail! queue cell)
        (set-queue-count! queue (+ (queue-count queue) 1))))

    (define (queue-take! queue)
      (let ((object (car (queue-head queue))))
        (set-queue-head! queue (cdr (queue-head queue)))
        (set-queue-count! queue (- (queue-count queue) 1))
        object))

    ;; Gates.

    ;; The owner is #f, the task that is in, or the waiter of the task that comes in next.
    (define-record-type gate
      (make-gate-record lock owner waiters deferred)
      gate?
      (lock gate-lock)
      (owner gate-owner set-gate-owner!)
      (waiters gate-waiters)
      (deferred gate-deferred set-gate-deferred!))

    (define (make-gate)
      (make-gate-record #f #f (make-queue) '()))

    ;; Calls a procedure when no other task is in the gate; later, if this task is.
    (define (call-through-gate gate thunk)
      (let ((task (current-task)))
        (if (eq? (gate-owner gate) task)
            (set-gate-deferred! gate (cons thunk (gate-deferred gate)))
            (begin
              (enter-gate! gate task)
              (dynamic-wind
               void
               (lambda ()
                 (thunk)
                 (call-deferred gate))
               (lambda () (leave-gate! gate task)))))))

    (define (call-deferred gate)
      (let ((deferred (reverse (gate-deferred gate))))
        (if (pair? deferred)
            (begin
              (set-gate-deferred! gate '())
              (for-each (lambda (thunk) (thunk)) deferred)
              (call-deferred gate)))))

    (define (enter-gate! gate task)
      (if (not (%with-lock gate
                 (if (gate-owner gate)
                     #f
                     (begin
                       (set-gate-owner! gate task)
                       #t))))
          (let ((wake
                 (%park gate
                        (lambda (waiter)
                          ;; A task that is cancelled meanwhile must not own the gate: so it is
                          ;; entered by being woken.
                          (%with-lock gate
                            (if (gate-owner gate)
                                (queue-add! (gate-waiters gate) waiter)
                                (begin
                                  (set-gate-owner! gate waiter)
                                  (if (not (%wake! waiter 'entered))
                                      (set-gate-owner! gate #f)))))
                          #f))))
            (%check-cancelled wake)
            (set-gate-owner! gate task))))

    (define (leave-gate! gate task)
      (if (eq? (gate-owner gate) task)
          (begin
            (set-gate-deferred! gate '())
            (hand-over! gate))))

    (define (hand-over! gate)
      (let ((next (%with-lock gate
                    (let ((next (if (queue-empty? (gate-waiters gate))
                                    #f
                                    (queue-take! (gate-waiters gate)))))
                      (set-gate-owner! gate next)
                      next))))
        (if (and next (not (%wake! next 'entered)))
            (hand-over! gate))))

    ;; Taps.

    ;; The state is `open`, `ended` or `closed`.
    (define-record-type tap
      (make-tap-record lock state emit done quit closers)
      tap?
      (lock tap-lock)
      (state tap-state set-tap-state!)
      (emit tap-emit)
      (done tap-done)
      (quit tap-quit)
      (closers tap-closers set-tap-closers!))

    (define (make-tap emit done quit)
      (make-tap-record #f 'open emit done quit '()))

    (define (tap-open? tap)
      (eq? (tap-state tap) 'open))

    ;; Has a procedure called when the tap ends; at once if it has.
    (define (tap-on-close! tap closer)
      (if (not (%with-lock tap
                 (if (eq? (tap-state tap) 'open)
                     (begin
                       (set-tap-closers! tap (cons closer (tap-closers tap)))
                       #t)
                     #f)))
          (closer)))

    ;; Changes the state of an open tap; gives its closers in a list, or #f if it was not open.
    (define (end-tap! tap state)
      (%with-lock tap
        (if (eq? (tap-state tap) 'open)
            (let ((closers (tap-closers tap)))
              (set-tap-state! tap state)
              (set-tap-closers! tap '())
              (list closers))
            #f)))

    (define (call-closers closers)
      (for-each (lambda (closer) (closer)) closers))

    ;; Ends a tap from the consumer's side.
    (define (tap-close! tap)
      (if (not (tap? tap))
          (%type-error 'tap-close! 1 "tap" tap))
      (let ((ended (end-tap! tap 'closed)))
        (if ended
            (call-closers (car ended)))))

    ;; A value from a source.
    (define (push! tap value)
      (if (tap-open? tap)
          (guard (object ((not (cancelled-error? object)) (push-quit! tap object)))
            ((tap-emit tap) value))))

    ;; A value from one that passes on what a source pushes: errors go back to the source.
    (define (forward! tap value)
      (if (tap-open? tap)
          ((tap-emit tap) value)))

    (define (push-done! tap)
      (let ((ended (end-tap! tap 'ended)))
        (if ended
            (begin
              (guard (object ((not (cancelled-error? object)) (quit tap object)))
                ((tap-done tap)))
              (call-closers (car ended))))))

    (define (push-quit! tap object)
      (let ((ended (end-tap! tap 'ended)))
        (if ended
            (begin
              (quit tap object)
              (call-closers (car ended))))))

    (define (quit tap object)
      (guard (object ((not (cancelled-error? object)) (report-error object)))
        ((tap-quit tap) object)))

    ;; Reports an error without a handler.
    (define (report-error object)
      (let ((port (current-error-port)))
        (write-string (string-append "error in a task: " (condition->string object) "\n") port)
        (flush-output-port port)))

    ;; Supplies.

    (define-record-type supply
      (make-supply-record connect live?)
      supply?
      (connect supply-connect)
      (live? live-supply?))

    (define (make-supply connect live?)
      (make-supply-record connect live?))

    ;; Whether a supply has values without its taps, so that a late tap has missed some.
    (define (supply-live? supply)
      (if (not (supply? supply))
          (%type-error 'supply-live? 1 "supply" supply))
      (live-supply? supply))

    (define (connect! supply tap)
      ((supply-connect supply) tap))

    ;; A supply that hands what comes from another one to the procedure that `(make-emit down)`
    ;; gives, `down` being the tap.
    (define (derive upstream make-emit)
      (make-supply
       (lambda (down)
         (let ((up (make-tap (make-emit down)
                             (lambda () (push-done! down))
                             (lambda (object) (push-quit! down object)))))
           (tap-on-close! down (lambda () (tap-close! up)))
           (connect! upstream up)))
       (live-supply? upstream)))

    ;; Suppliers.

    ;; The entries are pairs of gates and taps, in the order of arrival. The ending is #f, `done` or
    ;; a pair of `quit` and an object.
    (define-record-type supplier
      (make-supplier-record lock entries ending)
      supplier?
      (lock supplier-lock)
      (entries supplier-entries set-supplier-entries!)
      (ending supplier-ending set-supplier-ending!))

    (define (make-supplier)
      (make-supplier-record #f '() #f))

    (define (check-supplier who object)
      (if (not (supplier? object))
          (%type-error who 1 "supplier" object)))

    ;; The live supply of what a supplier emits.
    (define (supplier-supply supplier)
      (check-supplier 'supplier-supply supplier)
      (make-supply (lambda (tap) (add-tap! supplier tap)) #t))

    (define (add-tap! supplier tap)
      (let* ((entry (cons (make-gate) tap))
             (ending
              (%with-lock supplier
                (or (supplier-ending supplier)
                    (begin
                      (set-supplier-entries! supplier
                                             (append (supplier-entries supplier) (list entry)))
                      #f)))))
        (if ending
            (push-ending! tap ending)
            (tap-on-close! tap (lambda () (drop-entry! supplier entry))))))

    (define (drop-entry! supplier entry)
      (%with-lock supplier
        (set-supplier-entries! supplier (%remove-waiter entry (supplier-entries supplier)))))

    (define (push-ending! tap ending)
      (if (eq? ending 'done)
          (push-done! tap)
          (push-quit! tap (cdr ending))))

    ;; Gives a value to all taps and waits until they have taken it; whether the supplier had not
    ;; ended.
    (define (supplier-emit! supplier value)
      (check-supplier 'supplier-emit! supplier)
      (if (supplier-ending supplier)
          #f
          (begin
            (for-each (lambda (entry)
                        (call-through-gate (car entry)
                                           (lambda () (push! (cdr entry) value))))
                      (supplier-entries supplier))
            #t)))

    (define (supplier-done! supplier)
      (check-supplier 'supplier-done! supplier)
      (end-supplier! supplier 'done))

    ;; Ends with an error.
    (define (supplier-quit! supplier object)
      (check-supplier 'supplier-quit! supplier)
      (end-supplier! supplier (cons 'quit object)))

    (define (end-supplier! supplier ending)
      (let ((entries
             (%with-lock supplier
               (if (supplier-ending supplier)
                   #f
                   (let ((entries (supplier-entries supplier)))
                     (set-supplier-ending! supplier ending)
                     (set-supplier-entries! supplier '())
                     (list entries))))))
        (if entries
            (begin
              (for-each (lambda (entry)
                          (call-through-gate (car entry)
                                             (lambda () (push-ending! (cdr entry) ending))))
                        (car entries))
              #t)
            #f)))

    ;; Sources that begin when they are tapped.

    ;; Calls `(run)` in a task of its own, which is cancelled when the tap is closed. Its return is
    ;; the end of the tap, what it raises an error.
    (define (produce! tap gate run)
      (let ((task (without-scope
                   (spawn
                    (lambda ()
                      (guard (object ((or (tap-open? tap) (not (cancelled-error? object)))
                                      (call-through-gate gate (lambda () (push-quit! tap object)))))
                        (run)
                        (call-through-gate gate (lambda () (push-done! tap)))))
                    #:name 'supply))))
        (stop-when-closed tap task)))

    ;; The task that closes its own tap continues: it sees that the tap is closed.
    (define (stop-when-closed tap task)
      (tap-on-close! tap (lambda ()
                           (if (not (eq? task (current-task)))
                               (cancel! task)))))

    ;; Pipes: bounded queues between a source and a task. The policy says what becomes of a value
    ;; that finds no room.

    (define-record-type pipe
      (make-pipe-record lock queue limit policy writers readers ending)
      pipe?
      (lock pipe-lock)
      (queue pipe-queue)
      (limit pipe-limit)
      (policy pipe-policy)
      (writers pipe-writers)
      (readers pipe-readers)
      ;; #f, `closed` by the reader, or a procedure that is called in place of reading once the
      ;; queue is empty.
      (ending pipe-ending set-pipe-ending!))

    (define (make-pipe limit policy)
      (make-pipe-record #f (make-queue) limit policy (make-queue) (make-queue) #f))

    (define (wake-next! lock queue)
      (let ((waiter (%with-lock lock
                      (if (queue-empty? queue) #f (queue-take! queue)))))
        (if (and waiter (not (%wake! waiter 'again)))
            (wake-next! lock queue))))

    ;; Waits until `(ready?)`, called under the lock of the pipe, is true, or until another task
    ;; signals that it may be.
    (define (wait-in! pipe queue ready?)
      (%check-cancelled
       (%park pipe
              (lambda (waiter)
                (%with-lock pipe
                  (if (ready?)
                      'again
                      (begin
                        (queue-add! queue waiter)
                        #f)))))))

    (define (has-room? pipe)
      (or (pipe-ending pipe)
          (< (queue-count (pipe-queue pipe)) (pipe-limit pipe))))

    ;; The fate of a value: `taken`, `full`, or `gone` if there is no reader any more.
    (define (offer! pipe value)
      (%with-lock pipe
        (cond ((pipe-ending pipe) 'gone)
              ((has-room? pipe)
               (queue-add! (pipe-queue pipe) value)
               'taken)
              ((eq? (pipe-policy pipe) 'drop-oldest)
               (queue-take! (pipe-queue pipe))
               (queue-add! (pipe-queue pipe) value)
               'taken)
              ((eq? (pipe-policy pipe) 'drop-newest) 'gone)
              (else 'full))))

    (define (pipe-put! pipe value)
      (let ((outcome (offer! pipe value)))
        (cond ((eq? outcome 'taken) (wake-next! pipe (pipe-readers pipe)))
              ((eq? outcome 'gone) (wake-next! pipe (pipe-writers pipe)))
              ((eq? (pipe-policy pipe) 'error)
               (raise (%make-condition 'range "the buffer of the supply is full"
                                       (list (pipe-limit pipe))
                                       'supply-buffer)))
              (else
               (wait-in! pipe (pipe-writers pipe) (lambda () (has-room? pipe)))
               (pipe-put! pipe value)))))

    ;; Says what the reader is to do after the last value.
    (define (pipe-end! pipe ending)
      (%with-lock pipe
        (if (not (pipe-ending pipe))
            (set-pipe-ending! pipe ending)))
      (wake-next! pipe (pipe-readers pipe)))

    ;; The reader wants no more: a task that waits to write resumes.
    (define (pipe-close! pipe)
      (%with-lock pipe
        (set-pipe-ending! pipe 'closed))
      (wake-next! pipe (pipe-writers pipe))
      (wake-next! pipe (pipe-readers pipe)))

    (define no-more (list 'no-more))

    ;; The next value; after the last one, what the ending gives.
    (define (pipe-take! pipe)
      (let ((value
             (%with-lock pipe
               (if (queue-empty? (pipe-queue pipe))
                   (if (pipe-ending pipe) no-more 'none)
                   (list (queue-take! (pipe-queue pipe)))))))
        (cond ((eq? value 'none)
               (wait-in! pipe (pipe-readers pipe)
                         (lambda ()
                           (or (pipe-ending pipe) (not (queue-empty? (pipe-queue pipe))))))
               (pipe-take! pipe))
              ((not (eq? value no-more))
               (wake-next! pipe (pipe-writers pipe))
               (car value))
              (else
               ;; The end is for all who read.
               (wake-next! pipe (pipe-readers pipe))
               (let ((ending (pipe-ending pipe)))
                 (if (procedure? ending) (ending) no-more))))))

    (%describe-waits! gate 'lock "a supply that another task is in" #f 'owner)
    (%describe-waits! pipe 'channel "a pipe of a supply" #f #f)))
