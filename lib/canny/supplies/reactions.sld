;;; (canny supplies reactions): react blocks and supply blocks.
;;;
;;; A block has a task, which evaluates its body and then serves the events of its whenevers, one at
;;; a time. A task that emits puts an event into the block's queue and waits until the block has
;;; handled it.
;;;
;;; Invariants:
;;; - All code of a block runs in the block's task and in the dynamic extent of the block: errors
;;;   and escapes leave the block, and parameters are those around it.
;;; - A block is left only through its winder, which closes all its taps and lets go who waits for
;;;   it.
;;; - The queue holds one event of each task that emits, endings, and what the block's own task has
;;;   emitted.
;;;
;;; | a block's field | is changed by | under |
;;; |---|---|---|
;;; | events, reader, taps, state | anybody | the lock |
;;; | running, leave | the block's task | |

(define-library (canny supplies reactions)
  (export react whenever supply emit done ->supply future->supply)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists) (canny tasks)
          (canny supplies streams))
  (begin

    ;; The state is `open` or `closed`; `target` is the tap of a supply block, #f in a react block.
    (define-record-type block
      (make-block lock task events reader taps state running target leave)
      block?
      (lock block-lock)
      (task block-task)
      (events block-events)
      (reader block-reader set-block-reader!)
      (taps block-taps set-block-taps!)
      (state block-state set-block-state!)
      (running block-running set-block-running!)
      (target block-target)
      (leave block-leave set-block-leave!))

    ;; The waiter is that of the task which emits; #f if none waits.
    (define-record-type event
      (make-event handler value waiter withdrawn)
      event?
      (handler event-handler)
      (value event-value)
      (waiter event-waiter set-event-waiter!)
      (withdrawn event-withdrawn set-event-withdrawn!))

    (define current-block (make-parameter #f))

    (define (block-of who)
      (or (current-block)
          (raise (%make-condition 'error "there is no react or supply block around this"
                                  '() who))))

    ;; Events.

    ;; Adds an event unless the block is closed, with the waiter for the end of it or #f; whether it
    ;; did.
    (define (add-event! block event)
      (let ((reader (%with-lock block
                      (if (eq? (block-state block) 'closed)
                          'closed
                          (begin
                            (queue-add! (block-events block) event)
                            (take-reader! block))))))
        (if (eq? reader 'closed)
            #f
            (begin
              (if reader (%wake! reader 'look))
              #t))))

    ;; Under the lock.
    (define (take-reader! block)
      (let ((reader (block-reader block)))
        (set-block-reader! block #f)
        reader))

    (define (wake-reader! block)
      (let ((reader (%with-lock block (take-reader! block))))
        (if reader (%wake! reader 'look))))

    ;; Has the block call a procedure with a value, and waits until it has.
    (define (post! block handler value)
      (let ((event (make-event handler value #f #f)))
        (if (eq? (current-task) (block-task block))
            (add-event! block event)
            (let ((wake (%park block
                               (lambda (waiter)
                                 (set-event-waiter! event waiter)
                                 (if (add-event! block event) #f 'closed)))))
              (if (eq? wake 'cancelled)
                  (set-event-withdrawn! event #t))
              (%check-cancelled wake)))))

    ;; The same without waiting.
    (define (post-without-waiting! block handler value)
      (add-event! block (make-event handler value #f #f)))

    ;; The next event; #f when there can be no more.
    (define (next-event block)
      (let ((event (%with-lock block
                     (cond ((not (queue-empty? (block-events block)))
                            (let ((event (queue-take! (block-events block))))
                              (set-block-running! block event)
                              event))
                           ((null? (block-taps block)) #f)
                           (else 'none)))))
        (cond ((not (eq? event 'none)) event)
              (else
               (%check-cancelled
                (%park block
                       (lambda (waiter)
                         (%with-lock block
                           (if (and (queue-empty? (block-events block))
                                    (pair? (block-taps block)))
                               (begin
                                 (set-block-reader! block waiter)
                                 #f)
                               'look)))))
               (next-event block)))))

    (define (serve-events block)
      (let ((event (next-event block)))
        (if event
            (begin
              (if (not (event-withdrawn event))
                  ((event-handler event) (event-value event)))
              (set-block-running! block #f)
              (release-event event)
              (serve-events block)))))

    (define (release-event event)
      (if (event-waiter event)
          (%wake! (event-waiter event) 'taken)))

    ;; Blocks.

    (define (close-block! block)
      (let ((running (block-running block))
            (taps (%with-lock block
                    (let ((taps (block-taps block)))
                      (set-block-state! block 'closed)
                      (set-block-taps! block '())
                      taps))))
        (for-each tap-close! taps)
        (if running (release-event running))
        (let loop ()
          (if (not (queue-empty? (block-events block)))
              (begin
                (release-event (queue-take! (block-events block)))
                (loop))))))

    (define (call-in-block target body)
      (let ((block (make-block #f (current-task) (make-queue) #f '() 'open #f target #f)))
        (dynamic-wind
         void
         (lambda ()
           (call-with-escape-continuation
            (lambda (leave)
              (set-block-leave! block leave)
              (parameterize ((current-block block))
                (body)
                (serve-events block))
              (void))))
         (lambda () (close-block! block)))))

    ;; Evaluates the body, in which `whenever` says what to do for the values of supplies. Then
    ;; waits until these have all ended or `(done)` was called. The bodies of its whenevers run in
    ;; this task, one at a time. An error ends the form, and what a supply ends with as an error is
    ;; one.
    (define-syntax react
      (syntax-rules ()
        ((_ body0 body ...)
         (call-in-block #f (lambda () body0 body ...)))))

    ;; A supply that evaluates the body for each tap, in a task of its own, and gives what is passed
    ;; to `emit`.
    (define-syntax supply
      (syntax-rules ()
        ((_ body0 body ...)
         (supply-of-block (lambda () body0 body ...)))))

    (define (supply-of-block body)
      (make-supply
       (lambda (tap)
         (produce! tap (make-gate) (lambda () (call-in-block tap body))))
       #f))

    ;; (whenever (name source #:done thunk #:quit procedure) body ...) in a block: evaluates the
    ;; body for each value of a supply, a future or a list. The thunk is called at the end, the
    ;; procedure with an error in place of raising it. Gives the tap.
    (define-syntax whenever
      (syntax-rules ()
        ((_ (name source option ...) body0 body ...)
         (start-whenever source (lambda (name) body0 body ...) option ...))))

    (define* (start-whenever source handler #:key (done #f) (quit #f))
      (let* ((block (block-of 'whenever))
             (supply (->supply source))
             (tap (make-tap
                   (lambda (value) (post! block handler value))
                   (lambda ()
                     (if done
                         (post-without-waiting! block (lambda (value) (done)) #f)))
                   (lambda (object)
                     (post-without-waiting! block (or quit raise) object)))))
        (check-callback "#:done" done)
        (check-callback "#:quit" quit)
        (if (%with-lock block
              (if (eq? (block-state block) 'open)
                  (begin
                    (set-block-taps! block (cons tap (block-taps block)))
                    #t)
                  #f))
            (begin
              (tap-on-close! tap (lambda () (drop-tap! block tap)))
              (connect! supply tap))
            (tap-close! tap))
        tap))

    (define (check-callback option object)
      (if (not (or (not object) (procedure? object)))
          (raise (%make-condition 'type
                                  (string-append option " is not a procedure or #f")
                                  (list object)
                                  'whenever))))

    (define (drop-tap! block tap)
      (%with-lock block
        (set-block-taps! block (%remove-waiter tap (block-taps block))))
      (wake-reader! block))

    ;; Ends the block around it: at once if it is called in the block, else when the event that the
    ;; block is at is over.
    (define (done)
      (let ((block (block-of 'done)))
        (if (eq? (current-task) (block-task block))
            ((block-leave block) (void))
            (begin
              (post-without-waiting! block (lambda (value) ((block-leave block) (void))) #f)
              (void)))))

    ;; Passes a value to the tap of the supply block around it, and waits until it is taken. The
    ;; block ends here if the tap wants no more.
    (define (emit value)
      (let* ((block (block-of 'emit))
             (target (block-target block)))
        (cond ((not target)
               (raise (%make-condition 'error "the block around this is no supply block" '()
                                       'emit)))
              ((eq? (current-task) (block-task block)) (emit-here block target value))
              (else
               (post! block (lambda (value) (emit-here block target value)) value)
               (void)))))

    (define (emit-here block target value)
      (push! target value)
      (if (not (tap-open? target))
          ((block-leave block) (void))))

    ;; Sources.

    ;; The supply of the value of a future, or of its error.
    (define (future->supply future)
      (if (not (future? future))
          (%type-error 'future->supply 1 "future" future))
      (make-supply
       (lambda (tap)
         (produce! tap (make-gate) (lambda () (push! tap (await future)))))
       #f))

    (define (->supply source)
      (cond ((supply? source) source)
            ((future? source) (future->supply source))
            ((list? source)
             (make-supply
              (lambda (tap)
                (produce! tap (make-gate)
                          (lambda ()
                            (let loop ((rest source))
                              (if (and (pair? rest) (tap-open? tap))
                                  (begin
                                    (push! tap (car rest))
                                    (loop (cdr rest))))))))
              #f))
            (else (%type-error 'whenever 1 "supply, future or list" source))))

    (%describe-waits! block 'channel "events of a react block" #f #f)))
