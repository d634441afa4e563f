;;; (canny web uri): URIs and references as RFC 3986 has them, percent-encoding, and forms in URLs.
;;;
;;; A URI is a record whose parts are as they were written: encoded, and the host in the case that
;;; it had. A part that a text lacks is #f, but the path is "". The host of an IPv6 address has no
;;; brackets. Characters outside of ASCII are taken in hosts only, where they are left as they are.
;;;
;;;     (uri-host (string->uri "http://[::1]:8080/a?b#c"))       ; => "::1"
;;;     (uri->string (resolve-uri "http://a/b/c/d" "../e?f"))    ; => "http://a/b/e?f"
;;;
;;; Every procedure walks over its text a bounded number of times.

(define-library (canny web uri)
  (export uri? make-uri uri-scheme uri-userinfo uri-host uri-port uri-path uri-query uri-fragment
          uri-with uri-absolute? uri-default-port uri-effective-port uri-authority uri-origin
          string->uri string->uri/default uri->string resolve-uri normalize-uri escape-uri
          uri-error? uri-error-position
          percent-encode percent-decode percent-decode->bytevector
          split-path join-path query->alist alist->query)
  (import (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control) raise call/ec))
  (begin

    ;; Errors.

    ;; Whether a condition says that a text is no URI, or that its percent-encoding is broken.
    (define (uri-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'uri)))

    ;; The index of the character that is wrong; #f if it is no single one.
    (define (uri-error-position condition)
      (if (not (uri-error? condition))
          (%type-error 'uri-error-position 1 "error of a URI" condition))
      (let ((found (memq 'position (error-object-irritants condition))))
        (and found (cadr found))))

    (define (fail who message position text)
      (raise (%make-condition 'uri message (list 'position position 'text text) who)))

    ;; Characters.

    (define unreserved-class 1)
    (define sub-delimiter-class 2)
    (define hexadecimal-class 4)
    (define colon-class 8)
    (define at-class 16)
    (define slash-class 32)
    (define question-class 64)
    ;; The characters that forms do not escape: letters, digits, and - . _ *
    (define form-class 128)

    (define classes
      (let ((table (make-bytevector 128 0)))
        (define (add! characters class)
          (let loop ((index 0))
            (if (< index (string-length characters))
                (let ((code (char->integer (string-ref characters index))))
                  (bytevector-u8-set! table code (+ (bytevector-u8-ref table code) class))
                  (loop (+ index 1))))))
        (define digits "0123456789")
        (define letters "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        (add! digits (+ unreserved-class hexadecimal-class form-class))
        (add! letters (+ unreserved-class form-class))
        (add! "abcdefABCDEF" hexadecimal-class)
        (add! "-._~" unreserved-class)
        (add! "-._*" form-class)
        (add! "!$&'()*+,;=" sub-delimiter-class)
        (add! ":" colon-class)
        (add! "@" at-class)
        (add! "/" slash-class)
        (add! "?" question-class)
        table))

    ;; Whether a character is of one of the classes, a sum.
    (define (of-class? char class)
      (let ((code (char->integer char)))
        (and (< code 128)
             (not (eqv? 0 (bitwise-and class (bytevector-u8-ref classes code)))))))

    (define segment-classes
      (+ unreserved-class sub-delimiter-class colon-class at-class))
    (define path-classes (+ segment-classes slash-class))
    (define query-classes (+ path-classes question-class))
    (define userinfo-classes (+ unreserved-class sub-delimiter-class colon-class))
    (define name-classes (+ unreserved-class sub-delimiter-class))

    (define (letter? char)
      (or (and (char<=? #\a char) (char<=? char #\z))
          (and (char<=? #\A char) (char<=? char #\Z))))

    (define (digit? char)
      (and (char<=? #\0 char) (char<=? char #\9)))

    (define (hexadecimal? char)
      (of-class? char hexadecimal-class))

    (define (hexadecimal-value code)
      (cond ((< code 58) (- code 48))
            ((< code 71) (- code 55))
            (else (- code 87))))

    ;; The record.

    (define-record-type uri
      (new-uri scheme userinfo host port path query fragment)
      uri?
      (scheme scheme-of)
      (userinfo userinfo-of)
      (host host-of)
      (port port-of)
      (path path-of)
      (query query-of)
      (fragment fragment-of))

    (define-syntax define-part
      (syntax-rules ()
        ((_ name field)
         (define (name uri)
           (if (not (uri? uri))
               (%type-error 'name 1 "URI" uri))
           (field uri)))))

    ;; The scheme, a symbol in lower case, or #f for a reference that has none.
    (define-part uri-scheme scheme-of)
    ;; The part of the authority in front of the @, or #f.
    (define-part uri-userinfo userinfo-of)
    ;; The host, or #f without an authority; without the brackets of an IPv6 address.
    (define-part uri-host host-of)
    ;; The port that is written, or #f.
    (define-part uri-port port-of)
    ;; The path, encoded as it was; "" if there is none.
    (define-part uri-path path-of)
    ;; The part behind the question mark, encoded as it was, or #f.
    (define-part uri-query query-of)
    ;; The part behind the number sign, encoded as it was, or #f.
    (define-part uri-fragment fragment-of)

    (define (check-text who keyword classes text)
      (if (not (string? text))
          (raise-bad-option who keyword "a string" text))
      (check-range fail who text 0 (string-length text) classes keyword))

    (define (checked-uri who scheme userinfo host port path query fragment)
      (if (and scheme (not (and (symbol? scheme) (scheme-text? (symbol->string scheme)))))
          (raise-bad-option who "#:scheme" "a symbol that is a scheme" scheme))
      (if userinfo (check-text who "#:userinfo" userinfo-classes userinfo))
      (if host
          (begin
            (if (not (string? host))
                (raise-bad-option who "#:host" "a string" host))
            (if (not (literal-address? host 0 (string-length host)))
                (check-name who host 0 (string-length host)))))
      (if (and port (not (and (exact-nonnegative-integer? port) (<= port 65535))))
          (raise-bad-option who "#:port" "a port number" port))
      (check-text who "#:path" path-classes path)
      (if query (check-text who "#:query" query-classes query))
      (if fragment (check-text who "#:fragment" query-classes fragment))
      (if (and (or userinfo port) (not host))
          (raise-bad-option who "#:host" "given" host))
      (if (and host (not (string-null? path)) (not (char=? (string-ref path 0) #\/)))
          (raise-bad-option who "#:path" "a path that begins with a slash, as behind a host" path))
      (new-uri scheme userinfo host port path query fragment))

    ;; A URI of parts, encoded as they are to be.
    (define* (make-uri #:key (scheme #f) (userinfo #f) (host #f) (port #f) (path "") (query #f)
                       (fragment #f))
      (checked-uri 'make-uri scheme userinfo host port path query fragment))

    ;; A URI with some parts changed.
    (define* (uri-with uri #:key (scheme (uri-scheme uri)) (userinfo (uri-userinfo uri))
                       (host (uri-host uri)) (port (uri-port uri)) (path (uri-path uri))
                       (query (uri-query uri)) (fragment (uri-fragment uri)))
      (checked-uri 'uri-with scheme userinfo host port path query fragment))

    ;; Whether a URI has a scheme; one that has none is a reference relative to something.
    (define (uri-absolute? uri)
      (and (uri-scheme uri) #t))

    ;; The port of a scheme that a URI need not write, or #f.
    (define (uri-default-port scheme)
      (case scheme
        ((http ws) 80)
        ((https wss) 443)
        ((ftp) 21)
        (else #f)))

    ;; The port of a URI, or that of its scheme.
    (define (uri-effective-port uri)
      (or (uri-port uri) (uri-default-port (uri-scheme uri))))

    (define (bracketed host)
      (if (%string-index host #\:)
          (string-append "[" host "]")
          host))

    ;; User, host and port as they are written, or #f.
    (define (uri-authority uri)
      (and (uri-host uri)
           (string-append (if (userinfo-of uri) (string-append (userinfo-of uri) "@") "")
                          (bracketed (host-of uri))
                          (if (port-of uri)
                              (string-append ":" (number->string (port-of uri)))
                              ""))))

    ;; Scheme, host and port as the header Origin has them, or #f without a host.
    (define (uri-origin uri)
      (and (uri-scheme uri)
           (uri-host uri)
           (string-append (symbol->string (scheme-of uri))
                          "://"
                          (bracketed (string-downcase (host-of uri)))
                          (if (and (port-of uri)
                                   (not (eqv? (port-of uri)
                                              (uri-default-port (scheme-of uri)))))
                              (string-append ":" (number->string (port-of uri)))
                              ""))))

    ;; Parsing.

    (define (scheme-text? text)
      (let ((end (string-length text)))
        (and (> end 0)
             (letter? (string-ref text 0))
             (not (string-any-upper? text))
             (eqv? end (scheme-end text 0 end)))))

    (define (string-any-upper? text)
      (let ((end (string-length text)))
        (let loop ((index 0))
          (and (< index end)
               (or (char<=? #\A (string-ref text index) #\Z)
                   (loop (+ index 1)))))))

    ;; The end of the characters that may be in a scheme.
    (define (scheme-end text index end)
      (if (and (< index end)
               (let ((char (string-ref text index)))
                 (or (letter? char) (digit? char) (memv char '(#\+ #\- #\.)))))
          (scheme-end text (+ index 1) end)
          index))

    ;; The first place of a range at which something else stands than characters of the classes and
    ;; escapes, or #f.
    (define (first-wrong text start end classes)
      (let loop ((index start))
        (and (< index end)
             (let ((char (string-ref text index)))
               (cond ((of-class? char classes) (loop (+ index 1)))
                     ((and (char=? char #\%)
                           (< (+ index 2) end)
                           (hexadecimal? (string-ref text (+ index 1)))
                           (hexadecimal? (string-ref text (+ index 2))))
                      (loop (+ index 3)))
                     (else index))))))

    (define (check-range fail who text start end classes part)
      (let ((wrong (first-wrong text start end classes)))
        (if wrong
            (fail who
                  (if (char=? (string-ref text wrong) #\%)
                      (string-append "two hexadecimal digits belong behind % in " part)
                      (string-append "a character that cannot be in " part))
                  wrong text))))

    (define (check-name who text start end)
      (let ((wrong (wrong-in-name text start end)))
        (if wrong
            (fail who "a character that cannot be in a host" wrong text))))

    ;; The first place of one of two characters in a range, or its end.
    (define (find text start end char other)
      (let loop ((index start))
        (if (or (eqv? index end)
                (char=? (string-ref text index) char)
                (char=? (string-ref text index) other))
            index
            (loop (+ index 1)))))

    ;; The URI, or reference, of a text.
    (define (string->uri text)
      (check-argument 'string->uri 1 string? "string" text)
      (parse text fail))

    ;; The same, or the default if the text is none.
    (define* (string->uri/default text #:optional (default #f))
      (check-argument 'string->uri/default 1 string? "string" text)
      (call/ec
       (lambda (return)
         (parse text (lambda arguments (return default))))))

    (define (parse text fail)
      (define end (string-length text))
      (define (check start end classes part)
        (check-range fail 'string->uri text start end classes part))
      (let* ((colon (scheme-end text 0 end))
             (scheme? (and (< 0 colon end)
                           (char=? (string-ref text colon) #\:)
                           (letter? (string-ref text 0))))
             (scheme
              (and scheme? (string->symbol (string-downcase (substring text 0 colon)))))
             (start (if scheme? (+ colon 1) 0))
             (hash (or (%string-index text #\# start end) end))
             (question (or (%string-index text #\? start hash) hash))
             (query (and (< question hash) (substring text (+ question 1) hash)))
             (fragment (and (< hash end) (substring text (+ hash 1) end))))
        (check (min (+ question 1) hash) hash query-classes "a query")
        (check (min (+ hash 1) end) end query-classes "a fragment")
        (if (and (< (+ start 1) question)
                 (char=? (string-ref text start) #\/)
                 (char=? (string-ref text (+ start 1)) #\/))
            (let* ((host (+ start 2))
                   (slash (find text host question #\/ #\/)))
              (check slash question path-classes "a path")
              (parse-authority text host slash fail
                (lambda (userinfo host port)
                  (new-uri scheme userinfo host port (substring text slash question)
                           query fragment))))
            (begin
              (check start question path-classes "a path")
              (if (not scheme?)
                  (let ((slash (find text start question #\/ #\:)))
                    (if (and (< slash question) (char=? (string-ref text slash) #\:))
                        (fail 'string->uri "what stands in front of a colon is no scheme"
                              slash text))))
              (new-uri scheme #f #f #f (substring text start question) query fragment)))))

    (define (parse-authority text start end fail receive)
      (let* ((at (%string-rindex text #\@ start end))
             (host (if at (+ at 1) start))
             (userinfo (and at (substring text start at)))
             (wrong (and at (first-wrong text start at userinfo-classes))))
        (if wrong
            (fail 'string->uri "a character that cannot be in front of @" wrong text))
        (if (and (< host end) (char=? (string-ref text host) #\[))
            (let ((bracket (%string-index text #\] host end)))
              (if (not (and bracket (literal-address? text (+ host 1) bracket)))
                  (fail 'string->uri "what begins with [ is no IPv6 address" host text))
              (if (not (or (eqv? (+ bracket 1) end)
                           (char=? (string-ref text (+ bracket 1)) #\:)))
                  (fail 'string->uri "a port or a path belongs behind an address"
                        (+ bracket 1) text))
              (receive userinfo
                  (substring text (+ host 1) bracket)
                (parse-port text (+ bracket 1) end fail)))
            (let* ((colon (or (%string-index text #\: host end) end))
                   (wrong (wrong-in-name text host colon)))
              (if wrong
                  (fail 'string->uri "a character that cannot be in a host" wrong text))
              (receive userinfo (substring text host colon) (parse-port text colon end fail))))))

    ;; Names of hosts may have characters outside of ASCII.
    (define (wrong-in-name text start end)
      (let loop ((start start))
        (let ((wrong (first-wrong text start end name-classes)))
          (and wrong
               (if (and (> (char->integer (string-ref text wrong)) 159)
                        (not (char-whitespace? (string-ref text wrong))))
                   (loop (+ wrong 1))
                   wrong)))))

    ;; The number behind a colon, or #f if there is none.
    (define (parse-port text colon end fail)
      (let loop ((index (+ colon 1)) (port #f))
        (cond ((>= index end) port)
              ((digit? (string-ref text index))
               (let ((port
                      (+ (* 10 (or port 0)) (- (char->integer (string-ref text index)) 48))))
                 (if (> port 65535)
                     (fail 'string->uri "a port is at most 65535" (+ colon 1) text))
                 (loop (+ index 1) port)))
              (else (fail 'string->uri "a port is a number" index text)))))

    ;; Whether a range is an IPv6 address, or one of a version to come (`v1.x`).
    (define (literal-address? text start end)
      (or (ipv6? text start end)
          (and (< (+ start 3) end)
               (memv (string-ref text start) '(#\v #\V))
               (%string-index text #\: start end)
               (let ((dot (%string-index text #\. start end)))
                 (and dot
                      (< (+ start 1) dot (- end 1))
                      (not (first-outside text (+ start 1) dot hexadecimal-class))
                      (not (first-outside text (+ dot 1) end userinfo-classes)))))))

    (define (first-outside text start end classes)
      (let loop ((index start))
        (and (< index end)
             (if (of-class? (string-ref text index) classes)
                 (loop (+ index 1))
                 index))))

    (define (ipv6? text start end)
      (let loop ((index start) (groups 0) (gap? #f))
        (let ((left (- end index)))
          (cond ((> groups 8) #f)
                ;; :: stands for the groups that are missing, once.
                ((and (>= left 2)
                      (char=? (string-ref text index) #\:)
                      (char=? (string-ref text (+ index 1)) #\:))
                 (and (not gap?)
                      (if (eqv? left 2)
                          (< groups 8)
                          (ipv6-group text (+ index 2) end groups #t loop))))
                ((eqv? groups 0) (ipv6-group text index end groups gap? loop))
                ((eqv? left 0) (if gap? (< groups 8) (eqv? groups 8)))
                ((char=? (string-ref text index) #\:)
                 (ipv6-group text (+ index 1) end groups gap? loop))
                (else #f)))))

    (define (ipv6-group text start end groups gap? continue)
      (let* ((limit (min end (+ start 4)))
             (stop (or (first-outside text start limit hexadecimal-class) limit)))
        (cond ((and (< stop end) (char=? (string-ref text stop) #\.))
               (and (ipv4? text start end)
                    (if gap? (< (+ groups 2) 8) (eqv? (+ groups 2) 8))))
              ((eqv? stop start) #f)
              (else (continue stop (+ groups 1) gap?)))))

    (define (ipv4? text start end)
      (let loop ((index start) (parts 1))
        (let* ((stop (min end (or (%string-index text #\. index end) end)))
               (length (- stop index)))
          (and (<= 1 length 3)
               (let digits ((index index) (value 0))
                 (if (eqv? index stop)
                     (and (< value 256) (or (eqv? length 1) (>= value (if (eqv? length 2) 10 100))))
                     (and (digit? (string-ref text index))
                          (digits (+ index 1)
                                  (+ (* 10 value)
                                     (- (char->integer (string-ref text index)) 48))))))
               (if (eqv? stop end)
                   (eqv? parts 4)
                   (and (< parts 4) (loop (+ stop 1) (+ parts 1))))))))

    ;; Writing.

    ;; The text of a URI.
    (define (uri->string uri)
      (let* ((scheme (uri-scheme uri))
             (authority (uri-authority uri))
             (path (path-of uri)))
        (string-append
         (if scheme (symbol->string scheme) "")
         (if scheme ":" "")
         (if authority "//" "")
         (or authority "")
         ;; A path that would read as something else.
         (cond (authority "")
               ((string-prefix? "//" path) "/.")
               ((and (not scheme) (colon-in-first-segment? path)) "./")
               (else ""))
         path
         (if (query-of uri) "?" "")
         (or (query-of uri) "")
         (if (fragment-of uri) "#" "")
         (or (fragment-of uri) ""))))

    (define (colon-in-first-segment? path)
      (let* ((end (string-length path))
             (place (find path 0 end #\: #\/)))
        (and (< place end) (char=? (string-ref path place) #\:))))

    ;; Resolution.

    (define (as-uri who position object)
      (cond ((uri? object) object)
            ((string? object) (string->uri object))
            (else (%type-error who position "URI or string" object))))

    ;; The URI of a reference at a base, resolved by section 5.2 of RFC 3986; both are URIs or
    ;; texts.
    (define (resolve-uri base reference)
      (let ((base (as-uri 'resolve-uri 1 base))
            (reference (as-uri 'resolve-uri 2 reference)))
        (if (not (scheme-of base))
            (%range-error 'resolve-uri 1 "a URI with a scheme" base))
        (cond ((scheme-of reference)
               (with-path reference (scheme-of reference) reference
                 (remove-dots (path-of reference)) (query-of reference)))
              ((host-of reference)
               (with-path reference (scheme-of base) reference
                 (remove-dots (path-of reference)) (query-of reference)))
              ((string-null? (path-of reference))
               (with-path reference (scheme-of base) base
                 (path-of base) (or (query-of reference) (query-of base))))
              ((char=? (string-ref (path-of reference) 0) #\/)
               (with-path reference (scheme-of base) base
                 (remove-dots (path-of reference)) (query-of reference)))
              (else
               (with-path reference (scheme-of base) base
                 (remove-dots (merge-paths base (path-of reference)))
                 (query-of reference))))))

    ;; The fragment is that of the reference.
    (define (with-path reference scheme authority path query)
      (new-uri scheme (userinfo-of authority) (host-of authority) (port-of authority) path query
               (fragment-of reference)))

    (define (merge-paths base path)
      (if (and (host-of base) (string-null? (path-of base)))
          (string-append "/" path)
          (let ((slash (%string-rindex (path-of base) #\/)))
            (if slash
                (string-append (substring (path-of base) 0 (+ slash 1)) path)
                path))))

    ;; A path without segments . and .. that mean others.
    (define (remove-dots path)
      (if (not (%string-index path #\.))
          path
          (let* ((absolute? (char=? (string-ref path 0) #\/))
                 (segments (split-text path #\/ (if absolute? 1 0))))
            ;; A relative path that has gone back to where it began continues with a slash, RFC 3986
            ;; says.
            (let loop ((rest segments) (kept '()) (rooted? absolute?))
              (let* ((segment (car rest))
                     (up? (string=? segment ".."))
                     (rooted? (or rooted? (and up? (pair? kept) (null? (cdr kept)))))
                     (kept (cond ((string=? segment ".") kept)
                                 (up? (if (pair? kept) (cdr kept) '()))
                                 (else (cons segment kept)))))
                (if (pair? (cdr rest))
                    (loop (cdr rest) kept rooted?)
                    (let ((kept (if (dots? segment) (cons "" kept) kept)))
                      (string-append (if rooted? "/" "")
                                     (string-join (reverse kept) "/")))))))))

    (define (dots? segment)
      (or (string=? segment ".") (string=? segment "..")))

    ;; The parts of a text between occurrences of a character, from a place on.
    (define (split-text text char start)
      (let loop ((start start) (parts '()))
        (let ((found (%string-index text char start)))
          (if found
              (loop (+ found 1) (cons (substring text start found) parts))
              (reverse! (cons (substring text start) parts))))))

    ;; Normalization.

    ;; An equivalent URI in normal form, by sections 6.2.2 and 6.2.3 of RFC 3986. Scheme and host
    ;; are in lower case, escapes in upper case and only where they are needed. There are no
    ;; segments . and .., and no port and no empty path that the scheme implies.
    (define (normalize-uri uri)
      (let* ((uri (as-uri 'normalize-uri 1 uri))
             (scheme (scheme-of uri))
             (path (normalize-escapes (path-of uri)))
             (path (if (or scheme (host-of uri)) (remove-dots path) path)))
        (new-uri scheme
                 (let ((userinfo (userinfo-of uri)))
                   (and userinfo (normalize-escapes userinfo)))
                 (and (host-of uri) (lower-case-host (normalize-escapes (host-of uri))))
                 (and (port-of uri)
                      (not (eqv? (port-of uri) (uri-default-port scheme)))
                      (port-of uri))
                 (if (and (string-null? path) (host-of uri) (uri-default-port scheme)) "/" path)
                 (and (query-of uri) (normalize-escapes (query-of uri)))
                 (and (fragment-of uri) (normalize-escapes (fragment-of uri))))))

    ;; Escapes stay in upper case.
    (define (lower-case-host host)
      (let ((lower (string-downcase host)))
        (if (%string-index host #\%) (normalize-escapes lower) lower)))

    (define (normalize-escapes text)
      (if (not (%string-index text #\%))
          text
          (let ((port (open-output-string)) (end (string-length text)))
            (let loop ((start 0))
              (let ((percent (%string-index text #\% start)))
                (if (not percent)
                    (begin
                      (write-string text port start end)
                      (get-output-string port))
                    (let ((char (integer->char (escape-value text percent))))
                      (write-string text port start percent)
                      (if (of-class? char unreserved-class)
                          (write-char char port)
                          (write-string (string-upcase text percent (+ percent 3)) port))
                      (loop (+ percent 3)))))))))

    (define (escape-value text percent)
      (+ (* 16 (hexadecimal-value (char->integer (string-ref text (+ percent 1)))))
         (hexadecimal-value (char->integer (string-ref text (+ percent 2))))))

    ;; Percent-encoding.

    (define digits "0123456789ABCDEF")

    (define (write-escape byte port)
      (write-char #\% port)
      (write-char (string-ref digits (quotient byte 16)) port)
      (write-char (string-ref digits (remainder byte 16)) port))

    ;; Writes the UTF-8 bytes of a text, those as escapes that `plain?` is false of.
    (define (encode text plain?)
      (let* ((bytes (string->utf8 text))
             (end (bytevector-length bytes))
             (port (open-output-string)))
        (let loop ((index 0))
          (if (eqv? index end)
              (get-output-string port)
              (let ((byte (bytevector-u8-ref bytes index)))
                (if (plain? byte)
                    (write-char (integer->char byte) port)
                    (write-escape byte port))
                (loop (+ index 1)))))))

    (define (byte-of-class? byte class)
      (and (< byte 128)
           (not (eqv? 0 (bitwise-and class (bytevector-u8-ref classes byte))))))

    (define (plain-text? text class)
      (not (first-outside text 0 (string-length text) class)))

    ;; A text, or the bytes of a bytevector, as it may stand in any part of a URI: all is escaped
    ;; but letters, digits, - . _ ~ and the characters of `#:keep`.
    (define* (percent-encode text #:key (keep ""))
      (check-argument 'percent-encode 1 string? "string" text)
      (if (not (string? keep))
          (raise-bad-option 'percent-encode "#:keep" "a string" keep))
      (if (plain-text? text unreserved-class)
          text
          (encode text
                  (lambda (byte)
                    (or (byte-of-class? byte unreserved-class)
                        (and (< byte 128) (%string-index keep (integer->char byte))))))))

    ;; The text that one with escapes stands for. Malformed escapes and UTF-8 are an error; with
    ;; `#:malformed 'replace` such escapes stay and such bytes become U+FFFD.
    (define* (percent-decode text #:key (malformed 'raise))
      (check-argument 'percent-decode 1 string? "string" text)
      (case malformed
        ((raise replace) (decode 'percent-decode text (eq? malformed 'raise) #f))
        (else
         (raise-bad-option 'percent-decode "#:malformed" "raise or replace" malformed))))

    ;; The bytes that a text with escapes stands for.
    (define* (percent-decode->bytevector text #:key (malformed 'raise))
      (check-argument 'percent-decode->bytevector 1 string? "string" text)
      (case malformed
        ((raise replace)
         (decode-bytes 'percent-decode->bytevector text (eq? malformed 'raise) #f))
        (else
         (raise-bad-option 'percent-decode->bytevector "#:malformed" "raise or replace"
                           malformed))))

    (define (decode who text strict? plus?)
      (cond ((%string-index text #\%)
             (let* ((bytes (decode-bytes who text strict? plus?))
                    (wrong (malformed-utf8 bytes)))
               (cond ((not wrong) (utf8->string bytes))
                     (strict?
                      (fail who "the escapes are not UTF-8" (source-of text wrong) text))
                     (else (replace-malformed bytes)))))
            ((and plus? (%string-index text #\+)) (plus->space text))
            (else text)))

    (define (plus->space text)
      (let ((copy (string-copy text)))
        (let loop ((index (%string-index copy #\+)))
          (if (not index)
              copy
              (begin
                (string-set! copy index #\space)
                (loop (%string-index copy #\+ index)))))))

    (define (decode-bytes who text strict? plus?)
      (let* ((source (string->utf8 text))
             (end (bytevector-length source))
             (target (make-bytevector end)))
        (define (hexadecimal-at? index)
          (and (< index end)
               (byte-of-class? (bytevector-u8-ref source index) hexadecimal-class)))
        (let loop ((from 0) (to 0))
          (if (eqv? from end)
              (bytevector-copy target 0 to)
              (let ((byte (bytevector-u8-ref source from)))
                (cond ((not (eqv? byte 37))
                       (bytevector-u8-set! target to (if (and plus? (eqv? byte 43)) 32 byte))
                       (loop (+ from 1) (+ to 1)))
                      ((and (hexadecimal-at? (+ from 1)) (hexadecimal-at? (+ from 2)))
                       (bytevector-u8-set!
                        target to
                        (+ (* 16 (hexadecimal-value (bytevector-u8-ref source (+ from 1))))
                           (hexadecimal-value (bytevector-u8-ref source (+ from 2)))))
                       (loop (+ from 3) (+ to 1)))
                      (strict?
                       (fail who "two hexadecimal digits belong behind %"
                             (broken-escape text) text))
                      (else
                       (bytevector-u8-set! target to byte)
                       (loop (+ from 1) (+ to 1)))))))))

    (define (broken-escape text)
      (let ((end (string-length text)))
        (let loop ((percent (%string-index text #\%)))
          (if (and (< (+ percent 2) end)
                   (hexadecimal? (string-ref text (+ percent 1)))
                   (hexadecimal? (string-ref text (+ percent 2))))
              (loop (%string-index text #\% (+ percent 3)))
              percent))))

    ;; The index in a text of what became a byte.
    (define (source-of text wrong)
      (let loop ((index 0) (byte 0))
        (cond ((>= byte wrong) index)
              ((char=? (string-ref text index) #\%) (loop (+ index 3) (+ byte 1)))
              (else (loop (+ index 1) (+ byte (utf8-length (string-ref text index))))))))

    (define (utf8-length char)
      (let ((code (char->integer char)))
        (cond ((< code 128) 1)
              ((< code 2048) 2)
              ((< code 65536) 3)
              (else 4))))

    ;; UTF-8: how many bytes the character at an index has; negative, how many bytes of a broken one
    ;; are one replacement.
    (define (utf8-step bytes index end)
      (define (byte-in? index low high)
        (and (< index end)
             (<= low (bytevector-u8-ref bytes index) high)))
      (define (rest index needed step)
        (cond ((eqv? needed 0) step)
              ((byte-in? index 128 191) (rest (+ index 1) (- needed 1) (+ step 1)))
              (else (- step))))
      (let ((lead (bytevector-u8-ref bytes index)))
        (define (sequence low high needed)
          (if (byte-in? (+ index 1) low high)
              (rest (+ index 2) needed 2)
              -1))
        (cond ((< lead 128) 1)
              ((<= 194 lead 223) (sequence 128 191 0))
              ((eqv? lead 224) (sequence 160 191 1))
              ((eqv? lead 237) (sequence 128 159 1))
              ((<= 225 lead 239) (sequence 128 191 1))
              ((eqv? lead 240) (sequence 144 191 2))
              ((<= 241 lead 243) (sequence 128 191 2))
              ((eqv? lead 244) (sequence 128 143 2))
              (else -1))))

    ;; The index of the first byte that belongs to no character, or #f.
    (define (malformed-utf8 bytes)
      (let ((end (bytevector-length bytes)))
        (let loop ((index 0))
          (and (< index end)
               (let ((step (utf8-step bytes index end)))
                 (if (> step 0)
                     (loop (+ index step))
                     index))))))

    (define (replace-malformed bytes)
      (let ((end (bytevector-length bytes)) (port (open-output-string)))
        (let loop ((start 0) (index 0))
          (let ((step (if (< index end) (utf8-step bytes index end) 0)))
            (if (> step 0)
                (loop start (+ index step))
                (begin
                  (write-string (utf8->string bytes start index) port)
                  (if (eqv? step 0)
                      (get-output-string port)
                      (begin
                        (write-char #\xFFFD port)
                        (loop (- index step) (- index step))))))))))

    ;; A text as people type it, with escapes for all that cannot be in a URI. These are blanks,
    ;; characters outside of ASCII (but in a host), and the like. Escapes that are there stay.
    (define (escape-uri text)
      (check-argument 'escape-uri 1 string? "string" text)
      (let* ((end (string-length text))
             (host-end (host-range-end text end))
             (port (open-output-string)))
        (let loop ((index 0))
          (if (eqv? index end)
              (get-output-string port)
              (let ((char (string-ref text index)))
                (cond ((or (of-class? char query-classes)
                           (char=? char #\#)
                           (and (memv char '(#\[ #\])) (< index host-end))
                           (and (> (char->integer char) 159) (< index host-end))
                           (and (char=? char #\%)
                                (< (+ index 2) end)
                                (hexadecimal? (string-ref text (+ index 1)))
                                (hexadecimal? (string-ref text (+ index 2)))))
                       (write-char char port))
                      (else (write-string (encode (string char) (lambda (byte) #f)) port)))
                (loop (+ index 1)))))))

    ;; The end of the authority of a text that has one, or 0.
    (define (host-range-end text end)
      (let ((colon (scheme-end text 0 end)))
        (let ((start (if (and (< colon end) (char=? (string-ref text colon) #\:))
                         (+ colon 1)
                         0)))
          (if (and (< (+ start 1) end)
                   (char=? (string-ref text start) #\/)
                   (char=? (string-ref text (+ start 1)) #\/))
              (let loop ((index (+ start 2)))
                (if (or (eqv? index end) (memv (string-ref text index) '(#\/ #\? #\#)))
                    index
                    (loop (+ index 1))))
              0))))

    ;; Paths and queries.

    ;; The segments of a path, decoded; a slash that was escaped is in its segment. "/a/b/" has
    ;; three, of which the last is empty.
    (define* (split-path path #:key (malformed 'raise))
      (check-argument 'split-path 1 string? "string" path)
      (if (string-null? path)
          '()
          (let loop ((segments (split-text path #\/ (if (char=? (string-ref path 0) #\/) 1 0)))
                     (decoded '()))
            (if (null? segments)
                (reverse! decoded)
                (loop (cdr segments)
                      (cons (percent-decode (car segments) #:malformed malformed) decoded))))))

    ;; The path that has these segments, each behind a slash.
    (define (join-path segments)
      (check-argument 'join-path 1 list? "list of strings" segments)
      (let ((port (open-output-string)))
        (let loop ((segments segments))
          (if (null? segments)
              (get-output-string port)
              (begin
                (write-char #\/ port)
                (write-string (percent-encode (car segments) #:keep "!$&'()*+,;=:@") port)
                (loop (cdr segments)))))))

    ;; The names and values of a form as a query or a body has them
    ;; (`application/x-www-form-urlencoded`), as the URL Standard of the WHATWG says. Nothing is an
    ;; error but more than `#:limit` fields.
    (define* (query->alist query #:key (limit #f))
      (check-argument 'query->alist 1 string? "string" query)
      (if (not (or (not limit) (exact-nonnegative-integer? limit)))
          (raise-bad-option 'query->alist "#:limit" "a number of fields" limit))
      (let ((end (string-length query)))
        (let loop ((start 0) (count 0) (fields '()))
          (if (>= start end)
              (reverse! fields)
              (let* ((stop (or (%string-index query #\& start end) end))
                     (equals (or (%string-index query #\= start stop) stop)))
                (cond ((eqv? start stop) (loop (+ stop 1) count fields))
                      ((and limit (>= count limit))
                       (fail 'query->alist "more fields than are allowed" start query))
                      (else
                       (loop (+ stop 1)
                             (+ count 1)
                             (cons (cons (form-text query start equals)
                                         (form-text query (min (+ equals 1) stop) stop))
                                   fields)))))))))

    (define (form-text query start end)
      (decode 'query->alist (substring query start end) #f #t))

    ;; The opposite.  Names are strings or symbols, values strings, symbols or numbers.
    (define (alist->query fields)
      (check-argument 'alist->query 1 list? "association list" fields)
      (let ((port (open-output-string)))
        (let loop ((rest fields))
          (if (null? rest)
              (get-output-string port)
              (begin
                (if (not (pair? (car rest)))
                    (%type-error 'alist->query 1 "association list" fields))
                (if (not (eq? rest fields))
                    (write-char #\& port))
                (write-form-text (caar rest) port)
                (write-char #\= port)
                (write-form-text (cdar rest) port)
                (loop (cdr rest)))))))

    (define (write-form-text object port)
      (let* ((text (cond ((string? object) object)
                         ((symbol? object) (symbol->string object))
                         ((number? object) (number->string object))
                         (else (%type-error 'alist->query 1 "string, symbol or number" object)))))
        (if (plain-text? text form-class)
            (write-string text port)
            (let* ((bytes (string->utf8 text)) (end (bytevector-length bytes)))
              (let loop ((index 0))
                (if (< index end)
                    (let ((byte (bytevector-u8-ref bytes index)))
                      (cond ((eqv? byte 32) (write-char #\+ port))
                            ((byte-of-class? byte form-class)
                             (write-char (integer->char byte) port))
                            (else (write-escape byte port)))
                      (loop (+ index 1)))))))))))
