;;; (canny systemd): services that systemd starts: sockets that listen already, notices, the
;;; watchdog.
;;;
;;;     (run-server app #:listen (systemd-listeners #:otherwise '("127.0.0.1:8080")))
;;;
;;; Nothing of it needs systemd: any program that passes sockets and variables in the same way will
;;; do. Passed sockets are taken once, and the variables are removed then, so that children do not
;;; take them for their own.

(define-library (canny systemd)
  (export systemd-listeners systemd-notify systemd-watchdog-seconds start-watchdog!)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control) guard)
          (only (canny data lists) map for-each)
          (only (canny sync) make-mutex with-mutex)
          (only (canny tasks) sleep spawn without-scope)
          (only (canny net) %socket->listener))
  (begin

    (define (variable name)
      (let ((value (get-environment-variable name)))
        (and value
             (not (string=? value ""))
             value)))

    (define (number-of name)
      (let* ((text (variable name))
             (number (and text (string->number text 10))))
        (and (exact-nonnegative-integer? number)
             number)))

    (define (forget! names)
      (for-each (lambda (name) (%set-environment-variable! name #f)) names))

    (define mutex (make-mutex))

    ;; Pairs of a name and a listener, once they were taken.
    (define taken #f)

    (define (split text)
      (let loop ((start 0) (index 0) (parts '()))
        (cond ((= index (string-length text))
               (reverse! (cons (substring text start index) parts)))
              ((char=? #\: (string-ref text index))
               (loop (+ index 1) (+ index 1) (cons (substring text start index) parts)))
              (else (loop start (+ index 1) parts)))))

    ;; The name that systemd gives to sockets without one.
    (define no-name "unknown")

    (define (take-listeners!)
      (let ((count (if (eqv? (number-of "LISTEN_PID") (%process-id))
                       (or (number-of "LISTEN_FDS") 0)
                       0))
            (names (split (or (variable "LISTEN_FDNAMES") ""))))
        (forget! '("LISTEN_PID" "LISTEN_FDS" "LISTEN_FDNAMES" "LISTEN_PIDFDID"))
        (let loop ((place 0) (names names))
          (if (= place count)
              '()
              (let ((listener (%socket->listener (%inherited-listener place))))
                (cons (cons (if (or (null? names) (string=? "" (car names))) no-name (car names))
                            listener)
                      (loop (+ place 1) (if (null? names) '() (cdr names)))))))))

    ;; The listeners that the program was started with: those with a name, or all; `otherwise` if
    ;; there are none.
    (define* (systemd-listeners #:optional (name #f) #:key (otherwise '()))
      (if name
          (check-argument 'systemd-listeners 1 string? "string" name))
      (with-mutex mutex
        (if (not taken)
            (set! taken (take-listeners!))))
      (let loop ((entries taken) (found '()))
        (cond ((pair? entries)
               (loop (cdr entries)
                     (if (or (not name) (string=? name (caar entries)))
                         (cons (cdar entries) found)
                         found)))
              ((null? found) otherwise)
              (else (reverse! found)))))

    (define (notice-text notice)
      (case notice
        ((ready) "READY=1")
        ((stopping) "STOPPING=1")
        ((reloading)
         (string-append "RELOADING=1\nMONOTONIC_USEC="
                        (number->string (quotient (%clock-nanoseconds clock/monotonic) 1000))))
        ((watchdog) "WATCHDOG=1")
        (else (and (string? notice) notice))))

    ;; Reports the state of the program to the service manager: `ready`, `stopping`, `reloading`,
    ;; `watchdog`, or a text such as "STATUS=well". Returns whether there is a service manager and
    ;; it took the message.
    (define (systemd-notify notice . notices)
      (let ((socket (variable "NOTIFY_SOCKET"))
            (texts (map (lambda (notice)
                          (let ((text (notice-text notice)))
                            (check-argument 'systemd-notify 1 string?
                                            "ready, stopping, reloading, watchdog or a string" text)
                            text))
                        (cons notice notices))))
        (and socket
             (%send-notice socket
                           (string->utf8
                            (let loop ((text (car texts)) (rest (cdr texts)))
                              (if (null? rest)
                                  text
                                  (loop (string-append text "\n" (car rest)) (cdr rest)))))))))

    ;; The interval in seconds within which the watchdog expects a report of the program; #f if
    ;; there is none.
    (define (systemd-watchdog-seconds)
      (let ((microseconds (number-of "WATCHDOG_USEC"))
            (process (number-of "WATCHDOG_PID")))
        (and microseconds
             (> microseconds 0)
             (or (not process) (= process (%process-id)))
             (/ microseconds 1000000))))

    ;; Reports to the watchdog that the program is alive, twice as often as required, as long as
    ;; `alive?` returns true. The task that does it, or #f.
    (define* (start-watchdog! #:key (alive? (lambda () #t)))
      (check-procedure 'start-watchdog! 1 alive?)
      (let ((seconds (systemd-watchdog-seconds)))
        (and seconds
             (variable "NOTIFY_SOCKET")
             (without-scope
              (spawn (lambda ()
                       (let loop ()
                         (if (guard (object ((error-object? object) #f)) (alive?))
                             (systemd-notify 'watchdog))
                         (sleep (/ seconds 2))
                         (loop)))
                     #:name 'watchdog)))))))
