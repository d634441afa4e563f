;;; A program with little to do: a server and its client, four requests a second, each served by a
;;; task of its own. How many threads it has.
;;;
;;; Run by: canny light.scm [REQUESTS]

(import (scheme base) (scheme file) (scheme process-context) (scheme write) (canny net)
        (canny tasks))

(define count
  (let ((words (cdr (command-line))))
    (if (null? words) 20 (string->number (car words)))))

;; The number of threads of this process.
(define (threads)
  (call-with-input-file "/proc/self/status"
    (lambda (port)
      (let loop ()
        (let ((line (read-line port)))
          (if (and (> (string-length line) 9) (string=? "Threads:\t" (string-copy line 0 9)))
              (string->number (string-copy line 9))
              (loop)))))))

(define listener (tcp-listen "127.0.0.1" 0))

(define (serve connection)
  (call-with-connection
    connection
    (lambda (input output)
      (read-u8 input)
      ;; As if somebody else were asked.
      (sleep 1/100)
      (write-u8 1 output)
      (flush-output-port output))))

(define server
  (start
   (let loop ()
     (let ((connection (accept-connection listener)))
       (start (serve connection))
       (loop)))))

(define (request)
  (call-with-connection
    (tcp-connect "127.0.0.1" (address-port (listener-address listener)))
    (lambda (input output)
      (write-u8 1 output)
      (flush-output-port output)
      (read-u8 input))))

(define most-threads 0)
(define answers 0)

(do ((number 0 (+ number 1)))
    ((= number count))
  (set! answers (+ answers (request)))
  (set! most-threads (max most-threads (threads)))
  (sleep 1/4))

(cancel! server)

(for-each display (list "requests: " answers "\n" "threads: " most-threads "\n"))
