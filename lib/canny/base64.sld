;;; (canny base64): bytes as text in base 64 and base 16.
;;;
;;;     (base64-encode (bytevector 1 2 3 255))                ; => "AQID/w=="
;;;     (base64-decode "AQID_w" #:url? #t)                    ; => #u8(1 2 3 255)
;;;     (hex-encode (bytevector 1 255))                       ; => "01ff"

(define-library (canny base64)
  (export base64-encode base64-decode base64-encode-port base64-decode-port hex-encode hex-decode)
  (import (canny machine protocols) (canny primitives) (canny syntax)
          (only (canny machine control) raise))
  (begin

    (define (bad-option who message object)
      (raise (%make-condition 'range message (list object) who)))

    (define (padding-number who padding)
      (case padding
        ((required) padding/required)
        ((optional) padding/optional)
        ((refused) padding/refused)
        (else
         (bad-option who "#:padding is one of required, optional and refused" padding))))

    ;; The text of a bytevector. `#:url? #t` takes the alphabet for URLs and file names.
    (define* (base64-encode bytes #:key (url? #f) (padding? #t))
      (%base64-encode bytes url? padding?))

    ;; The bytes of a text. White space is passed over unless `#:white-space? #f`; `#:padding` is
    ;; `optional`, `required` or `refused`.
    (define* (base64-decode string #:key (url? #f) (padding 'optional) (white-space? #t))
      (%base64-decode string url? (padding-number 'base64-decode padding) white-space?))

    (define (check-length who length)
      (if (not (or (not length) (and (exact-integer? length) (positive? length)
                                     (eqv? 0 (modulo length 4)))))
          (bad-option who "#:line-length is a positive multiple of 4, or #f" length)))

    ;; Encodes the rest of a binary port to a textual one, in lines of that many characters unless
    ;; `#:line-length #f`.
    (define* (base64-encode-port input output
                                 #:key (url? #f) (padding? #t) (line-length 76))
      (check-length 'base64-encode-port line-length)
      (let* ((line-bytes (if line-length (* 3 (quotient line-length 4)) 3))
             (piece-size (* line-bytes (quotient 49152 line-bytes)))
             (piece-size (if (eqv? 0 piece-size) line-bytes piece-size)))
        (let loop ()
          (let ((piece (read-bytevector piece-size input)))
            (if (not (eof-object? piece))
                (let ((text (%base64-encode piece url? padding?)))
                  (if line-length
                      (write-lines text line-length output)
                      (write-string text output))
                  (loop)))))))

    (define (write-lines text length output)
      (let ((end (string-length text)))
        (let loop ((start 0))
          (if (< start end)
              (begin
                (write-string text output start (min end (+ start length)))
                (newline output)
                (loop (+ start length)))))))

    ;; Decodes the rest of a textual port to a binary one.
    (define* (base64-decode-port input output #:key (url? #f) (padding 'optional))
      (let ((padding (padding-number 'base64-decode-port padding)))
        (let loop ((left ""))
          (let ((piece (read-string 65536 input)))
            (if (eof-object? piece)
                (write-bytevector (%base64-decode left url? padding #t) output)
                ;; Whole groups are decoded, and the last one is kept, which may be padded.
                (let* ((text (string-append left (without-space piece)))
                       (length (string-length text))
                       (cut (max 0 (- (* 4 (quotient length 4)) 4))))
                  (write-bytevector (%base64-decode (substring text 0 cut) url? padding/refused #f)
                                    output)
                  (loop (substring text cut length))))))))

    (define (space? char)
      (memv char '(#\space #\newline #\return #\tab)))

    (define (without-space text)
      (if (or (%string-index text #\newline) (%string-index text #\space)
              (%string-index text #\return) (%string-index text #\tab))
          (let loop ((chars (string->list text)) (kept '()))
            (cond ((null? chars) (%reverse-list->string kept))
                  ((space? (car chars)) (loop (cdr chars) kept))
                  (else (loop (cdr chars) (cons (car chars) kept)))))
          text))

    ;; Two hexadecimal digits for each byte.
    (define* (hex-encode bytes #:key (upper? #f))
      (%hex-encode bytes upper?))

    ;; The bytes of hexadecimal digits; white space is passed over.
    (define (hex-decode string)
      (%hex-decode string #t))))
