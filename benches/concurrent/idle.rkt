#lang racket/base
;; As idle.scm.  The clock of processor time counts milliseconds.
(require racket/tcp)
(define words (current-command-line-arguments))
(define seconds (if (zero? (vector-length words)) 30 (string->number (vector-ref words 0))))
(define listener (tcp-listen 0 4 #f "127.0.0.1"))
(define answer (make-semaphore))
(define waiting
  (list (thread (lambda () (tcp-accept listener)))
        (thread (lambda () (sleep 1000)))
        (thread (lambda () (semaphore-wait answer)))))
(sleep 0.5)
(define before (current-process-milliseconds #f))
(sleep seconds)
(printf "microseconds of processor time in ~a s: ~a\n" seconds
        (* 1000 (- (current-process-milliseconds #f) before)))
