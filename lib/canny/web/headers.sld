;;; (canny web headers): the values of headers as native values, and back.
;;;
;;; The name of a header is a symbol in lower case. A table of all that have a syntax here is in the
;;; documentation; others are strings, and a program declares its own.
;;;
;;;     (parse-header 'content-type "text/html; charset=utf-8") ; => (text/html (charset . "utf-8"))
;;;     (header->string 'etag '("abc" . #t))                     ; => "\"abc\""
;;;
;;; Headers are parsed with indexes, in linear time (lists of qualities are sorted). Values with
;;; control characters are not written, so that no value can end its header.

(define-library (canny web headers)
  (export parse-header header->string header-known? declare-header!
          header-error? header-error-name header-error-position raise-header-error
          http-date->string string->http-date current-http-date
          choose-media-type choose-encoding choose-language
          entity-tag-matches?
          make-set-cookie set-cookie? set-cookie-name set-cookie-value set-cookie-expires
          set-cookie-max-age set-cookie-domain set-cookie-path set-cookie-secure?
          set-cookie-http-only? set-cookie-same-site set-cookie-partitioned?
          set-cookie-extensions)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control) guard)
          (canny web headers text) (canny web headers values) (canny web headers structures)
          (canny web headers dates) (canny web cookies)
          (only (canny web structured-fields)
                %parse-item %parse-list %parse-dictionary %write-item %write-list
                %write-dictionary))
  (begin

    ;; Errors.

    (define (irritant who condition key)
      (if (not (header-error? condition))
          (%type-error who 1 "error of a header" condition))
      (let ((found (memq key (error-object-irritants condition))))
        (and found (cadr found))))

    ;; The name of the header whose value is malformed, or could not be written.
    (define (header-error-name condition)
      (irritant 'header-error-name condition 'header))

    ;; The index in the text of what is wrong; #f for a value that could not be written.
    (define (header-error-position condition)
      (irritant 'header-error-position condition 'position))

    ;; For parsers and writers of a program's own: says that a header is malformed at an index, or
    ;; that a value cannot be written (#f).
    (define (raise-header-error name position message)
      (check-argument 'raise-header-error 1 symbol? "symbol" name)
      (check-argument 'raise-header-error 3 string? "string" message)
      (if position
          (fail name position message)
          (refuse name message)))

    ;; The table: names to pairs of a parser and a writer.

    (define table (%make-hash-table 'eq #f 200))

    (define (declare! parse write . names)
      (let loop ((names names))
        (if (pair? names)
            (begin
              (%hash-table-set! table (car names) (cons parse write))
              (loop (cdr names))))))

    (declare! parse-text write-text
              'from 'server 'user-agent 'mime-version 'content-md5 'x-requested-with
              'sec-websocket-accept 'last-event-id 'sourcemap 'x-real-ip 'refresh
              'traceparent 'tracestate 'idempotency-key 'expect 'x-request-id)
    (declare! parse-integer write-integer
              'content-length 'age 'max-forwards 'access-control-max-age
              'upgrade-insecure-requests 'early-data 'x-forwarded-port)
    (declare! parse-date-value write-date-value
              'date 'last-modified 'if-modified-since 'if-unmodified-since 'sunset)
    (declare! parse-expires write-date-value 'expires)
    (declare! parse-uri write-uri 'location 'content-location 'referer)
    (declare! parse-symbol write-symbol
              'x-content-type-options 'x-frame-options 'access-control-allow-credentials
              'sec-fetch-dest 'sec-fetch-mode 'sec-fetch-site 'dnt 'save-data
              'x-dns-prefetch-control)
    (declare! parse-method write-method 'access-control-request-method)
    (declare! parse-methods write-symbols 'allow 'access-control-allow-methods)
    (declare! parse-symbols write-symbols
              'connection 'content-encoding 'accept-ranges 'trailer 'referrer-policy
              'access-control-allow-headers 'access-control-expose-headers
              'access-control-request-headers)
    (declare! parse-strings write-strings
              'content-language 'upgrade 'x-forwarded-for 'x-forwarded-host
              'x-forwarded-proto 'sec-websocket-protocol 'timing-allow-origin
              'clear-site-data)
    (declare! parse-integers write-symbols 'sec-websocket-version)
    (declare! parse-media-type write-media-type 'content-type)
    (declare! parse-media-types write-media-types 'accept-post 'accept-patch)
    (declare! parse-qualities write-qualities
              'accept-encoding 'accept-language 'accept-charset 'te)
    (declare! parse-accept write-accept 'accept)
    (declare! parse-coded write-coded
              'transfer-encoding 'sec-websocket-extensions 'server-timing)
    (declare! parse-alternatives write-alternatives 'alt-svc)
    (declare! parse-directives write-directives
              'cache-control 'pragma 'keep-alive 'prefer 'preference-applied
              'authentication-info 'proxy-authentication-info)
    (declare! parse-attributes write-attributes 'strict-transport-security 'expect-ct)
    (declare! parse-entity-tag write-entity-tag 'etag)
    (declare! parse-entity-tags write-entity-tags 'if-match 'if-none-match)
    (declare! parse-vary write-vary 'vary)
    (declare! parse-range write-range 'range)
    (declare! parse-content-range write-content-range 'content-range)
    (declare! parse-if-range write-if-range 'if-range)
    (declare! parse-retry-after write-retry-after 'retry-after)
    (declare! parse-host write-host 'host)
    (declare! parse-origin write-origin 'origin 'access-control-allow-origin)
    (declare! parse-credentials write-credentials 'authorization 'proxy-authorization)
    (declare! parse-challenges write-challenges 'www-authenticate 'proxy-authenticate)
    (declare! parse-link write-link 'link)
    (declare! parse-disposition write-disposition 'content-disposition)
    (declare! parse-forwarded write-forwarded 'forwarded)
    (declare! parse-via write-via 'via)
    (declare! parse-warning write-warning 'warning)
    (declare! parse-policies write-policies
              'content-security-policy 'content-security-policy-report-only)
    (declare! parse-websocket-key write-text 'sec-websocket-key)
    (declare! %parse-cookies %write-cookies 'cookie)
    (declare! %parse-set-cookie %write-set-cookie 'set-cookie)
    (declare! %parse-item %write-item
              'cross-origin-embedder-policy 'cross-origin-embedder-policy-report-only
              'cross-origin-opener-policy 'cross-origin-opener-policy-report-only
              'cross-origin-resource-policy 'origin-agent-cluster 'sec-fetch-user
              'sec-ch-ua-mobile 'sec-ch-ua-platform 'sec-gpc 'deprecation)
    (declare! %parse-list %write-list
              'sec-ch-ua 'sec-ch-ua-full-version-list 'accept-ch 'cache-status 'proxy-status)
    (declare! %parse-dictionary %write-dictionary
              'permissions-policy 'priority 'content-digest 'repr-digest
              'want-content-digest 'want-repr-digest 'signature 'signature-input
              'reporting-endpoints 'cdn-cache-control)

    ;; Whether a header has a syntax here, or was declared.
    (define (header-known? name)
      (check-argument 'header-known? 1 symbol? "symbol" name)
      (%hash-table-contains? table name))

    ;; Says what parses and writes a header: procedures of a string, and of a value.
    (define (declare-header! name parse write)
      (check-argument 'declare-header! 1 symbol? "symbol" name)
      (check-procedure 'declare-header! 2 parse)
      (check-procedure 'declare-header! 3 write)
      (if (not (and (all-token? (symbol->string name))
                    (string=? (symbol->string name) (string-downcase (symbol->string name)))))
          (%range-error 'declare-header! 1 "a token in lower case" name))
      (declare! (lambda (name text) (parse text))
                (lambda (name value) (write value))
                name))

    ;; The value that the text of a header stands for.
    (define (parse-header name text)
      (check-argument 'parse-header 1 symbol? "symbol" name)
      (check-argument 'parse-header 2 string? "string" text)
      (let ((syntax (%hash-table-ref table name #f)))
        (if syntax
            ((car syntax) name text)
            (parse-text name text))))

    ;; The text that stands for a value of a header.
    (define (header->string name value)
      (check-argument 'header->string 1 symbol? "symbol" name)
      (let* ((syntax (%hash-table-ref table name #f))
             (text (if syntax
                       ((cdr syntax) name value)
                       (write-text name value))))
        (if (not (string? text))
            (refuse name "the writer gave no string"))
        (let ((end (string-length text)))
          (let loop ((index 0))
            (if (< index end)
                (let ((char (string-ref text index)))
                  (if (or (and (char<? char #\space) (not (char=? char #\tab)))
                          (char=? char #\x7F))
                      (refuse name "a control character in the value"))
                  (loop (+ index 1))))))
        text))

    ;; Dates.

    ;; The text of a date, seconds since 1970.
    (define (http-date->string date)
      (check-exact-integer 'http-date->string 1 date)
      (or (date->text date)
          (%range-error 'http-date->string 1 "a date whose year has four digits" date)))

    ;; The date of a text, in any of the three forms.
    (define (string->http-date text)
      (check-argument 'string->http-date 1 string? "string" text)
      (parse-date-value 'date text))

    ;; The date of now.
    (define (current-http-date)
      (quotient (%clock-nanoseconds clock/realtime) 1000000000))

    ;; Entity tags.

    ;; Whether a tag is one of those of If-Match or If-None-Match. Weak ones match by `#:weak? #t`
    ;; only, as for If-None-Match.
    (define* (entity-tag-matches? tag tags #:key (weak? #f))
      (if (not (pair? tag))
          (%type-error 'entity-tag-matches? 1 "entity tag" tag))
      (or (eq? tags '*)
          (let loop ((rest tags))
            (and (pair? rest)
                 (or (and (string=? (caar rest) (car tag))
                          (or weak? (and (cdr tag) (cdar rest))))
                     (loop (cdr rest)))))))

    ;; Negotiation. Each takes the value of a header, its text, or #f without one, and what there
    ;; is, best first. Texts come from clients: one that is malformed says nothing, as if it were
    ;; not there.

    (define (accepted who name object)
      (cond ((not object) #f)
            ((string? object)
             (guard (condition ((header-error? condition) #f))
               (parse-header name object)))
            ((list? object) object)
            (else (%type-error who 1 "value of a header, its text or #f" object))))

    ;; The first of the best of what there is; `quality` gives that of one, 0 if it is not wanted.
    (define (best offers quality)
      (let loop ((rest offers) (best #f) (most 0))
        (if (null? rest)
            best
            (let ((quality (quality (car rest))))
              (if (> quality most)
                  (loop (cdr rest) (car rest) quality)
                  (loop (cdr rest) best most))))))

    ;; The one of some media types, strings, that suits the header Accept best, or #f if none does.
    (define (choose-media-type accept offers)
      (check-argument 'choose-media-type 2 list? "list of strings" offers)
      (let ((accept (accepted 'choose-media-type 'accept accept)))
        (if (or (not accept) (null? accept))
            (and (pair? offers) (car offers))
            (best offers
                  (lambda (offer)
                    (media-quality accept (parse-header 'content-type offer)))))))

    ;; The quality of the most specific range that a type is in.
    (define (media-quality accept type)
      (let* ((name (symbol->string (car type)))
             (slash (%string-index name #\/))
             (family (string-append (substring name 0 slash) "/*")))
        (let loop ((rest accept) (quality 0) (specific -1))
          (if (null? rest)
              quality
              (let* ((media (caar rest))
                     (how (cond ((eq? (car media) (car type))
                                 (if (subset? (cdr media) (cdr type))
                                     (+ 2 (length (cdr media)))
                                     -1))
                                ((string=? (symbol->string (car media)) family) 1)
                                ((eq? (car media) '*/*) 0)
                                (else -1))))
                (if (> how specific)
                    (loop (cdr rest) (cdar rest) how)
                    (loop (cdr rest) quality specific)))))))

    (define (subset? parameters others)
      (or (null? parameters)
          (let ((other (assq (caar parameters) others)))
            (and other
                 (string? (cdr other))
                 (string? (cdar parameters))
                 (string-ci=? (cdr other) (cdar parameters))
                 (subset? (cdr parameters) others)))))

    (define (lookup key alist)
      (let loop ((rest alist))
        (and (pair? rest)
             (if (string=? key (caar rest))
                 (cdar rest)
                 (loop (cdr rest))))))

    ;; The one of some codings that suits the header Accept-Encoding best. `"identity"` is always
    ;; there, and the worst one unless the client asks for it; #f if not even that is wanted.
    (define (choose-encoding accept offers)
      (check-argument 'choose-encoding 2 list? "list of strings" offers)
      (let ((accept (accepted 'choose-encoding 'accept-encoding accept)))
        (define (quality offer)
          (or (lookup offer accept)
              (lookup "*" accept)
              (if (string=? offer "identity") 1/10 0)))
        (if (not accept)
            "identity"
            (best (if (lookup-offer "identity" offers)
                      offers
                      (append offers '("identity")))
                  (lambda (offer) (quality (string-downcase offer)))))))

    (define (lookup-offer name offers)
      (and (pair? offers)
           (or (string-ci=? name (car offers))
               (lookup-offer name (cdr offers)))))

    ;; The one of some languages that suits the header Accept-Language best, or #f. `en` is content
    ;; with `en-GB`; where nothing else suits, `de-CH` is with `de`.
    (define (choose-language accept offers)
      (check-argument 'choose-language 2 list? "list of strings" offers)
      (let ((accept (accepted 'choose-language 'accept-language accept)))
        (if (or (not accept) (null? accept))
            (and (pair? offers) (car offers))
            (or (best offers (lambda (offer) (language-quality accept (string-downcase offer))))
                (best offers
                      (lambda (offer) (truncated-quality accept (string-downcase offer))))))))

    (define (begins-with-tag? text tag)
      (and (string-prefix? tag text)
           (or (eqv? (string-length tag) (string-length text))
               (char=? (string-ref text (string-length tag)) #\-))))

    (define (language-quality accept offer)
      (let loop ((rest accept) (quality 0) (specific -1))
        (if (null? rest)
            quality
            (let* ((range (caar rest))
                   (how (cond ((string=? range "*") 0)
                              ((begins-with-tag? offer range) (string-length range))
                              (else -1))))
              (if (> how specific)
                  (loop (cdr rest) (cdar rest) how)
                  (loop (cdr rest) quality specific))))))

    ;; A language that is refused is not taken in the place of a part of it.
    (define (truncated-quality accept offer)
      (if (eqv? 0 (or (lookup offer accept) 1))
          0
          (let loop ((rest accept) (quality 0))
            (if (null? rest)
                quality
                (loop (cdr rest)
                      (if (begins-with-tag? (caar rest) offer)
                          (max quality (cdar rest))
                          quality))))))))
