;;; A child process floods the program with output while one timer ticks each 10 ms and another one
;;; ends the child after half a second: how late the timers are.
;;;
;;; Run by: canny swamped-timers.scm [ROUNDS]

(import (scheme base) (scheme process-context) (scheme write) (only (srfi 132) list-sort)
        (only (srfi 19) current-time time-monotonic time-second time-nanosecond)
        (canny process) (canny process async) (canny supplies) (canny tasks) (canny timers))

(define rounds
  (let ((words (cdr (command-line))))
    (if (null? words) 10 (string->number (car words)))))

(define tick-seconds 1/100)

(define kill-seconds 1/2)

(define (now)
  (let ((time (current-time time-monotonic)))
    (+ (time-second time) (/ (time-nanosecond time) 1000000000))))

(define bytes 0)
(define latenesses '())
(define kill-latenesses '())

;; Each variable is changed by one task at a time.
(define (run-round)
  (call-with-process
    '("yes" "a line that is written again and again")
    (lambda (process)
      (let* ((begin (now))
             (ticks (every tick-seconds
                           (lambda (number)
                             (set! latenesses
                               (cons (- (now) begin (* number tick-seconds)) latenesses)))))
             (end (after kill-seconds
                         (lambda ()
                           (set! kill-latenesses
                             (cons (- (now) begin kill-seconds) kill-latenesses))
                           (process-signal process 'sigkill)))))
        (supply-for-each (lambda (piece)
                           (set! bytes (+ bytes (bytevector-length piece))))
                         (process-bytes process))
        (await end)
        (cancel! ticks)
        (guard (e ((cancelled-error? e) #f))
          (await ticks))
        (if (not (eqv? (process-wait process) -9))
            (error "the child ended otherwise" (process-status process)))))
    #:binary #t #:error 'inherit))

(do ((round 0 (+ round 1)))
    ((= round rounds))
  (run-round))

;; The value below which so much of a list is, in milliseconds.
(define (percentile share seconds)
  (let ((sorted (list->vector (list-sort < seconds))))
    (milliseconds
     (vector-ref sorted
                 (min (- (vector-length sorted) 1)
                      (exact (floor (* share (vector-length sorted)))))))))

(define (milliseconds seconds)
  (/ (round (* seconds 1000000.0)) 1000))

(define (show name seconds)
  (for-each display
            (list name ": " (length seconds) ", ms late: median " (percentile 1/2 seconds)
                  ", 99 of 100 " (percentile 99/100 seconds) ", most "
                  (milliseconds (apply max seconds)) "\n")))

(show "ticks" latenesses)
(show "kills" kill-latenesses)
(for-each display (list "megabytes read: " (quotient bytes 1000000) "\n"))
