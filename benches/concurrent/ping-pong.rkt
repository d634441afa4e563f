#lang racket/base
;; The same with threads and channels of Racket: racket ping-pong.rkt [TIMES]
(define words (current-command-line-arguments))
(define times (if (= 0 (vector-length words)) 500000 (string->number (vector-ref words 0))))
(define ping (make-channel))
(define pong (make-channel))
(define began (current-inexact-milliseconds))
(define other
  (thread (lambda () (for ([i (in-range times)]) (channel-put pong (+ 1 (channel-get ping)))))))
(define result
  (for/fold ([number 0]) ([i (in-range times)])
    (channel-put ping number)
    (channel-get pong)))
(unless (= result times) (error "wrong count" result))
(displayln (inexact->exact (round (/ (* 1000000 (- (current-inexact-milliseconds) began)) (* 2 times)))))
