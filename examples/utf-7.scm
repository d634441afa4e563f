#!/usr/bin/env canny
;;; UTF-7: an encoding that is written in Scheme and plugs into ordinary textual ports.
;;;
;;;     canny examples/utf-7.scm < message.txt
;;;
;;; The standard input is UTF-7, as old mail has it; each line is shown with its number, and then
;;; written again in UTF-7.
;;;
;;; In UTF-7 most of ASCII stands for itself. Everything else is UTF-16 in base64 between `+` and
;;; `-`; `+-` is a plus sign. So the decoder has a state, which must survive wherever a file happens
;;; to be cut into pieces: `#f` outside of base64, else a list of the bits that are left, their
;;; number, and the first half of a surrogate pair or `#f`.

(import (scheme base)
        (scheme write)
        (canny io)
        (canny loop))

(define digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

(define (digit-value byte)
  (cond ((<= 65 byte 90) (- byte 65))
        ((<= 97 byte 122) (- byte 71))
        ((<= 48 byte 57) (+ byte 4))
        ((= byte 43) 62)
        ((= byte 47) 63)
        (else #f)))

;;; Decoding. Gives the text, how many bytes it came from, the state behind them, and the length of
;;; what is wrong there.

(define (decode bytes last? state)
  (let ((end (bytevector-length bytes)) (text (open-output-string)))
    (define (done index state wrong)
      (values (get-output-string text) index state wrong))
    (define (direct index)
      (if (= index end)
          (done index #f 0)
          (let ((byte (bytevector-u8-ref bytes index)))
            (cond ((>= byte 128) (done index #f 1))
                  ((not (= byte 43))
                   (write-char (integer->char byte) text)
                   (direct (+ index 1)))
                  ;; The byte behind a plus sign tells its meaning.
                  ((< (+ index 1) end)
                   (if (= (bytevector-u8-ref bytes (+ index 1)) 45)
                       (begin
                         (write-char #\+ text)
                         (direct (+ index 2)))
                       (shifted (+ index 1) 0 0 #f)))
                  (last? (done index #f 1))
                  (else (done index #f 0))))))
    (define (shifted index bits count first)
      (if (= index end)
          (done index (list bits count first) 0)
          (let* ((byte (bytevector-u8-ref bytes index))
                 (digit (digit-value byte)))
            (cond ((and (not digit) first) (done index #f 1))
                  ((not digit) (direct (if (= byte 45) (+ index 1) index)))
                  (else
                   (let ((bits (+ (* bits 64) digit)) (count (+ count 6)))
                     (if (< count 16)
                         (shifted (+ index 1) bits count first)
                         (let* ((scale (expt 2 (- count 16)))
                                (unit (quotient bits scale))
                                (rest (remainder bits scale)))
                           (unit-decoded index unit rest (- count 16) first)))))))))
    (define (unit-decoded index unit bits count first)
      (cond ((<= #xD800 unit #xDBFF)
             (if first
                 (done index #f 1)
                 (shifted (+ index 1) bits count unit)))
            ((<= #xDC00 unit #xDFFF)
             (if first
                 (begin
                   (write-char (integer->char (+ #x10000
                                                 (* 1024 (- first #xD800))
                                                 (- unit #xDC00)))
                               text)
                   (shifted (+ index 1) bits count #f))
                 (done index #f 1)))
            (first (done index #f 1))
            (else
             (write-char (integer->char unit) text)
             (shifted (+ index 1) bits count #f))))
    (if state
        (apply shifted 0 state)
        (direct 0))))

;;; Encoding. Each piece of text ends outside of base64, so that there is no state; every character
;;; can be encoded.

(define (direct? char)
  (let ((code (char->integer char)))
    (or (<= 65 code 90) (<= 97 code 122) (<= 48 code 57)
        (and (memv char '(#\' #\( #\) #\, #\- #\. #\/ #\: #\? #\space #\tab #\newline #\return))
             #t))))

(define (units char)
  (let ((code (char->integer char)))
    (if (< code #x10000)
        (list code)
        (let ((rest (- code #x10000)))
          (list (+ #xD800 (quotient rest 1024)) (+ #xDC00 (remainder rest 1024)))))))

(define (encode text last? state)
  (let ((end (string-length text)) (bytes (open-output-bytevector)))
    (define (put char)
      (write-u8 (char->integer char) bytes))
    (define (put-digits bits count)
      (if (< count 6)
          (values bits count)
          (let ((scale (expt 2 (- count 6))))
            (put (string-ref digits (quotient bits scale)))
            (put-digits (remainder bits scale) (- count 6)))))
    (define (direct index)
      (if (< index end)
          (let ((char (string-ref text index)))
            (cond ((direct? char) (put char) (direct (+ index 1)))
                  ((eqv? char #\+) (put #\+) (put #\-) (direct (+ index 1)))
                  (else (put #\+) (shifted index 0 0))))))
    (define (shifted index bits count)
      (if (and (< index end) (not (direct? (string-ref text index))))
          (let next ((units (units (string-ref text index))) (bits bits) (count count))
            (if (null? units)
                (shifted (+ index 1) bits count)
                (let-values
                    (((bits count) (put-digits (+ (* bits 65536) (car units)) (+ count 16))))
                  (next (cdr units) bits count))))
          (begin
            (if (> count 0)
                (put (string-ref digits (* bits (expt 2 (- 6 count))))))
            (put #\-)
            (direct index))))
    (direct 0)
    (values (get-output-bytevector bytes) #f #f)))

(define utf-7 (make-encoding "UTF-7" decode encode))

;;; The program: ports with this encoding are like all others.

(define (read-all-bytes)
  (let ((bytes (open-output-bytevector)))
    (for-each-line (lambda (line)
                     (write-bytevector (string->utf8 line) bytes)
                     (write-u8 10 bytes)))
    (get-output-bytevector bytes)))

(define message (read-all-bytes))

(loop ((for line (in-lines (transcode-input (open-input-bytevector message) #:encoding utf-7)))
       (for number (up-from 1)))
      (display number)
      (display ": ")
      (display line)
      (newline))

;;; A decoder needs no port: here it gets one byte at a time.

(define decoder (make-decoder utf-7))
(loop ((for byte (in-bytevector message)))
      (decoder-feed! decoder (bytevector byte)))
(decoder-finish! decoder)

(let next ((line (decoder-read-line decoder)))
  (if (not (eof-object? line))
      (begin
        (write-string (utf8->string (encode-string line utf-7)))
        (newline)
        (next (decoder-read-line decoder)))))
