;;; (canny web cookies): what the headers Cookie and Set-Cookie have in them, and jars that keep
;;; them for clients (RFC 6265bis).
;;;
;;; The cookies of a request are an association list of strings, in their order. A cookie that a
;;; server sets is a record. Reading takes what browsers and servers send; writing refuses what is
;;; no cookie.
;;;
;;; A jar is a table of domains with lists of cookies, the newest first; its lock is held for
;;; moments. There is no list of public suffixes. A domain of one label is refused, unless it is the
;;; host itself, and addresses have cookies of their own only.

(define-library (canny web cookies)
  (export make-set-cookie set-cookie? set-cookie-name set-cookie-value set-cookie-expires
          set-cookie-max-age set-cookie-domain set-cookie-path set-cookie-secure?
          set-cookie-http-only? set-cookie-same-site set-cookie-partitioned?
          set-cookie-extensions
          make-cookie-jar cookie-jar? cookie-jar-store! cookie-jar-cookies cookie-jar->list
          cookie-jar-clear!
          %parse-cookies %write-cookies %parse-set-cookie %write-set-cookie)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny data sorting) list-sort)
          (only (canny sync) make-mutex with-mutex)
          (only (canny machine control) guard)
          (canny web headers text) (canny web headers dates) (canny web uri))
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

    ;; A cookie as a server sets it. `#:expires` is a date, seconds since 1970, `#:max-age` a number
    ;; of seconds, `#:same-site` `strict`, `lax` or `none`, `#:extensions` an association list of
    ;; strings.
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

    ;; The parts between semicolons, each divided at its first equals sign; a part without one is a
    ;; value without a name.
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

    ;; Whether a value is allowed: no blanks, commas, semicolons, quotes and backslashes, but quotes
    ;; around it.
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

    ;; Of an attribute that comes several times the last one counts; what has no meaning is passed
    ;; over.
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
                    "a cookie whose name begins with __Host- is secure, has the path / and no \
                     domain"))
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
        (get-output-string port)))

    ;; Jars.

    (define-record-type cookie-jar
      (new-cookie-jar lock domains)
      cookie-jar?
      (lock jar-lock)
      ;; Domains to lists of entries.
      (domains jar-domains))

    (define-record-type entry
      (make-entry cookie host-only? path created ends)
      entry?
      (cookie entry-cookie)
      (host-only? entry-host-only?)
      (path entry-path)
      ;; A cookie that takes the place of another one keeps this of it.
      (created entry-created)
      ;; Seconds since 1970, or #f for the end of the program.
      (ends entry-ends))

    (define domain-limit 180)
    (define domains-limit 3000)

    ;; A jar without cookies.
    (define (make-cookie-jar)
      (new-cookie-jar (make-mutex #:name "cookie jar") (%make-hash-table 'equal #f 8)))

    (define (check-jar who jar)
      (check-argument who 1 cookie-jar? "jar of cookies" jar))

    (define (as-uri who object)
      (let ((uri (if (string? object) (string->uri object) object)))
        (if (not (and (uri? uri) (uri-host uri)))
            (%type-error who 2 "URI with a host" object))
        uri))

    (define (now)
      (quotient (%clock-nanoseconds clock/realtime) 1000000000))

    (define (address? host)
      (or (%string-index host #\:)
          (let ((end (string-length host)))
            (and (> end 0)
                 (let loop ((index 0))
                   (or (eqv? index end)
                       (and (let ((char (string-ref host index)))
                              (or (char=? char #\.) (char<=? #\0 char #\9)))
                            (loop (+ index 1)))))))))

    ;; Whether cookies of a domain are for a host below it.
    (define (below? host domain)
      (let ((start (- (string-length host) (string-length domain))))
        (and (> start 0)
             (char=? (string-ref host (- start 1)) #\.)
             (string-suffix? domain host)
             (not (address? host)))))

    ;; The directory of a path, for cookies that name none.
    (define (default-path path)
      (let ((slash (%string-rindex path #\/)))
        (if (and slash (> slash 0) (char=? (string-ref path 0) #\/))
            (substring path 0 slash)
            "/")))

    (define (path-matches? path cookie-path)
      (and (string-prefix? cookie-path path)
           (or (eqv? (string-length path) (string-length cookie-path))
               (char=? (string-ref cookie-path (- (string-length cookie-path) 1)) #\/)
               (char=? (string-ref path (string-length cookie-path)) #\/))))

    (define (request-path uri)
      (if (string-null? (uri-path uri)) "/" (uri-path uri)))

    (define (secure? uri)
      (memq (uri-scheme uri) '(https wss)))

    (define (promises-kept? cookie host-only?)
      (let ((lower (string-downcase (name-of cookie))))
        (and (or (not (string-prefix? "__secure-" lower)) (is-secure? cookie))
             (or (not (string-prefix? "__host-" lower))
                 (and (is-secure? cookie) host-only? (equal? (path-of cookie) "/")))
             (or (not (eq? (same-site-of cookie) 'none)) (is-secure? cookie)))))

    ;; Keeps a cookie, or the text of a header Set-Cookie, that came from a URI; whether it did. A
    ;; malformed cookie, or one that this server may not set, is ignored; one that has expired is
    ;; removed.
    (define (cookie-jar-store! jar uri cookie)
      (check-jar 'cookie-jar-store! jar)
      (let ((uri (as-uri 'cookie-jar-store! uri))
            (cookie (if (string? cookie) (parsed-or-false cookie) cookie)))
        (and cookie
             (<= (+ (string-length (name-of cookie)) (string-length (value-of cookie))) 4096)
             (let* ((host (string-downcase (uri-host uri)))
                    (domain (and (domain-of cookie) (domain-text (domain-of cookie))))
                    (host-only? (or (not domain) (string=? domain host))))
               (and (or host-only?
                        (and (%string-index domain #\.) (below? host domain)))
                    (or (secure? uri) (not (is-secure? cookie)))
                    (promises-kept? cookie (not domain))
                    (store! jar
                            (if host-only? host domain)
                            (make-entry cookie
                                        ;; An address or a name of one label has nothing below it.
                                        (or (not domain) (address? host)
                                            (not (%string-index host #\.)))
                                        (or (path-of cookie) (default-path (uri-path uri)))
                                        (now)
                                        (cond ((max-age-of cookie) (+ (now) (max-age-of cookie)))
                                              (else (expires-of cookie))))))))))

    (define (parsed-or-false text)
      (guard (condition ((header-error? condition) #f))
        (%parse-set-cookie 'set-cookie text)))

    (define (same-cookie? a b)
      (and (string=? (name-of (entry-cookie a)) (name-of (entry-cookie b)))
           (string=? (entry-path a) (entry-path b))
           (eq? (entry-host-only? a) (entry-host-only? b))))

    (define (ended? entry time)
      (and (entry-ends entry) (<= (entry-ends entry) time)))

    (define (first-entries entries count)
      (if (or (null? entries) (eqv? count 0))
          '()
          (cons (car entries) (first-entries (cdr entries) (- count 1)))))

    (define (store! jar domain entry)
      (with-mutex (jar-lock jar)
        (let* ((domains (jar-domains jar))
               (time (now))
               (old #f)
               (others (keep (lambda (other)
                               (cond ((same-cookie? entry other)
                                      (set! old other)
                                      #f)
                                     (else (not (ended? other time)))))
                             (%hash-table-ref domains domain '())))
               (entry (if old
                          (make-entry (entry-cookie entry) (entry-host-only? entry)
                                      (entry-path entry) (entry-created old) (entry-ends entry))
                          entry)))
          (if (ended? entry time)
              (if (null? others)
                  (%hash-table-delete! domains domain)
                  (%hash-table-set! domains domain others))
              (begin
                (if (and (>= (%hash-table-count domains) domains-limit)
                         (not (%hash-table-contains? domains domain)))
                    (%hash-table-delete! domains (car (%hash-table-keys domains))))
                (%hash-table-set! domains domain
                                  (cons entry (first-entries others (- domain-limit 1))))))
          #t)))

    (define (keep test? list)
      (cond ((null? list) '())
            ((test? (car list)) (cons (car list) (keep test? (cdr list))))
            (else (keep test? (cdr list)))))

    ;; The cookies to send to a URI, an association list of strings: those with long paths first,
    ;; then the oldest.
    (define (cookie-jar-cookies jar uri)
      (check-jar 'cookie-jar-cookies jar)
      (let* ((uri (as-uri 'cookie-jar-cookies uri))
             (host (string-downcase (uri-host uri)))
             (path (request-path uri))
             (time (now)))
        (define (wanted entries exact?)
          (keep (lambda (entry)
                  (and (or exact? (not (entry-host-only? entry)))
                       (not (ended? entry time))
                       (path-matches? path (entry-path entry))
                       (or (secure? uri) (not (is-secure? (entry-cookie entry))))))
                entries))
        (let ((found (with-mutex (jar-lock jar)
                       (let loop ((domain host)
                                  (found (wanted (%hash-table-ref (jar-domains jar) host '()) #t)))
                         (let ((dot (and (not (address? host)) (%string-index domain #\.))))
                           (if (not dot)
                               found
                               (let ((domain (substring domain (+ dot 1))))
                                 (loop domain
                                       (append (wanted (%hash-table-ref (jar-domains jar) domain
                                                                        '())
                                                       #f)
                                               found)))))))))
          (map-entries (lambda (entry)
                         (cons (name-of (entry-cookie entry)) (value-of (entry-cookie entry))))
                       (list-sort before? (reverse found))))))

    (define (before? a b)
      (let ((length-of-a (string-length (entry-path a)))
            (length-of-b (string-length (entry-path b))))
        (or (> length-of-a length-of-b)
            (and (eqv? length-of-a length-of-b)
                 (< (entry-created a) (entry-created b))))))

    (define (map-entries procedure entries)
      (let loop ((rest entries) (result '()))
        (if (null? rest)
            (reverse! result)
            (loop (cdr rest) (cons (procedure (car rest)) result)))))

    ;; All cookies of a jar: lists of a domain and a cookie as it was set.
    (define (cookie-jar->list jar)
      (check-jar 'cookie-jar->list jar)
      (let ((time (now)))
        (let loop ((rest (with-mutex (jar-lock jar) (%hash-table->alist (jar-domains jar))))
                   (result '()))
          (if (null? rest)
              result
              (loop (cdr rest)
                    (append (map-entries (lambda (entry) (list (caar rest) (entry-cookie entry)))
                                         (keep (lambda (entry) (not (ended? entry time)))
                                               (cdar rest)))
                            result))))))

    ;; Takes all cookies out of a jar.
    (define (cookie-jar-clear! jar)
      (check-jar 'cookie-jar-clear! jar)
      (with-mutex (jar-lock jar)
        (%hash-table-clear! (jar-domains jar))))))
