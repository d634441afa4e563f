;;; (canny web cookies): what the headers Cookie and Set-Cookie have in them (RFC 6265bis).
;;;
;;; The cookies of a request are an association list of strings, in their order.  What a server sets is a record.  Reading takes
;;; what browsers and servers send; writing refuses what is no cookie.

(define-library (canny web cookies)
  (export make-set-cookie set-cookie? set-cookie-name set-cookie-value set-cookie-expires
          set-cookie-max-age set-cookie-domain set-cookie-path set-cookie-secure?
          set-cookie-http-only? set-cookie-same-site set-cookie-partitioned?
          set-cookie-extensions
          %parse-cookies %write-cookies %parse-set-cookie %write-set-cookie)
  (import (canny primitives) (canny syntax) (canny arguments)
          (canny web header-text) (canny web dates))
  (begin

    (define-record-type set-cookie
      (new-set-cookie name value expires max-age domain path secure? http-only? same-site
                      partitioned? extensions)
      set-cookie?
      (name name-of)
      (value value-of)
      (expires expires-of)
      (max-age max-age-of)
      (domain domain-of)
      (path path-of)
      (secure? is-secure?)
      (http-only? is-http-only?)
      (same-site same-site-of)
      (partitioned? is-partitioned?)
      (extensions extensions-of))

    ;; A cookie as a server sets it. `#:expires` is a date, seconds since 1970, `#:max-age` a number of seconds, `#:same-site`
    ;; `strict`, `lax` or `none`, `#:extensions` an association list of strings.
    (define* (make-set-cookie name value
                              #:key (expires #f) (max-age #f) (domain #f) (path #f) (secure? #f)
                              (http-only? #f) (same-site #f) (partitioned? #f) (extensions '()))
      (check-argument 'make-set-cookie 1 string? "string" name)
      (check-argument 'make-set-cookie 2 string? "string" value)
      (let ((check (lambda (object test? keyword expected)
                     (if (not (or (not object) (test? object)))
                         (raise-bad-option 'make-set-cookie keyword expected object)))))
        (check expires exact-integer? "#:expires" "a date, seconds since 1970")
        (check max-age exact-integer? "#:max-age" "a number of seconds")
        (check domain string? "#:domain" "a string")
        (check path string? "#:path" "a string")
        (check same-site (lambda (object) (memq object '(strict lax none))) "#:same-site"
               "strict, lax, none or #f")
        (check extensions list? "#:extensions" "an association list"))
      (new-set-cookie name value expires max-age domain path (and secure? #t) (and http-only? #t)
                      same-site (and partitioned? #t) extensions))

    (define-syntax define-part
      (syntax-rules ()
        ((_ name field)
         (define (name cookie)
           (check-argument 'name 1 set-cookie? "cookie that is set" cookie)
           (field cookie)))))

    ;; The name.
    (define-part set-cookie-name name-of)
    ;; The value, as it is sent.
    (define-part set-cookie-value value-of)
    ;; When it ends, in seconds since 1970, or #f.
    (define-part set-cookie-expires expires-of)
    ;; After how many seconds it ends, or #f; this counts more than a date.
    (define-part set-cookie-max-age max-age-of)
    ;; The domain, in lower case and without a dot in front, or #f.
    (define-part set-cookie-domain domain-of)
    ;; The path, or #f.
    (define-part set-cookie-path path-of)
    ;; Whether it is sent over TLS only.
    (define-part set-cookie-secure? is-secure?)
    ;; Whether scripts do not see it.
    (define-part set-cookie-http-only? is-http-only?)
    ;; `strict`, `lax`, `none` or #f.
    (define-part set-cookie-same-site same-site-of)
    ;; Whether it belongs to the site on top, too.
    (define-part set-cookie-partitioned? is-partitioned?)
    ;; Other attributes, an association list of strings.
    (define-part set-cookie-extensions extensions-of)

    ;; Cookie.

    ;; What stands between semicolons, each divided at its first equals sign; without one it is a value without a name.
    (define (%parse-cookies name text)
      (let ((end (string-length text)))
        (let loop ((index 0) (cookies '()))
          (if (>= index end)
              (reverse! cookies)
              (let* ((stop (or (%string-index text #\; index end) end))
                     (start (skip-blanks text index stop))
                     (last (trim-end text start stop)))
                (loop (+ stop 1)
                      (if (eqv? start last)
                          cookies
                          (cons (divided text start last) cookies))))))))

    (define (divided text start end)
      (let ((equals (%string-index text #\= start end)))
        (if equals
            (cons (substring text start (trim-end text start equals))
                  (substring text (skip-blanks text (+ equals 1) end) end))
            (cons "" (substring text start end)))))

    ;; What may stand in a value: no blanks, commas, semicolons, quotes and backslashes; quotes around it.
    (define (cookie-value? text)
      (let* ((end (string-length text))
             (quoted? (and (>= end 2)
                           (char=? (string-ref text 0) #\")
                           (char=? (string-ref text (- end 1)) #\")))
             (stop (if quoted? (- end 1) end)))
        (let loop ((index (if quoted? 1 0)))
          (or (eqv? index stop)
              (let ((char (string-ref text index)))
                (and (char<? #\space char #\x7F)
                     (not (memv char '(#\, #\; #\" #\\)))
                     (loop (+ index 1))))))))

    (define (check-cookie name cookie value)
      (if (not (and (string? cookie) (all-token? cookie)))
          (refuse name "the name of a cookie is a token"))
      (if (not (and (string? value) (cookie-value? value)))
          (refuse name "a cookie's value has no blanks, commas, semicolons, quotes, backslashes")))

    (define (%write-cookies name cookies)
      (join-texts name cookies "; "
        (lambda (cookie port)
          (if (not (pair? cookie))
              (refuse name "a cookie is a pair of name and value"))
          (check-cookie name (car cookie) (cdr cookie))
          (write-string (car cookie) port)
          (write-char #\= port)
          (write-string (cdr cookie) port))))

    ;; Set-Cookie.

    (define (control? char)
      (and (char<? char #\space) (not (char=? char #\tab))))

    (define (%parse-set-cookie name text)
      (let* ((end (string-length text))
             (stop (or (%string-index text #\; 0 end) end))
             (start (skip-blanks text 0 stop))
             (last (trim-end text start stop))
             (cookie (divided text start last)))
        (let loop ((index 0))
          (if (< index end)
              (if (control? (string-ref text index))
                  (fail name index "a control character in a cookie")
                  (loop (+ index 1)))))
        (if (and (string-null? (car cookie)) (string-null? (cdr cookie)))
            (fail name start "a cookie has a name or a value"))
        (parse-attributes text (+ stop 1) end cookie)))

    ;; Of an attribute that comes several times the last one counts; what has no meaning is passed over.
    (define (parse-attributes text index end cookie)
      (let loop ((index index) (expires #f) (max-age #f) (domain #f) (path #f) (secure? #f)
                 (http-only? #f) (same-site #f) (partitioned? #f) (extensions '()))
        (if (>= index end)
            (new-set-cookie (car cookie) (cdr cookie) expires max-age domain path secure?
                            http-only? same-site partitioned? (reverse extensions))
            (let* ((stop (or (%string-index text #\; index end) end))
                   (start (skip-blanks text index stop))
                   (last (trim-end text start stop))
                   (equals (or (%string-index text #\= start last) last))
                   (key (string-downcase text start (trim-end text start equals)))
                   (value-start (skip-blanks text (min (+ equals 1) last) last))
                   (value (substring text value-start last))
                   (next (+ stop 1)))
              (define-syntax again
                (syntax-rules ()
                  ((_ expires max-age domain path secure? http-only? same-site partitioned?)
                   (loop next expires max-age domain path secure? http-only? same-site
                         partitioned? extensions))))
              (cond ((string=? key "expires")
                     (again (or (parse-cookie-date text value-start last) expires) max-age domain
                            path
                            secure? http-only? same-site partitioned?))
                    ((string=? key "max-age")
                     (again expires (or (age-of value) max-age) domain path secure? http-only?
                            same-site partitioned?))
                    ((string=? key "domain")
                     (again expires max-age (domain-text value) path secure? http-only? same-site
                            partitioned?))
                    ((string=? key "path")
                     (again expires max-age domain (and (string-prefix? "/" value) value) secure?
                            http-only? same-site partitioned?))
                    ((string=? key "secure")
                     (again expires max-age domain path #t http-only? same-site partitioned?))
                    ((string=? key "httponly")
                     (again expires max-age domain path secure? #t same-site partitioned?))
                    ((string=? key "samesite")
                     (again expires max-age domain path secure? http-only?
                            (site-symbol (string-downcase value)) partitioned?))
                    ((string=? key "partitioned")
                     (again expires max-age domain path secure? http-only? same-site #t))
                    ((string-null? key)
                     (again expires max-age domain path secure? http-only? same-site
                            partitioned?))
                    (else
                     (loop next expires max-age domain path secure? http-only? same-site
                           partitioned? (cons (cons key value) extensions))))))))

    (define (domain-text value)
      (let ((text (string-downcase (if (string-prefix? "." value)
                                       (substring value 1)
                                       value))))
        (and (not (string-null? text)) text)))

    (define (site-symbol text)
      (cond ((string=? text "strict") 'strict)
            ((string=? text "lax") 'lax)
            ((string=? text "none") 'none)
            (else #f)))

    ;; Digits, perhaps behind a sign.  Large ones are as good as any.
    (define (age-of text)
      (let* ((end (string-length text))
             (start (if (char-at? text 0 end #\-) 1 0)))
        (and (< start end)
             (let loop ((index start) (number 0))
               (if (eqv? index end)
                   (if (eqv? start 1) (- number) number)
                   (let ((char (string-ref text index)))
                     (and (char<=? #\0 char #\9)
                          (loop (+ index 1)
                                (min 9999999999
                                     (+ (* 10 number) (- (char->integer char) 48)))))))))))

    (define (attribute-value? text)
      (let ((end (string-length text)))
        (let loop ((index 0))
          (or (eqv? index end)
              (let ((char (string-ref text index)))
                (and (char<=? #\space char #\~)
                     (not (char=? char #\;))
                     (loop (+ index 1))))))))

    (define (check-attribute name text what)
      (if (not (and (string? text) (attribute-value? text)))
          (refuse name (string-append what " has printable characters and no semicolon"))))

    ;; The prefixes of names, and attributes that need others.
    (define (check-promises name cookie)
      (let ((lower (string-downcase (name-of cookie))))
        (if (and (string-prefix? "__secure-" lower) (not (is-secure? cookie)))
            (refuse name "a cookie whose name begins with __Secure- is secure"))
        (if (and (string-prefix? "__host-" lower)
                 (not (and (is-secure? cookie)
                           (not (domain-of cookie))
                           (equal? (path-of cookie) "/"))))
            (refuse name
                    "a cookie whose name begins with __Host- is secure, has the path / and no domain"))
        (if (and (eq? (same-site-of cookie) 'none) (not (is-secure? cookie)))
            (refuse name "a cookie with SameSite=None is secure"))
        (if (and (is-partitioned? cookie) (not (is-secure? cookie)))
            (refuse name "a cookie that is partitioned is secure"))))

    (define (%write-set-cookie name cookie)
      (if (not (set-cookie? cookie))
          (refuse name "the value is made with make-set-cookie"))
      (check-cookie name (name-of cookie) (value-of cookie))
      (check-promises name cookie)
      (let ((port (open-output-string)))
        (define (attribute text value)
          (write-string "; " port)
          (write-string text port)
          (if value
              (begin
                (write-char #\= port)
                (write-string value port))))
        (write-string (name-of cookie) port)
        (write-char #\= port)
        (write-string (value-of cookie) port)
        (if (expires-of cookie)
            (attribute "Expires"
                       (or (date->text (expires-of cookie))
                           (refuse name "the year of a date has four digits"))))
        (if (max-age-of cookie)
            (attribute "Max-Age" (number->string (max-age-of cookie))))
        (if (domain-of cookie)
            (begin
              (check-attribute name (domain-of cookie) "a domain")
              (attribute "Domain" (domain-of cookie))))
        (if (path-of cookie)
            (begin
              (check-attribute name (path-of cookie) "a path")
              (attribute "Path" (path-of cookie))))
        (if (is-secure? cookie) (attribute "Secure" #f))
        (if (is-http-only? cookie) (attribute "HttpOnly" #f))
        (case (same-site-of cookie)
          ((strict) (attribute "SameSite" "Strict"))
          ((lax) (attribute "SameSite" "Lax"))
          ((none) (attribute "SameSite" "None")))
        (if (is-partitioned? cookie) (attribute "Partitioned" #f))
        (let loop ((rest (extensions-of cookie)))
          (if (pair? rest)
              (begin
                (check-attribute name (caar rest) "an attribute's name")
                (check-attribute name (cdar rest) "an attribute's value")
                (attribute (caar rest) (cdar rest))
                (loop (cdr rest)))))
        (get-output-string port)))))
