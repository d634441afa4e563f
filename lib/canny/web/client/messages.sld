;;; (canny web client messages): what a client of HTTP/1.1 writes and reads: heads of requests and
;;; responses, and bodies.
;;;
;;; A *reader* has the bytes that have arrived of a connection and were not taken yet. It waits no
;;; longer than its patience, nor beyond its deadline, a time of the monotonic clock in nanoseconds.
;;;
;;; A *source* gives the bytes of a body. It is called with a bytevector, a place and a count, puts
;;; bytes there and gives their number, 0 at the end.
;;;
;;; `read-head` is all that knows how a head is parsed.

(define-library (canny web client messages)
  (export make-message-reader reader-unread? set-reader-limits! reader-started?
          fault fault? time-left
          read-head head-status head-reason head-headers head-persistent?
          body-source port-source header-value header-values
          write-limited write-pieces write-chunks)
  (import (canny machine protocols) (canny primitives) (canny syntax)
          (only (canny machine control) raise guard)
          (only (canny io) set-port-timeout! make-binary-output)
          (canny web headers text))
  (begin

    ;; Raises that the other side sent no message; the client makes an error of it that has the URL.
    (define (fault message . irritants)
      (raise (%make-condition 'http-message message irritants 'http-request)))

    (define (fault? object)
      (and (error-object? object) (eq? (condition-kind object) 'http-message)))

    (define (time-is-over)
      (raise (%make-condition 'timeout "the time is over" '() 'http-request)))

    ;; Readers.

    (define-record-type reader
      (new-reader port bytes index deadline patience started?)
      reader?
      (port reader-port)
      (bytes reader-bytes set-reader-bytes!)
      (index reader-index set-reader-index!)
      (deadline reader-deadline set-reader-deadline!)
      (patience reader-patience set-reader-patience!)
      ;; Whether a byte has arrived since the limits were set.
      (started? reader-started? set-reader-started!))

    (define (make-message-reader port)
      (new-reader port (bytevector) 0 #f #f #f))

    (define (set-reader-limits! reader deadline patience)
      (set-reader-deadline! reader deadline)
      (set-reader-patience! reader patience)
      (set-reader-started! reader #f))

    ;; Whether unexpected bytes have arrived.
    (define (reader-unread? reader)
      (< (reader-index reader) (bytevector-length (reader-bytes reader))))

    ;; The seconds until a deadline, at most those of the patience; #f for any number.
    (define (time-left deadline patience)
      (if (not deadline)
          patience
          (let ((left (/ (- deadline (%clock-nanoseconds clock/monotonic)) 1000000000)))
            (if (<= left 0)
                (time-is-over))
            (inexact (if patience (min left patience) left)))))

    ;; Waits for more bytes; whether there were any.
    (define (fill! reader)
      (set-port-timeout! (reader-port reader)
                         (time-left (reader-deadline reader) (reader-patience reader)))
      (let ((bytes (read-available (reader-port reader))))
        (if (eof-object? bytes)
            #f
            (begin
              (set-reader-bytes! reader bytes)
              (set-reader-index! reader 0)
              (set-reader-started! reader #t)
              #t))))

    (define (next-byte! reader)
      (let ((index (reader-index reader)))
        (cond ((< index (bytevector-length (reader-bytes reader)))
               (set-reader-index! reader (+ index 1))
               (bytevector-u8-ref (reader-bytes reader) index))
              ((fill! reader) (next-byte! reader))
              (else #f))))

    ;; Waits for more bytes to stand behind those that are there; whether there were any.
    (define (fill-behind! reader)
      (let ((rest (bytevector-copy (reader-bytes reader) (reader-index reader))))
        (and (fill! reader)
             (begin
               (set-reader-bytes! reader (bytevector-append rest (reader-bytes reader)))
               #t))))

    ;; A short line of ASCII without its end, as text; #f at the end of all.
    (define (read-short-line reader limit)
      (let ((port (open-output-string)))
        (let loop ((count 0))
          (let ((byte (next-byte! reader)))
            (cond ((not byte) #f)
                  ((eqv? byte 10)
                   (let ((line (get-output-string port)))
                     (if (string-suffix? "\r" line)
                         (substring line 0 (- (string-length line) 1))
                         line)))
                  ((>= count limit) (fault "a line of the body's frame is too long"))
                  (else
                   (write-char (integer->char byte) port)
                   (loop (+ count 1))))))))

    ;; Heads.

    (define-record-type head
      (make-head status reason persistent? length headers)
      head?
      (status head-status)
      (reason head-reason)
      ;; Whether the connection is there for another request.
      (persistent? head-persistent?)
      ;; The length of the body, -1 if its chunks say it, -2 if the connection's end does.
      (length head-length)
      ;; An association list of symbols and strings.
      (headers head-headers))

    ;; The head of the response to a request with a method; #f if the connection ended in front of
    ;; it. The machine is strict about what is one.
    (define (read-head reader method)
      (let loop ()
        (let* ((bytes (reader-bytes reader))
               (index (reader-index reader))
               (end (bytevector-length bytes))
               (found (and (< index end) (%http-read-response bytes index end method))))
          (cond (found
                 (let ((flags (list-ref found response-head/flags)))
                   (set-reader-index! reader (+ index (list-ref found response-head/length)))
                   (make-head (list-ref found response-head/status)
                              (list-ref found response-head/reason)
                              (not (eqv? 0 (bitwise-and flags response-flag/keeps-alive)))
                              (list-ref found response-head/body)
                              (list-ref found response-head/fields))))
                ((fill-behind! reader) (loop))
                ((eqv? index end) #f)
                (else (fault "the connection ended within the head of the response"))))))

    ;; The values of a header, in their order, and all of them with commas in between, or #f.
    (define (header-values headers name)
      (let loop ((rest headers) (values '()))
        (cond ((null? rest) (reverse! values))
              ((eq? (caar rest) name) (loop (cdr rest) (cons (cdar rest) values)))
              (else (loop (cdr rest) values)))))

    (define (header-value headers name)
      (let ((found (assq name headers)))
        (and found
             (let ((values (header-values headers name)))
               (if (null? (cdr values))
                   (car values)
                   (string-join values (if (eq? name 'cookie) "; " ", ")))))))

    ;; Bodies.

    ;; The source of the body behind a head, or #f if there is none. `finish` is called once with
    ;; whether the connection can be used again, when the body has ended.
    (define (body-source reader head finish)
      (define (finish-whole)
        (finish (head-persistent? head)))
      (let ((length (head-length head)))
        (cond
         ((eqv? length 0)
          (finish-whole)
          #f)
         ((eqv? length body-length/chunked) (chunk-source reader finish-whole))
         ((eqv? length body-length/until-end) (rest-source reader (lambda () (finish #f))))
         (else (length-source reader length finish-whole)))))

    ;; The source of what a port has.
    (define (port-source port)
      (let ((bytes (bytevector)) (index 0))
        (lambda (target place count)
          (if (eqv? index (bytevector-length bytes))
              (let ((more (read-available port)))
                (set! bytes (if (eof-object? more) (bytevector) more))
                (set! index 0)))
          (let ((count (min count (- (bytevector-length bytes) index))))
            (bytevector-copy! target place bytes index (+ index count))
            (set! index (+ index count))
            count))))

    ;; Copies what is there, at most so many bytes; 0 at the end of the connection.
    (define (take-bytes! reader target place count)
      (let* ((bytes (reader-bytes reader))
             (index (reader-index reader))
             (available (- (bytevector-length bytes) index)))
        (if (> available 0)
            (let ((count (min count available)))
              (bytevector-copy! target place bytes index (+ index count))
              (set-reader-index! reader (+ index count))
              count)
            (if (fill! reader)
                (take-bytes! reader target place count)
                0))))

    (define (length-source reader length finish)
      (let ((left length))
        (lambda (target place count)
          (if (eqv? left 0)
              0
              (let ((taken (take-bytes! reader target place (min count left))))
                (if (eqv? taken 0)
                    (fault "the connection ended within the body"))
                (set! left (- left taken))
                (if (eqv? left 0)
                    (finish))
                taken)))))

    (define (rest-source reader finish)
      (let ((ended? #f))
        (lambda (target place count)
          (if ended?
              0
              (let ((taken (take-bytes! reader target place count)))
                (if (eqv? taken 0)
                    (begin
                      (set! ended? #t)
                      (finish)))
                taken)))))

    (define (chunk-source reader finish)
      (let ((left 0) (first? #t) (ended? #f))
        (define (next-chunk!)
          (if (not first?)
              (expect-line-end reader))
          (set! first? #f)
          (set! left (chunk-size reader))
          (if (eqv? left 0)
              (begin
                (skip-trailers reader 65536)
                (set! ended? #t)
                (finish))))
        (lambda (target place count)
          (if (and (eqv? left 0) (not ended?))
              (next-chunk!))
          (if ended?
              0
              (let ((taken (take-bytes! reader target place (min count left))))
                (if (eqv? taken 0)
                    (fault "the connection ended within the body"))
                (set! left (- left taken))
                taken)))))

    (define (skip-trailers reader left)
      (let ((line (or (read-short-line reader left)
                      (fault "the connection ended within the body"))))
        (if (not (string-null? line))
            (skip-trailers reader (- left (string-length line))))))

    (define (expect-line-end reader)
      (if (not (and (eqv? 13 (next-byte! reader)) (eqv? 10 (next-byte! reader))))
          (fault "a chunk of the body does not end where it should")))

    (define (hexadecimal-value char)
      (cond ((char<=? #\0 char #\9) (- (char->integer char) 48))
            ((char<=? #\a char #\f) (- (char->integer char) 87))
            ((char<=? #\A char #\F) (- (char->integer char) 55))
            (else #f)))

    (define (chunk-size reader)
      (let* ((line (or (read-short-line reader 4096)
                       (fault "the connection ended within the body")))
             (end (string-length line))
             (stop (trim-end line 0 (or (%string-index line #\; 0 end) end))))
        (if (or (eqv? stop 0) (> stop 12))
            (fault "the size of a chunk is no number"))
        (let loop ((index 0) (size 0))
          (if (eqv? index stop)
              size
              (loop (+ index 1)
                    (+ (* 16 size)
                       (or (hexadecimal-value (string-ref line index))
                           (fault "the size of a chunk is no number"))))))))

    ;; Writing.

    ;; Writes a range of a bytevector and waits until a deadline at most.
    (define (write-limited bytes port start end deadline)
      (set-port-timeout! port (time-left deadline #f))
      (write-bytevector bytes port start end))

    ;; Writes a bytevector in pieces, so that the deadline is looked at in between.
    (define (write-pieces bytes port deadline)
      (let ((end (bytevector-length bytes)))
        (let loop ((start 0))
          (if (< start end)
              (let ((stop (min end (+ start 65536))))
                (write-limited bytes port start stop deadline)
                (loop stop))))))

    ;; Calls a procedure with a binary port; what is written there goes to another one in chunks.
    ;; When that fails, what the port still holds goes nowhere.
    (define (write-chunks procedure port deadline)
      (let* ((failed? #f)
             (output (make-binary-output
                      "body"
                      (lambda (bytes start count)
                        (if (and (> count 0) (not failed?))
                            (write-chunk bytes start (+ start count) port deadline))
                        count))))
        (guard (object (#t (set! failed? #t)
                        (close-port output)
                        (raise object)))
          (procedure output)
          (close-port output))
        (set-port-timeout! port (time-left deadline #f))
        (write-bytevector (string->utf8 "0\r\n\r\n") port)))

    (define (write-chunk bytes start end port deadline)
      (set-port-timeout! port (time-left deadline #f))
      (write-bytevector (string->utf8 (string-append (number->string (- end start) 16) "\r\n"))
                        port)
      (write-bytevector bytes port start end)
      (write-bytevector (bytevector 13 10) port)
      (flush-output-port port))))
