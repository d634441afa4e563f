;;; What R7RS programs need beyond Guile's default environment.
(use-modules ((rnrs base) #:select (vector-map vector-for-each)) (ice-9 rdelim) (rnrs bytevectors) (srfi srfi-9) (srfi srfi-69))
(define flush-output-port force-output)
(define (current-second) (current-time))
(define (jiffies-per-second) internal-time-units-per-second)
(define current-jiffy get-internal-real-time)
(define exact inexact->exact)
(define inexact exact->inexact)
(define (square x) (* x x))
(define write-string
  (case-lambda
    ((string) (display string))
    ((string port) (display string port))))
(define arithmetic-shift ash)
(read-enable 'r7rs-symbols)
(print-enable 'r7rs-symbols)
