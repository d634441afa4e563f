;;; (canny postgresql wire): messages of PostgreSQL's protocol, version 3, over a connection of
;;; (canny net).
;;;
;;; Input is kept in a buffer of the wire's own, so that a task which is cancelled while it waits
;;; loses nothing. The next message is read from where the last one ended.
;;;
;;; | field | changed by | under |
;;; |---|---|---|
;;; | buffer, start | who reads: the task that has the connection | the connection's mutex |

(define-library (canny postgresql wire)
  (export make-wire wire? wire-connection send-message! send-plain-message! flush-wire! read-message
          close-quietly
          message-kind message-bytes message-start message-end
          int16 int32 c-string text-of text-end u16-at s16-at s32-at)
  (import (canny primitives) (canny syntax) (canny machine control)
          (canny net)
          (only (scheme bytevector) bytevector-u16-ref bytevector-s16-ref bytevector-s32-ref
                bytevector-u16-set! bytevector-u32-set!))
  (begin

    (define-record-type wire
      (new-wire connection buffer start)
      wire?
      (connection wire-connection)
      (buffer wire-buffer set-wire-buffer!)
      (start wire-start set-wire-start!))

    (define (make-wire connection)
      (new-wire connection #u8() 0))

    (define (int16 number)
      (let ((bytes (make-bytevector 2)))
        (bytevector-u16-set! bytes 0 (bitwise-and number 65535) 'big)
        bytes))

    (define (int32 number)
      (let ((bytes (make-bytevector 4)))
        (bytevector-u32-set! bytes 0 (bitwise-and number 4294967295) 'big)
        bytes))

    ;; A string and the zero behind it; a zero in it would end it early.
    (define (c-string string)
      (if (%string-index string #\null)
          (%range-error 'query 2 "text without the character NUL" string))
      (bytevector-append (string->utf8 string) #u8(0)))

    (define (total-length parts)
      (let loop ((parts parts) (length 0))
        (if (null? parts)
            length
            (loop (cdr parts) (+ length (bytevector-length (car parts)))))))

    (define (send-parts! wire parts)
      (let ((port (connection-output (wire-connection wire))))
        (let loop ((parts parts))
          (if (pair? parts)
              (begin
                (write-bytevector (car parts) port)
                (loop (cdr parts)))))))

    ;; A message of a kind, given by its character, of parts that are bytevectors.
    (define (send-message! wire kind . parts)
      (write-u8 (char->integer kind) (connection-output (wire-connection wire)))
      (send-parts! wire (cons (int32 (+ 4 (total-length parts))) parts)))

    ;; One without a kind, as at the beginning.
    (define (send-plain-message! wire . parts)
      (send-parts! wire (cons (int32 (+ 4 (total-length parts))) parts)))

    (define (flush-wire! wire)
      (flush-output-port (connection-output (wire-connection wire))))

    ;; Errors are ignored: the connection is closed in any case.
    (define (close-quietly wire)
      (guard (condition (#t #f))
        (close-connection (wire-connection wire))))

    (define (unread wire)
      (- (bytevector-length (wire-buffer wire)) (wire-start wire)))

    ;; Waits until so many bytes are in the buffer.
    (define (need! wire count)
      (if (< (unread wire) count)
          (begin
            (let ((port (connection-input (wire-connection wire))))
              (let loop ((have (unread wire)) (chunks '()))
                (if (or (>= have count) (> (total-length chunks) 4000000))
                    (join! wire (reverse chunks))
                    (let ((chunk (read-or-keep wire port chunks)))
                      (if (eof-object? chunk)
                          (raise (%make-condition 'postgresql "the server has closed the connection"
                                                  (list 'code "08006") 'query)))
                      (loop (+ have (bytevector-length chunk)) (cons chunk chunks))))))
            (need! wire count))))

    (define (join! wire chunks)
      (let ((rest (bytevector-copy (wire-buffer wire) (wire-start wire))))
        (set-wire-buffer! wire (%apply bytevector-append (cons rest chunks)))
        (set-wire-start! wire 0)))

    ;; Bytes that were read are put into the buffer when waiting for more ends.
    (define (read-or-keep wire port chunks)
      (if (null? chunks)
          (read-available port)
          (guard (condition (#t
                             (join! wire (reverse chunks))
                             (raise condition)))
            (read-available port))))

    ;; The next message.  Its bytes are valid until the next one is read.
    (define-record-type message
      (make-message kind bytes start end)
      message?
      (kind message-kind)
      (bytes message-bytes)
      (start message-start)
      (end message-end))

    (define (read-message wire)
      (need! wire 5)
      (let* ((length (bytevector-s32-ref (wire-buffer wire) (+ 1 (wire-start wire)) 'big)))
        (if (< length 4)
            (raise (%make-condition 'postgresql "what the server says is not PostgreSQL's protocol"
                                    (list 'code "08P01") 'query)))
        (need! wire (+ 1 length))
        (let* ((start (wire-start wire))
               (bytes (wire-buffer wire))
               (end (+ start 1 length)))
          (set-wire-start! wire end)
          (make-message (integer->char (bytevector-u8-ref bytes start)) bytes (+ start 5) end))))

    ;; The end of the text that begins at an index.
    (define (text-end bytes start)
      (let loop ((end start))
        (if (= 0 (bytevector-u8-ref bytes end))
            end
            (loop (+ end 1)))))

    (define (text-of bytes start)
      (utf8->string bytes start (text-end bytes start)))

    (define (u16-at bytes start) (bytevector-u16-ref bytes start 'big))
    (define (s16-at bytes start) (bytevector-s16-ref bytes start 'big))
    (define (s32-at bytes start) (bytevector-s32-ref bytes start 'big))))
