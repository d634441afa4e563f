#!/usr/bin/env canny
;;; Runs a command for each line of another command's output, several at once, and shows how far it
;;; is.
;;;
;;;     canny for-each-line.scm --from 'find . -name "*.png"' --jobs 4 optipng {}
;;;
;;; The lines are taken as they are needed, so that a source without end takes no memory. A command
;;; never sees a shell: the line is one argument, wherever {} stands, or the last one. Ctrl-C and
;;; SIGTERM end what runs and show the summary.

(import (scheme base) (scheme write) (scheme process-context) (scheme time)
        (only (srfi 170) terminal?)
        (only (canny process) process-error? process-error-status status->string shell-command)
        (canny process async) (canny signals) (canny supplies) (canny tasks) (canny timers))

(define usage
  "Usage: for-each-line.scm [OPTION ...] COMMAND [ARGUMENT ...]

Runs COMMAND for each line of standard input, or of the output of another command.
{} in an argument stands for the line; without it, the line is the last argument.

  --from COMMAND   a shell command whose lines are taken
  --jobs N         so many run at once (2)
  --timeout N      seconds after which one is ended, and counts as failed
  --quiet          do not show what they write
  --help           print this

Exit code: 0 if all succeed, 1 if one fails, 2 for wrong usage, 3 if the source fails,
130 and 143 if Ctrl-C or SIGTERM ended it.
")

(define (complain . parts)
  (for-each (lambda (part) (display part (current-error-port))) parts)
  (newline (current-error-port)))

(define (wrong . parts)
  (apply complain "for-each-line: " parts)
  (exit 2))

;;; The command line.

(define source #f)
(define jobs 2)
(define time-limit #f)
(define quiet? #f)

(define (number-of option word test?)
  (let ((number (string->number word)))
    (if (and number (real? number) (test? number))
        number
        (wrong option " takes a positive number, not " word))))

;; Takes the options; gives the rest.
(define (take-options words)
  (define (value)
    (if (null? (cdr words))
        (wrong (car words) " needs a value")
        (cadr words)))
  (cond ((or (null? words) (not (char=? #\- (string-ref (string-append (car words) " ") 0)))) words)
        ((string=? (car words) "--help")
         (display usage)
         (exit 0))
        ((string=? (car words) "--")
         (cdr words))
        ((string=? (car words) "--quiet")
         (set! quiet? #t)
         (take-options (cdr words)))
        ((string=? (car words) "--from")
         (set! source (value))
         (take-options (cddr words)))
        ((string=? (car words) "--jobs")
         (set! jobs (number-of "--jobs" (value) (lambda (n) (and (exact-integer? n) (> n 0)))))
         (take-options (cddr words)))
        ((string=? (car words) "--timeout")
         (set! time-limit (number-of "--timeout" (value) positive?))
         (take-options (cddr words)))
        (else (wrong "unknown option " (car words)))))

(define command (take-options (cdr (command-line))))

(if (null? command)
    (wrong "which command? --help says how to use this"))

;; A text with a line in place of each {}.
(define (fill text line)
  (let loop ((start 0) (parts '()))
    (let ((end (let find ((i start))
                 (cond ((>= (+ i 1) (string-length text)) #f)
                       ((and (char=? #\{ (string-ref text i))
                             (char=? #\} (string-ref text (+ i 1))))
                        i)
                       (else (find (+ i 1)))))))
      (if end
          (loop (+ end 2) (cons* line (substring text start end) parts))
          (apply string-append
                 (reverse (cons (substring text start (string-length text)) parts)))))))

(define (cons* a b rest) (cons a (cons b rest)))

(define (command-for line)
  (let ((filled (map (lambda (word) (fill word line)) command)))
    (if (equal? filled command)
        (append command (list line))
        filled)))

;;; The work.

(define items
  (if source
      (command-lines (shell-command source))
      (line-supply (current-input-port))))

;; Events: (begin LINE), (output LINE TEXT), (end LINE #f) or (end LINE REASON).
(define (run-one line emit)
  (define limit (and time-limit (after time-limit)))
  (emit (list 'begin line))
  (emit
   (list 'end line
         (guard (e ((process-error? e) (status->string (process-error-status e)))
                   ((string? e) e)
                   ((cancelled-error? e) (raise e))
                   ((error-object? e) (error-object-message e)))
           (react
            (whenever (text (command-lines (command-for line) #:error 'output) #:done done)
              (emit (list 'output line text)))
            (if limit
                (whenever (over limit) (raise "took too long"))))
           #f)))
  (if limit (cancel! limit)))

;; A supply of the events of one of those that work at the same time.
(define (worker next)
  (on-demand-supply
   (lambda (emit)
     (let loop ()
       (let ((line (next)))
         (if (not (eof-object? line))
             (begin
               (run-one line emit)
               (loop))))))))

;;; The display.

(define shown? (terminal? (current-error-port)))
(define done-count 0)
(define failed-count 0)
(define running '())
(define start-time (current-jiffy))

(define (seconds)
  (/ (- (current-jiffy) start-time) (jiffies-per-second)))

(define (clear-progress)
  (if shown?
      (begin
        (write-string "\r\x1b;[K" (current-error-port))
        (flush-output-port (current-error-port)))))

(define (show-progress)
  (if shown?
      (let ((port (current-error-port)))
        (write-string "\r\x1b;[K" port)
        (for-each (lambda (part) (display part port))
                  (list done-count " done, " failed-count " failed, " (length running) " running"
                        (if (null? running) "" (string-append ": " (car running)))
                        ", " (exact (round (seconds))) " s"))
        (flush-output-port port))))

(define (say . parts)
  (clear-progress)
  (for-each display parts)
  (newline)
  (flush-output-port))

(define (without line lines)
  (cond ((null? lines) '())
        ((string=? line (car lines)) (cdr lines))
        (else (cons (car lines) (without line (cdr lines))))))

(define (show event)
  (let ((line (cadr event)))
    (case (car event)
      ((begin) (set! running (append running (list line))))
      ((output) (if (not quiet?) (say line ": " (list-ref event 2))))
      ((end)
       (set! running (without line running))
       (let ((reason (list-ref event 2)))
         (if reason
             (begin
               (set! failed-count (+ failed-count 1))
               (say line ": failed, " reason))
             (begin
               (set! done-count (+ done-count 1))
               (if (not shown?) (say line ": done")))))))
    (show-progress)))

(define ended-by #f)

(define source-failure
  (call-with-values (lambda () (supply->generator items))
    (lambda (next close)
      (guard (e ((process-error? e) (status->string (process-error-status e))))
        (react
         (whenever (event (apply supply-merge
                                 (let loop ((i 0))
                                   (if (< i jobs) (cons (worker next) (loop (+ i 1))) '())))
                          #:done done)
           (show event))
         (if shown?
             (whenever (tick (every 0.5)) (show-progress)))
         (whenever (name (signals 'sigint 'sigterm))
           (set! ended-by name)
           (done)))
        (close)
        #f))))

(clear-progress)
(complain done-count " done, " failed-count " failed"
          (if ended-by
              (string-append ", " (number->string (length running)) " ended by "
                             (symbol->string ended-by))
              ""))
(if source-failure
    (complain "for-each-line: the command of --from failed, " source-failure))
(exit (cond (ended-by (if (eq? ended-by 'sigint) 130 143))
            (source-failure 3)
            ((> failed-count 0) 1)
            (else 0)))
