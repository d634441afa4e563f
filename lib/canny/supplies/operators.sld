;;; (canny supplies operators): supplies from supplies, from lists and generators, and back.
;;;
;;; Each tap of a result has a state of its own. A pushed value is processed in the task that pushed
;;; it, so that a slow consumer blocks the emitter. If values are queued, the text of the procedure
;;; says how many.

(define-library (canny supplies operators)
  (export on-demand-supply list->supply vector->supply generator->supply tap
          supply->list supply->future supply->generator supply-for-each supply-fold
          supply-map supply-filter supply-remove supply-do supply-scan supply-take supply-drop
          supply-take-while supply-distinct supply-changes
          supply-merge supply-append supply-zip supply-flatten
          supply-throttle supply-batch supply-buffer supply-share)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny data lists)
          (canny tasks)
          (canny machine arguments)
          (only (canny data hash-tables) make-hash-table hash-table-exists? hash-table-set!)
          (canny supplies streams) (canny supplies reactions))
  (begin

    (define (check-supply who position object)
      (check-argument who position supply? "supply" object))

    (define (check-supplies who objects)
      (let loop ((rest objects) (position 1))
        (if (pair? rest)
            (begin
              (check-supply who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    (define (check-count who position object)
      (if (not (and (exact-nonnegative-integer? object) (> object 0)))
          (%type-error who position "positive integer" object)))

    (define (check-seconds who position object)
      (if (not (and (real? object) (>= object 0)))
          (%type-error who position "number of seconds that is not negative" object)))

    (define (check-callback who option object)
      (if (not (procedure? object))
          (raise-bad-option who option "a procedure" object)))

    ;; Sources.

    ;; A supply that calls `(producer emit)` for each tap, in a task of its own. `emit` gives a
    ;; value to the tap and waits until it is taken; it returns #f when the tap wants no more. The
    ;; return of the procedure is the end.
    (define (on-demand-supply producer)
      (check-procedure 'on-demand-supply 1 producer)
      (make-supply
       (lambda (tap)
         (let ((gate (make-gate)))
           (produce! tap gate
                     (lambda ()
                       (producer
                        (lambda (value)
                          (call-through-gate gate (lambda () (push! tap value)))
                          (tap-open? tap)))))))
       #f))

    (define (list->supply list)
      (if (not (list? list))
          (%type-error 'list->supply 1 "list" list))
      (->supply list))

    (define (vector->supply vector)
      (check-argument 'vector->supply 1 vector? "vector" vector)
      (on-demand-supply
       (lambda (emit)
         (let loop ((index 0))
           (if (and (< index (vector-length vector))
                    (emit (vector-ref vector index)))
               (loop (+ index 1)))))))

    ;; The supply of what a generator gives; the taps share it.
    (define (generator->supply generator)
      (check-procedure 'generator->supply 1 generator)
      (on-demand-supply
       (lambda (emit)
         (let loop ()
           (let ((value (generator)))
             (if (and (not (eof-object? value)) (emit value))
                 (loop)))))))

    ;; Consumers.

    ;; Calls procedures for the values of a supply, in the tasks that emit. An error of the supply,
    ;; or of one of these procedures, goes to `#:quit`, which by default reports it on the error
    ;; port.
    (define* (tap supply #:optional (emit void) #:key (done void) (quit report-error))
      (check-supply 'tap 1 supply)
      (check-procedure 'tap 2 emit)
      (check-callback 'tap "#:done" done)
      (check-callback 'tap "#:quit" quit)
      (let ((tap (make-tap emit done quit)))
        (connect! supply tap)
        tap))

    ;; A future of what `(finish)` gives at the end of a supply, and its tap.
    (define (future-and-tap supply emit finish)
      (let* ((future (make-future))
             (tap (make-tap emit
                            (lambda () (future-resolve! future (finish)))
                            (lambda (object) (future-reject! future object)))))
        (connect! supply tap)
        (cons future tap)))

    (define (await-and-close future-and-tap)
      (dynamic-wind
       void
       (lambda () (await (car future-and-tap)))
       (lambda () (tap-close! (cdr future-and-tap)))))

    ;; The list of all values, once the supply has ended.
    (define (supply->list supply)
      (check-supply 'supply->list 1 supply)
      (let ((values '()))
        (await-and-close
         (future-and-tap supply
                         (lambda (value) (set! values (cons value values)))
                         (lambda () (reverse values))))))

    ;; A future of the last value, or of the default when there is none.
    (define (supply->future supply . default)
      (check-supply 'supply->future 1 supply)
      (let ((last (if (pair? default) (car default) #f)))
        (car (future-and-tap supply
                             (lambda (value) (set! last value))
                             (lambda () last)))))

    ;; Calls a procedure with each value, in this task, and returns at the end of the supply.
    (define (supply-for-each procedure supply)
      (check-procedure 'supply-for-each 1 procedure)
      (check-supply 'supply-for-each 2 supply)
      (react
       (whenever (value supply)
         (procedure value))))

    ;; `(procedure value state)` gives the next state, in this task; the last one is the result.
    (define (supply-fold procedure seed supply)
      (check-procedure 'supply-fold 1 procedure)
      (check-supply 'supply-fold 3 supply)
      (let ((state seed))
        (react
         (whenever (value supply)
           (set! state (procedure value state))))
        state))

    ;; A generator of the values, and a procedure that closes the tap.  One value waits at most.
    (define (supply->generator supply)
      (check-supply 'supply->generator 1 supply)
      (let* ((pipe (make-pipe 1 'wait))
             (tap (make-tap
                   (lambda (value) (pipe-put! pipe value))
                   (lambda () (pipe-end! pipe (lambda () no-more)))
                   (lambda (object) (pipe-end! pipe (lambda () (raise object)))))))
        (tap-on-close! tap (lambda ()
                             (pipe-end! pipe (lambda () no-more))))
        (connect! supply tap)
        (values
         (lambda ()
           (let ((value (pipe-take! pipe)))
             (if (eq? value no-more) (eof-object) value)))
         (lambda ()
           (pipe-close! pipe)
           (tap-close! tap)))))

    ;; One value in, one value out or none.

    (define (supply-map procedure supply)
      (check-procedure 'supply-map 1 procedure)
      (check-supply 'supply-map 2 supply)
      (derive supply
              (lambda (down)
                (lambda (value) (forward! down (procedure value))))))

    (define (supply-filter test? supply)
      (check-procedure 'supply-filter 1 test?)
      (check-supply 'supply-filter 2 supply)
      (derive supply
              (lambda (down)
                (lambda (value)
                  (if (test? value) (forward! down value))))))

    (define (supply-remove test? supply)
      (check-procedure 'supply-remove 1 test?)
      (supply-filter (lambda (value) (not (test? value))) supply))

    ;; Calls a procedure with each value before the value is passed on.
    (define (supply-do procedure supply)
      (check-procedure 'supply-do 1 procedure)
      (supply-map (lambda (value)
                    (procedure value)
                    value)
                  supply))

    ;; The states that `(procedure value state)` gives, without the seed.
    (define (supply-scan procedure seed supply)
      (check-procedure 'supply-scan 1 procedure)
      (check-supply 'supply-scan 3 supply)
      (derive supply
              (lambda (down)
                (let ((state seed))
                  (lambda (value)
                    (set! state (procedure value state))
                    (forward! down state))))))

    ;; The first values, after which the tap is closed.
    (define (supply-take supply count)
      (check-supply 'supply-take 1 supply)
      (check-index 'supply-take 2 count)
      (if (= count 0)
          (make-supply push-done! #f)
          (derive supply
                  (lambda (down)
                    (let ((left count))
                      (lambda (value)
                        (set! left (- left 1))
                        (if (>= left 0)
                            (forward! down value))
                        (if (= left 0)
                            (push-done! down))))))))

    (define (supply-drop supply count)
      (check-supply 'supply-drop 1 supply)
      (check-index 'supply-drop 2 count)
      (derive supply
              (lambda (down)
                (let ((left count))
                  (lambda (value)
                    (if (> left 0)
                        (set! left (- left 1))
                        (forward! down value)))))))

    (define (supply-take-while test? supply)
      (check-procedure 'supply-take-while 1 test?)
      (check-supply 'supply-take-while 2 supply)
      (derive supply
              (lambda (down)
                (lambda (value)
                  (if (test? value)
                      (forward! down value)
                      (push-done! down))))))

    ;; Each value the first time that it comes, by `equal?`.  All that came are kept.
    (define (supply-distinct supply)
      (check-supply 'supply-distinct 1 supply)
      (derive supply
              (lambda (down)
                (let ((seen (make-hash-table)))
                  (lambda (value)
                    (if (not (hash-table-exists? seen value))
                        (begin
                          (hash-table-set! seen value #t)
                          (forward! down value))))))))

    ;; Each value that is not the same, by `equal?` or another predicate, as the one before.
    (define (supply-changes supply . same)
      (check-supply 'supply-changes 1 supply)
      (let ((same? (if (pair? same) (car same) equal?)))
        (check-procedure 'supply-changes 2 same?)
        (derive supply
                (lambda (down)
                  (let ((first? #t) (last #f))
                    (lambda (value)
                      (if (or first? (not (same? last value)))
                          (begin
                            (set! first? #f)
                            (set! last value)
                            (forward! down value)))))))))

    ;; Several supplies.

    (define (all-live? supplies)
      (and (pair? supplies)
           (let loop ((rest supplies))
             (or (null? rest)
                 (and (supply-live? (car rest)) (loop (cdr rest)))))))

    ;; The values of several supplies, as they come; the result ends when all have.
    (define (supply-merge . supplies)
      (check-supplies 'supply-merge supplies)
      (make-supply
       (lambda (down)
         (let ((gate (make-gate))
               (left (length supplies)))
           (define (connect-one supply)
             (let ((up (make-tap
                        (lambda (value)
                          (call-through-gate gate (lambda () (forward! down value))))
                        (lambda ()
                          (call-through-gate gate
                                             (lambda ()
                                               (set! left (- left 1))
                                               (if (= left 0) (push-done! down)))))
                        (lambda (object) (push-quit! down object)))))
               (tap-on-close! down (lambda () (tap-close! up)))
               (connect! supply up)))
           (if (null? supplies)
               (push-done! down)
               (for-each connect-one supplies))))
       (all-live? supplies)))

    ;; The values of several supplies, each tapped when the one before has ended.
    (define (supply-append . supplies)
      (check-supplies 'supply-append supplies)
      (make-supply
       (lambda (down)
         (let next ((rest supplies))
           (if (null? rest)
               (push-done! down)
               (let ((up (make-tap
                          (lambda (value) (forward! down value))
                          (lambda () (next (cdr rest)))
                          (lambda (object) (push-quit! down object)))))
                 (tap-on-close! down (lambda () (tap-close! up)))
                 (connect! (car rest) up)))))
       #f))

    ;; The values of supplies that are the values of a supply, or that a procedure makes of them, as
    ;; they come.
    (define (supply-flatten supply . procedure)
      (check-supply 'supply-flatten 1 supply)
      (let ((supply (if (pair? procedure) (supply-map (car procedure) supply) supply)))
        (make-supply
         (lambda (down)
           (let ((gate (make-gate))
                 (taps '()))
             ;; The end of the last one, that of the outer supply included, is the end.
             (define (ended up)
               (call-through-gate gate
                                  (lambda ()
                                    (set! taps (%remove-waiter up taps))
                                    (if (null? taps) (push-done! down)))))
             (define (connect-one supply emit)
               (let ((up #f))
                 (set! up (make-tap emit
                                    (lambda () (ended up))
                                    (lambda (object) (push-quit! down object))))
                 (call-through-gate gate (lambda () (set! taps (cons up taps))))
                 (if (tap-open? down)
                     (connect! supply up)
                     (tap-close! up))))
             (tap-on-close! down (lambda () (for-each tap-close! taps)))
             (connect-one
              supply
              (lambda (inner)
                (connect-one (->supply inner)
                             (lambda (value)
                               (call-through-gate gate (lambda () (forward! down value)))))))))
         #f)))

    ;; Of each of several supplies at most so many values wait for the others, then who emits does.
    (define zip-limit 1024)

    ;; Lists of one value of each supply; it ends with the first of them.
    (define (supply-zip . supplies)
      (check-supplies 'supply-zip supplies)
      (make-supply
       (lambda (down)
         (let ((gate (make-gate))
               (pipes (map (lambda (supply) (make-pipe zip-limit 'wait)) supplies)))
           (define (connect-one supply pipe)
             (let ((up (make-tap
                        (lambda (value) (pipe-put! pipe value))
                        (lambda () (pipe-end! pipe (lambda () no-more)))
                        (lambda (object) (pipe-end! pipe (lambda () (raise object)))))))
               (tap-on-close! down (lambda ()
                                     (pipe-close! pipe)
                                     (tap-close! up)))
               (connect! supply up)))
           (for-each connect-one supplies pipes)
           (produce! down gate
                     (lambda ()
                       (let loop ()
                         (let ((row (take-row! pipes)))
                           (if (and row (tap-open? down))
                               (begin
                                 (push! down row)
                                 (loop)))))))))
       (all-live? supplies)))

    ;; One value of each pipe, or #f at an end.
    (define (take-row! pipes)
      (if (null? pipes)
          #f
          (let loop ((rest pipes) (values '()))
            (if (null? rest)
                (reverse values)
                (let ((value (pipe-take! (car rest))))
                  (if (eq? value no-more)
                      #f
                      (loop (cdr rest) (cons value values))))))))

    ;; Time and buffers.

    ;; At most `count` values in each stretch of so many seconds; who emits more waits.
    (define (supply-throttle supply count seconds)
      (check-supply 'supply-throttle 1 supply)
      (check-count 'supply-throttle 2 count)
      (check-seconds 'supply-throttle 3 seconds)
      (let ((stretch (exact (ceiling (* seconds 1000000000)))))
        (derive supply
                (lambda (down)
                  (let ((begin-of-stretch #f) (used 0))
                    (lambda (value)
                      (let* ((now (%clock-nanoseconds clock/monotonic))
                             (end (and begin-of-stretch (+ begin-of-stretch stretch))))
                        (cond ((or (not end) (>= now end))
                               (set! begin-of-stretch now)
                               (set! used 0))
                              ((= used count)
                               (sleep (/ (- end now) 1000000000))
                               (set! begin-of-stretch (%clock-nanoseconds clock/monotonic))
                               (set! used 0)))
                        (set! used (+ used 1))
                        (forward! down value))))))))

    ;; Lists of values: as soon as there are `#:count`, or when so many seconds have passed since
    ;; the first of them. The rest comes at the end.
    (define* (supply-batch supply #:key (count #f) (seconds #f))
      (check-supply 'supply-batch 1 supply)
      (if (not (or (not count) (and (exact-nonnegative-integer? count) (> count 0))))
          (raise-bad-option 'supply-batch "#:count" "a positive integer or #f" count))
      (if (not (or (not seconds) (and (real? seconds) (>= seconds 0))))
          (raise-bad-option 'supply-batch "#:seconds" "a number of seconds or #f" seconds))
      (if (not (or count seconds))
          (raise (%make-condition 'range "there is neither #:count nor #:seconds" '()
                                  'supply-batch)))
      (make-supply
       (lambda (down)
         (let ((gate (make-gate))
               (values '())
               (size 0)
               (number 0)
               (timer #f))
           (define (stop-timer!)
             (if timer
                 (begin
                   (if (not (eq? timer (current-task)))
                       (cancel! timer))
                   (set! timer #f))))
           ;; In the gate.
           (define (flush!)
             (if (pair? values)
                 (let ((batch (reverse values)))
                   (stop-timer!)
                   (set! values '())
                   (set! size 0)
                   (set! number (+ number 1))
                   (push! down batch))))
           (define (start-timer!)
             (let ((mine number))
               (set! timer
                     (without-scope
                      (spawn (lambda ()
                               (sleep seconds)
                               (call-through-gate
                                gate
                                (lambda ()
                                  (if (= number mine)
                                      (begin
                                        (set! timer #f)
                                        (flush!))))))
                             #:name 'supply-batch)))))
           (let ((up (make-tap
                      (lambda (value)
                        (call-through-gate
                         gate
                         (lambda ()
                           (set! values (cons value values))
                           (set! size (+ size 1))
                           (cond ((and count (= size count)) (flush!))
                                 ((and seconds (= size 1)) (start-timer!))))))
                      (lambda ()
                        (call-through-gate gate
                                           (lambda ()
                                             (flush!)
                                             (push-done! down))))
                      (lambda (object)
                        (call-through-gate gate (lambda () (push-quit! down object)))))))
             (tap-on-close! down (lambda ()
                                   (stop-timer!)
                                   (tap-close! up)))
             (connect! supply up))))
       (supply-live? supply)))

    ;; The same values from a task of its own, so that the emitter is ahead of the consumer by at
    ;; most so many. `#:policy` says what becomes of a value without room: `wait` blocks the
    ;; emitter, `drop-oldest` and `drop-newest` lose one, `error` ends the supply.
    (define* (supply-buffer supply size #:key (policy 'wait))
      (check-supply 'supply-buffer 1 supply)
      (check-count 'supply-buffer 2 size)
      (if (not (memq policy '(wait drop-oldest drop-newest error)))
          (raise-bad-option 'supply-buffer "#:policy" "wait, drop-oldest, drop-newest or error"
                            policy))
      (make-supply
       (lambda (down)
         (let* ((pipe (make-pipe size policy))
                (up (make-tap
                     (lambda (value) (pipe-put! pipe value))
                     (lambda () (pipe-end! pipe (lambda () no-more)))
                     (lambda (object) (pipe-end! pipe (lambda () (raise object)))))))
           (tap-on-close! down (lambda ()
                                 (pipe-close! pipe)
                                 (tap-close! up)))
           (connect! supply up)
           (produce! down (make-gate)
                     (lambda ()
                       (let loop ()
                         (let ((value (pipe-take! pipe)))
                           (if (not (eq? value no-more))
                               (begin
                                 (push! down value)
                                 (loop)))))))))
       (supply-live? supply)))

    ;; A live supply of what one tap gives, which is made with the first tap of this and shared by
    ;; all.
    (define (supply-share supply)
      (check-supply 'supply-share 1 supply)
      (let* ((supplier (make-supplier))
             (shared (supplier-supply supplier))
             (first (make-gate))
             (connected? #f))
        (make-supply
         (lambda (down)
           (connect! shared down)
           (call-through-gate
            first
            (lambda ()
              (if (not connected?)
                  (begin
                    (set! connected? #t)
                    (connect! supply
                              (make-tap
                               (lambda (value) (supplier-emit! supplier value))
                               (lambda () (supplier-done! supplier))
                               (lambda (object) (supplier-quit! supplier object)))))))))
         #t)))))
