;;; (canny web headers values): parsers and writers of the values of headers, one pair for each
;;; syntax.
;;;
;;; A parser takes the name of the header, for messages, and its text; it gives the value or fails.
;;; A writer takes the name and a value and gives the text, or refuses. The table that says which
;;; header has which is in `(canny web headers)`.

(define-library (canny web headers values)
  (export parse-text write-text parse-date-value write-date-value
          parse-integer write-integer parse-expires
          parse-uri write-uri parse-symbol write-symbol
          parse-symbols write-symbols parse-names parse-methods parse-method write-method
          parse-strings write-strings parse-integers
          parse-media-type write-media-type parse-media-types write-media-types
          parse-qualities write-qualities parse-accept write-accept
          parse-coded write-coded parse-directives write-directives
          parse-attributes write-attributes
          parse-entity-tag write-entity-tag parse-entity-tags write-entity-tags
          parse-vary write-vary parse-range write-range parse-content-range write-content-range
          parse-if-range write-if-range parse-retry-after write-retry-after
          parse-host write-host parse-origin write-origin)
  (import (canny primitives) (canny syntax)
          (only (canny data sorting) list-sort) (only (canny machine control) guard)
          (canny web headers text) (canny web headers dates) (canny web uri))
  (begin

    ;; Texts, numbers, dates, references.

    (define (parse-text name text)
      (let ((start (text-start text)) (end (string-length text)))
        (let loop ((index start))
          (if (< index end)
              (let ((char (string-ref text index)))
                (if (and (char<? char #\space) (not (char=? char #\tab)))
                    (fail name index "a control character"))
                (loop (+ index 1)))))
        (let ((end (trim-end text start end)))
          (if (and (eqv? start 0) (eqv? end (string-length text)))
              text
              (substring text start end)))))

    (define (write-text name value)
      (if (not (string? value))
          (refuse name "the value is a string"))
      value)

    (define (parse-integer name text)
      (let ((start (text-start text)))
        (parse-number name text start (trim-end text start (string-length text)))))

    (define (write-integer name value)
      (if (not (exact-nonnegative-integer? value))
          (refuse name "the value is an exact integer that is not negative"))
      (number->string value))

    (define (parse-date-value name text)
      (let ((start (text-start text)))
        (or (parse-date text start (trim-end text start (string-length text)))
            (fail name start "a date is expected, such as Sun, 06 Nov 1994 08:49:37 GMT"))))

    ;; A value that is no date means a date in the past, RFC 9111 says, the number 0 above all.
    (define (parse-expires name text)
      (let ((start (text-start text)))
        (if (memv (and (< start (string-length text)) (string-ref text start)) '(#\0 #\-))
            0
            (parse-date-value name text))))

    (define (write-date-value name value)
      (or (and (exact-integer? value) (date->text value))
          (refuse name "the value is a date, the seconds since 1970")))

    (define (parse-uri name text)
      (let* ((start (text-start text))
             (text (substring text start (trim-end text start (string-length text)))))
        (or (string->uri/default text)
            (fail name start "a URI or a reference is expected"))))

    (define (write-uri name value)
      (cond ((uri? value) (uri->string value))
            ((and (string? value) (string->uri/default value)) value)
            (else (refuse name "the value is a URI or the text of one"))))

    ;; Symbols and lists of them.

    (define (parse-one name text receive)
      (let* ((end (string-length text))
             (start (text-start text))
             (stop (expect-token name text start end "a token"))
             (rest (skip-blanks text stop end)))
        (if (not (eqv? rest end))
            (fail name rest "the end is expected"))
        (receive text start stop)))

    (define (parse-symbol name text)
      (parse-one name text symbol-of))

    ;; The name of a method is in the case that it has.
    (define (parse-method name text)
      (parse-one name text
        (lambda (text start stop) (string->symbol (substring text start stop)))))

    (define (write-symbol name value)
      (token->string name value))

    (define (write-method name value)
      (token->string name value))

    (define (parse-tokens name text make)
      (parse-elements name text
        (lambda (start end receive)
          (let ((stop (expect-token name text start end "a token")))
            (receive (make text start stop) stop)))))

    (define (parse-symbols name text)
      (parse-tokens name text symbol-of))

    (define (parse-names name text)
      (parse-tokens name text symbol-of))

    (define (parse-methods name text)
      (parse-tokens name text
                    (lambda (text start stop) (string->symbol (substring text start stop)))))

    (define (write-symbols name value)
      (join-texts name value ", "
        (lambda (element port) (write-string (token->string name element) port))))

    ;; The parts between commas, as strings.
    (define (parse-strings name text)
      (parse-text name text)
      (parse-elements name text
        (lambda (start end receive)
          (let ((comma (or (%string-index text #\, start end) end)))
            (receive (substring text start (trim-end text start comma)) comma)))))

    (define (write-strings name value)
      (join-texts name value ", "
        (lambda (element port)
          (if (or (not (string? element))
                  (string-null? element)
                  (%string-index element #\,))
              (refuse name "an element is a string without commas"))
          (write-string element port))))

    (define (parse-integers name text)
      (parse-elements name text
        (lambda (start end receive)
          (let ((stop (token-end text start end)))
            (receive (parse-number name text start stop) stop)))))

    ;; Media types: (text/html (charset . "utf-8")).

    (define (media-range-end name text start end)
      (let ((slash (expect-token name text start end "a media type")))
        (if (not (char-at? text slash end #\/))
            (fail name slash "a slash is expected in a media type"))
        (expect-token name text (+ slash 1) end "the second part of a media type")))

    (define (parse-media name text start end receive)
      (let ((stop (media-range-end name text start end)))
        (parse-parameters name text stop end
          (lambda (parameters index)
            (receive (cons (symbol-of text start stop) parameters) index)))))

    (define (parse-media-type name text)
      (let ((end (string-length text)))
        (parse-media name text (text-start text) end
          (lambda (type index)
            (if (not (eqv? index end))
                (fail name index "a semicolon or the end is expected"))
            type))))

    (define (parse-media-types name text)
      (parse-elements name text
        (lambda (start end receive) (parse-media name text start end receive))))

    (define (write-media name value port)
      (let* ((type (if (pair? value) (car value) value))
             (text (cond ((symbol? type) (symbol->string type))
                         ((string? type) type)
                         (else (refuse name "a media type is a symbol"))))
             (slash (%string-index text #\/))
             (end (string-length text)))
        (if (not (and slash
                      (> slash 0)
                      (eqv? slash (token-end text 0 end))
                      (< (+ slash 1) end)
                      (eqv? end (token-end text (+ slash 1) end))))
            (refuse name "a media type is two tokens with a slash between them"))
        (write-string text port)
        (if (pair? value)
            (write-parameters name (cdr value) port))))

    (define (write-media-type name value)
      (let ((port (open-output-string)))
        (write-media name value port)
        (get-output-string port)))

    (define (write-media-types name value)
      (join-texts name value ", " (lambda (element port) (write-media name element port))))

    ;; Qualities: thousandths, the best first.

    (define (sort-qualities elements)
      (if (let loop ((rest elements))
            (or (null? rest)
                (null? (cdr rest))
                (and (>= (cdar rest) (cdadr rest))
                     (loop (cdr rest)))))
          elements
          (list-sort (lambda (a b) (> (cdr a) (cdr b))) elements)))

    ;; 0, 1, 0.5, 0.25 and so on, in thousandths.
    (define (quality-at name text start end)
      (define message "a quality is from 0 to 1, with at most three digits")
      (define (digit index)
        (let ((char (string-ref text index)))
          (if (not (and (char<=? #\0 char) (char<=? char #\9)))
              (fail name index message))
          (- (char->integer char) 48)))
      (if (or (eqv? start end) (> (- end start) 5))
          (fail name start message))
      (let ((whole (if (char=? (string-ref text start) #\.) 0 (digit start)))
            (point (if (char=? (string-ref text start) #\.) start (+ start 1))))
        (if (and (< point end) (not (char=? (string-ref text point) #\.)))
            (fail name point message))
        (let loop ((index (+ point 1)) (unit 100) (sum (* 1000 whole)))
          (cond ((< index end) (loop (+ index 1) (quotient unit 10) (+ sum (* unit (digit index)))))
                ((> sum 1000) (fail name start "a quality is at most 1"))
                (else sum)))))

    ;; The quality behind an element, 1000 without one.
    (define (parse-quality name text index end receive)
      (if (not (char-at? text index end #\;))
          (receive 1000 index)
          (let* ((start (skip-blanks text (+ index 1) end)))
            (if (not (and (or (char-at? text start end #\q) (char-at? text start end #\Q))
                          (char-at? text (+ start 1) end #\=)))
                (fail name start "q= is expected"))
            (let* ((start (+ start 2)) (stop (token-end text start end)))
              (receive (quality-at name text start stop) stop)))))

    ;; (("gzip" . 1000) ("br" . 500))
    (define (parse-qualities name text)
      (sort-qualities
       (parse-elements name text
         (lambda (start end receive)
           (let* ((stop (expect-token name text start end "a token"))
                  (element (string-downcase text start stop)))
             (parse-quality name text (skip-blanks text stop end) end
               (lambda (quality index)
                 (receive (cons element quality) index))))))))

    (define (write-quality name quality port)
      (if (not (and (exact-nonnegative-integer? quality) (<= quality 1000)))
          (refuse name "a quality is an integer from 0 to 1000"))
      (if (< quality 1000)
          (begin
            (write-string ";q=0" port)
            (if (> quality 0)
                (let* ((digits (number->string (+ 1000 quality)))
                       (end (cond ((eqv? 0 (remainder quality 100)) 2)
                                  ((eqv? 0 (remainder quality 10)) 3)
                                  (else 4))))
                  (write-char #\. port)
                  (write-string digits port 1 end))))))

    (define (write-qualities name value)
      (join-texts name value ", "
        (lambda (element port)
          (if (pair? element)
              (begin
                (write-string (token->string name (car element)) port)
                (write-quality name (cdr element) port))
              (write-string (token->string name element) port)))))

    ;; (((text/html (level . "1")) . 1000) ((*/*) . 100))
    (define (parse-accept name text)
      (sort-qualities
       (parse-elements name text
         (lambda (start end receive)
           (parse-media name text start end
             (lambda (media index)
               (let ((quality (assq 'q (cdr media))))
                 (receive (if quality
                              (cons (cons (car media) (without-quality (cdr media)))
                                    (accept-quality name start (cdr quality)))
                              (cons media 1000))
                     index))))))))

    (define (accept-quality name start text)
      (if (not (string? text))
          (fail name start "a quality has a value"))
      (guard (condition ((header-error? condition)
                         (fail name start "a quality is from 0 to 1, with at most three digits")))
        (quality-at name text 0 (string-length text))))

    ;; Parameters behind the quality were an extension of an older standard.
    (define (without-quality parameters)
      (if (or (null? parameters) (eq? (caar parameters) 'q))
          '()
          (cons (car parameters) (without-quality (cdr parameters)))))

    (define (write-accept name value)
      (join-texts name value ", "
        (lambda (element port)
          (if (and (pair? element) (pair? (car element)))
              (begin
                (write-media name (car element) port)
                (write-quality name (cdr element) port))
              (refuse name "an element is a pair of a media type and a quality")))))

    ;; Names with parameters: ((chunked) (gzip (q . "0.5"))).

    (define (parse-coded name text)
      (parse-elements name text
        (lambda (start end receive)
          (let ((stop (expect-token name text start end "a token")))
            (parse-parameters name text stop end
              (lambda (parameters index)
                (receive (cons (symbol-of text start stop) parameters) index)))))))

    (define (write-coded name value)
      (join-texts name value ", "
        (lambda (element port)
          (let ((element (if (pair? element) element (list element))))
            (write-string (token->string name (car element)) port)
            (write-parameters name (cdr element) port)))))

    ;; Directives between commas: ((max-age . 60) (no-store . #t) (private "x" …)).

    (define (directive-value name key value start)
      (case key
        ((max-age s-maxage max-stale min-fresh stale-while-revalidate stale-if-error)
         (parse-seconds name value start))
        ((private no-cache) (parse-names name value))
        (else value)))

    ;; Numbers beyond 2^31 are as good as that, RFC 9111 says.
    (define (parse-seconds name value start)
      (let ((end (string-length value)))
        (let loop ((index 0) (number 0))
          (if (< index end)
              (let ((char (string-ref value index)))
                (if (not (and (char<=? #\0 char) (char<=? char #\9)))
                    (fail name start "a number of seconds is expected"))
                (loop (+ index 1)
                      (min 2147483648 (+ (* 10 number) (- (char->integer char) 48)))))
              (if (eqv? end 0)
                  (fail name start "a number of seconds is expected")
                  number)))))

    (define (parse-directives name text)
      (parse-elements name text
        (lambda (start end receive)
          (let* ((stop (expect-token name text start end "a directive"))
                 (key (symbol-of text start stop))
                 (equals (skip-blanks text stop end)))
            (if (char-at? text equals end #\=)
                (let ((start (skip-blanks text (+ equals 1) end)))
                  (parse-value name text start end
                    (lambda (value index)
                      (receive (cons key (directive-value name key value start)) index))))
                (receive (cons key #t) stop))))))

    (define (write-directive name element port)
      (if (not (pair? element))
          (write-string (token->string name element) port)
          (let ((value (cdr element)))
            (write-string (token->string name (car element)) port)
            (cond ((eq? value #t) #t)
                  ((pair? value)
                   (write-char #\= port)
                   (write-quoted (write-symbols name value) port))
                  (else
                   (write-char #\= port)
                   (write-value name value port))))))

    (define (write-directives name value)
      (join-texts name value ", " (lambda (element port) (write-directive name element port))))

    ;; The same between semicolons: ((max-age . 31536000) (includesubdomains . #t)).
    (define (parse-attributes name text)
      (parse-parameters name (string-append ";" text) 0 (+ 1 (string-length text))
        (lambda (parameters index)
          (if (not (eqv? index (+ 1 (string-length text))))
              (fail name (- index 1) "a semicolon or the end is expected"))
          (let loop ((rest parameters) (attributes '()))
            (if (null? rest)
                (reverse! attributes)
                (let ((key (caar rest)) (value (cdar rest)))
                  (loop (cdr rest)
                        (cons (cons key
                                    (if value (directive-value name key value 0) #t))
                              attributes))))))))

    (define (write-attributes name value)
      (join-texts name value "; " (lambda (element port) (write-directive name element port))))

    ;; Entity tags: ("abc" . #t), #f for weak ones.

    (define (parse-tag name text start end receive)
      (let* ((weak? (and (char-at? text start end #\W) (char-at? text (+ start 1) end #\/)))
             (quote (if weak? (+ start 2) start)))
        (if (not (char-at? text quote end #\"))
            (fail name quote "an entity tag is in quotes"))
        (let ((stop (%string-index text #\" (+ quote 1) end)))
          (if (not stop)
              (fail name quote "an entity tag does not end"))
          (receive (cons (substring text (+ quote 1) stop) (not weak?)) (+ stop 1)))))

    (define (parse-entity-tag name text)
      (let ((end (string-length text)))
        (parse-tag name text (text-start text) end
          (lambda (tag index)
            (if (not (eqv? end (skip-blanks text index end)))
                (fail name index "the end is expected"))
            tag))))

    (define (star? text)
      (let ((start (text-start text)) (end (text-end text)))
        (and (eqv? end (+ start 1))
             (char=? (string-ref text start) #\*))))

    (define (parse-entity-tags name text)
      (if (star? text)
          '*
          (parse-elements name text
            (lambda (start end receive) (parse-tag name text start end receive)))))

    (define (write-tag name value port)
      (if (not (and (pair? value)
                    (string? (car value))
                    (not (%string-index (car value) #\"))))
          (refuse name "an entity tag is a pair of a string without quotes and a boolean"))
      (if (not (cdr value))
          (write-string "W/" port))
      (write-char #\" port)
      (write-string (car value) port)
      (write-char #\" port))

    (define (write-entity-tag name value)
      (let ((port (open-output-string)))
        (write-tag name value port)
        (get-output-string port)))

    (define (write-entity-tags name value)
      (if (eq? value '*)
          "*"
          (join-texts name value ", " (lambda (element port) (write-tag name element port)))))

    (define (parse-vary name text)
      (let ((names (parse-names name text)))
        (if (memq '* names) '* names)))

    (define (write-vary name value)
      (if (eq? value '*) "*" (write-symbols name value)))

    ;; Ranges: (bytes (0 . 499) (500 . #f) (#f . 500)).

    (define (digits-end text index end)
      (if (and (< index end)
               (let ((char (string-ref text index)))
                 (and (char<=? #\0 char) (char<=? char #\9))))
          (digits-end text (+ index 1) end)
          index))

    (define (parse-range name text)
      (let* ((end (string-length text))
             (start (text-start text))
             (equals (expect-token name text start end "a unit")))
        (if (not (char-at? text equals end #\=))
            (fail name equals "an equals sign is expected"))
        (let ((unit (symbol-of text start equals)))
          (let loop ((index (+ equals 1)) (ranges '()))
            (let ((start (skip-blanks text index end)))
              (cond ((eqv? start end)
                     (if (null? ranges)
                         (fail name start "a range is expected"))
                     (cons unit (reverse! ranges)))
                    ((char=? (string-ref text start) #\,) (loop (+ start 1) ranges))
                    (else
                     (let* ((dash (digits-end text start end))
                            (stop (digits-end text (min (+ dash 1) end) end))
                            (index (skip-blanks text stop end)))
                       (if (not (char-at? text dash end #\-))
                           (fail name dash "a hyphen is expected in a range"))
                       (if (not (or (eqv? index end) (char=? (string-ref text index) #\,)))
                           (fail name index "a comma or the end is expected"))
                       (let ((first (and (> dash start) (parse-number name text start dash)))
                             (last (and (> stop (+ dash 1))
                                        (parse-number name text (+ dash 1) stop))))
                         (if (not (or first last))
                             (fail name start "a range has a start or an end"))
                         (if (and first last (> first last))
                             (fail name start "a range ends before it begins"))
                         (loop index (cons (cons first last) ranges)))))))))))

    (define (range? object)
      (and (pair? object)
           (or (car object) (cdr object))
           (or (not (car object)) (exact-nonnegative-integer? (car object)))
           (or (not (cdr object)) (exact-nonnegative-integer? (cdr object)))))

    (define (write-range name value)
      (if (not (and (pair? value) (pair? (cdr value))))
          (refuse name "the value is a unit and at least one range"))
      (string-append
       (token->string name (car value))
       "="
       (join-texts name (cdr value) ", "
         (lambda (range port)
           (if (not (range? range))
               (refuse name "a range is a pair of numbers, one of which may be #f"))
           (if (car range) (write-string (number->string (car range)) port))
           (write-char #\- port)
           (if (cdr range) (write-string (number->string (cdr range)) port))))))

    ;; (bytes (0 . 499) 1234); #f for an asterisk.
    (define (parse-content-range name text)
      (let* ((end (text-end text))
             (start (text-start text))
             (blank (expect-token name text start end "a unit"))
             (first (skip-blanks text blank end))
             (slash (or (%string-index text #\/ first end)
                        (fail name end "a slash is expected"))))
        (if (eqv? blank first)
            (fail name blank "a blank is expected"))
        (list (symbol-of text start blank)
              (if (and (eqv? slash (+ first 1)) (char=? (string-ref text first) #\*))
                  #f
                  (let ((dash (digits-end text first slash)))
                    (if (not (char-at? text dash slash #\-))
                        (fail name dash "a hyphen is expected in a range"))
                    (cons (parse-number name text first dash)
                          (parse-number name text (+ dash 1) slash))))
              (if (and (eqv? end (+ slash 2)) (char=? (string-ref text (+ slash 1)) #\*))
                  #f
                  (parse-number name text (+ slash 1) end)))))

    (define (write-content-range name value)
      (if (not (and (list? value) (eqv? 3 (length value))))
          (refuse name "the value is a list of a unit, a range or #f, and a length or #f"))
      (let ((range (cadr value)) (size (caddr value)))
        (if (not (or (not range) (and (range? range) (car range) (cdr range))))
            (refuse name "a range is a pair of two numbers"))
        (string-append (token->string name (car value))
                       " "
                       (if range
                           (string-append (number->string (car range))
                                          "-"
                                          (number->string (cdr range)))
                           "*")
                       "/"
                       (if size (write-integer name size) "*"))))

    (define (parse-if-range name text)
      (let ((start (text-start text)) (end (string-length text)))
        (if (or (char-at? text start end #\")
                (and (char-at? text start end #\W) (char-at? text (+ start 1) end #\/)))
            (parse-entity-tag name text)
            (parse-date-value name text))))

    (define (write-if-range name value)
      (if (pair? value)
          (write-entity-tag name value)
          (write-date-value name value)))

    ;; (after . 120) or (at . DATE).
    (define (parse-retry-after name text)
      (let ((start (text-start text)))
        (if (eqv? (digits-end text start (string-length text)) (text-end text))
            (cons 'after (parse-integer name text))
            (cons 'at (parse-date-value name text)))))

    (define (write-retry-after name value)
      (case (and (pair? value) (car value))
        ((after) (write-integer name (cdr value)))
        ((at) (write-date-value name (cdr value)))
        (else (refuse name "the value is (after . SECONDS) or (at . DATE)"))))

    ;; Hosts: ("example.com" . 8080), #f without a port.

    (define (host-and-port text)
      (let ((uri (string->uri/default (string-append "//" text))))
        (and uri
             (string-null? (uri-path uri))
             (not (or (uri-userinfo uri) (uri-query uri) (uri-fragment uri)))
             (cons (uri-host uri) (uri-port uri)))))

    (define (parse-host name text)
      (let ((start (text-start text)))
        (or (host-and-port (substring text start (text-end text)))
            (fail name start "a host is expected, perhaps with a port"))))

    (define (write-host name value)
      (if (not (and (pair? value) (string? (car value))))
          (refuse name "the value is a pair of a host and a port or #f"))
      (let ((text (string-append (if (%string-index (car value) #\:)
                                     (string-append "[" (car value) "]")
                                     (car value))
                                 (if (cdr value)
                                     (string-append ":" (write-integer name (cdr value)))
                                     ""))))
        (if (not (host-and-port text))
            (refuse name "the host is none"))
        text))

    ;; `null` or a string: scheme, host and port in their usual form.
    (define (origin-of text)
      (let ((uri (string->uri/default text)))
        (and uri
             (string-null? (uri-path uri))
             (not (or (uri-userinfo uri) (uri-query uri) (uri-fragment uri)))
             (uri-origin uri))))

    (define (parse-origin name text)
      (let* ((start (text-start text)) (text (substring text start (text-end text))))
        (cond ((string=? text "null") 'null)
              ((string=? text "*") '*)
              (else
               (or (origin-of text)
                   (fail name start "an origin is expected: a scheme and a host"))))))

    (define (write-origin name value)
      (cond ((memq value '(null *)) (symbol->string value))
            ((and (string? value) (origin-of value)) value)
            (else (refuse name "the value is an origin as a string, or null"))))))
