;;; (canny postgresql notifications): what other sessions notify of, as values of a channel.
;;;
;;; From `postgresql-listen` on a task of its own reads from the connection, which is for nothing
;;; else.

(define-library (canny postgresql notifications)
  (export postgresql-listen
          notification? notification-channel notification-payload notification-process)
  (import (canny primitives) (canny syntax)
          (only (canny machine control) guard dynamic-wind)
          (only (canny data lists) for-each)
          (only (canny tasks) spawn)
          (only (canny channels) make-channel channel-send! channel-close!)
          (canny machine arguments)
          (canny postgresql wire) (canny postgresql connection))
  (begin

    (define-record-type notification
      (make-notification channel payload process)
      notification?
      (channel notification-channel)
      (payload notification-payload)
      (process notification-process))

    (define (quoted-name name)
      (let ((port (open-output-string)))
        (write-char #\" port)
        (do ((index 0 (+ index 1))) ((= index (string-length name)))
          (let ((char (string-ref name index)))
            (if (char=? char #\")
                (write-char char port))
            (write-char char port)))
        (write-char #\" port)
        (get-output-string port)))

    ;; Listens to channels of the server, by their names; a channel of (canny channels) with the
    ;; notifications. From then on the connection is for nothing else; closing it closes the
    ;; channel.
    (define* (postgresql-listen database names #:key (capacity #f))
      (check-connection 'postgresql-listen database)
      (if (not (and (pair? names) (list? names)))
          (%type-error 'postgresql-listen 2 "list of names" names))
      (for-each (lambda (name) (check-argument 'postgresql-listen 2 string? "string" name)) names)
      (for-each (lambda (name) (control! database (string-append "listen " (quoted-name name))))
                names)
      (let ((channel (if capacity (make-channel capacity) (make-channel #f))))
        (set-listens! database #t)
        (spawn (lambda () (pass-on! database channel)))
        channel))

    (define (pass-on! database channel)
      (dynamic-wind
       values
       (lambda ()
         (guard (condition (#t #f))
           (let loop ()
             (let ((message (read-message (wire-of database))))
               (if (char=? (message-kind message) #\A)
                   (let* ((bytes (message-bytes message))
                          (start (message-start message))
                          (name-end (text-end bytes (+ start 4))))
                     (channel-send! channel
                                    (make-notification (utf8->string bytes (+ start 4) name-end)
                                                       (text-of bytes (+ name-end 1))
                                                       (s32-at bytes start)))))
               (loop)))))
       (lambda ()
         (channel-close! channel)
         (shut! database))))))
