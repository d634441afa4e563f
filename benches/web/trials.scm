;; Handlers that a server has to survive: one that uses up the heap, one that computes for long,
;; event streams without an end. The argument is the port. `cargo xtask web --trial` asks for them.

(import (scheme base) (scheme process-context) (scheme time) (canny web server) (canny web message)
        (canny web events))

(define (endless)
  (let loop ((list '()))
    (loop (cons 1 list))))

(define (numbers n)
  (let loop ((n n) (list '()))
    (if (= n 0) list (loop (- n 1) (cons n list)))))

;; Nothing waits, and each slice ends in here.
(define (compute seconds)
  (let ((end (+ (current-jiffy) (exact (round (* seconds (jiffies-per-second)))))))
    (let loop ((n 0))
      (if (< (current-jiffy) end) (loop (+ n 1)) "done"))))

(define (events request)
  (let ((data (make-string 1000 #\e)))
    (event-stream-response request
                           (lambda (send)
                             (let loop ()
                               (send data)
                               (loop))))))

(define text '((content-type . (text/plain))))

(define (handler request body)
  (let ((path (request-path request)))
    (cond ((string=? path "/")
           (values text (apply string-append (map number->string (numbers 2000)))))
          ((string=? path "/endless") (endless))
          ((string=? path "/compute") (values text (compute 0.3)))
          ((string=? path "/events") (events request))
          (else (make-response #:status 404 #:body "no such page\n")))))

(run-server handler #:port (string->number (list-ref (command-line) 1)))
