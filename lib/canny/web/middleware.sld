;;; (canny web middleware): what stands around handlers.
;;;
;;; A middleware is a procedure that takes a handler and gives another one. The first one of several
;;; is the outermost: it sees requests first and responses last.
;;;
;;;     (with-middleware (router-handler app)
;;;                      (access-log) (answer-errors) (security-headers) (compress-responses))
;;;
;;; None of these trusts what a client sends. Text that goes to logs and headers is escaped or
;;; checked, and what is kept for each client is limited.

(define-library (canny web middleware)
  (export compose-middleware with-middleware call-handler
          request-ids request-id access-log security-headers cors compress-responses
          basic-authentication request-user rate-limit
          raise-http-error http-error? http-error-status http-error-headers answer-errors
          error-pages)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny data lists) for-each map member)
          (only (canny machine control)
                raise raise-continuable guard with-exception-handler
                call-with-escape-continuation current-error-port)
          (only (canny sync) make-mutex with-mutex)
          (only (canny compression) compress)
          (only (canny json) json->string)
          (only (canny sxml) sxml->html-bytes sxml->xml-bytes)
          (only (canny web headers) choose-encoding)
          (only (canny web uri) uri-error?)
          (canny web message)
          (only (canny web server development)
                serving-for-development? note-failure! failure-response report-failure)
          (only (canny web password) random-token))
  (begin

    (define (option who message object)
      (raise (%make-condition 'range message (list object) who)))

    ;; One middleware for several.
    (define (compose-middleware . middleware)
      (for-each (lambda (one) (check-argument 'compose-middleware 1 procedure? "procedure" one))
                middleware)
      (lambda (handler) (wrap handler middleware)))

    ;; A handler in several middlewares, the first of which is the outermost.
    (define (with-middleware handler . middleware)
      (wrap handler middleware))

    (define (wrap handler middleware)
      (if (null? middleware)
          handler
          ((car middleware) (wrap handler (cdr middleware)))))

    ;; The answer of a handler, as a response in any case.
    (define (call-handler handler request body)
      (call-with-values
        (lambda () (handler request body))
        (case-lambda
          ((response)
           (if (string? response) (make-response #:body response) response))
          ((headers body) (make-response #:headers headers #:body body)))))

    ;; A response whose body is no SXML any more: what stands around handlers sees bytes, and errors
    ;; in SXML are errors of the handler.
    (define (rendered response)
      (let ((body (response-body response)))
        (if (not (pair? body))
            response
            (let* ((entry (assq 'content-type (response-headers response)))
                   (type (and entry (cdr entry)))
                   (name (if (pair? type) (car type) type)))
              (if (or (not name) (eq? name 'text/html))
                  (response-with-body
                   (response-with-header response 'content-type
                                         (if (pair? type)
                                             type
                                             '(text/html (charset . "utf-8"))))
                   (sxml->html-bytes body #:doctype (page? body)))
                  (response-with-body response (sxml->xml-bytes body)))))))

    ;; Whether SXML is a whole page, a template included.
    (define (page? body)
      (or (eq? 'html (car body))
          (and (eq? '*template* (car body))
               (pair? (cdr body))
               (string? (cadr body))
               (string-prefix? "<html" (cadr body)))))

    (define (text-response status text . headers)
      (make-response #:status status
                     #:headers (cons '(content-type . (text/plain (charset . "utf-8"))) headers)
                     #:body (string-append text "\n")))

    ;; A response with a header that it does not have yet.
    (define (with-default-header response name value)
      (if (assq name (response-headers response))
          response
          (response-with-header response name value)))

    ;; A response whose `vary` names another header.
    (define (with-vary response name)
      (let ((vary (response-header response 'vary '())))
        (if (or (eq? vary '*) (and (pair? vary) (memq name vary)))
            response
            (response-with-header response 'vary
                                  (append (if (list? vary) vary (list vary)) (list name))))))

    ;;; Errors that are answers

    ;; Raises a condition that `answer-errors` answers with a status, a message for the client and
    ;; headers.
    (define* (raise-http-error status message #:key (headers '()))
      (if (not (and (exact-integer? status) (<= 400 status 599)))
          (option 'raise-http-error "a status from 400 to 599" status))
      (raise (%make-condition 'http-answer message (list status headers) #f)))

    (define (http-error? object)
      (and (error-object? object) (eq? 'http-answer (condition-kind object))))

    (define (http-error-status condition)
      (car (error-object-irritants condition)))

    (define (http-error-headers condition)
      (cadr (error-object-irritants condition)))

    ;; Answers what handlers raise. A condition of `raise-http-error` gives its own answer, a body
    ;; that is malformed, too long or too slow 400, 413 or 408. Anything else is answered by 500. In
    ;; production there is no word about it, in development a page with the condition, its place in
    ;; the source and the frames. Without `#:mode` it is development where `canny serve` runs the
    ;; program. `#:report` is called with the request and the condition, and may write to a log.
    (define* (answer-errors #:key (mode #f) (report #f))
      (if (not (memq mode '(#f production development)))
          (option 'answer-errors "#:mode is production or development" mode))
      (lambda (handler)
        (lambda (request body)
          (call-with-escape-continuation
           (lambda (escape)
             (with-exception-handler
               (lambda (object)
                 (cond ((http-error? object)
                        (escape (apply text-response (http-error-status object)
                                       (error-object-message object)
                                       (http-error-headers object))))
                       ((%failure-status request object)
                        => (lambda (status)
                             (escape (text-response status (status-reason status)
                                                    '(connection . "close")))))
                       ;; The server has given the handler up.
                       ((and (error-object? object) (eq? 'cancelled (condition-kind object)))
                        (raise-continuable object))
                       (else
                        (escape (answer-failure request object mode report)))))
               (lambda () (rendered (call-handler handler request body)))))))))

    ;; Answers an unknown object, where it was raised.
    (define (answer-failure request object mode report)
      (let* ((serving? (and (not mode) (serving-for-development?)))
             (shown? (or serving? (eq? mode 'development)))
             (frames (if shown? (%backtrace) '())))
        (if report
            (guard (ignored (#t #f)) (report request object)))
        (cond (serving?
               (report-failure request object)
               (note-failure! request object frames))
              ((not report) (report-error request object)))
        (if shown?
            (failure-response request object frames)
            (text-response 500 "Internal Server Error"))))

    ;; Pages of the application's own for statuses from 400 on, no matter which handler answered.
    ;; `page` is called with the request and the response and gives SXML. That takes the place of
    ;; the body, another response, or #f to leave this one. If it fails itself, the response stays
    ;; as it was.
    (define (error-pages page)
      (check-procedure 'error-pages 1 page)
      (lambda (handler)
        (lambda (request body)
          (let ((response (call-handler handler request body)))
            (if (< (response-status response) 400)
                response
                (guard (object ((error-object? object)
                                (report-error request object)
                                response))
                  (let ((content (page request response)))
                    (cond ((not content) response)
                          ((response? content) content)
                          (else (rendered (with-page response content)))))))))))

    ;; A response with a page in place of its body, and without the headers that were about the
    ;; latter.
    (define (with-page response page)
      (let ((body (response-body response)))
        (if (input-port? body) (close-port body)))
      (let loop ((headers (response-headers response)) (kept '()))
        (cond ((null? headers)
               (make-response #:status (response-status response) #:headers (reverse! kept)
                              #:body page))
              ((memq (caar headers)
                     '(content-type content-length content-encoding content-range etag
                       last-modified))
               (loop (cdr headers) kept))
              (else (loop (cdr headers) (cons (car headers) kept))))))

    (define (report-error request object)
      (write-string (string-append "error: "
                                   (escaped (symbol->string (request-method request))) " "
                                   (escaped (request-path request)) ": "
                                   (escaped (condition->string object))
                                   (escaped (%place-text object)) "\n")
                    (current-error-port)))

    ;;; Identifiers of requests

    (define (identifier? text)
      (and (string? text)
           (<= 1 (string-length text) 64)
           (let loop ((index 0))
             (or (= index (string-length text))
                 (let ((char (string-ref text index)))
                   (and (or (and (char<=? #\a char) (char<=? char #\z))
                            (and (char<=? #\A char) (char<=? char #\Z))
                            (and (char<=? #\0 char) (char<=? char #\9))
                            (memv char '(#\- #\_ #\.)))
                        (loop (+ index 1))))))))

    ;; Gives each request an identifier, and the response a header with it. `#:trust? #t` takes one
    ;; that a proxy sent.
    (define* (request-ids #:key (header 'x-request-id) (trust? #f))
      (lambda (handler)
        (lambda (request body)
          (let* ((sent (and trust? (request-field request header)))
                 (id (if (identifier? sent) sent (random-token 16))))
            (set-request-attribute! request 'request-id id)
            (response-with-header (call-handler handler request body) header id)))))

    ;; The identifier of a request, or `#f`.
    (define (request-id request)
      (request-attribute request 'request-id))

    ;;; Logs

    ;; Text of a client, without characters that have a meaning in a line of a log.
    (define (escaped text)
      (let ((port (open-output-string)))
        (let loop ((index 0))
          (if (< index (string-length text))
              (let ((char (string-ref text index)))
                (cond ((or (char=? char #\") (char=? char #\\))
                       (write-char #\\ port)
                       (write-char char port))
                      ((and (char<=? #\space char) (char<=? char #\~)) (write-char char port))
                      (else
                       (write-string "\\x" port)
                       (write-string (number->string (char->integer char) 16) port)
                       (write-string ";" port)))
                (loop (+ index 1)))))
        (get-output-string port)))

    (define (two-digits number)
      (if (< number 10)
          (string-append "0" (number->string number))
          (number->string number)))

    (define month-names
      '#("Jan" "Feb" "Mar" "Apr" "May" "Jun" "Jul" "Aug" "Sep" "Oct" "Nov" "Dec"))

    ;; Year, month, day, hour, minute and second of seconds since 1970.
    (define (civil seconds)
      (let* ((days (floor-quotient seconds 86400))
             (rest (floor-remainder seconds 86400))
             (z (+ days 719468))
             (era (floor-quotient z 146097))
             (day (- z (* era 146097)))
             (year (quotient (- day (quotient day 1460) (- (quotient day 36524))
                                (quotient day 146096))
                             365))
             (day-of-year (- day (+ (* 365 year) (quotient year 4) (- (quotient year 100)))))
             (shifted (quotient (+ (* 5 day-of-year) 2) 153))
             (month (if (< shifted 10) (+ shifted 3) (- shifted 9))))
        (list (+ year (* era 400) (if (<= month 2) 1 0))
              month
              (+ 1 (- day-of-year (quotient (+ (* 153 shifted) 2) 5)))
              (quotient rest 3600)
              (quotient (remainder rest 3600) 60)
              (remainder rest 60))))

    (define (time-text seconds)
      (let ((parts (civil seconds)))
        (apply (lambda (year month day hour minute second)
                 (string-append (two-digits day) "/" (vector-ref month-names (- month 1)) "/"
                                (number->string year) ":" (two-digits hour) ":"
                                (two-digits minute) ":" (two-digits second) " +0000"))
               parts)))

    (define (iso-text seconds)
      (apply (lambda (year month day hour minute second)
               (string-append (number->string year) "-" (two-digits month) "-" (two-digits day)
                              "T" (two-digits hour) ":" (two-digits minute) ":"
                              (two-digits second) "Z"))
             (civil seconds)))

    (define (now-seconds)
      (quotient (%clock-nanoseconds clock/realtime) 1000000000))

    ;; How many bytes a body has, or `#f`.
    (define (body-size body)
      (cond ((not body) 0)
            ((bytevector? body) (bytevector-length body))
            ((string? body) (bytevector-length (string->utf8 body)))
            (else #f)))

    (define (client-of request)
      (or (request-client request) "-"))

    ;; Writes a line for each request, when it is answered: `combined`, as many servers do, `common`
    ;; or `json`. `#:clock` gives seconds since 1970.
    (define* (access-log #:key (port #f) (format 'combined) (clock now-seconds))
      (if (not (memq format '(combined common json)))
          (option 'access-log "#:format is combined, common or json" format))
      (lambda (handler)
        (lambda (request body)
          (let* ((start (%clock-nanoseconds clock/monotonic))
                 (response (call-handler handler request body)))
            (write-string
             (string-append
              (log-line format request response (clock)
                        (quotient (- (%clock-nanoseconds clock/monotonic) start) 1000))
              "\n")
             (or port (current-error-port)))
            response))))

    (define (version-name version)
      (cond ((equal? '(1 . 1) version) "HTTP/1.1")
            ((equal? '(2 . 0) version) "HTTP/2.0")
            (else "HTTP/1.0")))

    (define (log-line format request response seconds microseconds)
      (let ((size (body-size (response-body response)))
            (user (request-attribute request 'user))
            (version (version-name (request-version request))))
        (if (eq? format 'json)
            (json->string
             `((time . ,(iso-text seconds))
               (client . ,(client-of request))
               (method . ,(symbol->string (request-method request)))
               (target . ,(request-target request))
               (version . ,version)
               (status . ,(response-status response))
               (bytes . ,(or size 'null))
               (microseconds . ,microseconds)
               (referer . ,(or (request-field request 'referer) 'null))
               (agent . ,(or (request-field request 'user-agent) 'null))
               (user . ,(if (string? user) user 'null))
               (id . ,(or (request-id request) 'null)))
             #:ascii? #t)
            (string-append
             (client-of request) " - "
             (if (string? user) (word user) "-")
             " [" (time-text seconds) "] \""
             (escaped (symbol->string (request-method request))) " "
             (escaped (request-target request)) " " version "\" "
             (number->string (response-status response)) " "
             (if size (number->string size) "-")
             (if (eq? format 'combined)
                 (string-append " \"" (escaped (or (request-field request 'referer) "-")) "\" \""
                                (escaped (or (request-field request 'user-agent) "-")) "\"")
                 "")))))

    ;; A user's name without spaces.
    (define (word text)
      (let ((text (escaped text)))
        (list->string (map (lambda (char) (if (char=? char #\space) #\_ char))
                           (string->list text)))))

    ;;; Headers for security

    ;; Sets headers that make browsers careful, where handlers did not set them.
    ;; `#:content-security-policy` is what the header's value is in `(canny web headers)`, `#:hsts`
    ;; the seconds for which a browser shall use TLS only; `#f` leaves one out.
    (define* (security-headers
              #:key (content-security-policy
                     '(((default-src "'self'") (base-uri "'self'") (form-action "'self'")
                        (frame-ancestors "'none'") (object-src "'none'"))))
              (frame-options 'deny) (referrer-policy '(strict-origin-when-cross-origin))
              (hsts #f))
      (let ((headers
             `((x-content-type-options . nosniff)
               ,@(if frame-options `((x-frame-options . ,frame-options)) '())
               ,@(if referrer-policy `((referrer-policy . ,referrer-policy)) '())
               (cross-origin-opener-policy . (same-origin))
               (cross-origin-resource-policy . (same-origin))
               ,@(if content-security-policy
                     `((content-security-policy . ,content-security-policy))
                     '())
               ,@(if hsts
                     `((strict-transport-security . ((max-age . ,hsts) (includesubdomains . #t))))
                     '()))))
        (lambda (handler)
          (lambda (request body)
            (let loop ((response (call-handler handler request body)) (headers headers))
              (if (null? headers)
                  response
                  (loop (with-default-header response (caar headers) (cdar headers))
                        (cdr headers))))))))

    ;;; Requests from pages of other origins

    ;; Lets pages of other origins read answers: of `#:origins`, a list of strings, a procedure, or
    ;; `any`. `#:headers` are those that requests may have, `#:exposed` those of responses that
    ;; pages may see, symbols in small letters.
    (define* (cors #:key (origins '()) (methods '(GET HEAD POST PUT PATCH DELETE)) (headers '())
                   (exposed '())
                   (credentials? #f) (max-age 600))
      (if (and (eq? origins 'any) credentials?)
          (option 'cors "credentials are not for any origin" origins))
      (if (not (or (eq? origins 'any) (procedure? origins) (list? origins)))
          (option 'cors "#:origins is a list of strings, a procedure or any" origins))
      (let ((allowed?
             (cond ((eq? origins 'any) (lambda (origin) #t))
                   ((procedure? origins) (lambda (origin) (and (string? origin) (origins origin))))
                   (else (lambda (origin) (and (member origin origins) #t))))))
        (define (permitted response origin)
          (let* ((response (if (eq? origins 'any)
                               response
                               (with-vary response 'origin)))
                 (response
                  (response-with-header response 'access-control-allow-origin
                                        (if (eq? origins 'any) '* origin))))
            (if credentials?
                (response-with-header response 'access-control-allow-credentials 'true)
                response)))
        (define (preflight request origin method)
          (let ((wanted (request-header request 'access-control-request-headers '())))
            (if (and (allowed? origin)
                     (memq method methods)
                     (subset? wanted headers))
                (permitted
                 (make-response
                  #:status 204
                  #:headers
                  `((access-control-allow-methods . ,methods)
                    ,@(if (null? headers) '() `((access-control-allow-headers . ,headers)))
                    (access-control-max-age . ,max-age)))
                 origin)
                (with-vary (make-response #:status 204) 'origin))))
        (lambda (handler)
          (lambda (request body)
            (let* ((origin (request-header request 'origin))
                   (method (and origin
                                (eq? 'OPTIONS (request-method request))
                                (request-header request 'access-control-request-method))))
              (cond (method (preflight request origin method))
                    ((and (string? origin) (allowed? origin))
                     (let ((response (permitted (call-handler handler request body) origin)))
                       (if (null? exposed)
                           response
                           (response-with-header response 'access-control-expose-headers
                                                 exposed))))
                    (else
                     (let ((response (call-handler handler request body)))
                       (if (eq? origins 'any) response (with-vary response 'origin))))))))))

    (define (subset? names others)
      (or (null? names)
          (and (memq (car names) others)
               (subset? (cdr names) others))))

    ;;; Compression

    (define (compressible? type)
      (let* ((type (if (pair? type) (car type) type))
             (name (if (symbol? type) (symbol->string type) type)))
        (and (string? name)
             (or (string-prefix? "text/" name)
                 (string-suffix? "+json" name)
                 (string-suffix? "+xml" name)
                 (member name '("application/json" "application/javascript" "application/xml"
                                "application/wasm" "application/manifest+json"
                                "application/x-ndjson" "font/ttf" "font/otf" "image/bmp"
                                "image/vnd.microsoft.icon")))
             #t)))

    ;; Compresses bodies that are strings or bytevectors of `#:minimum` bytes and more, in a coding
    ;; that the client takes. Types that are compressed already are left alone, and so is what has
    ;; `no-transform`. If an attacker may choose a part of a page that has a secret elsewhere, its
    ;; length reveals the secret: do not compress such pages.
    (define* (compress-responses #:key (minimum 1024) (codings '("zstd" "gzip"))
                                 (type? compressible?))
      (for-each (lambda (coding)
                  (if (not (member coding '("zstd" "gzip")))
                      (option 'compress-responses "#:codings are gzip and zstd" coding)))
                codings)
      (lambda (handler)
        (lambda (request body)
          (let ((response (rendered (call-handler handler request body))))
            (if (suitable? response minimum type?)
                (let ((response (with-vary response 'accept-encoding))
                      (coding (choose-encoding (request-field request 'accept-encoding)
                                               codings)))
                  (if (and coding (not (string=? coding "identity")))
                      (compressed response coding)
                      response))
                response)))))

    (define (suitable? response minimum type?)
      (let ((body (response-body response)))
        (and (or (string? body) (bytevector? body))
             (>= (if (string? body) (string-length body) (bytevector-length body)) minimum)
             (not (memv (response-status response) '(204 206 304)))
             (not (assq 'content-encoding (response-headers response)))
             (not (assq 'content-range (response-headers response)))
             (let ((control (response-header response 'cache-control)))
               (not (and (pair? control) (assq 'no-transform control))))
             (type? (response-header response 'content-type
                                     (if (string? body) 'text/plain 'application/octet-stream))))))

    (define (compressed response coding)
      (let* ((body (response-body response))
             (typed (if (assq 'content-type (response-headers response))
                        response
                        (response-with-header response 'content-type
                                              '(text/plain (charset . "utf-8")))))
             (bytes (compress (if (string? body) (string->utf8 body) body)
                              (string->symbol coding)))
             (tag (response-header response 'etag))
             (result (response-with-header (response-with-body typed bytes)
                                           'content-encoding
                                           (list (string->symbol coding))))
             (result (if (assq 'content-length (response-headers result))
                         (response-with-header result 'content-length
                                               (bytevector-length bytes))
                         result)))
        ;; Other bytes need another tag, or a weak one.
        (if (and (pair? tag) (cdr tag))
            (response-with-header result 'etag (cons (car tag) #f))
            result)))

    ;;; Names and passwords

    ;; Requires a name and a password. `check` is called with both and returns an object for the
    ;; user, or `#f`.
    (define* (basic-authentication check #:key (realm "restricted"))
      (check-argument 'basic-authentication 1 procedure? "procedure" check)
      (lambda (handler)
        (lambda (request body)
          (let* ((credentials (request-header request 'authorization))
                 (text (and (pair? credentials) (eq? 'basic (car credentials))
                            (string? (cdr credentials))
                            (cdr credentials)))
                 (colon (and text (%string-index text #\: 0)))
                 (user (and colon
                            (check (substring text 0 colon)
                                   (substring text (+ colon 1) (string-length text))))))
            (if user
                (begin
                  (set-request-attribute! request 'user user)
                  (handler request body))
                (text-response 401 "Unauthorized"
                               (cons 'www-authenticate
                                     `((basic (realm . ,realm) (charset . "UTF-8"))))))))))

    ;; The user of a request that authentication noted, or `#f`.
    (define (request-user request)
      (request-attribute request 'user))

    ;;; Limits

    (define (monotonic-seconds)
      (/ (%clock-nanoseconds clock/monotonic) 1000000000))

    ;; Lets each client make `#:rate` requests in a second on average, and up to `#:burst` at once;
    ;; more are answered by 429. `#:key` distinguishes clients: a procedure of a request, by default
    ;; the address. Behind a proxy that is the proxy's. At most `#:clients` are
    ;; remembered. The one whose last request is oldest is forgotten first, but none whose bucket is
    ;; not full.
    (define* (rate-limit #:key (rate 10) (burst 20) (key client-of) (clients 10000)
                         (clock monotonic-seconds))
      (if (not (and (real? rate) (positive? rate)))
          (option 'rate-limit "#:rate is a positive number" rate))
      (if (not (and (real? burst) (>= burst 1)))
          (option 'rate-limit "#:burst is at least 1" burst))
      (let ((buckets (%make-hash-table 'equal #f 0))
            (mutex (make-mutex)))
        ;; A bucket is a pair of what is in it and when that was.
        (define (level bucket now)
          (min burst (+ (car bucket) (* rate (- now (cdr bucket))))))
        ;; Looks for full buckets, which takes long, not more often than once in a second. Whether
        ;; there is still no place.
        (define last-look #f)
        (define (forget now)
          (if (and last-look (< (- now last-look) 1))
              #t
              (begin
                (set! last-look now)
                (forget-full now))))
        (define (forget-full now)
          (let ((full (filter-entries (lambda (bucket) (>= (level bucket now) burst)))))
            (for-each (lambda (client) (%hash-table-delete! buckets client)) full)
            (null? full)))
        (define (filter-entries full?)
          (let loop ((entries (%hash-table->alist buckets)) (found '()))
            (cond ((null? entries) found)
                  ((full? (cdar entries)) (loop (cdr entries) (cons (caar entries) found)))
                  (else (loop (cdr entries) found)))))
        ;; Seconds to wait, or #f for a request that may continue.
        (define (take! client now)
          (with-mutex mutex
            (let* ((bucket (%hash-table-ref buckets client #f))
                   (left (if bucket (level bucket now) burst)))
              (cond ((< left 1) (/ (- 1 left) rate))
                    ((and (not bucket)
                          (>= (%hash-table-count buckets) clients)
                          (forget now))
                     ;; So many clients at once are unusual.
                     1)
                    (else
                     (%hash-table-set! buckets client (cons (- left 1) now))
                     #f)))))
        (lambda (handler)
          (lambda (request body)
            (let ((wait (take! (key request) (clock))))
              (if wait
                  (text-response 429 "Too Many Requests"
                                 (cons 'retry-after
                                       (cons 'after (max 1 (exact (ceiling wait))))))
                  (handler request body)))))))))
