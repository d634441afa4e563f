;;; (canny web events): events that a server sends to a page as they happen.
;;;
;;;     (event-stream-response request
;;;       (lambda (send)
;;;         (send "it has begun")
;;;         (send "42" #:event 'answer #:id "1")))
;;;
;;; A page gets them by `new EventSource("/events")`, which connects again by itself when the
;;; connection is lost, and says then what it got last.

(define-library (canny web events)
  (export event-stream-response last-event-id)
  (import (canny primitives) (canny syntax) (canny machine control) (canny machine arguments)
          (canny sync) (canny tasks) (canny web message))
  (begin

    ;; The id of the last event that a client got before it connected again, or #f.
    (define (last-event-id request)
      (request-field request 'last-event-id))

    (define (one-line? text)
      (not (or (%string-index text #\newline) (%string-index text #\return))))

    (define (as-text object)
      (cond ((string? object) object)
            ((symbol? object) (symbol->string object))
            ((exact-integer? object) (number->string object))
            (else (%type-error 'send 2 "string, symbol or integer" object))))

    (define (write-field name value port)
      (let ((text (as-text value)))
        (if (not (one-line? text))
            (%range-error 'send 2 "a text of one line" value))
        (write-string name port)
        (write-string ": " port)
        (write-string text port)
        (newline port)))

    ;; Each line is a field of its own; the ends of lines that there are, are all the same.
    (define (write-data text port)
      (let ((end (string-length text)))
        (let loop ((start 0) (index 0))
          (cond ((= index end)
                 (write-line text start index port))
                ((char=? #\newline (string-ref text index))
                 (write-line text start index port)
                 (loop (+ index 1) (+ index 1)))
                ((char=? #\return (string-ref text index))
                 (write-line text start index port)
                 (let ((next (+ index 1)))
                   (if (and (< next end) (char=? #\newline (string-ref text next)))
                       (loop (+ next 1) (+ next 1))
                       (loop next next))))
                (else (loop start (+ index 1)))))))

    (define (write-line text start end port)
      (write-string "data: " port)
      (write-string text port start end)
      (newline port))

    ;; A response that lasts as long as the procedure runs, which is given a procedure that sends an
    ;; event. A line without meaning is sent now and then, so that it is noticed when the page has
    ;; gone: sending raises then.
    (define* (event-stream-response request procedure #:key (keep-alive 15) (retry #f)
                                    (headers '()))
      (check-argument 'event-stream-response 1 request? "request" request)
      (check-procedure 'event-stream-response 2 procedure)
      (make-response
       #:headers (append headers
                         '((content-type . (text/event-stream))
                           (cache-control . "no-store")
                           (x-accel-buffering . "no")))
       #:body (lambda (port)
                (let ((mutex (make-mutex)))
                  (define* (send data #:key (event #f) (id #f) (retry #f))
                    (check-argument 'send 1 string? "string" data)
                    (with-mutex mutex
                      (if id (write-field "id" id port))
                      (if event (write-field "event" event port))
                      (if retry (write-field "retry" retry port))
                      (write-data data port)
                      (newline port)
                      (flush-output-port port)))
                  (define (keep)
                    (sleep keep-alive)
                    (with-mutex mutex
                      (write-string ":\n\n" port)
                      (flush-output-port port))
                    (keep))
                  (if retry
                      (begin
                        (write-field "retry" retry port)
                        (newline port)))
                  (flush-output-port port)
                  ;; If the page has gone, the task that makes the events is to end, too.
                  (with-tasks
                    (let ((keeper (spawn keep #:name 'event-stream)))
                      (procedure send)
                      (cancel! keeper)))))))))
