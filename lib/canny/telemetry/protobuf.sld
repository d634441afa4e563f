;;; (canny telemetry protobuf): writing messages in the format of Protocol Buffers, and reading the
;;; few that a collector answers with.
;;;
;;; A message is written from its end to its beginning. So the length of a part is known when it is
;;; to be written, and nothing is copied. The order of fields means nothing in this format; repeated
;;; fields are written last element first.
;;;
;;;     buffer:  | free ............ | tag, length, content of what was written last | ... |
;;;                                  ^ start

(define-library (canny telemetry protobuf)
  (export make-writer writer-bytes writer-start
          put-tag! put-varint! put-length! put-fixed32! put-fixed64! put-double! put-bytes!
          put-string! put-content!
          wire-type/varint protobuf-fields)
  (import (canny machine protocols) (canny primitives) (canny syntax))
  (begin

    (define-record-type writer
      (new-writer buffer start)
      writer?
      (buffer writer-buffer set-writer-buffer!)
      ;; The index of what was written last.
      (start writer-start set-writer-start!))

    (define (make-writer)
      (new-writer (make-bytevector 4096) 4096))

    ;; All that was written.
    (define (writer-bytes writer)
      (bytevector-copy (writer-buffer writer) (writer-start writer)
                       (bytevector-length (writer-buffer writer))))

    ;; Makes room for so many bytes and gives the index of the first of them.
    (define (reserve! writer count)
      (let ((start (- (writer-start writer) count)))
        (if (< start 0)
            (begin
              (grow! writer count)
              (reserve! writer count))
            (begin
              (set-writer-start! writer start)
              start))))

    (define (grow! writer count)
      (let* ((old (writer-buffer writer))
             (size (bytevector-length old))
             (more (+ size count))
             (new (make-bytevector (+ size more))))
        (bytevector-copy! new (+ more (writer-start writer)) old (writer-start writer) size)
        (set-writer-buffer! writer new)
        (set-writer-start! writer (+ more (writer-start writer)))))

    (define (put-byte! writer byte)
      (let ((start (reserve! writer 1)))
        (bytevector-u8-set! (writer-buffer writer) start byte)))

    ;; An integer that is not negative.
    (define (put-varint! writer number)
      (if (< number 128)
          (put-byte! writer number)
          (let loop ((rest (arithmetic-shift number -7)) (bytes (list (bitwise-and number 127))))
            ;; The last seven bits come first, so that they are written last.
            (if (> rest 127)
                (loop (arithmetic-shift rest -7) (cons (bitwise-and rest 127) bytes))
                (begin
                  (put-byte! writer rest)
                  (let put ((bytes bytes))
                    (if (pair? bytes)
                        (begin
                          (put-byte! writer (+ 128 (car bytes)))
                          (put (cdr bytes))))))))))

    ;; Types of fields on the wire.
    (define wire-type/varint 0)
    (define wire-type/fixed64 1)
    (define wire-type/length 2)
    (define wire-type/fixed32 5)

    (define (put-tag! writer number type)
      (put-varint! writer (+ (* 8 number) type)))

    ;; Makes all that was written since a start, the end of a field with a length.
    (define (put-length! writer number end)
      (put-varint! writer (- end (position writer)))
      (put-tag! writer number wire-type/length))

    ;; Positions are counted from the end, since the buffer grows at its beginning.
    (define (position writer)
      (- (writer-start writer) (bytevector-length (writer-buffer writer))))

    ;; Calls a procedure that writes the content of a field with a length.
    (define (put-content! writer number write-content!)
      (let ((end (position writer)))
        (write-content!)
        (put-length! writer number end)))

    (define (put-fixed32! writer number value)
      (let ((start (reserve! writer 4)))
        (put-integer! (writer-buffer writer) start 4 value)
        (put-tag! writer number wire-type/fixed32)))

    ;; Numbers from -2^63 to below 2^64.
    (define (put-fixed64! writer number value)
      (put-eight-bytes! writer value)
      (if number (put-tag! writer number wire-type/fixed64)))

    (define (put-eight-bytes! writer value)
      (let ((start (reserve! writer 8)))
        (put-integer! (writer-buffer writer) start 4 (bitwise-and value 4294967295))
        (put-integer! (writer-buffer writer) (+ start 4) 4
                      (bitwise-and (arithmetic-shift value -32) 4294967295))))

    (define (put-integer! bytes start count value)
      (let loop ((index 0) (value value))
        (if (< index count)
            (begin
              (bytevector-u8-set! bytes (+ start index) (bitwise-and value 255))
              (loop (+ index 1) (arithmetic-shift value -8))))))

    ;; Without a number it is an element of a packed field.
    (define (put-double! writer number value)
      (let ((start (reserve! writer 8)))
        (%bytevector-element-set! (writer-buffer writer) start (inexact value) element-type/f64 #f)
        (if number (put-tag! writer number wire-type/fixed64))))

    (define (put-bytes! writer number bytes)
      (let* ((length (bytevector-length bytes))
             (start (reserve! writer length)))
        (bytevector-copy! (writer-buffer writer) start bytes)
        (put-varint! writer length)
        (put-tag! writer number wire-type/length)))

    (define (put-string! writer number text)
      (put-bytes! writer number (string->utf8 text)))

    ;; Reading.

    ;; The fields of a message from one index to another: pairs of the number and an integer or
    ;; bytes. The list is empty for bytes that are no message.
    (define (protobuf-fields bytes)
      (let ((end (bytevector-length bytes)))
        (define (varint at continue)
          (let loop ((at at) (shift 0) (sum 0))
            (if (or (>= at end) (> shift 63))
                '()
                (let* ((byte (bytevector-u8-ref bytes at))
                       (sum (+ sum (arithmetic-shift (bitwise-and byte 127) shift))))
                  (if (< byte 128)
                      (continue sum (+ at 1))
                      (loop (+ at 1) (+ shift 7) sum))))))
        (let fields ((at 0))
          (if (>= at end)
              '()
              (varint
               at
               (lambda (tag at)
                 (let ((number (arithmetic-shift tag -3)))
                   (case (bitwise-and tag 7)
                     ((0) (varint at (lambda (value at) (cons (cons number value) (fields at)))))
                     ((1) (fields (+ at 8)))
                     ((5) (fields (+ at 4)))
                     ((2)
                      (varint at
                              (lambda (length at)
                                (if (> (+ at length) end)
                                    '()
                                    (cons (cons number (bytevector-copy bytes at (+ at length)))
                                          (fields (+ at length)))))))
                     (else '())))))))))))
