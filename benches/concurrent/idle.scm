;;; A program that waits: for a connection, for a timer that is far off, for a future. It measures
;;; the cost of waiting.
;;;
;;; Run by: canny idle.scm [SECONDS]

(import (scheme base) (scheme process-context) (scheme write) (only (canny base) cpu-time)
        (canny net) (canny tasks))

(define seconds
  (let ((words (cdr (command-line))))
    (if (null? words) 30 (string->number (car words)))))

(define listener (tcp-listen "127.0.0.1" 0))
(define answer (make-future))

(define waiting
  (list (start (accept-connection listener))
        (start (sleep 1000))
        (start (await answer))))

;; They all wait by then.
(sleep 1/2)

(define before (cpu-time))
(sleep seconds)
(define used (- (cpu-time) before))

(for-each display
          (list "waiting: " (length waiting) "\n"
                "microseconds of processor time in " seconds " s: "
                (exact (round (* 1000000 used)))
                "\n"))
