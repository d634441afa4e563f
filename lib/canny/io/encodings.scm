;;; Part of (canny io): encodings made of procedures, and the options of transcoding.
;;;
;;; `bytes->text` and `text->bytes` give the converters of an encoding that a program made. A
;;; converter keeps the state of the encoding and the bytes that do not form a character yet.

;; Options.

(define (check-encoding who object)
  (cond ((encoding? object))
        ((or (string? object) (symbol? object))
         (if (not (%encoding-name (if (symbol? object) (symbol->string object) object)))
             (%range-error who 1 "the name of a known encoding" object)))
        (else (%type-error who 1 "encoding" object))))

(define (check-choice who object choices)
  (if (not (memq object choices))
      (%range-error who 1 (choice-text choices) object)))

(define (choice-text choices)
  (let ((port (open-output-string)))
    (write-string "one of" port)
    (let next ((rest choices))
      (if (pair? rest)
          (begin
            (write-string (if (eq? rest choices) " " ", ") port)
            (display (car rest) port)
            (next (cdr rest)))))
    (get-output-string port)))

(define (check-lines who object)
  (cond ((memq object '(any linefeed)))
        ((and (string? object) (not (string=? object ""))))
        ((and (pair? object) (list? object) (all-strings? object)))
        (else (%type-error who 1 "any, linefeed, string or list of strings" object))))

(define (all-strings? list)
  (or (null? list)
      (and (string? (car list))
           (not (string=? (car list) ""))
           (all-strings? (cdr list)))))

(define (check-input-options who encoding malformed lines byte-order-mark)
  (check-encoding who encoding)
  (check-choice who malformed '(raise replace ignore))
  (check-lines who lines)
  (check-choice who byte-order-mark '(omit keep)))

(define (check-output-options who encoding malformed byte-order-mark buffering)
  (check-encoding who encoding)
  (check-choice who malformed '(raise replace ignore))
  (check-choice who byte-order-mark '(omit keep))
  (check-choice who buffering '(default block line none)))

;; Encodings of a program's own.

(define-record-type encoding
  (new-encoding name decode encode)
  encoding?
  (name encoding-object-name)
  (decode encoding-decode)
  (encode encoding-encode))

;; An encoding made of two procedures.
;;
;; `(decode bytes last? state)` gives four values. The first three are the text of as many
;; bytes as form whole characters, the number of these bytes, and the state behind them. The
;; last one is the length of a malformed sequence that comes next, or 0. Bytes that it does
;; not take it gets again, with more behind them; `last?` says that there are no more.
;;
;; `(encode text last? state)` gives three values. These are a bytevector, the state, and the
;; index of the first character that has no bytes, or `#f` if all of them were encoded. The
;; state is `#f` at first.
(define (make-encoding name decode encode)
  (check-argument 'make-encoding 1 string? "string" name)
  (check-procedure 'make-encoding 2 decode)
  (check-procedure 'make-encoding 3 encode)
  (new-encoding name decode encode))

(define (raise-malformed encoding name offset bytes length)
  (let ((message (open-output-string)))
    (write-string "cannot read: malformed " message)
    (write-string (encoding-object-name encoding) message)
    (write-string " at byte " message)
    (display offset message)
    (write-string " (" message)
    (let next ((index 0))
      (if (< index length)
          (let ((byte (bytevector-u8-ref bytes index)))
            (if (> index 0) (write-string " " message))
            (if (< byte 16) (write-string "0" message))
            (write-string (string-upcase (number->string byte 16)) message)
            (next (+ index 1)))))
    (write-string ")" message)
    (raise (%make-condition 'read (get-output-string message) (list name) 'read))))

;; A procedure that takes bytes, which begin with those that were left, and whether they are the
;; last; `give` gets the text. A malformed sequence is reported by the call after the one that
;; found it, and skipped.
(define (bytes->text encoding name malformed give)
  (let ((decode (encoding-decode encoding)) (state #f) (rest (bytevector)) (offset 0) (fault 0))
    (define (skip length)
      (set! rest (bytevector-copy rest length))
      (set! offset (+ offset length)))
    (define (work last?)
      (let-values (((text used next length) (decode rest last? state)))
        (set! state next)
        (skip used)
        (if (not (string=? text "")) (give text))
        (let ((length (if (and last? (= length 0)) (bytevector-length rest) length)))
          (if (> length 0)
              (case malformed
                ((raise) (set! fault (min length (bytevector-length rest))))
                (else
                 (if (eq? malformed 'replace) (give "\xFFFD;"))
                 (skip (min length (bytevector-length rest)))
                 (work last?)))))))
    (define (report-fault)
      (if (> fault 0)
          (let ((bytes rest) (at offset) (length fault))
            (set! fault 0)
            (skip length)
            (raise-malformed encoding name at bytes length))))
    (case-lambda
      (() (> fault 0))
      ((bytes last?)
       (report-fault)
       (set! rest (if (= (bytevector-length rest) 0) bytes (bytevector-append rest bytes)))
       (work last?)))))

;; A procedure that takes text and whether it is the last; `give` gets the bytes.
(define (text->bytes encoding name malformed give)
  (let ((encode (encoding-encode encoding)) (state #f))
    (define (work text last?)
      (let-values (((bytes next bad) (encode text last? state)))
        (set! state next)
        (if (> (bytevector-length bytes) 0) (give bytes))
        (if bad
            (let ((rest (string-copy text (+ bad 1))))
              (case malformed
                ((raise)
                 (raise (%make-condition
                         'file
                         (string-append "cannot write: " (encoding-object-name encoding)
                                        " has no character U+"
                                        (string-upcase
                                         (number->string (char->integer (string-ref text bad))
                                                         16)))
                         (list name)
                         'write)))
                ((replace) (work "?" #f) (work rest last?))
                (else (work rest last?)))))))
    work))
