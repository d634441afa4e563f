;;; (canny process async): child processes as sources of events.
;;;
;;; Output arrives as a supply, the end as a future. A supply of a command runs it once for each
;;; tap, and ends it when the tap is closed before. One of a port or process reads on where the port
;;; is, so that it has one tap.
;;;
;;; A producer waits for its consumer: a program that writes faster than its lines are taken blocks
;;; on its pipe.

(define-library (canny process async)
  (export line-supply byte-supply
          process-lines process-error-lines process-bytes process-future
          command-lines command-bytes)
  (import (canny primitives) (canny syntax) (canny machine control) (canny tasks)
          (only (canny process) process? call-with-process process-command process-output
                process-error process-wait process-status process-signal status->string)
          (canny supplies))
  (begin

    ;; Calls `emit` with what `(read port)` gives until the end of the port, or until `emit` returns
    ;; #f; whether it reached the end.
    (define (pump port read emit)
      (let loop ()
        (let ((piece (read port)))
          (cond ((eof-object? piece) #t)
                ((emit piece) (loop))
                (else #f)))))

    (define (port-supply port read)
      (on-demand-supply (lambda (emit) (pump port read emit))))

    (define (check-port who port test? expected)
      (if (not (and (port? port) (input-port? port) (test? port)))
          (%type-error who 1 expected port)))

    ;; The lines of a textual input port, without their ends.
    (define (line-supply port)
      (check-port 'line-supply port textual-port? "textual input port")
      (port-supply port read-line))

    ;; The bytes of a binary input port, in pieces as they come.
    (define (byte-supply port)
      (check-port 'byte-supply port binary-port? "binary input port")
      (port-supply port read-available))

    ;; Of a process.

    (define (stream-of who process get)
      (if (not (process? process))
          (%type-error who 1 "process" process))
      (or (get process)
          (%range-error who 1 "the stream of the process is no pipe" process)))

    ;; The lines that a process writes.
    (define (process-lines process)
      (line-supply (stream-of 'process-lines process process-output)))

    ;; The lines that it writes to its error stream.
    (define (process-error-lines process)
      (line-supply (stream-of 'process-error-lines process process-error)))

    ;; The output of a process, in pieces of bytes; it was started with `#:binary #t`.
    (define (process-bytes process)
      (byte-supply (stream-of 'process-bytes process process-output)))

    ;; A task whose value is the status of a process, once it has ended.
    (define (process-future process)
      (if (not (process? process))
          (%type-error 'process-future 1 "process" process))
      (spawn (lambda () (process-wait process)) #:name 'process))

    ;; Of a command.

    ;; Runs a command with its output going to `emit`.
    (define (run-command who emit read binary command input error environment variables
                         directory check)
      (let ((process
             (call-with-escape-continuation
              (lambda (leave)
                (call-with-process
                  command
                  (lambda (process)
                    (if (not (pump (process-output process) read emit))
                        (leave #f))
                    process)
                  #:input input #:output 'pipe #:error error #:environment environment
                  #:variables variables #:directory directory #:binary binary #:group #t)))))
        (if (and process check)
            (let ((status (process-status process)))
              (if (not (eqv? status 0))
                  (raise (%make-condition 'process
                                          (string-append "the program failed, "
                                                         (status->string status))
                                          (list (process-command process) status "")
                                          who)))))))

    ;; A supply of the lines that a command writes. It ends when the command has; one that fails
    ;; ends it with an error, unless `#:check` is false. `#:input`, `#:error`, `#:environment`,
    ;; `#:variables` and `#:directory` are those of `(canny process)`.
    (define* (command-lines command #:key (input 'null) (error 'inherit)
                            (environment 'inherit) (variables '()) (directory #f) (check #t))
      (on-demand-supply
       (lambda (emit)
         (run-command 'command-lines emit read-line #f command input error environment variables
                      directory check))))

    ;; The same, in pieces of bytes as they come.
    (define* (command-bytes command #:key (input 'null) (error 'inherit)
                            (environment 'inherit) (variables '()) (directory #f) (check #t))
      (on-demand-supply
       (lambda (emit)
         (run-command 'command-bytes emit read-available #t command input error environment
                      variables directory check))))))
