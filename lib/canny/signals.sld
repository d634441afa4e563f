;;; (canny signals): signals of the system as a supply, and what is done when the program ends.
;;;
;;; Signals come in as bytes by a port, which a task reads that is started with the first tap. The
;;; file of primitive rows `signals` has the details. While a signal is tapped it does nothing else:
;;; SIGTERM ends nothing, SIGINT interrupts nothing.
;;;
;;; Invariants:
;;; - Procedures that were registered for the end are called once, in the reverse order, however the
;;;   program ends: by SIGTERM, SIGINT or SIGHUP, by `exit`, by an error, by the end of its text.
;;;   `emergency-exit` after the first of them.
;;; - Another task that ends the program meanwhile waits for the one that calls.
;;; - The calls together take no longer than their deadline. Then the program ends without the rest.
;;;
;;; | record | is changed under |
;;; |---|---|
;;; | source: taps, port | its lock; a change of the number of taps from or to zero (un)watches |
;;; | shutdown | its lock |

(define-library (canny signals)
  (export signals raise-signal on-shutdown shut-down)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists) (canny tasks)
          (canny supplies)
          (only (canny supplies streams) make-gate call-through-gate make-supply connect!
                tap-on-close! report-error))
  (begin

    ;; The counts have a pair of the number and the count of taps for each signal that was ever
    ;; tapped.
    (define-record-type signal-source
      (make-source lock gate supplier reader counts)
      signal-source?
      (lock source-lock)
      (gate source-gate)
      (supplier source-supplier)
      (reader source-reader set-source-reader!)
      (counts source-counts set-source-counts!))

    (define source (make-source #f (make-gate) (make-supplier) #f '()))

    ;; So many signals wait for a tap that is slow; the others are lost, as the system loses those
    ;; that it collapses.
    (define waiting-signals 64)

    ;; The name of a signal, which may be given with or without `sig`.
    (define (check-signal object)
      (if (not (or (symbol? object) (exact-nonnegative-integer? object)))
          (%type-error 'signals 1 "name or number of a signal" object)))

    (define (start-reader!)
      (if (not (source-reader source))
          (let ((port (%signal-port)))
            (set-source-reader!
             source
             (without-scope
              (spawn (lambda ()
                       (let loop ()
                         (let ((number (read-u8 port)))
                           (if (not (eof-object? number))
                               (begin
                                 (supplier-emit! (source-supplier source) number)
                                 (loop))))))
                     #:name 'signals))))))

    (define (change-count! number change)
      (let ((entry (assv number (source-counts source))))
        (if entry
            (begin
              (set-cdr! entry (+ (cdr entry) change))
              (cdr entry))
            (begin
              (set-source-counts! source (cons (cons number change) (source-counts source)))
              change))))

    ;; Has a signal come in; gives its number.
    (define (watch! name)
      (let ((number #f))
        (call-through-gate
         (source-gate source)
         (lambda ()
           (start-reader!)
           (set! number (%watch-signal! name))
           (change-count! number 1)))
        number))

    (define (unwatch! number)
      (call-through-gate
       (source-gate source)
       (lambda ()
         (if (= 0 (change-count! number -1))
             (%unwatch-signal! number)))))

    ;; The names of signals as they come: `sigterm`, `sigint`, `sighup`, `sigusr1` and so on, of
    ;; those that are named. While it is tapped these do nothing else.
    (define (signals name . names)
      (let ((names (cons name names)))
        (for-each check-signal names)
        (supply-buffer
         (make-supply
          (lambda (tap)
            (let ((numbers (map (lambda (name)
                                  (let ((number (watch! name)))
                                    (tap-on-close! tap (lambda () (unwatch! number)))
                                    number))
                                names)))
              (connect! (supply-map %signal-name
                                    (supply-filter (lambda (number) (memv number numbers))
                                                   (supplier-supply (source-supplier source))))
                        tap)))
          #t)
         waiting-signals
         #:policy 'drop-newest)))

    ;; Sends a signal to this program.
    (define (raise-signal name)
      (check-signal name)
      (let ((number (watch! name)))
        (unwatch! number)
        (%raise-signal number)))

    ;; The end of the program.

    (define-record-type ending
      (make-shutdown lock thunks deadline begun watched caller)
      ending?
      (lock shutdown-lock)
      (thunks shutdown-thunks set-shutdown-thunks!)
      (deadline shutdown-deadline set-shutdown-deadline!)
      (begun shutdown-begun set-shutdown-begun!)
      ;; The names of signals that end the program in order.
      (watched shutdown-watched set-shutdown-watched!)
      ;; The task that calls the registered procedures, and a future of its end; or `#f`.
      (caller shutdown-caller set-shutdown-caller!))

    (define shutdown (make-shutdown #f '() 0 #f '() #f))

    (define ending-signals '(sigterm sigint sighup))

    (define default-deadline 10)

    ;; Has a procedure called when the program ends: by SIGTERM, SIGINT or SIGHUP, which then end it
    ;; in order, or in any other way. The last one is called first. All together have as many
    ;; seconds as the longest `#:deadline` of them. `#:signals` are those of the three that end the
    ;; program in order; the others do what they do without this.
    (define* (on-shutdown thunk #:key (deadline default-deadline) (signals ending-signals))
      (if (not (procedure? thunk))
          (%type-error 'on-shutdown 1 "procedure" thunk))
      (if (not (and (real? deadline) (>= deadline 0)))
          (raise (%make-condition 'type "#:deadline is not a number of seconds" (list deadline)
                                  'on-shutdown)))
      (if (not (and (list? signals) (null? (without ending-signals signals))))
          (raise (%make-condition 'type "#:signals is not a list of sigterm, sigint and sighup"
                                  (list signals) 'on-shutdown)))
      (let ((first-and-new
             (%with-lock shutdown
               (let ((first? (not (shutdown-begun shutdown)))
                     (new (without (shutdown-watched shutdown) signals)))
                 (set-shutdown-thunks! shutdown (cons thunk (shutdown-thunks shutdown)))
                 (set-shutdown-deadline! shutdown (max deadline (shutdown-deadline shutdown)))
                 (set-shutdown-watched! shutdown (append new (shutdown-watched shutdown)))
                 (if first? (set-shutdown-begun! shutdown 'watching))
                 (cons first? new)))))
        (if (car first-and-new)
            (%set-shutdown-procedure! (lambda () (call-thunks! 70 void))))
        (if (pair? (cdr first-and-new))
            (end-by! (cdr first-and-new))))
      (void))

    ;; The names that are not among others.
    (define (without others names)
      (cond ((null? names) '())
            ((memq (car names) others) (without others (cdr names)))
            (else (cons (car names) (without others (cdr names))))))

    (define (end-by! names)
      (tap (apply signals names)
           (lambda (name)
             (shut-down (+ 128 (signal-number name))))))

    (define (signal-number name)
      (case name
        ((sighup) 1)
        ((sigint) 2)
        (else 15)))

    ;; Ends the program in order, with that exit code. A program whose text ends meanwhile, since
    ;; what it was waiting for has been stopped, waits for this end.
    (define (shut-down code)
      (call-thunks! code
                    (lambda ()
                      ;; All was called; a program that ends at the same time has this exit code
                      ;; too.
                      (%set-shutdown-procedure! (lambda () (exit code)))
                      (exit code))))

    ;; Becomes the one who calls what was registered; else gives who does.
    (define (take-call!)
      (%with-lock shutdown
        (or (shutdown-caller shutdown)
            (begin
              (set-shutdown-caller! shutdown (cons (current-task) (make-future)))
              #f))))

    ;; Calls what was registered under the deadline, and then a procedure; or waits until another
    ;; task has done so.
    (define (call-thunks! code continue)
      (let ((caller (take-call!)))
        (cond ((not caller)
               (call-under-deadline! (shutdown-thunks shutdown) code)
               (continue)
               (future-resolve! (cdr (shutdown-caller shutdown)) #t))
              ;; One of those that are called ends the program.
              ((eq? (car caller) (current-task)) (continue))
              (else
               (await (cdr caller))
               (continue)))))

    (define (call-under-deadline! thunks code)
      (if (pair? thunks)
          (let* ((deadline (shutdown-deadline shutdown))
                 (watchdog (without-scope
                            (spawn (lambda ()
                                     (sleep deadline)
                                     (tell "canny: the program is ended before it was ready for it")
                                     (emergency-exit code))
                                   #:name 'deadline))))
            (for-each (lambda (thunk)
                        (guard (object (#t (report-error object)))
                          (thunk)))
                      thunks)
            (cancel! watchdog))))

    (define (tell text)
      (let ((port (current-error-port)))
        (write-string text port)
        (newline port)
        (flush-output-port port)))))
