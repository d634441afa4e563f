;;; (canny channels): values from task to task.
;;;
;;; A channel holds up to so many values that were sent and not received. It may be none, where a
;;; sender waits for its receiver, a number of them, or any number. Those that wait stand in one
;;; queue for senders and one for receivers. Only one of them is ever filled, but for entries of
;;; waits that have ended. `(canny tasks waiting)` says how a wait is ended.
;;;
;;; | record | its fields are changed | under |
;;; |---|---|---|
;;; | channel | by tasks that send, receive, wait or close | its lock |
;;; | entry | by the waiting task, by tasks that send or receive | the lock of the queue's channel |
;;;
;;; A value that is sent travels in the pair that it will be held in, so that nothing is allocated
;;; under a lock.
;;;
;;; A select tries its clauses one after the other. Then it locks all of its channels, in the order
;;; of their numbers, and tries again. It enters all of their queues before it unlocks them, so of
;;; two selects one always sees the other.

(define-library (canny channels)
  (export make-channel channel? channel-name channel-capacity channel-count channel-closed?
          channel-send! channel-try-send! channel-receive channel-try-receive channel-close!
          channel-closed-error?
          in-channel channel->generator channel->list
          select channel-select receive-case send-case)
  (import (canny primitives) (canny syntax) (canny machine control) (canny tasks)
          (canny tasks wait-queues)
          (canny tasks waiting)
          (only (canny machine posix) condition-of-kind?))
  (begin

    (define-record-type channel
      (new-channel %lock number capacity name count first last senders receivers closed)
      channel?
      (%lock channel-lock)
      ;; The order in which selects lock.
      (number channel-number)
      ;; #f if there is no limit.
      (capacity channel-capacity)
      (name channel-name)
      ;; The values that are held, a list of so many pairs; while there are none, `last` means
      ;; nothing.
      (count channel-count* set-channel-count!)
      (first channel-first set-channel-first!)
      (last channel-last set-channel-last!)
      (senders channel-senders)
      (receivers channel-receivers)
      (closed channel-closed* set-channel-closed!))

    (define-record-type supply
      (make-supply %lock next)
      supply?
      (%lock supply-lock)
      (next supply-next set-supply-next!))

    (define numbers (make-supply #f 0))

    (define (next-number)
      (%with-lock numbers
        (let ((number (supply-next numbers)))
          (set-supply-next! numbers (+ number 1))
          number)))

    ;; A channel that holds up to `capacity` values, #f for any number of them.
    (define* (make-channel #:optional (capacity 0) #:key (name #f))
      (if (not (or (not capacity) (and (fixnum? capacity) (>= capacity 0))))
          (%type-error 'make-channel 1 "number of values that is not negative, or #f" capacity))
      (new-channel #f (next-number) capacity name 0 '() '() (make-queue) (make-queue) #f))

    (define (check-channel who object)
      (if (not (channel? object))
          (%type-error who 1 "channel" object)))

    (define (channel-count channel)
      (check-channel 'channel-count channel)
      (channel-count* channel))

    (define (channel-closed? channel)
      (check-channel 'channel-closed? channel)
      (channel-closed* channel))

    (define (channel-closed-error? object)
      (condition-of-kind? object 'channel-closed))

    (define (raise-closed who channel)
      (raise (%make-condition 'channel-closed "the channel is closed" (list channel) who)))

    ;; The results of operations that found nothing to do, or a closed channel.
    (define nothing (list 'nothing))
    (define closed (list 'closed))

    ;; Under the lock of the channel.

    (define (hold! channel pair)
      (let ((count (channel-count* channel)))
        (if (eq? count 0)
            (set-channel-first! channel pair)
            (set-cdr! (channel-last channel) pair))
        (set-channel-last! channel pair)
        (set-channel-count! channel (+ count 1))))

    ;; The oldest value.  Its pair is cut off, lest an old one keep all that follow.
    (define (take-held! channel)
      (let* ((pair (channel-first channel))
             (count (- (channel-count* channel) 1)))
        (set-channel-first! channel (cdr pair))
        (set-channel-count! channel count)
        (if (eq? count 0)
            (set-channel-last! channel '()))
        (set-cdr! pair '())
        (car pair)))

    (define (has-room? channel)
      (let ((capacity (channel-capacity channel)))
        (or (not capacity)
            (< (channel-count* channel) capacity))))

    ;; Wakes the first sender that still waits; gives its pair or `nothing`.
    (define (take-from-sender! channel)
      (let ((senders (channel-senders channel)))
        (let loop ()
          (if (queue-empty? senders)
              nothing
              (let* ((entry (queue-first senders))
                     (pair (entry-item entry)))
                (if (wake-entry! entry #f)
                    pair
                    (loop)))))))

    ;; #t, #f if the sender has to wait, or `closed`.
    (define (attempt-send! channel pair)
      (cond ((channel-closed* channel) closed)
            ((and (not (queue-empty? (channel-receivers channel)))
                  (wake-first! (channel-receivers channel) (car pair)))
             #t)
            ((has-room? channel)
             (hold! channel pair)
             #t)
            (else #f)))

    ;; A value, `nothing` if the receiver has to wait, or `closed`.
    (define (attempt-receive! channel)
      (if (eq? (channel-count* channel) 0)
          (let ((pair (take-from-sender! channel)))
            (cond ((not (eq? pair nothing)) (car pair))
                  ((channel-closed* channel) closed)
                  (else nothing)))
          (let ((value (take-held! channel)))
            (if (not (queue-empty? (channel-senders channel)))
                (let ((pair (take-from-sender! channel)))
                  (if (not (eq? pair nothing))
                      (hold! channel pair))))
            value)))

    ;; Whether it is worth an attempt. Without the lock these are guesses. With it they are true,
    ;; except that entries of waits that have ended are taken for others. An attempt takes these
    ;; away.

    (define (may-send? channel)
      (or (channel-closed* channel)
          (not (queue-empty? (channel-receivers channel)))
          (has-room? channel)))

    (define (may-receive? channel)
      (or (not (eq? (channel-count* channel) 0))
          (not (queue-empty? (channel-senders channel)))
          (channel-closed* channel)))

    ;; With nothing locked.

    (define (try-send! channel pair)
      (and (may-send? channel)
           (%with-lock channel
             (attempt-send! channel pair))))

    (define (try-receive! channel)
      (if (may-receive? channel)
          (%with-lock channel
            (attempt-receive! channel))
          nothing))

    ;; Stands in a queue unless `may?` says that there is no need, and then wakes the waiter to try
    ;; again.
    (define (stand-in-queue channel may? queue entry waiter)
      (if (%with-lock channel
            (or (may? channel)
                (begin
                  (set-entry-waiter! entry waiter)
                  (link! queue entry)
                  #f)))
          (%wake! waiter 'again)))

    (define (wait-to-send channel pair deadline)
      (let* ((entry (make-entry pair #f))
             (wake
              (wait-in-queue channel (patience-left deadline)
                             (lambda (waiter)
                               (stand-in-queue channel may-send? (channel-senders channel)
                                               entry waiter))
                             (lambda ()
                               (%with-lock channel (withdraw! entry))))))
        (cond ((eq? wake entry)
               (if (eq? (entry-item entry) closed)
                   (raise-closed 'channel-send! channel)))
              ((eq? wake 'again)
               (send-or-wait channel pair deadline))
              (else
               (check-timeout 'channel-send! channel wake)))))

    (define (send-or-wait channel pair deadline)
      (let ((sent (try-send! channel pair)))
        (cond ((not sent) (wait-to-send channel pair deadline))
              ((eq? sent closed) (raise-closed 'channel-send! channel)))))

    ;; Gives a value to a receiver or has the channel hold it; waits until one of them can be done,
    ;; up to `timeout` seconds.
    (define* (channel-send! channel value #:key (timeout #f))
      (check-channel 'channel-send! channel)
      (send-or-wait channel (list value) (deadline-of 'channel-send! timeout))
      (values))

    ;; The same if there is no need to wait; whether that was so.
    (define (channel-try-send! channel value)
      (check-channel 'channel-try-send! channel)
      (let ((sent (try-send! channel (list value))))
        (if (eq? sent closed)
            (raise-closed 'channel-try-send! channel)
            sent)))

    ;; Gives a value, or `closed`.
    (define (wait-to-receive channel deadline)
      (let* ((entry (make-entry nothing #f))
             (wake
              (wait-in-queue channel (patience-left deadline)
                             (lambda (waiter)
                               (stand-in-queue channel may-receive? (channel-receivers channel)
                                               entry waiter))
                             (lambda ()
                               (%with-lock channel (withdraw! entry))))))
        (cond ((eq? wake entry) (entry-item entry))
              ((eq? wake 'again) (receive-or-wait channel deadline))
              (else (check-timeout 'channel-receive channel wake)))))

    (define (receive-or-wait channel deadline)
      (let ((value (try-receive! channel)))
        (if (eq? value nothing)
            (wait-to-receive channel deadline)
            value)))

    ;; The next value; `end` once the channel is closed and holds none.
    (define* (channel-receive channel #:key (timeout #f) (end (eof-object)))
      (check-channel 'channel-receive channel)
      (let ((value (receive-or-wait channel (deadline-of 'channel-receive timeout))))
        (if (eq? value closed) end value)))

    ;; The next value if there is one, else `default`.
    (define* (channel-try-receive channel #:optional (default #f) #:key (end (eof-object)))
      (check-channel 'channel-try-receive channel)
      (let ((value (try-receive! channel)))
        (cond ((eq? value nothing) default)
              ((eq? value closed) end)
              (else value))))

    ;; Lets nothing more be sent; whether the channel was open. Each wait is ended under the lock
    ;; for itself, so that others get their turn.
    (define (channel-close! channel)
      (check-channel 'channel-close! channel)
      (let ((first? (%with-lock channel
                      (let ((open? (not (channel-closed* channel))))
                        (set-channel-closed! channel #t)
                        open?))))
        (let loop ()
          (if (%with-lock channel
                (or (wake-first! (channel-receivers channel) closed)
                    (wake-first! (channel-senders channel) closed)))
              (loop)))
        first?))

    ;; Channels as sequences.

    (define-syntax in-channel
      (syntax-rules ()
        ((_ (item) (channel) next . rest)
         (next ((from channel))
               ((current (receive-item from) (receive-item from)))
               ((eq? current closed))
               ((item current))
               . rest))))

    ;; The next value or `closed`.
    (define (receive-item channel)
      (check-channel 'in-channel channel)
      (receive-or-wait channel #f))

    (define (channel->generator channel)
      (check-channel 'channel->generator channel)
      (lambda () (channel-receive channel)))

    (define (channel->list channel)
      (check-channel 'channel->list channel)
      (let loop ((items '()))
        (let ((item (receive-item channel)))
          (if (eq? item closed)
              (reverse items)
              (loop (cons item items))))))

    ;; Select.

    ;; One clause of a select. `pair` holds the value to send; #f for a receiver.
    (define-record-type select-case
      (make-case channel pair procedure)
      case?
      (channel case-channel)
      (pair case-pair)
      (procedure case-procedure))

    (define (check-case who channel procedure position)
      (if (not (or (not channel) (channel? channel)))
          (%type-error who 1 "channel or #f" channel))
      (if (not (procedure? procedure))
          (%type-error who position "procedure" procedure)))

    ;; Cases of a select whose channel is #f never happen.

    (define (receive-case channel procedure)
      (check-case 'receive-case channel procedure 2)
      (make-case channel #f procedure))

    (define (send-case channel value thunk)
      (check-case 'send-case channel thunk 3)
      (make-case channel (list value) thunk))

    (define (try-case! case)
      (if (case-pair case)
          (or (try-send! (case-channel case) (case-pair case))
              nothing)
          (try-receive! (case-channel case))))

    ;; Attempts all cases from one that is chosen at random. Gives the index of the one that could
    ;; be done, and what it gave, or #f.
    (define (try-cases! cases)
      (let* ((count (vector-length cases))
             (start (if (> count 1) (next-random count) 0)))
        (let loop ((left count) (index start))
          (if (eq? left 0)
              #f
              (let ((outcome (try-case! (vector-ref cases index))))
                (if (eq? outcome nothing)
                    (loop (- left 1) (if (= (+ index 1) count) 0 (+ index 1)))
                    (cons index outcome)))))))

    ;; The channels of the cases by their numbers, each one once.
    (define (channels-of cases)
      (define (insert channel channels)
        (cond ((or (null? channels)
                   (< (channel-number channel) (channel-number (car channels))))
               (cons channel channels))
              ((eq? channel (car channels)) channels)
              (else (cons (car channels) (insert channel (cdr channels))))))
      (let loop ((index 0) (channels '()))
        (if (= index (vector-length cases))
            channels
            (loop (+ index 1) (insert (case-channel (vector-ref cases index)) channels)))))

    (define (lock-all! channels)
      (if (pair? channels)
          (begin
            (%lock! (car channels))
            (lock-all! (cdr channels)))))

    (define (unlock-all! channels)
      (if (pair? channels)
          (begin
            (%unlock! (car channels))
            (unlock-all! (cdr channels)))))

    (define (case-may-happen? case)
      (if (case-pair case)
          (may-send? (case-channel case))
          (may-receive? (case-channel case))))

    (define (case-queue case)
      (if (case-pair case)
          (channel-senders (case-channel case))
          (channel-receivers (case-channel case))))

    ;; Stands in all queues unless a case may happen, and then wakes the waiter to try again.
    (define (stand-in-queues cases channels entries waiter)
      (let ((count (vector-length cases)))
        (lock-all! channels)
        (let ((again?
               (let loop ((index 0))
                 (and (< index count)
                      (or (case-may-happen? (vector-ref cases index))
                          (loop (+ index 1)))))))
          (if (not again?)
              (let loop ((index 0))
                (if (< index count)
                    (let ((entry (vector-ref entries index)))
                      (set-entry-waiter! entry waiter)
                      (link! (case-queue (vector-ref cases index)) entry)
                      (loop (+ index 1))))))
          (unlock-all! channels)
          (if again?
              (%wake! waiter 'again)))))

    (define (withdraw-all! cases entries)
      (let loop ((index 0))
        (if (< index (vector-length cases))
            (begin
              (%with-lock (case-channel (vector-ref cases index))
                (withdraw! (vector-ref entries index)))
              (loop (+ index 1))))))

    (define (make-entries cases)
      (let ((entries (make-vector (vector-length cases))))
        (let loop ((index 0))
          (if (< index (vector-length cases))
              (begin
                (vector-set! entries index
                             (make-entry (case-pair (vector-ref cases index)) index))
                (loop (+ index 1)))))
        entries))

    ;; An index and what that case gave, or `timed-out`.
    (define (wait-for-case cases channels deadline)
      (let* ((entries (make-entries cases))
             (wake
              (wait-in-queue 'select (patience-left deadline)
                             (lambda (waiter)
                               (stand-in-queues cases channels entries waiter))
                             (lambda () #f))))
        (cond ((eq? wake 'again)
               (or (try-cases! cases)
                   (wait-for-case cases channels deadline)))
              (else
               (withdraw-all! cases entries)
               (cond ((eq? wake 'timed-out) wake)
                     ((eq? wake 'cancelled) (%check-cancelled wake))
                     (else (cons (entry-tag wake) (entry-item wake))))))))

    (define (finish case outcome)
      (cond ((not (case-pair case))
             ((case-procedure case) (if (eq? outcome closed) (eof-object) outcome)))
            ((eq? outcome closed)
             (raise-closed 'select (case-channel case)))
            (else
             ((case-procedure case)))))

    (define (enabled cases)
      (let loop ((cases cases) (enabled '()))
        (cond ((pair? cases)
               (let ((case (car cases)))
                 (if (not (or (not case) (case? case)))
                     (%type-error 'channel-select 1 "list of cases" case))
                 (loop (cdr cases)
                       (if (and case (case-channel case))
                           (cons case enabled)
                           enabled))))
              ((null? cases) (list->vector enabled))
              (else (%type-error 'channel-select 1 "list of cases" cases)))))

    ;; Does one of several cases, the first that can be done; gives what its procedure gives. If
    ;; none can be done at once, calls `default`; if none could be done for `timeout` seconds,
    ;; `on-timeout`, without which that is an error.
    (define* (channel-select cases #:key (default #f) (timeout #f) (on-timeout #f))
      (let* ((cases (enabled cases))
             (deadline (deadline-of 'channel-select timeout))
             (done (and (not (eq? (vector-length cases) 0))
                        (try-cases! cases))))
        (cond (done (finish (vector-ref cases (car done)) (cdr done)))
              (default (default))
              ((and (eq? (vector-length cases) 0) (not deadline))
               (raise (%make-condition 'deadlock "there is nothing to wait for" '() 'select)))
              (else
               (let ((done (wait-for-case cases (channels-of cases) deadline)))
                 (cond ((pair? done) (finish (vector-ref cases (car done)) (cdr done)))
                       (on-timeout (on-timeout))
                       (else (raise-timeout 'select timeout))))))))

    (define-syntax select
      (syntax-rules ()
        ((_ clause ...)
         (%select () (#:default #f) (#:timeout #f) clause ...))))

    ;; Collects the cases, what to do if there is none, and what after some time.
    (define-syntax %select
      (syntax-rules (channel-receive channel-send! else)
        ((_ (case ...) (default ...) (timeout ...))
         (channel-select (list case ...) default ... timeout ...))
        ((_ (case ...) default timeout ((variable (channel-receive channel)) body0 body ...)
            . clauses)
         (%select (case ... (receive-case channel (lambda (variable) body0 body ...)))
                  default timeout . clauses))
        ((_ (case ...) default timeout ((channel-receive channel) body0 body ...) . clauses)
         (%select (case ... (receive-case channel (lambda (ignored) body0 body ...)))
                  default timeout . clauses))
        ((_ (case ...) default timeout ((channel-send! channel value) body0 body ...) . clauses)
         (%select (case ... (send-case channel value (lambda () body0 body ...)))
                  default timeout . clauses))
        ((_ cases default ignored (#:timeout seconds body0 body ...) . clauses)
         (%select cases default
                  (#:timeout seconds #:on-timeout (lambda () body0 body ...)) . clauses))
        ((_ cases ignored timeout (else body0 body ...) . clauses)
         (%select cases (#:default (lambda () body0 body ...)) timeout . clauses))
        ((_ cases default timeout clause . clauses)
         (syntax-error
          "select: expected ((variable (channel-receive channel)) body ...), ((channel-send! \
           channel value) body ...), (#:timeout seconds body ...) or (else body ...)"
          clause))))

    (%describe-waits! channel 'channel "a channel" 'name #f)))
