;;; (canny web structured-fields): the values of headers that RFC 9651 gives a common syntax.
;;;
;;; | type | in Scheme |
;;; |---|---|
;;; | integer | an exact integer of at most 15 digits |
;;; | decimal | a flonum |
;;; | string | a string of ASCII characters |
;;; | token | a symbol |
;;; | byte sequence | a bytevector |
;;; | boolean | a boolean |
;;; | date | an `sf-date` |
;;; | display string | an `sf-display-string` |
;;; | item | a pair of a value and its parameters, an association list with symbols as keys |
;;; | inner list | a pair of a list of items and its parameters |
;;; | list | a list of items and inner lists |
;;; | dictionary | an association list: symbols to items and inner lists |
;;;
;;; So `a=1;x=?0, b` as a dictionary is ((a 1 (x . #f)) (b #t)).

(define-library (canny web structured-fields)
  (export string->sf-item string->sf-list string->sf-dictionary
          sf-item->string sf-list->string sf-dictionary->string
          make-sf-date sf-date? sf-date-seconds
          make-sf-display-string sf-display-string? sf-display-string-text
          structured-field-error? structured-field-error-position
          ;; For `(canny web headers)`: these take the header's name.
          %parse-item %parse-list %parse-dictionary %write-item %write-list %write-dictionary)
  (import (canny primitives) (canny syntax) (canny machine arguments)
          (canny web headers text))
  (begin

    (define-record-type sf-date
      (new-sf-date seconds)
      sf-date?
      (seconds date-seconds))

    ;; A date of so many seconds since 1970.
    (define (make-sf-date seconds)
      (check-argument 'make-sf-date 1 exact-integer? "exact integer" seconds)
      (new-sf-date seconds))

    ;; The seconds since 1970 of a date.
    (define (sf-date-seconds date)
      (check-argument 'sf-date-seconds 1 sf-date? "date of a structured field" date)
      (date-seconds date))

    (define-record-type sf-display-string
      (new-sf-display-string text)
      sf-display-string?
      (text display-text))

    ;; A string of any characters, for people.
    (define (make-sf-display-string text)
      (check-argument 'make-sf-display-string 1 string? "string" text)
      (new-sf-display-string text))

    ;; The text of a display string.
    (define (sf-display-string-text object)
      (check-argument 'sf-display-string-text 1 sf-display-string?
                      "display string of a structured field" object)
      (display-text object))

    ;; Whether a condition says that a text is no structured field, or that an object has no form as
    ;; one.
    (define (structured-field-error? object)
      (header-error? object))

    ;; The index of what is wrong in a text; #f for an object.
    (define (structured-field-error-position condition)
      (if (not (header-error? condition))
          (%type-error 'structured-field-error-position 1 "error of a structured field" condition))
      (let ((found (memq 'position (error-object-irritants condition))))
        (and found (cadr found))))

    ;; Reading.

    (define (skip-spaces text index end)
      (if (char-at? text index end #\space)
          (skip-spaces text (+ index 1) end)
          index))

    (define (read-with reader name text)
      (let ((end (string-length text)))
        (reader name text (skip-spaces text 0 end) end
                (lambda (value index)
                  (let ((index (skip-spaces text index end)))
                    (if (not (eqv? index end))
                        (fail name index "the end of the structured field is expected"))
                    value)))))

    (define (%parse-item name text) (read-with parse-item name text))
    (define (%parse-list name text) (read-with parse-list name text))
    (define (%parse-dictionary name text) (read-with parse-dictionary name text))

    ;; The item that a text is.
    (define (string->sf-item text)
      (check-argument 'string->sf-item 1 string? "string" text)
      (%parse-item 'item text))

    ;; The list that a text is.
    (define (string->sf-list text)
      (check-argument 'string->sf-list 1 string? "string" text)
      (%parse-list 'list text))

    ;; The dictionary that a text is; of a key that comes several times the last value counts.
    (define (string->sf-dictionary text)
      (check-argument 'string->sf-dictionary 1 string? "string" text)
      (%parse-dictionary 'dictionary text))

    ;; Behind a member: continues behind a comma, or ends.
    (define (next-member name text index end continue finish)
      (let ((comma (skip-blanks text index end)))
        (cond ((eqv? comma end) (finish comma))
              ((char=? (string-ref text comma) #\,)
               (let ((next (skip-blanks text (+ comma 1) end)))
                 (if (eqv? next end)
                     (fail name comma "a comma at the end"))
                 (continue next)))
              (else (fail name comma "a comma or the end is expected")))))

    (define (parse-list name text index end receive)
      (if (eqv? index end)
          (receive '() index)
          (let loop ((index index) (members '()))
            (parse-member name text index end
              (lambda (member index)
                (let ((members (cons member members)))
                  (next-member name text index end
                    (lambda (index) (loop index members))
                    (lambda (index) (receive (reverse! members) index)))))))))

    (define (parse-dictionary name text index end receive)
      (if (eqv? index end)
          (receive '() index)
          (let loop ((index index) (members '()))
            (parse-key name text index end
              (lambda (key index)
                (define (continue member index)
                  (let ((members (cons (cons key member) members)))
                    (next-member name text index end
                      (lambda (index) (loop index members))
                      (lambda (index) (receive (latest-of members) index)))))
                (if (char-at? text index end #\=)
                    (parse-member name text (+ index 1) end continue)
                    (parse-sf-parameters name text index end
                      (lambda (parameters index)
                        (continue (cons #t parameters) index)))))))))

    ;; Of associations in the opposite order, those in order of which the key comes first, each with
    ;; the last value.
    (define (latest-of reversed)
      (let ((count (length reversed)))
        (if (< count 2)
            reversed
            (let ((values (%make-hash-table 'eq #f count)))
              (for-each-pair
               (lambda (association)
                 (if (not (%hash-table-contains? values (car association)))
                     (%hash-table-set! values (car association) association)))
               reversed)
              (let loop ((rest (reverse reversed)) (result '()))
                (if (null? rest)
                    (reverse! result)
                    (let ((last (%hash-table-ref values (caar rest) #f)))
                      (if last
                          (begin
                            (%hash-table-delete! values (caar rest))
                            (loop (cdr rest) (cons last result)))
                          (loop (cdr rest) result)))))))))

    (define (for-each-pair procedure list)
      (if (pair? list)
          (begin
            (procedure (car list))
            (for-each-pair procedure (cdr list)))))

    (define (parse-member name text index end receive)
      (if (char-at? text index end #\()
          (parse-inner-list name text index end receive)
          (parse-item name text index end receive)))

    (define (parse-inner-list name text start end receive)
      (let loop ((index (+ start 1)) (items '()))
        (let ((place (skip-spaces text index end)))
          (cond ((eqv? place end) (fail name start "an inner list does not end"))
                ((char=? (string-ref text place) #\))
                 (parse-sf-parameters name text (+ place 1) end
                   (lambda (parameters index)
                     (receive (cons (reverse items) parameters) index))))
                ((and (eqv? place index) (pair? items))
                 (fail name place "a space is expected between the items of an inner list"))
                (else
                 (parse-item name text place end
                   (lambda (item index)
                     (loop index (cons item items)))))))))

    (define (parse-item name text index end receive)
      (parse-bare-item name text index end
        (lambda (value index)
          (parse-sf-parameters name text index end
            (lambda (parameters index)
              (receive (cons value parameters) index))))))

    (define (parse-sf-parameters name text index end receive)
      (let loop ((index index) (parameters '()))
        (if (char-at? text index end #\;)
            (parse-key name text (skip-spaces text (+ index 1) end) end
              (lambda (key index)
                (define (continue value index)
                  (loop index (cons (cons key value) parameters)))
                (if (char-at? text index end #\=)
                    (parse-bare-item name text (+ index 1) end continue)
                    (continue #t index))))
            (receive (latest-of parameters) index))))

    (define (key-start? char)
      (or (and (char<=? #\a char) (char<=? char #\z))
          (char=? char #\*)))

    (define (key-char? char)
      (or (key-start? char) (digit? char) (memv char '(#\_ #\- #\.))))

    (define (parse-key name text start end receive)
      (if (not (and (< start end) (key-start? (string-ref text start))))
          (fail name start "a key is expected: a lower-case letter or an asterisk"))
      (let loop ((index start))
        (if (and (< index end) (key-char? (string-ref text index)))
            (loop (+ index 1))
            (receive (string->symbol (substring text start index)) index))))

    (define (digit? char)
      (and (char<=? #\0 char) (char<=? char #\9)))

    (define (letter? char)
      (or (and (char<=? #\a char) (char<=? char #\z))
          (and (char<=? #\A char) (char<=? char #\Z))))

    (define (parse-bare-item name text index end receive)
      (if (eqv? index end)
          (fail name index "an item is expected"))
      (let ((char (string-ref text index)))
        (cond ((or (digit? char) (char=? char #\-)) (parse-sf-number name text index end receive))
              ((char=? char #\") (parse-sf-string name text index end receive))
              ((or (letter? char) (char=? char #\*))
               (let loop ((stop index))
                 (if (and (< stop end)
                          (let ((char (string-ref text stop)))
                            (or (token-char? char) (char=? char #\:) (char=? char #\/))))
                     (loop (+ stop 1))
                     (receive (string->symbol (substring text index stop)) stop))))
              ((char=? char #\?)
               (cond ((char-at? text (+ index 1) end #\0) (receive #f (+ index 2)))
                     ((char-at? text (+ index 1) end #\1) (receive #t (+ index 2)))
                     (else (fail name index "a boolean is ?0 or ?1"))))
              ((char=? char #\:) (parse-bytes name text index end receive))
              ((char=? char #\@)
               (parse-sf-number name text (+ index 1) end
                 (lambda (number next)
                   (if (not (exact-integer? number))
                       (fail name index "a date has no fraction"))
                   (receive (new-sf-date number) next))))
              ((char=? char #\%) (parse-display-string name text index end receive))
              (else (fail name index "an item is expected")))))

    (define (digits-end text index end)
      (if (and (< index end) (digit? (string-ref text index)))
          (digits-end text (+ index 1) end)
          index))

    (define (parse-sf-number name text start end receive)
      (let* ((digits (if (char-at? text start end #\-) (+ start 1) start))
             (stop (digits-end text digits end)))
        (cond ((eqv? stop digits) (fail name stop "a digit is expected"))
              ((char-at? text stop end #\.)
               (let ((last (digits-end text (+ stop 1) end)))
                 (cond ((> (- stop digits) 12)
                        (fail name start "a decimal has at most 12 digits before the point"))
                       ((not (<= 1 (- last stop 1) 3))
                        (fail name (+ stop 1) "a decimal has one to three digits behind the point"))
                       (else
                        (receive (inexact (string->number (substring text start last))) last)))))
              ((> (- stop digits) 15) (fail name start "an integer has at most 15 digits"))
              (else (receive (string->number (substring text start stop)) stop)))))

    (define (parse-sf-string name text start end receive)
      (let loop ((index (+ start 1)) (escapes? #f))
        (if (>= index end)
            (fail name start "a string does not end")
            (let ((char (string-ref text index)))
              (cond ((char=? char #\")
                     (receive (if escapes?
                                  (quoted-value text start (+ index 1))
                                  (substring text (+ start 1) index))
                         (+ index 1)))
                    ((char=? char #\\)
                     (if (not (or (char-at? text (+ index 1) end #\")
                                  (char-at? text (+ index 1) end #\\)))
                         (fail name index "a backslash stands in front of a quote or another one"))
                     (loop (+ index 2) #t))
                    ((not (printable? char))
                     (fail name index "a character that cannot be in a string"))
                    (else (loop (+ index 1) escapes?)))))))

    (define (printable? char)
      (and (char<=? #\space char) (char<=? char #\~)))

    (define (base64? text start end)
      (or (eqv? start end)
          (and (let ((char (string-ref text start)))
                 (or (letter? char) (digit? char) (memv char '(#\+ #\/ #\=))))
               (base64? text (+ start 1) end))))

    (define (parse-bytes name text start end receive)
      (let ((stop (%string-index text #\: (+ start 1) end)))
        (if (not stop)
            (fail name start "a byte sequence does not end"))
        (let ((bytes (and (base64? text (+ start 1) stop)
                          (decoded-base64 (substring text (+ start 1) stop)))))
          (if (not bytes)
              (fail name start "a byte sequence is not in base 64"))
          (receive bytes (+ stop 1)))))

    (define (parse-display-string name text start end receive)
      (if (not (char-at? text (+ start 1) end #\"))
          (fail name start "a display string begins with %\""))
      (let ((port (open-output-bytevector)))
        (let loop ((index (+ start 2)))
          (if (>= index end)
              (fail name start "a display string does not end"))
          (let ((char (string-ref text index)))
            (cond ((char=? char #\")
                   (let ((decoded (utf8-or-false (get-output-bytevector port))))
                     (if (not decoded)
                         (fail name start "a display string is not in UTF-8"))
                     (receive (new-sf-display-string decoded) (+ index 1))))
                  ((char=? char #\%)
                   (let ((high (lower-hex text (+ index 1) end))
                         (low (lower-hex text (+ index 2) end)))
                     (if (not (and high low))
                         (fail name index "two hexadecimal digits in lower case belong behind %"))
                     (write-u8 (+ (* 16 high) low) port)
                     (loop (+ index 3))))
                  ((printable? char)
                   (write-u8 (char->integer char) port)
                   (loop (+ index 1)))
                  (else (fail name index "a character that cannot be in a display string")))))))

    (define (lower-hex text index end)
      (and (< index end)
           (let ((char (string-ref text index)))
             (cond ((digit? char) (- (char->integer char) 48))
                   ((and (char<=? #\a char) (char<=? char #\f)) (- (char->integer char) 87))
                   (else #f)))))

    ;; Writing.

    (define (written writer name value)
      (let ((port (open-output-string)))
        (writer name value port)
        (get-output-string port)))

    (define (%write-item name value) (written write-item name value))
    (define (%write-list name value) (written write-members name value))
    (define (%write-dictionary name value) (written write-dictionary name value))

    ;; The text of an item, which is a pair of value and parameters.
    (define (sf-item->string item)
      (%write-item 'item item))

    ;; The text of a list of items and inner lists.
    (define (sf-list->string members)
      (%write-list 'list members))

    ;; The text of a dictionary.
    (define (sf-dictionary->string members)
      (%write-dictionary 'dictionary members))

    (define (check-list-value name value)
      (if (not (list? value))
          (refuse name "the value of the structured field is a list")))

    (define (write-between write-one elements between port)
      (let loop ((rest elements))
        (if (pair? rest)
            (begin
              (if (not (eq? rest elements))
                  (write-string between port))
              (write-one (car rest))
              (loop (cdr rest))))))

    (define (write-members name members port)
      (check-list-value name members)
      (write-between (lambda (member) (write-member name member port)) members ", " port))

    (define (write-dictionary name members port)
      (check-list-value name members)
      (write-between
       (lambda (association)
         (if (not (and (pair? association) (pair? (cdr association))))
             (refuse name "the member of a dictionary is a key, a value and parameters"))
         (write-key name (car association) port)
         (if (eq? (cadr association) #t)
             (write-sf-parameters name (cddr association) port)
             (begin
               (write-char #\= port)
               (write-member name (cdr association) port))))
       members ", " port))

    (define (write-member name member port)
      (if (and (pair? member) (list? (car member)))
          (begin
            (write-char #\( port)
            (write-between (lambda (item) (write-item name item port)) (car member) " " port)
            (write-char #\) port)
            (write-sf-parameters name (cdr member) port))
          (write-item name member port)))

    (define (write-item name item port)
      (if (not (pair? item))
          (refuse name "an item is a pair of a value and its parameters"))
      (write-bare-item name (car item) port)
      (write-sf-parameters name (cdr item) port))

    (define (write-sf-parameters name parameters port)
      (check-list-value name parameters)
      (for-each-pair
       (lambda (parameter)
         (if (not (pair? parameter))
             (refuse name "a parameter is a pair of key and value"))
         (write-char #\; port)
         (write-key name (car parameter) port)
         (if (not (eq? (cdr parameter) #t))
             (begin
               (write-char #\= port)
               (write-bare-item name (cdr parameter) port))))
       parameters))

    (define (every-char? text start test?)
      (let ((end (string-length text)))
        (let loop ((index start))
          (or (eqv? index end)
              (and (test? (string-ref text index))
                   (loop (+ index 1)))))))

    (define (write-key name key port)
      (let ((text (if (symbol? key) (symbol->string key) "")))
        (if (not (and (> (string-length text) 0)
                      (key-start? (string-ref text 0))
                      (every-char? text 1 key-char?)))
            (refuse name "a key is a symbol of lower-case letters, digits and _ - . *"))
        (write-string text port)))

    (define integer-max 999999999999999)

    (define (write-integer name number port)
      (if (not (<= (- integer-max) number integer-max))
          (refuse name "an integer has at most 15 digits"))
      (write-string (number->string number) port))

    (define (write-bare-item name value port)
      (cond ((exact-integer? value) (write-integer name value port))
            ((real? value) (write-decimal name value port))
            ((string? value)
             (if (not (every-char? value 0 printable?))
                 (refuse name "a string has printable characters of ASCII only"))
             (write-quoted value port))
            ((symbol? value)
             (let ((text (symbol->string value)))
               (if (not (and (> (string-length text) 0)
                             (or (letter? (string-ref text 0))
                                 (char=? (string-ref text 0) #\*))
                             (every-char? text 1
                                          (lambda (char)
                                            (or (token-char? char)
                                                (char=? char #\:)
                                                (char=? char #\/))))))
                   (refuse name "a symbol is no token of structured fields"))
               (write-string text port)))
            ((boolean? value) (write-string (if value "?1" "?0") port))
            ((bytevector? value)
             (write-char #\: port)
             (write-string (%base64-encode value #f #t) port)
             (write-char #\: port))
            ((sf-date? value)
             (write-char #\@ port)
             (write-integer name (date-seconds value) port))
            ((sf-display-string? value) (write-display-string (display-text value) port))
            (else (refuse name "an object that structured fields have no form for"))))

    ;; Rounded to three digits behind the point, halves to even ones.
    (define (write-decimal name value port)
      (if (not (and (rational? value) (< (abs value) 1000000000000)))
          (refuse name "a decimal has at most 12 digits before the point"))
      (let* ((thousandths (round (* 1000 (exact value))))
             (size (abs thousandths))
             (whole (quotient size 1000))
             (part (remainder size 1000)))
        (if (> whole 999999999999)
            (refuse name "a decimal has at most 12 digits before the point"))
        (if (negative? thousandths)
            (write-char #\- port))
        (write-string (number->string whole) port)
        (write-char #\. port)
        (let* ((digits (number->string (+ 1000 part)))
               (end (cond ((eqv? 0 (remainder part 100)) 2)
                          ((eqv? 0 (remainder part 10)) 3)
                          (else 4))))
          (write-string digits port 1 end))))

    (define (write-display-string text port)
      (let* ((bytes (string->utf8 text)) (end (bytevector-length bytes)))
        (write-string "%\"" port)
        (let loop ((index 0))
          (if (< index end)
              (let ((byte (bytevector-u8-ref bytes index)))
                (if (and (<= 32 byte 126) (not (memv byte '(34 37))))
                    (write-char (integer->char byte) port)
                    (begin
                      (write-char #\% port)
                      (write-string (%hex-encode (bytevector byte) #f) port)))
                (loop (+ index 1)))))
        (write-char #\" port)))))
