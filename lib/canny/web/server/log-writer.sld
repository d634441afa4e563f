;;; (canny web server log-writer): where the access log of a server goes.
;;;
;;; The machine makes the lines. One task takes all that have come, writes them at once and rests
;;; for a moment. So a busy server writes large pieces and handlers never wait for a disk.
;;;
;;; Lines that cannot be written are lost, and the server keeps serving. That is reported once on
;;; standard error, and again when the log can be written.

(define-library (canny web server log-writer)
  (export check-access-log log-format-number start-log-writer)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control) guard raise current-error-port)
          (only (canny data lists) for-each)
          (canny tasks)
          (only (canny signals) signals)
          (only (canny supplies operators) tap)
          (only (canny supplies streams) tap-close!)
          (only (canny machine posix) file-info file-info:device file-info:inode)
          (only (canny json) string->json))
  (begin

    (define (check-access-log who object)
      (if (not (or (boolean? object)
                   (string? object)
                   (procedure? object)
                   (and (port? object) (output-port? object))))
          (raise-bad-option who "#:access-log"
                            "a boolean, an output port, the name of a file or a procedure"
                            object)))

    ;; The machine's name of the format of a log; #f if there is none.
    (define formats
      (list (cons 'common log-format/common)
            (cons 'combined log-format/combined)
            (cons 'json log-format/json)))

    (define (log-format-number who log format)
      (let ((entry (assq format formats)))
        (if (not entry)
            (raise-bad-option who "#:access-log-format" "common, combined or json" format))
        (and log
             (if (procedure? log) log-format/json (cdr entry)))))

    ;; A place to write to: a procedure of a bytevector of lines, and one that ends it.
    (define-record-type sink
      (make-sink write close)
      sink?
      (write sink-write)
      (close sink-close))

    (define (open-sink log)
      (cond ((eq? log #t) (port-sink (current-error-port)))
            ((string? log) (file-sink log))
            ((port? log) (port-sink log))
            (else (make-sink (lambda (lines) (call-with-records log lines)) void))))

    (define (port-sink port)
      (make-sink (if (textual-port? port)
                     (lambda (lines) (write-string (utf8->string lines) port)
                       (flush-output-port port))
                     (lambda (lines) (write-bytevector lines port) (flush-output-port port)))
                 void))

    ;; The identity of a file, or #f if there is none: another one of the same name is another
    ;; process.
    (define (identity-of name)
      (guard (object ((error-object? object) #f))
        (let ((info (file-info name)))
          (cons (file-info:device info) (file-info:inode info)))))

    ;; A file that is opened again when it was renamed or removed, and by SIGHUP.
    (define (file-sink name)
      (let ((port #f) (identity #f) (asked? #f))
        (define (open!)
          (set! asked? #f)
          (set! port (%open-output name output-mode/append))
          (set! identity (identity-of name)))
        (define (close!)
          (let ((old port))
            (set! port #f)
            (if old (close-port old))))
        (open!)
        (let ((hang-ups (tap (signals 'sighup) (lambda (name) (set! asked? #t)))))
          (make-sink
           (lambda (lines)
             (if (or asked? (not port) (not (equal? identity (identity-of name))))
                 (begin
                   (close!)
                   (open!)))
             (guard (object (#t
                             ;; Text that the port has not written must not be written later.
                             (guard (again (#t #f)) (close!))
                             (set! port #f)
                             (raise object)))
               (write-bytevector lines port)
               (flush-output-port port)))
           (lambda ()
             (tap-close! hang-ups)
             (close!))))))

    (define newline-byte 10)

    ;; Calls a procedure with each line as an association list.
    (define (call-with-records procedure lines)
      (let ((end (bytevector-length lines)))
        (let loop ((start 0) (index 0))
          (cond ((= index end) (void))
                ((= newline-byte (bytevector-u8-ref lines index))
                 (procedure (string->json (utf8->string lines start index) #:null #f))
                 (loop (+ index 1) (+ index 1)))
                (else (loop start (+ index 1)))))))

    (define (tell . parts)
      (guard (object (#t #f))
        (write-string (string-append "canny: " (apply string-append parts) "\n")
                      (current-error-port))
        (flush-output-port (current-error-port))))

    ;; So long lines are collected.
    (define rest-seconds 1/20)

    ;; Begins to write the log of a server; gives a future that is resolved when the last line was
    ;; written, or lost.
    (define (start-log-writer machine log)
      (let ((sink (open-sink log)))
        (without-scope
         (start
          (let loop ((fails? #f))
            (let ((lines (%http-take-log! machine)))
              (if lines
                  (let ((failed? (not (write-lines sink lines fails?))))
                    (if (and fails? (not failed?))
                        (tell "the access log is written again"))
                    ;; Others may have used up the memory.
                    (guard (object ((not (cancelled-error? object)) #f))
                      (tell-dropped machine)
                      (sleep rest-seconds))
                    (loop failed?))
                  (guard (object (#t #f))
                    ((sink-close sink))))))))))

    ;; Whether lines could be written.
    (define (write-lines sink lines fails?)
      (guard (object ((not (cancelled-error? object))
                      (if (not fails?)
                          (tell "the access log cannot be written, lines are lost: "
                                (condition->string object)))
                      #f))
        ((sink-write sink) lines)
        #t))

    (define (tell-dropped machine)
      (let ((count (%http-log-dropped! machine)))
        (if (> count 0)
            (tell "the access log is written too slowly, lines were lost: "
                  (number->string count)))))))
