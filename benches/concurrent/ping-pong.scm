;;; Two tasks send a number to and fro through two channels without room: nanoseconds for each of
;;; the two switches.
;;;
;;; Run by: canny ping-pong.scm [TIMES]

(import (scheme base) (scheme process-context) (scheme write)
        (only (scheme time) current-jiffy jiffies-per-second) (canny channels) (canny tasks))

(define times
  (let ((words (cdr (command-line))))
    (if (null? words) 500000 (string->number (car words)))))

(define (play)
  (let ((ping (make-channel)) (pong (make-channel)))
    (start
     (do ((i 0 (+ i 1))) ((= i times))
       (channel-send! pong (+ 1 (channel-receive ping)))))
    (let loop ((i 0) (number 0))
      (if (< i times)
          (begin
            (channel-send! ping number)
            (loop (+ i 1) (channel-receive pong)))
          number))))

(define began (current-jiffy))
(define result (await (start (play))))
(define elapsed (/ (- (current-jiffy) began) (jiffies-per-second)))
(if (not (= result times)) (error "wrong count" result))
(display (exact (round (/ (* 1000000000 elapsed) (* 2 times)))))
(newline)
