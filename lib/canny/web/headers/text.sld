;;; (canny web headers text): what the syntaxes of headers are made of, for `(canny web headers)`
;;; and its parts.
;;;
;;; Texts are scanned with indexes, each character a bounded number of times. Procedures with two
;;; results hand them to a procedure: a value, and the index behind it. `name` is the header, for
;;; messages. Nothing of a value is in a condition: it could be a secret.

(define-library (canny web headers text)
  (export header-error? fail refuse
          token-char? all-token? skip-blanks trim-end text-start text-end
          token-end expect-token symbol-of
          char-at? quoted-end quoted-value
          parse-value parse-parameters parse-elements
          parse-number
          token->string write-quoted write-value write-parameters join-texts
          hex-digit-char? utf8-or-false decoded-base64)
  (import (canny machine protocols) (canny primitives) (canny syntax)
          (only (canny machine control) raise guard))
  (begin

    ;; Errors.

    ;; Whether a condition says that the value of a header is malformed, or cannot be written.
    (define (header-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'header)))

    (define (label name)
      (if (symbol? name) (symbol->string name) "a header"))

    ;; The text of a header is malformed at an index.
    (define (fail name position message)
      (raise (%make-condition 'header
                              (string-append (label name) ": " message)
                              (list 'header name 'position position)
                              'parse-header)))

    ;; A value cannot be the value of a header.
    (define (refuse name message)
      (raise (%make-condition 'header
                              (string-append (label name) ": " message)
                              (list 'header name)
                              'header->string)))

    ;; Characters.

    (define token-table
      (let ((table (make-bytevector 128 0)))
        (let ((characters (string-append "0123456789abcdefghijklmnopqrstuvwxyz"
                                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+-.^_`|~")))
          (let loop ((index 0))
            (if (< index (string-length characters))
                (begin
                  (bytevector-u8-set! table (char->integer (string-ref characters index)) 1)
                  (loop (+ index 1))))))
        table))

    (define (token-char? char)
      (let ((code (char->integer char)))
        (and (< code 128) (eqv? 1 (bytevector-u8-ref token-table code)))))

    (define (all-token? text)
      (let ((end (string-length text)))
        (and (> end 0) (eqv? end (token-end text 0 end)))))

    (define (blank? char)
      (or (char=? char #\space) (char=? char #\tab)))

    (define (hex-digit-char? char)
      (or (and (char<=? #\0 char) (char<=? char #\9))
          (and (char<=? #\a char) (char<=? char #\f))
          (and (char<=? #\A char) (char<=? char #\F))))

    ;; The index of the first character from one on that is no blank.
    (define (skip-blanks text index end)
      (if (and (< index end) (blank? (string-ref text index)))
          (skip-blanks text (+ index 1) end)
          index))

    ;; The end of a range without the blanks at its end.
    (define (trim-end text start end)
      (if (and (< start end) (blank? (string-ref text (- end 1))))
          (trim-end text start (- end 1))
          end))

    (define (text-start text)
      (skip-blanks text 0 (string-length text)))

    (define (text-end text)
      (trim-end text (text-start text) (string-length text)))

    (define (char-at? text index end char)
      (and (< index end) (char=? (string-ref text index) char)))

    ;; Tokens.

    ;; The end of the token that begins at an index.
    (define (token-end text index end)
      (if (and (< index end) (token-char? (string-ref text index)))
          (token-end text (+ index 1) end)
          index))

    ;; The same, but a token it must be.
    (define (expect-token name text index end what)
      (let ((stop (token-end text index end)))
        (if (eqv? stop index)
            (fail name index (string-append what " is expected")))
        stop))

    ;; The symbol of a range in lower case.
    (define (symbol-of text start end)
      (string->symbol (string-downcase text start end)))

    ;; Quoted strings.

    ;; The index behind the quoted string that begins at an index.
    (define (quoted-end name text index end)
      (let loop ((place (+ index 1)))
        (if (>= place end)
            (fail name index "a quoted string does not end")
            (let ((char (string-ref text place)))
              (cond ((char=? char #\") (+ place 1))
                    ((char=? char #\\) (loop (+ place 2)))
                    ((and (char<? char #\space) (not (char=? char #\tab)))
                     (fail name place "a control character in a quoted string"))
                    (else (loop (+ place 1))))))))

    ;; The value of a quoted string in a range, quotes included.
    (define (quoted-value text start end)
      (let ((start (+ start 1)) (end (- end 1)))
        (if (not (%string-index text #\\ start end))
            (substring text start end)
            (let ((port (open-output-string)))
              (let loop ((index start))
                (let ((slash (and (< index end) (%string-index text #\\ index end))))
                  (if slash
                      (begin
                        (write-string text port index slash)
                        (write-char (string-ref text (+ slash 1)) port)
                        (loop (+ slash 2)))
                      (begin
                        (write-string text port index end)
                        (get-output-string port)))))))))

    ;; A token or a quoted string: its value as a string.
    (define (parse-value name text index end receive)
      (if (char-at? text index end #\")
          (let ((stop (quoted-end name text index end)))
            (receive (quoted-value text index stop) stop))
          (let ((stop (expect-token name text index end "a token or a quoted string")))
            (receive (substring text index stop) stop))))

    ;; Parameters, each behind a semicolon: an association list, symbols to strings, or to #f
    ;; without a value.
    (define (parse-parameters name text index end receive)
      (let loop ((index index) (parameters '()))
        (let ((place (skip-blanks text index end)))
          (if (char-at? text place end #\;)
              (let* ((start (skip-blanks text (+ place 1) end))
                     (stop (token-end text start end)))
                (cond ((eqv? start stop)
                       (if (or (eqv? start end) (memv (string-ref text start) '(#\; #\,)))
                           (loop start parameters)
                           (fail name start "the name of a parameter is expected")))
                      ((char-at? text stop end #\=)
                       (parse-value name text (+ stop 1) end
                         (lambda (value index)
                           (loop index
                                 (cons (cons (symbol-of text start stop) value) parameters)))))
                      (else
                       (loop stop (cons (cons (symbol-of text start stop) #f) parameters)))))
              (receive (if (null? parameters) '() (reverse! parameters)) place)))))

    ;; The list of what stands between commas. `element` gets an index and a procedure that takes
    ;; the value and the index behind it. Empty elements count for nothing.
    (define (parse-elements name text element)
      (let ((end (string-length text)))
        (let loop ((index 0) (elements '()))
          (let ((start (skip-blanks text index end)))
            (cond ((eqv? start end) (reverse! elements))
                  ((char=? (string-ref text start) #\,) (loop (+ start 1) elements))
                  (else
                   (element start end
                     (lambda (value index)
                       (let ((index (skip-blanks text index end)))
                         (if (not (or (eqv? index end) (char=? (string-ref text index) #\,)))
                             (fail name index "a comma or the end is expected"))
                         (loop index (cons value elements)))))))))))

    ;; Numbers.

    ;; The number that the digits of a range are, at most fifteen.
    (define (parse-number name text start end)
      (if (eqv? start end)
          (fail name start "a number is expected"))
      (let loop ((index start) (number 0))
        (if (eqv? index end)
            number
            (let ((char (string-ref text index)))
              (cond ((not (and (char<=? #\0 char) (char<=? char #\9)))
                     (fail name index "a digit is expected"))
                    ((> number 99999999999999) (fail name start "the number is too large"))
                    (else
                     (loop (+ index 1)
                           (+ (* 10 number) (- (char->integer char) 48)))))))))

    ;; Writing.

    ;; A symbol or string that is a token, as text.
    (define (token->string name object)
      (let ((text (cond ((symbol? object) (symbol->string object))
                        ((string? object) object)
                        ((exact-nonnegative-integer? object) (number->string object))
                        (else (refuse name "a token is a symbol or a string")))))
        (if (not (all-token? text))
            (refuse name "a token has letters, digits and some signs only"))
        text))

    (define (write-quoted text port)
      (write-char #\" port)
      (let ((end (string-length text)))
        (let loop ((index 0))
          (if (< index end)
              (let ((char (string-ref text index)))
                (if (or (char=? char #\") (char=? char #\\))
                    (write-char #\\ port))
                (write-char char port)
                (loop (+ index 1))))))
      (write-char #\" port))

    ;; Writes a value: as a token if it is one, else quoted.
    (define (write-value name object port)
      (let ((text (cond ((string? object) object)
                        ((symbol? object) (symbol->string object))
                        ((exact-nonnegative-integer? object) (number->string object))
                        (else (refuse name "a value is a string, a symbol or a number")))))
        (if (all-token? text)
            (write-string text port)
            (write-quoted text port))))

    (define (write-parameters name parameters port)
      (if (not (list? parameters))
          (refuse name "parameters are an association list"))
      (let loop ((rest parameters))
        (if (pair? rest)
            (let ((parameter (car rest)))
              (if (not (pair? parameter))
                  (refuse name "a parameter is a pair of name and value"))
              (write-string "; " port)
              (write-string (token->string name (car parameter)) port)
              (if (cdr parameter)
                  (begin
                    (write-char #\= port)
                    (write-value name (cdr parameter) port)))
              (loop (cdr rest))))))

    ;; The texts that a procedure writes of the elements of a list, with another one between them.
    (define (join-texts name elements between write-element)
      (if (not (list? elements))
          (refuse name "the value is a list"))
      (let ((port (open-output-string)))
        (let loop ((rest elements))
          (if (null? rest)
              (get-output-string port)
              (begin
                (if (not (eq? rest elements))
                    (write-string between port))
                (write-element (car rest) port)
                (loop (cdr rest)))))))

    ;; The bytes of base 64, or #f.
    (define (decoded-base64 text)
      (guard (condition ((error-object? condition) #f))
        (%base64-decode text #f padding/optional #f)))

    ;; The text of UTF-8, or #f.
    (define (utf8-or-false bytes)
      (let ((end (bytevector-length bytes)))
        (define (continuation? index)
          (and (< index end) (<= 128 (bytevector-u8-ref bytes index) 191)))
        (let loop ((index 0))
          (if (eqv? index end)
              (utf8->string bytes)
              (let ((lead (bytevector-u8-ref bytes index)))
                (cond ((< lead 128) (loop (+ index 1)))
                      ((and (<= 194 lead 223) (continuation? (+ index 1))) (loop (+ index 2)))
                      ((and (<= 224 lead 239)
                            (continuation? (+ index 1))
                            (continuation? (+ index 2))
                            (let ((next (bytevector-u8-ref bytes (+ index 1))))
                              (case lead
                                ((224) (>= next 160))
                                ((237) (< next 160))
                                (else #t))))
                       (loop (+ index 3)))
                      ((and (<= 240 lead 244)
                            (continuation? (+ index 1))
                            (continuation? (+ index 2))
                            (continuation? (+ index 3))
                            (let ((next (bytevector-u8-ref bytes (+ index 1))))
                              (case lead
                                ((240) (>= next 144))
                                ((244) (< next 144))
                                (else #t))))
                       (loop (+ index 4)))
                      (else #f)))))))))
