;;; (canny process): running other programs.
;;;
;;; A command is a list of strings, a program and its arguments, which go to it as they are: no
;;; shell looks at them. A list of commands is a pipeline. A status is the exit code of a program,
;;; or the negative number of the signal that ended it.
;;;
;;; Invariants:
;;; - A task that waits for a program serves all its streams at once, a piece at a time. So neither
;;;   side waits for the other, and memory does not depend on the amount of data.
;;; - A program that is abandoned, by a timeout, an interrupt or a condition, is ended, and its
;;;   status is taken.
;;; - Programs get the three standard streams and no other descriptors.

(define-library (canny process)
  (export run run/check run->string run->lines run->bytevector run-for-each-line
          shell-command pipeline
          spawn-process process? process-id process-command process-input process-output
          process-error
          process-port
          process-status process-running? process-wait process-signal process-terminate
          process-close
          call-with-process
          status-signal status->string
          process-error? process-error-command process-error-status process-error-output
          timeout-error?)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny data lists)
          (only (canny io) transcode-input transcode-output decode-bytevector encode-string
                make-decoder decoder-feed! decoder-finish! decoder-read-line
                decoder-read-available)
          (only (canny machine posix) timeout-error? condition-of-kind?)
          (only (canny machine arguments) raise-bad-option))
  (begin

    ;; Commands.

    ;; The command that has a line of text executed by a shell.
    (define (shell-command text)
      (if (not (string? text))
          (%type-error 'shell-command 1 "string" text))
      (list "/bin/sh" "-c" text))

    ;; Commands of which each reads what the one before writes.
    (define (pipeline command . commands)
      (for-each (lambda (command) (check-simple 'pipeline command))
                (cons command commands))
      (cons command commands))

    (define (simple-command? object)
      (and (pair? object)
           (list? object)
           (all? string? object)))

    (define (all? test list)
      (or (null? list)
          (and (test (car list)) (all? test (cdr list)))))

    (define (check-simple who object)
      (if (not (simple-command? object))
          (%type-error who 1 "command, a list of strings" object)))

    ;; The simple commands of a command.
    (define (command-parts who command)
      (cond ((simple-command? command) (list command))
            ((and (pair? command) (list? command) (all? simple-command? command)) command)
            (else (%type-error who 1 "command, a list of strings or of such lists" command))))

    ;; Processes.

    ;; `children`: what the machine knows of the processes, the last one first; `statuses`: theirs,
    ;; once all are known.
    (define-record-type process
      (make-process parts children input output error group? statuses)
      process?
      (parts process-parts)
      (children process-children)
      (input process-input)
      (output process-output)
      (error process-error)
      (group? process-group?)
      (statuses process-statuses set-process-statuses!))

    (define (check-process who object)
      (if (not (process? object))
          (%type-error who 1 "process" object)))

    ;; The number of a process, of the last one of a pipeline.
    (define (process-id process)
      (check-process 'process-id process)
      (%process-id (car (process-children process))))

    ;; The command that a process was started with.
    (define (process-command process)
      (check-process 'process-command process)
      (let ((parts (process-parts process)))
        (if (null? (cdr parts)) (car parts) parts)))

    ;; A port that reads what a process writes and writes what it reads. It is the output and the
    ;; input of the process in one, such as the other side of a terminal.
    (define (process-port process)
      (check-process 'process-port process)
      (if (not (and (process-input process) (process-output process)))
          (%range-error 'process-port 1 "a process with pipes for input and output" process))
      (%join-ports (process-output process) (process-input process) #f))

    ;; The destination of a stream of a new process. A file that is opened here is closed once the
    ;; process has it, so it comes in a pair with #t.
    (define (stream-setting who object output? pipe)
      (cond ((eq? object 'inherit) (cons stream/inherit #f))
            ((eq? object 'null) (cons stream/null #f))
            ((eq? object 'pipe) (cons pipe #f))
            ((and (eq? object 'output) (eq? output? 'error)) (cons stream/output #f))
            ((string? object)
             (cons (if output?
                       (%open-file object port-kind/binary-output
                                   (+ open-flag/create open-flag/truncate)
                                   #o666)
                       (open-binary-input-file object))
                   #t))
            ((and output? (pair? object) (eq? (car object) 'append)
                  (pair? (cdr object)) (string? (cadr object)))
             (cons (%open-file (cadr object) port-kind/binary-output
                               (+ open-flag/append open-flag/create)
                               #o666) #t))
            ((and (port? object)
                  (if output? (output-port? object) (input-port? object))
                  (%port-duplicable? object))
             (cons (%port-side object (and output? #t)) #f))
            (output?
             (raise-bad-option who (if (eq? output? 'error) "#:error" "#:output")
                               "inherit, null, pipe, the name of a file, or an output port of a \
                                file"
                               object))
            (else
             (raise-bad-option who "#:input"
                               "inherit, null, pipe, the name of a file, or an input port of a file"
                               object))))

    (define (close-setting setting)
      (if (cdr setting) (close-port (car setting))))

    ;; The variables of the new process: #f for those of this one, or a list of pairs. `changes` has
    ;; pairs of names and values, #f for a variable that is taken away.
    (define (environment-setting who environment changes)
      (define (check list values)
        (if (not (and (list? list)
                      (all? (lambda (entry)
                              (and (pair? entry)
                                   (variable? (car entry))
                                   (values (cdr entry))))
                            list)))
            (raise-bad-option who "#:environment or #:variables"
                              "a list of pairs of names and values" list)))
      (if (not (eq? environment 'inherit))
          (check environment string?))
      (check changes (lambda (value) (or (not value) (string? value))))
      (if (and (eq? environment 'inherit) (null? changes))
          #f
          (let loop ((rest changes)
                     (variables (if (eq? environment 'inherit)
                                    (get-environment-variables)
                                    environment)))
            (if (null? rest)
                variables
                (let ((others (without (caar rest) variables)))
                  (loop (cdr rest)
                        (if (cdar rest) (cons (car rest) others) others)))))))

    (define (variable? object)
      (and (string? object)
           (not (string-null? object))
           (not (string-contains object "="))))

    (define (without name variables)
      (let loop ((rest variables) (kept '()))
        (cond ((null? rest) (reverse kept))
              ((string=? name (caar rest)) (loop (cdr rest) kept))
              (else (loop (cdr rest) (cons (car rest) kept))))))

    ;; How pipes look from here: `binary` is #f for ports of text in UTF-8.
    (define (pipe-kind binary)
      (if binary stream/binary-pipe stream/textual-pipe))

    ;; Starts the processes of a pipeline; `group` is #f or #t.
    (define (start who parts input output error variables directory group pty binary)
      (if (not (or (not directory) (string? directory)))
          (raise-bad-option who "#:directory" "a name or #f" directory))
      (let ((pipe (pipe-kind binary))
            (several? (pair? (cdr parts)))
            (settings '())
            (ours '())
            (started '()))
        (define (setting! object output?)
          (let ((setting (stream-setting who object output? pipe)))
            (set! settings (cons setting settings))
            (car setting)))
        ;; The end for writing of a pipe that several processes share; we keep the other.
        (define (shared-pipe!)
          (let ((ends (%pipe (if binary port-kind/binary-input port-kind/textual-input))))
            (set! settings (cons (cons (cdr ends) #t) settings))
            (set! ours (cons (car ends) ours))
            ends))
        (define (release!)
          (for-each close-setting settings)
          (set! settings '()))
        (guard (object (#t (release!)
                        (for-each close-quietly ours)
                        (for-each (lambda (entry)
                                    (%process-signal (car entry) 'sigkill #f)
                                    (%process-wait (car entry) #f)
                                    (for-each close-quietly (cdr entry)))
                                  started)
                        (raise object)))
          (let* ((input (setting! input #f))
                 (merges? (and several? (eq? error 'output)))
                 (output-ends (and merges? (eq? output 'pipe) (shared-pipe!)))
                 (output (cond (output-ends (cdr output-ends))
                               ((and merges? (eq? output 'inherit))
                                (setting! (%descriptor-port 1 port-kind/binary-output) #t))
                               (else (setting! output #t))))
                 (error-ends (and several? (eq? error 'pipe) (shared-pipe!)))
                 (error (cond (error-ends (cdr error-ends))
                              (merges? output)
                              (else (setting! error 'error)))))
            (let loop ((rest parts) (source input) (group group))
              (let* ((last? (null? (cdr rest)))
                     (entry (%spawn
                             (vector-at spawn-setting/count
                                        (spawn-setting/program (caar rest))
                                        (spawn-setting/arguments (cdar rest))
                                        (spawn-setting/environment variables)
                                        (spawn-setting/directory directory)
                                        (spawn-setting/input source)
                                        (spawn-setting/output
                                         (if last? output stream/binary-pipe))
                                        (spawn-setting/error error)
                                        (spawn-setting/group group)
                                        (spawn-setting/terminal pty)))))
                ;; The process has a copy of the other end.
                (if (pair? started) (close-port source))
                (set! started (cons entry started))
                (if (not last?)
                    (loop (cdr rest)
                          (list-ref entry spawned/output)
                          (if (eq? group #t)
                              (%process-id (list-ref entry spawned/process))
                              group)))))
            (release!)
            (let ((first (car (reverse started)))
                  (last (car started)))
              (make-process parts
                            (map (lambda (entry) (list-ref entry spawned/process)) started)
                            (list-ref first spawned/input)
                            (if output-ends (car output-ends) (list-ref last spawned/output))
                            (if error-ends (car error-ends) (list-ref last spawned/error))
                            (or group (and pty #t))
                            #f))))))

    (define (close-quietly port)
      (if (port? port)
          (guard (object (#t #f))
            (close-port port))))

    (define (pty-size who pty)
      (cond ((not pty) #f)
            ((eq? pty #t) '(24 . 80))
            ((and (pair? pty)
                  (exact-nonnegative-integer? (car pty))
                  (exact-nonnegative-integer? (cdr pty)))
             pty)
            (else (raise-bad-option who "#:pty" "true, false or a pair of rows and columns" pty))))

    ;; Starts a program, or the programs of a pipeline, and returns at once.
    ;;
    ;; `#:input`, `#:output` and `#:error` are `inherit`, `null`, `pipe`, the name of a file, or a
    ;; port that has a file, pipe or socket behind it. Output may also be `(append NAME)`, and
    ;; `#:error 'output` is where output goes. Our ends of pipes are ports of text, or of bytes with
    ;; `#:binary #t`; `#:encoding`, `#:malformed`, `#:lines` and `#:byte-order-mark` are those of
    ;; `transcode-input` and `transcode-output`.
    ;;
    ;; `#:environment` has all variables as pairs, `#:variables` only those that are other than
    ;; here, with `#f` for one that is not there. `#:directory` is where the program starts.
    ;; `#:group #t` makes a process group of its own. `#:pty #t`, or a pair of rows and columns,
    ;; gives it a terminal, whose other side are the input and output ports.
    (define* (spawn-process command #:key (input 'pipe) (output 'pipe) (error 'inherit)
                            (environment 'inherit) (variables '()) (directory #f) (group #f)
                            (pty #f) (binary #f) (encoding "UTF-8") (malformed 'raise) (lines 'any)
                            (byte-order-mark 'omit))
      (let* ((parts (command-parts 'spawn-process command))
             (size (pty-size 'spawn-process pty))
             (usual? (and (equal? encoding "UTF-8")
                          (eq? malformed 'raise)
                          (eq? lines 'any)
                          (eq? byte-order-mark 'omit)))
             (reader
              (lambda (port)
                (and port
                     (transcode-input port #:encoding encoding #:malformed malformed #:lines lines
                                      #:byte-order-mark byte-order-mark))))
             (writer
              (lambda (port)
                (and port
                     (transcode-output port #:encoding encoding #:malformed malformed
                                       #:byte-order-mark byte-order-mark)))))
        (if (and size (pair? (cdr parts)))
            (%range-error 'spawn-process 1 "a terminal is for one program" command))
        (if (not usual?)
            ;; Wrong options are reported before there is a program.
            (reader (open-input-bytevector (bytevector))))
        (let ((process (start 'spawn-process parts
                              (if size 'pipe input)
                              (if size 'pipe output)
                              (if size 'inherit error)
                              (environment-setting 'spawn-process environment variables)
                              directory
                              (if group #t #f)
                              size
                              (or binary (not usual?)))))
          (if (or binary usual?)
              process
              (make-process parts
                            (process-children process)
                            (writer (process-input process))
                            (reader (process-output process))
                            (reader (process-error process))
                            (process-group? process)
                            #f)))))

    ;; The status of a pipeline: that of the last program that failed. A program that wrote to one
    ;; that had read enough did not fail.
    (define (joined-status statuses)
      (let loop ((rest (cdr statuses)) (status (car statuses)))
        (cond ((not (eqv? status 0)) status)
              ((null? rest) 0)
              (else (loop (cdr rest) (if (eqv? (car rest) sigpipe) 0 (car rest)))))))

    (define sigpipe -13)

    (define (take-statuses! process statuses)
      (set-process-statuses! process statuses)
      (joined-status statuses))

    ;; The status of a process, or `#f` while it runs. That of a pipeline is the one of the last
    ;; program that failed.
    (define (process-status process)
      (check-process 'process-status process)
      (if (process-statuses process)
          (joined-status (process-statuses process))
          (let ((statuses (map %process-ending (process-children process))))
            (and (all? (lambda (status) status) statuses)
                 (take-statuses! process statuses)))))

    ;; Whether a process has not ended.
    (define (process-running? process)
      (check-process 'process-running? process)
      (not (process-status process)))

    ;; Waits for the end of a process, at most `#:timeout` seconds, and gives its status; `#f` when
    ;; the time is over.
    (define* (process-wait process #:key (timeout #f))
      (check-process 'process-wait process)
      (let ((end (deadline 'process-wait timeout)))
        (let loop ((rest (process-children process)) (statuses '()))
          (if (null? rest)
              (take-statuses! process (reverse statuses))
              (let ((status (%process-wait (car rest) (time-left end))))
                (and status
                     (loop (cdr rest) (cons status statuses))))))))

    (define (deadline who seconds)
      (cond ((not seconds) #f)
            ((and (real? seconds) (>= seconds 0) (< seconds 1e9))
             (+ (%clock-nanoseconds clock/monotonic) (exact (floor (* seconds 1000000000)))))
            (else (raise-bad-option who "#:timeout" "a number of seconds or #f" seconds))))

    ;; The seconds until then.
    (define (time-left end)
      (and end (max 0 (/ (- end (%clock-nanoseconds clock/monotonic)) 1000000000))))

    ;; Sends a signal, `sigterm`, `sigkill` and the like or a number, to a process, to all of its
    ;; group with `#:group #t`. Whether it had not ended before.
    (define* (process-signal process signal #:key (group #f))
      (check-process 'process-signal process)
      (let loop ((rest (process-children process)) (sent? #f))
        (if (null? rest)
            sent?
            (loop (cdr rest)
                  (or (%process-signal (car rest) signal (and group (process-group? process)))
                      sent?)))))

    ;; Ends a process, with all of its group if it has one of its own. It gets SIGTERM, and
    ;; after `#:grace` seconds, 2 unless given, SIGKILL. Its status.
    (define* (process-terminate process #:key (grace 2))
      (check-process 'process-terminate process)
      (process-signal process 'sigterm #:group #t)
      (or (process-wait process #:timeout grace)
          (begin
            (process-signal process 'sigkill #:group #t)
            (process-wait process))))

    ;; Closes our ends of the pipes of a process. The process keeps running; a second time does
    ;; nothing.
    (define (process-close process)
      (check-process 'process-close process)
      (close-quietly (process-input process))
      (close-quietly (process-output process))
      (close-quietly (process-error process)))

    ;; Starts a program as `spawn-process` does, with these keyword arguments in a list, and calls a
    ;; procedure with the process. When the procedure returns, its results are returned once the
    ;; program has ended; when it raises or is left, the program is ended.
    (define (call-with-process command procedure . options)
      (if (not (procedure? procedure))
          (%type-error 'call-with-process 2 "procedure" procedure))
      (let ((process (%apply spawn-process (cons command options)))
            (finished? #f))
        (for-each %end-with-program (process-children process))
        (dynamic-wind
         void
         (lambda ()
           (let ((result (procedure process)))
             (process-close process)
             (process-wait process)
             (set! finished? #t)
             result))
         (lambda ()
           (if (not finished?) (give-up process))))))

    ;; Ends a process that is not needed any more.
    (define (give-up process)
      (process-close process)
      (process-terminate process #:grace 1/2))

    ;; Statuses.

    ;; The name of the signal that ended a process, by its status, or `#f`.
    (define (status-signal status)
      (if (not (exact-integer? status))
          (%type-error 'status-signal 1 "status" status))
      (and (< status 0)
           (or (%signal-name (- status)) 'unknown)))

    ;; A status in words.
    (define (status->string status)
      (if (not (exact-integer? status))
          (%type-error 'status->string 1 "status" status))
      (cond ((status-signal status)
             => (lambda (signal)
                  (string-append "ended by "
                                 (if (eq? signal 'unknown)
                                     (string-append "signal " (number->string (- status)))
                                     (string-upcase (symbol->string signal))))))
            (else (string-append "exit code " (number->string status)))))

    ;; Conditions.

    ;; Whether an object says that a program failed.
    (define (process-error? object) (condition-of-kind? object 'process))

    (define (irritant who object index)
      (if (not (or (process-error? object)
                   (and (timeout-error? object)
                        (= (length (error-object-irritants object)) 3))))
          (%type-error who 1 "condition of a program" object))
      (list-ref (error-object-irritants object) index))

    ;; The command that failed.
    (define (process-error-command object) (irritant 'process-error-command object 0))

    ;; How it ended.
    (define (process-error-status object) (irritant 'process-error-status object 1))

    ;; The end of what it wrote to its error stream, a string.
    (define (process-error-output object) (irritant 'process-error-output object 2))

    (define (process-failed who process status tail)
      (raise (%make-condition 'process
                              (string-append "the program failed, " (status->string status))
                              (list (process-command process) status (bytes->text tail #t))
                              who)))

    (define (timed-out who process status tail)
      (raise (%make-condition 'timeout
                              "the program took too long"
                              (list (process-command process) status (bytes->text tail #t))
                              who)))

    ;; Running to the end.

    ;; The text of bytes. Malformed sequences are replaced if `replace?` is true.
    (define (bytes->text bytes replace?)
      (if replace?
          (guard (object (#t (latin-text bytes)))
            (utf8->string bytes))
          (utf8->string bytes)))

    ;; Text with a question mark for each byte that is no ASCII.
    (define (latin-text bytes)
      (let ((text (make-string (bytevector-length bytes) #\?)))
        (let loop ((index 0))
          (if (= index (bytevector-length bytes))
              text
              (let ((byte (bytevector-u8-ref bytes index)))
                (if (< byte 128) (string-set! text index (integer->char byte)))
                (loop (+ index 1)))))))

    (define tail-bytes 4096)

    ;; A procedure that takes pieces of bytes and keeps the last ones; without an argument it gives
    ;; them.
    (define (make-tail)
      (let ((tail (bytevector)))
        (case-lambda
          (() tail)
          ((piece)
           (let* ((joined (if (>= (bytevector-length piece) tail-bytes)
                              piece
                              (bytevector-append tail piece)))
                  (length (bytevector-length joined)))
             (set! tail (if (> length tail-bytes)
                            (bytevector-copy joined (- length tail-bytes))
                            joined)))))))

    ;; The input of a program: a procedure that returns the next piece of bytes, or #f at the end.
    (define (make-feed who input encoding)
      (define (encode text)
        (if (equal? encoding "UTF-8")
            (string->utf8 text)
            (encode-string text encoding)))
      (cond ((string? input) (make-feed who (encode input) encoding))
            ((bytevector? input)
             (let ((given? #f))
               (lambda ()
                 (if given?
                     #f
                     (begin (set! given? #t) input)))))
            ((procedure? input)
             (lambda ()
               (let ((piece (input)))
                 (cond ((eof-object? piece) #f)
                       ((bytevector? piece) piece)
                       ((string? piece) (encode piece))
                       (else
                        (raise-bad-option who "what the procedure for #:input gave"
                                          "a string, a bytevector or an end-of-file object"
                                          piece))))))
            ((binary-port? input)
             (lambda ()
               (let ((piece (read-bytevector 65536 input)))
                 (if (eof-object? piece) #f piece))))
            (else
             (lambda ()
               (let ((piece (read-string 65536 input)))
                 (if (eof-object? piece) #f (encode piece)))))))

    ;; A consumer of bytes: a procedure of a piece. For a textual port sequences may be cut between
    ;; pieces.
    (define (make-sink target encoding)
      (cond ((procedure? target) target)
            ((binary-port? target)
             (lambda (piece) (write-bytevector piece target)))
            (else
             (let ((decoder (make-decoder encoding #:malformed 'replace)))
               (lambda (piece)
                 (decoder-feed! decoder piece)
                 (let ((text (decoder-read-available decoder)))
                   (if (string? text) (write-string text target))))))))

    ;; The stream that `#:input` means for the process, and the input that is written to it from
    ;; here.
    (define (input-plan who input encoding)
      (cond ((or (memq input '(inherit null))
                 (and (pair? input) (eq? (car input) 'file)))
             (values (if (pair? input) (cadr input) input) #f))
            ((and (port? input) (input-port? input))
             (if (and (%port-duplicable? input) (binary-port? input))
                 (values input #f)
                 (values 'pipe (make-feed who input encoding))))
            ((or (string? input) (bytevector? input) (procedure? input))
             (values 'pipe (make-feed who input encoding)))
            (else
             (raise-bad-option who "#:input"
                               "a string, bytes, an input port, a procedure, inherit, null or \
                                (file NAME)"
                               input))))

    ;; The same for output.
    (define (output-plan who output encoding)
      (cond ((or (memq output '(inherit null output)) (string? output))
             (values output #f))
            ((and (pair? output) (memq (car output) '(file append)))
             (values (if (eq? (car output) 'file) (cadr output) output) #f))
            ((procedure? output) (values 'pipe output))
            ((and (port? output) (output-port? output))
             (if (%port-duplicable? output)
                 (values output #f)
                 (values 'pipe (make-sink output encoding))))
            (else
             (raise-bad-option who "#:output or #:error"
                               "an output port, a procedure, inherit, null, (file NAME) or \
                                (append NAME)"
                               output))))

    ;; Runs a command to its end, feeding and taking what the plans say. Gives the process and its
    ;; status.
    (define (run-through who command input output error environment variables directory group
                         timeout check encoding)
      (let* ((parts (command-parts who command))
             (end (deadline who timeout))
             (tail (make-tail)))
        (call-with-values (lambda () (input-plan who input encoding))
          (lambda (input feed)
            (call-with-values (lambda () (output-plan who output encoding))
              (lambda (output sink)
                (call-with-values
                  (lambda ()
                    ;; To tell what went wrong, the error stream is passed on by us.
                    (if (and check (eq? error 'inherit))
                        (values 'pipe
                                (lambda (piece)
                                  (tail piece)
                                  (pass-on piece)))
                        (output-plan who error encoding)))
                  (lambda (error error-sink)
                    (let* ((error-sink (if (and error-sink check)
                                           (lambda (piece) (tail piece) (error-sink piece))
                                           error-sink))
                           (process (start who parts input output error
                                           (environment-setting who environment variables)
                                           directory
                                           (if (eq? group 'default) (and timeout #t) (and group #t))
                                           #f
                                           #t))
                           (finished? #f))
                      ;; The winders do not run if a condition is not handled.
                      (for-each %end-with-program (process-children process))
                      (dynamic-wind
                       void
                       (lambda ()
                         (let ((status (serve process feed sink error-sink end)))
                           (if (not status)
                               (let ((status (give-up process)))
                                 (set! finished? #t)
                                 (timed-out who process status (tail))))
                           (set! finished? #t)
                           (if (and check (not (eqv? status 0)))
                               (process-failed who process status (tail)))
                           status))
                       (lambda ()
                         (if (not finished?)
                             (begin
                               (set! finished? #t)
                               (give-up process))))))))))))))

    (define (pass-on piece)
      (let ((port (current-error-port)))
        (if (binary-port? port)
            (write-bytevector piece port)
            (write-string (bytes->text piece #t) port))
        (flush-output-port port)))

    ;; Feeds a process and takes what comes, until its streams are at their ends, and waits for it.
    ;; Its status, or #f when the time is over.
    (define (serve process feed sink error-sink end)
      (let loop ((piece (bytevector))
                 (start 0)
                 (input (and feed (process-input process)))
                 (output (process-output process))
                 (error (process-error process)))
        (cond ((and input (= start (bytevector-length piece)))
               (let ((next (feed)))
                 (cond ((not next)
                        (close-port input)
                        (loop piece start #f output error))
                       (else (loop next 0 input output error)))))
              ((or input output error)
               (let ((step (%exchange input piece start output error (time-left end))))
                 (cond ((not step) #f)
                       ((= (car step) exchange/input)
                        (if (cdr step)
                            (loop piece (+ start (cdr step)) input output error)
                            ;; It does not want more.
                            (begin
                              (close-quietly input)
                              (loop piece start #f output error))))
                       ((eof-object? (cdr step))
                        (let ((first? (= (car step) exchange/output)))
                          (close-port (if first? output error))
                          (loop piece start input (and (not first?) output) (and first? error))))
                       (else
                        ((if (= (car step) exchange/output) sink error-sink) (cdr step))
                        (loop piece start input output error)))))
              (else
               (process-wait process #:timeout (time-left end))))))

    ;; Runs a program, or the programs of a pipeline, and returns the status when it has ended.
    ;;
    ;; `#:input` is `inherit`, `null`, a string or bytevector, a port, `(file NAME)`, or a
    ;; procedure. That gives one string or bytevector after the other and then an end-of-file
    ;; object. `#:output` and `#:error` are `inherit`, `null`, a port, `(file NAME)`, `(append
    ;; NAME)`, or a procedure that is called with bytevectors; `#:error 'output` is where output
    ;; goes. After `#:timeout` seconds the program is ended, with all that it started, and a
    ;; condition raised.
    (define* (run command #:key (input 'inherit) (output 'inherit) (error 'inherit)
                  (environment 'inherit) (variables '()) (directory #f) (group 'default)
                  (timeout #f) (check #f) (encoding "UTF-8"))
      (run-through 'run command input output error environment variables directory group timeout
                   check encoding))

    ;; Like `run`, but a program that fails raises a condition. That has the command, the status
    ;; and the end of what it wrote to its error stream.
    (define* (run/check command #:key (input 'inherit) (output 'inherit) (error 'inherit)
                        (environment 'inherit) (variables '()) (directory #f) (group 'default)
                        (timeout #f) (encoding "UTF-8"))
      (run-through 'run/check command input output error environment variables directory group
                   timeout #t encoding)
      (void))

    ;; The output of a program, as a bytevector. A program that fails raises a condition unless
    ;; `#:check` is false.
    (define* (run->bytevector command #:key (input 'null) (error 'inherit)
                              (environment 'inherit) (variables '()) (directory #f)
                              (group 'default) (timeout #f) (check #t) (encoding "UTF-8"))
      (collect 'run->bytevector command input error environment variables directory group timeout
               check encoding))

    (define (collect who command input error environment variables directory group timeout check
                     encoding)
      (let ((port (open-output-bytevector)))
        (run-through who command input
                     (lambda (piece) (write-bytevector piece port))
                     error
                     environment variables directory group timeout check encoding)
        (get-output-bytevector port)))

    ;; The output of a program, as a string. `#:encoding` and `#:malformed` are those of
    ;; `transcode-input`.
    (define* (run->string command #:key (input 'null) (error 'inherit)
                          (environment 'inherit) (variables '()) (directory #f)
                          (group 'default) (timeout #f) (check #t) (encoding "UTF-8")
                          (malformed 'raise))
      (let ((bytes (collect 'run->string command input error environment variables directory group
                            timeout check encoding)))
        (if (and (equal? encoding "UTF-8") (eq? malformed 'raise))
            (utf8->string bytes)
            (decode-bytevector bytes encoding #:malformed malformed))))

    ;; The lines that a program writes, without their ends.  `#:lines` says what ends one.
    (define* (run->lines command #:key (input 'null) (error 'inherit)
                         (environment 'inherit) (variables '()) (directory #f)
                         (group 'default) (timeout #f) (check #t) (encoding "UTF-8")
                         (malformed 'raise) (lines 'any))
      (let ((port (transcode-input
                   (open-input-bytevector
                    (collect 'run->lines command input error environment variables directory group
                             timeout check encoding))
                   #:encoding encoding #:malformed malformed #:lines lines)))
        (let loop ((lines '()))
          (let ((line (read-line port)))
            (if (eof-object? line)
                (reverse lines)
                (loop (cons line lines)))))))

    ;; Calls a procedure with each line that a program writes, as soon as it is written.
    (define* (run-for-each-line procedure command #:key (input 'null) (error 'inherit)
                                (environment 'inherit) (variables '()) (directory #f)
                                (group 'default) (timeout #f) (check #t) (encoding "UTF-8")
                                (malformed 'raise) (lines 'any))
      (if (not (procedure? procedure))
          (%type-error 'run-for-each-line 1 "procedure" procedure))
      (let ((decoder (make-decoder encoding #:malformed malformed #:lines lines)))
        (define (tell)
          (let ((line (decoder-read-line decoder)))
            (if (string? line)
                (begin
                  (procedure line)
                  (tell)))))
        (run-through 'run-for-each-line command input
                     (lambda (piece)
                       (decoder-feed! decoder piece)
                       (tell))
                     error
                     environment variables directory group timeout check encoding)
        (decoder-finish! decoder)
        (tell)
        (void)))))
