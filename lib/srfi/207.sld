;;; (srfi 207): string-notated bytevectors.
;;;
;;; The reader knows the notation #u8"…" everywhere; here are the procedures. A byte may be given as
;;; an ASCII character, several as a string or a bytevector.

(define-library (srfi 207)
  (export
   bytestring make-bytestring make-bytestring!
   bytevector->hex-string hex-string->bytevector bytevector->base64 base64->bytevector
   bytestring->list make-bytestring-generator
   bytestring-pad bytestring-pad-right
   bytestring-trim bytestring-trim-right bytestring-trim-both bytestring-replace
   bytestring<? bytestring>? bytestring<=? bytestring>=?
   bytestring-index bytestring-index-right bytestring-break bytestring-span
   bytestring-join bytestring-split
   read-textual-bytestring write-textual-bytestring write-binary-bytestring
   bytestring-error?)
  (import (canny machine protocols) (canny primitives) (canny syntax)
          (only (canny machine control) raise))
  (begin

    ;; Errors and checks.

    (define (fail who message . irritants)
      (raise (%make-condition 'bytestring message irritants who)))

    (define (bytestring-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'bytestring)))

    (define (check who position object)
      (if (not (bytevector? object))
          (%type-error who position "bytevector" object)))

    (define (check-procedure who position object)
      (if (not (procedure? object))
          (%type-error who position "procedure" object)))

    (define (check-range who position start end length)
      (if (not (and (exact-nonnegative-integer? end) (<= end length)))
          (%range-error who (+ position 1) "an index of the bytevector" end))
      (if (not (and (exact-nonnegative-integer? start) (<= start end)))
          (%range-error who position "an index not above the end" start)))

    (define (with-range who position length range work)
      (let* ((start (if (pair? range) (car range) 0))
             (end (if (and (pair? range) (pair? (cdr range))) (cadr range) length)))
        (check-range who position start end length)
        (work start end)))

    (define (byte? object)
      (and (exact-nonnegative-integer? object) (< object 256)))

    (define (ascii? object)
      (and (char? object) (char<? object #\x80)))

    ;; A byte given as an integer or a character.
    (define (to-byte who object)
      (cond ((byte? object) object)
            ((ascii? object) (char->integer object))
            (else (fail who "neither a byte nor an ASCII character" object))))

    ;; Constructors.

    ;; Writes the bytes of the arguments to a binary port, once all of them are known to be good.
    (define (write-parts who parts port)
      (let loop ((rest parts))
        (if (pair? rest)
            (let ((part (car rest)))
              (cond ((or (byte? part) (ascii? part) (bytevector? part)))
                    ((and (string? part)
                          (let each ((index 0))
                            (or (= index (string-length part))
                                (and (ascii? (string-ref part index)) (each (+ index 1)))))))
                    (else (fail who "not of ASCII characters and bytes" part)))
              (loop (cdr rest)))))
      (let loop ((rest parts))
        (if (pair? rest)
            (let ((part (car rest)))
              (cond ((bytevector? part) (write-bytevector part port))
                    ((string? part) (write-bytevector (string->utf8 part) port))
                    (else (write-u8 (to-byte who part) port)))
              (loop (cdr rest))))))

    (define (parts->bytevector who parts)
      (let ((port (open-output-bytevector)))
        (write-parts who parts port)
        (get-output-bytevector port)))

    (define (bytestring . parts)
      (parts->bytevector 'bytestring parts))

    (define (make-bytestring parts)
      (if (not (list? parts))
          (%type-error 'make-bytestring 1 "list" parts))
      (parts->bytevector 'make-bytestring parts))

    (define (make-bytestring! bytevector at parts)
      (check 'make-bytestring! 1 bytevector)
      (if (not (list? parts))
          (%type-error 'make-bytestring! 3 "list" parts))
      (let ((bytes (parts->bytevector 'make-bytestring! parts)))
        (if (not (and (exact-nonnegative-integer? at)
                      (<= (+ at (bytevector-length bytes)) (bytevector-length bytevector))))
            (%range-error 'make-bytestring! 2 "an index with room for the bytes" at))
        (bytevector-copy! bytevector at bytes)))

    (define (write-binary-bytestring port . parts)
      (write-parts 'write-binary-bytestring parts port))

    (define (make-bytestring-generator . parts)
      (let ((bytes (parts->bytevector 'make-bytestring-generator parts)) (index 0))
        (lambda ()
          (if (< index (bytevector-length bytes))
              (let ((byte (bytevector-u8-ref bytes index)))
                (set! index (+ index 1))
                byte)
              (eof-object)))))

    ;; Conversion.

    (define digits "0123456789abcdef")

    (define (bytevector->hex-string bytevector)
      (check 'bytevector->hex-string 1 bytevector)
      (let loop ((index (- (bytevector-length bytevector) 1)) (chars '()))
        (if (< index 0)
            (list->string chars)
            (let ((byte (bytevector-u8-ref bytevector index)))
              (loop (- index 1)
                    (cons* (string-ref digits (quotient byte 16))
                           (string-ref digits (remainder byte 16))
                           chars))))))

    (define (hex-value char)
      (cond ((char<=? #\0 char #\9) (- (char->integer char) 48))
            ((char<=? #\a char #\f) (- (char->integer char) 87))
            ((char<=? #\A char #\F) (- (char->integer char) 55))
            (else #f)))

    (define (hex-string->bytevector string)
      (if (not (string? string))
          (%type-error 'hex-string->bytevector 1 "string" string))
      (let ((length (string-length string)))
        (if (odd? length)
            (fail 'hex-string->bytevector "an odd number of hexadecimal digits" string))
        (let ((bytes (make-bytevector (quotient length 2))))
          (let loop ((index 0))
            (if (= index length)
                bytes
                (let ((high (hex-value (string-ref string index)))
                      (low (hex-value (string-ref string (+ index 1)))))
                  (if (not (and high low))
                      (fail 'hex-string->bytevector "not hexadecimal digits" string))
                  (bytevector-u8-set! bytes (quotient index 2) (+ (* 16 high) low))
                  (loop (+ index 2))))))))

    (define (check-last-digits who object)
      (if (not (and (string? object) (= (string-length object) 2)))
          (%type-error who 2 "string of two characters" object)))

    (define bytevector->base64
      (case-lambda
        ((bytevector) (bytevector->base64 bytevector "+/"))
        ((bytevector last-digits)
         (check 'bytevector->base64 1 bytevector)
         (check-last-digits 'bytevector->base64 last-digits)
         (let ((alphabet
                (string-append "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                               last-digits))
               (length (bytevector-length bytevector)))
           (define (byte index)
             (if (< index length) (bytevector-u8-ref bytevector index) 0))
           (define (digit group shift)
             (string-ref alphabet (bitwise-and 63 (arithmetic-shift group (- shift)))))
           ;; Three bytes, some of which may be missing at the end, are four digits.
           (let loop ((index 0) (chars '()))
             (if (>= index length)
                 (%reverse-list->string chars)
                 (let ((group (+ (* 65536 (byte index)) (* 256 (byte (+ index 1)))
                                 (byte (+ index 2)))))
                   (loop (+ index 3)
                         (cons* (if (< (+ index 2) length) (digit group 0) #\=)
                                (if (< (+ index 1) length) (digit group 6) #\=)
                                (digit group 12)
                                (digit group 18)
                                chars)))))))))

    (define base64->bytevector
      (case-lambda
        ((string) (base64->bytevector string "+/"))
        ((string last-digits)
         (if (not (string? string))
             (%type-error 'base64->bytevector 1 "string" string))
         (check-last-digits 'base64->bytevector last-digits)
         (let ((port (open-output-bytevector)) (end (string-length string)))
           (define (value char)
             (cond ((char<=? #\A char #\Z) (- (char->integer char) 65))
                   ((char<=? #\a char #\z) (- (char->integer char) 71))
                   ((char<=? #\0 char #\9) (+ (char->integer char) 4))
                   ((char=? char (string-ref last-digits 0)) 62)
                   ((char=? char (string-ref last-digits 1)) 63)
                   (else (fail 'base64->bytevector "not a digit of base 64" char))))
           (define (finish group count padding)
             (cond ((not (or (eqv? count 0) (eqv? (+ count padding) 4)))
                    (fail 'base64->bytevector "the text is cut off" string))
                   ((eqv? count 2)
                    (write-u8 (arithmetic-shift group -4) port))
                   ((eqv? count 3)
                    (write-u8 (arithmetic-shift group -10) port)
                    (write-u8 (bitwise-and 255 (arithmetic-shift group -2)) port)))
             (get-output-bytevector port))
           ;; `count` digits of a group of four have been seen. Padding where nothing is missing
           ;; does no harm.
           (let loop ((index 0) (group 0) (count 0) (padding 0))
             (if (= index end)
                 (finish group count padding)
                 (let ((char (string-ref string index)))
                   (cond ((char-whitespace? char) (loop (+ index 1) group count padding))
                         ((and (char=? char #\=) (< padding 2))
                          (loop (+ index 1) group count (+ padding 1)))
                         ((> padding 0)
                          (fail 'base64->bytevector "a digit after the padding" char))
                         (else
                          (let ((group (+ (* 64 group) (value char))))
                            (if (= count 3)
                                (begin
                                  (write-u8 (arithmetic-shift group -16) port)
                                  (write-u8 (bitwise-and 255 (arithmetic-shift group -8)) port)
                                  (write-u8 (bitwise-and 255 group) port)
                                  (loop (+ index 1) 0 0 0))
                                (loop (+ index 1) group (+ count 1) 0))))))))))))

    (define (bytestring->list bytevector . range)
      (check 'bytestring->list 1 bytevector)
      (with-range 'bytestring->list 2 (bytevector-length bytevector) range
        (lambda (start end)
          (let loop ((index (- end 1)) (list '()))
            (if (< index start)
                list
                (let ((byte (bytevector-u8-ref bytevector index)))
                  (loop (- index 1)
                        (cons (if (<= 32 byte 127) (integer->char byte) byte) list))))))))

    ;; Padding, trimming, replacement.

    (define (padding who bytevector length pad)
      (check who 1 bytevector)
      (if (not (exact-nonnegative-integer? length))
          (%type-error who 2 "index" length))
      (make-bytevector (max 0 (- length (bytevector-length bytevector)))
                       (if (ascii? pad) (char->integer pad) pad)))

    (define (bytestring-pad bytevector length pad)
      (bytevector-append (padding 'bytestring-pad bytevector length pad) bytevector))

    (define (bytestring-pad-right bytevector length pad)
      (let ((padding (padding 'bytestring-pad-right bytevector length pad)))
        (bytevector-append bytevector padding)))

    (define (find-forward wanted? bytevector start end)
      (let loop ((index start))
        (cond ((>= index end) #f)
              ((wanted? (bytevector-u8-ref bytevector index)) index)
              (else (loop (+ index 1))))))

    (define (find-backward wanted? bytevector start end)
      (let loop ((index (- end 1)))
        (cond ((< index start) #f)
              ((wanted? (bytevector-u8-ref bytevector index)) index)
              (else (loop (- index 1))))))

    (define (trimmer who left? right?)
      (lambda (bytevector unwanted?)
        (check who 1 bytevector)
        (check-procedure who 2 unwanted?)
        (let* ((end (bytevector-length bytevector))
               (wanted? (lambda (byte) (not (unwanted? byte))))
               (start (if left? (or (find-forward wanted? bytevector 0 end) end) 0))
               (last (if right? (find-backward wanted? bytevector start end) (- end 1))))
          (bytevector-copy bytevector start (if last (+ last 1) start)))))

    (define bytestring-trim (trimmer 'bytestring-trim #t #f))
    (define bytestring-trim-right (trimmer 'bytestring-trim-right #f #t))
    (define bytestring-trim-both (trimmer 'bytestring-trim-both #t #t))

    (define (bytestring-replace target source start1 end1 . range2)
      (check 'bytestring-replace 1 target)
      (check 'bytestring-replace 2 source)
      (check-range 'bytestring-replace 3 start1 end1 (bytevector-length target))
      (with-range 'bytestring-replace 5 (bytevector-length source) range2
        (lambda (start2 end2)
          (bytevector-append (bytevector-copy target 0 start1)
                             (bytevector-copy source start2 end2)
                             (bytevector-copy target end1)))))

    ;; Comparison: negative, zero or positive.

    (define (order who left right)
      (check who 1 left)
      (check who 2 right)
      (let* ((left-length (bytevector-length left))
             (right-length (bytevector-length right))
             (end (min left-length right-length)))
        (let loop ((index 0))
          (if (= index end)
              (- left-length right-length)
              (let ((difference (- (bytevector-u8-ref left index)
                                   (bytevector-u8-ref right index))))
                (if (eqv? difference 0) (loop (+ index 1)) difference))))))

    (define (bytestring<? left right) (negative? (order 'bytestring<? left right)))
    (define (bytestring>? left right) (positive? (order 'bytestring>? left right)))
    (define (bytestring<=? left right) (not (positive? (order 'bytestring<=? left right))))
    (define (bytestring>=? left right) (not (negative? (order 'bytestring>=? left right))))

    ;; Searching.

    (define (bytestring-index bytevector wanted? . range)
      (check 'bytestring-index 1 bytevector)
      (check-procedure 'bytestring-index 2 wanted?)
      (with-range 'bytestring-index 3 (bytevector-length bytevector) range
        (lambda (start end) (find-forward wanted? bytevector start end))))

    (define (bytestring-index-right bytevector wanted? . range)
      (check 'bytestring-index-right 1 bytevector)
      (check-procedure 'bytestring-index-right 2 wanted?)
      (with-range 'bytestring-index-right 3 (bytevector-length bytevector) range
        (lambda (start end) (find-backward wanted? bytevector start end))))

    (define (cut-at bytevector place)
      (let ((place (or place (bytevector-length bytevector))))
        (values (bytevector-copy bytevector 0 place) (bytevector-copy bytevector place))))

    (define (bytestring-break bytevector stop?)
      (cut-at bytevector (bytestring-index bytevector stop?)))

    (define (bytestring-span bytevector wanted?)
      (cut-at bytevector (bytestring-index bytevector (lambda (byte) (not (wanted? byte))))))

    ;; Joining and splitting.

    (define (check-grammar who grammar)
      (if (not (memq grammar '(infix strict-infix prefix suffix)))
          (fail who "neither infix, strict-infix, suffix nor prefix" grammar)))

    (define bytestring-join
      (case-lambda
        ((bytevectors delimiter) (bytestring-join bytevectors delimiter 'infix))
        ((bytevectors delimiter grammar)
         (if (not (list? bytevectors))
             (%type-error 'bytestring-join 1 "list of bytevectors" bytevectors))
         (check-grammar 'bytestring-join grammar)
         (if (and (null? bytevectors) (eq? grammar 'strict-infix))
             (fail 'bytestring-join "nothing to join strictly" bytevectors))
         (let ((delimiter (bytestring delimiter)) (port (open-output-bytevector)))
           (let loop ((rest bytevectors) (first? #t))
             (if (pair? rest)
                 (begin
                   (check 'bytestring-join 1 (car rest))
                   (if (or (eq? grammar 'prefix) (not (or first? (eq? grammar 'suffix))))
                       (write-bytevector delimiter port))
                   (write-bytevector (car rest) port)
                   (if (eq? grammar 'suffix)
                       (write-bytevector delimiter port))
                   (loop (cdr rest) #f))))
           (get-output-bytevector port)))))

    (define bytestring-split
      (case-lambda
        ((bytevector delimiter) (bytestring-split bytevector delimiter 'infix))
        ((bytevector delimiter grammar)
         (check 'bytestring-split 1 bytevector)
         (check-grammar 'bytestring-split grammar)
         (let* ((delimiter (to-byte 'bytestring-split delimiter))
                (length (bytevector-length bytevector))
                (delimiter? (lambda (byte) (eqv? byte delimiter)))
                (start (if (and (eq? grammar 'prefix)
                                (> length 0)
                                (delimiter? (bytevector-u8-ref bytevector 0)))
                           1
                           0))
                (end (if (and (eq? grammar 'suffix)
                              (> length 0)
                              (delimiter? (bytevector-u8-ref bytevector (- length 1))))
                         (- length 1)
                         length)))
           (if (eqv? length 0)
               '()
               (let loop ((start start) (parts '()))
                 (let ((place (find-forward delimiter? bytevector start end)))
                   (if place
                       (loop (+ place 1) (cons (bytevector-copy bytevector start place) parts))
                       (reverse! (cons (bytevector-copy bytevector start end) parts))))))))))

    ;; Text.

    (define read-textual-bytestring
      (case-lambda
        ((prefix) (read-textual-bytestring prefix (%current-port port-key/input)))
        ((prefix port)
         (if prefix
             (let ((start (read-string 3 port)))
               (if (not (equal? start "#u8"))
                   (fail 'read-textual-bytestring "does not begin with #u8" start))))
         (if (not (eqv? (read-char port) #\"))
             (fail 'read-textual-bytestring "no quotation mark after #u8"))
         (let ((out (open-output-bytevector)))
           (define (next)
             (let ((char (read-char port)))
               (if (eof-object? char)
                   (fail 'read-textual-bytestring "the text ends inside the bytevector"))
               char))
           ;; The value of hexadecimal digits up to the semicolon.
           (define (hexadecimal)
             (let loop ((value #f))
               (let ((char (next)))
                 (cond ((and (char=? char #\;) value) value)
                       ((hex-value char)
                        => (lambda (digit)
                             (let ((value (+ (* 16 (or value 0)) digit)))
                               (if (> value 255)
                                   (fail 'read-textual-bytestring "a byte above 255" value))
                               (loop value))))
                       (else (fail 'read-textual-bytestring "a wrong \\x escape" char))))))
           ;; After a backslash: blanks, one end of line, blanks.
           (define (continuation char)
             (cond ((char=? char #\newline)
                    (let skip ()
                      (if (memv (peek-char port) '(#\space #\tab))
                          (begin
                            (read-char port)
                            (skip)))))
                   ((memv char '(#\space #\tab #\return)) (continuation (next)))
                   (else (fail 'read-textual-bytestring "an unknown escape" char))))
           (let loop ()
             (let ((char (next)))
               (cond ((char=? char #\") (get-output-bytevector out))
                     ((char=? char #\\)
                      (let ((escape (next)))
                        (case escape
                          ((#\a) (write-u8 7 out))
                          ((#\b) (write-u8 8 out))
                          ((#\t) (write-u8 9 out))
                          ((#\n) (write-u8 10 out))
                          ((#\r) (write-u8 13 out))
                          ((#\" #\\ #\|) (write-u8 (char->integer escape) out))
                          ((#\x #\X) (write-u8 (hexadecimal) out))
                          (else (continuation escape))))
                      (loop))
                     ((char<=? #\space char #\~)
                      (write-u8 (char->integer char) out)
                      (loop))
                     (else
                      (fail 'read-textual-bytestring "a character that is not printable ASCII"
                            char)))))))))

    (define write-textual-bytestring
      (case-lambda
        ((bytevector) (write-textual-bytestring bytevector (%current-port port-key/output)))
        ((bytevector port)
         (check 'write-textual-bytestring 1 bytevector)
         (write-string "#u8\"" port)
         (let loop ((index 0))
           (if (< index (bytevector-length bytevector))
               (let ((byte (bytevector-u8-ref bytevector index)))
                 (case byte
                   ((7) (write-string "\\a" port))
                   ((8) (write-string "\\b" port))
                   ((9) (write-string "\\t" port))
                   ((10) (write-string "\\n" port))
                   ((13) (write-string "\\r" port))
                   ((34) (write-string "\\\"" port))
                   ((92) (write-string "\\\\" port))
                   ((124) (write-string "\\|" port))
                   (else
                    (if (<= 32 byte 126)
                        (write-char (integer->char byte) port)
                        (begin
                          (write-string "\\x" port)
                          (write-string (number->string byte 16) port)
                          (write-string ";" port)))))
                 (loop (+ index 1)))))
         (write-string "\"" port))))))
