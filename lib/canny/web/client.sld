;;; (canny web client): a client of HTTP/1.1.
;;;
;;;     (http-response-text (http-get "https://example.org/"))
;;;     (http-response-json (http-post "http://localhost:8080/items" #:json '((name . "a"))))
;;;
;;; A request is tried, tried again when it failed and may be, and follows redirects; each of these
;;; is a loop around the one before. `exchange` is one request and one response on one connection.
;;; All that goes wrong is one kind of condition, which has the URL and the stage in which it
;;; happened.
;;;
;;; | stage | what was being done |
;;; |---|---|
;;; | request | making the request from what was given |
;;; | connect | a connection, TLS and proxies included |
;;; | send | writing the request |
;;; | head | waiting for the head of the response, and reading it |
;;; | body | reading the body |
;;; | redirect | following a redirect |
;;; | status | `check-http-response` |
;;;
;;; A connection is with its request from `acquire-link` until the body has ended, and then goes
;;; back to the pool or is closed; `settle!` sees to it that this happens once.

(define-library (canny web client)
  (export http-request http-get http-head http-post http-put http-patch http-delete
          call-with-http-response
          http-response? http-response-status http-response-reason http-response-headers
          http-response-header http-response-url http-response-redirects http-response-ok?
          http-response-bytes http-response-text http-response-json http-response-port
          close-http-response check-http-response
          make-http-client http-client? close-http-client with-http-client current-http-client
          http-client-cookies
          http-error? http-error-url http-error-stage http-error-cause http-timeout-error?)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control) raise guard make-parameter parameterize dynamic-wind)
          (only (canny tasks) sleep cancelled-error?)
          (only (canny io) make-binary-input decode-bytevector set-port-timeout!)
          (only (canny json) string->json)
          (only (canny compression)
                decompress open-gzip-input open-zlib-input open-deflate-input open-zstd-input)
          (only (canny machine posix) timeout-error?)
          (except (canny web headers text) fail) (canny web uri)
          (only (canny web headers) parse-header header->string)
          (canny web cookies) (canny web client payloads) (canny web client messages)
          (canny web client connections))
  (begin

    ;; Errors.

    ;; Whether a condition says that a request failed.
    (define (http-error? object)
      (and (error-object? object) (eq? (condition-kind object) 'http)))

    (define (irritant who condition key)
      (if (not (http-error? condition))
          (%type-error who 1 "error of a request" condition))
      (let ((found (memq key (error-object-irritants condition))))
        (and found (cadr found))))

    ;; The URL of the request that failed, without user and password.
    (define (http-error-url condition)
      (irritant 'http-error-url condition 'url))

    ;; In which stage it failed, a symbol.
    (define (http-error-stage condition)
      (irritant 'http-error-stage condition 'stage))

    ;; The condition that was the reason, or #f.
    (define (http-error-cause condition)
      (irritant 'http-error-cause condition 'cause))

    ;; Whether a request took too long.
    (define (http-timeout-error? object)
      (and (http-error? object)
           (timeout-error? (http-error-cause object))))

    (define (public-url uri)
      (uri->string (if (uri-userinfo uri) (uri-with uri #:userinfo #f) uri)))

    (define (fail uri stage message cause)
      (raise (%make-condition 'http
                              (string-append (symbol->string stage) ": " message)
                              (list 'url (if (uri? uri) (public-url uri) uri) 'stage stage 'cause
                                    cause)
                              'http-request)))

    ;; What is raised in a stage becomes an error of the request; a cancellation stays what it is.
    (define (in-stage uri stage thunk)
      (guard (object ((and (error-object? object)
                           (not (http-error? object))
                           (not (cancelled-error? object)))
                      (fail uri stage (error-object-message object) object)))
        (thunk)))

    ;; Clients.

    (define-record-type client
      (make-client pool options cookies)
      http-client?
      (pool client-pool)
      ;; An association list.
      (options client-options)
      (cookies cookies-of))

    (define default-options
      '((headers) (timeout . #f) (connect-timeout . 30) (first-byte-timeout . #f)
        (redirects . 10) (retries . 2) (retry-delay . 0.2) (body-limit . 67108864)
        (decompress? . #t)))

    (define (check-seconds who keyword object)
      (if (not (or (not object) (eq? object unset) (and (real? object) (>= object 0))))
          (raise-bad-option who keyword "a number of seconds or #f" object)))

    (define (check-count who keyword object)
      (if (not (or (eq? object unset) (exact-nonnegative-integer? object)))
          (raise-bad-option who keyword "a number" object)))

    (define (given name value options)
      (if (eq? value unset)
          options
          (cons (cons name value) options)))

    (define (check-options who headers timeout connect-timeout first-byte-timeout redirects
                           retries retry-delay body-limit)
      (if (not (or (eq? headers unset) (list? headers)))
          (raise-bad-option who "#:headers" "an association list" headers))
      (check-seconds who "#:timeout" timeout)
      (check-seconds who "#:connect-timeout" connect-timeout)
      (check-seconds who "#:first-byte-timeout" first-byte-timeout)
      (check-seconds who "#:retry-delay" retry-delay)
      (check-count who "#:redirects" redirects)
      (check-count who "#:retries" retries)
      (if body-limit (check-count who "#:body-limit" body-limit)))

    (define (options-of headers timeout connect-timeout first-byte-timeout redirects retries
                        retry-delay body-limit decompress? others)
      (given 'headers headers
             (given 'timeout timeout
                    (given 'connect-timeout connect-timeout
                           (given 'first-byte-timeout first-byte-timeout
                                  (given 'redirects redirects
                                         (given 'retries retries
                                                (given 'retry-delay retry-delay
                                                       (given 'body-limit body-limit
                                                              (given 'decompress? decompress?
                                                                     others))))))))))

    ;; A client with settings of its own, which are what requests have unless they say something
    ;; else.
    (define* (make-http-client #:key (headers unset) (timeout unset) (connect-timeout unset)
                               (first-byte-timeout unset) (redirects unset) (retries unset)
                               (retry-delay unset) (body-limit unset) (decompress? unset)
                               (cookies #f) (proxy 'environment) (tls-context #f)
                               (connections 8) (idle-timeout 60) (user-agent "Canny"))
      (check-options 'make-http-client headers timeout connect-timeout first-byte-timeout
                     redirects
                     retries retry-delay body-limit)
      (if (not (or (not cookies) (cookie-jar? cookies)))
          (raise-bad-option 'make-http-client "#:cookies" "a jar of cookies or #f" cookies))
      (if (not (or (not proxy) (eq? proxy 'environment) (string? proxy) (uri? proxy)))
          (raise-bad-option 'make-http-client "#:proxy" "a URL, #f or environment" proxy))
      (if (not (and (exact-integer? connections) (> connections 0)))
          (raise-bad-option 'make-http-client "#:connections" "a positive number" connections))
      (if (not (and (real? idle-timeout) (>= idle-timeout 0)))
          (raise-bad-option 'make-http-client "#:idle-timeout" "a number of seconds"
                            idle-timeout))
      (make-client (make-pool connections idle-timeout tls-context)
                   (options-of headers timeout connect-timeout first-byte-timeout redirects
                               retries
                               retry-delay body-limit decompress?
                               (cons* (cons 'proxy proxy) (cons 'user-agent user-agent)
                                      default-options))
                   cookies))

    (define the-default-client (make-http-client))

    ;; The client of requests that name none.
    (define current-http-client
      (make-parameter the-default-client
                      (lambda (object)
                        (if (not (http-client? object))
                            (%type-error 'current-http-client 1 "client of HTTP" object))
                        object)))

    ;; The jar of a client, or #f.
    (define (http-client-cookies client)
      (check-argument 'http-client-cookies 1 http-client? "client of HTTP" client)
      (cookies-of client))

    ;; Closes the connections of a client, which can be used no more.
    (define (close-http-client client)
      (check-argument 'close-http-client 1 http-client? "client of HTTP" client)
      (close-pool! (client-pool client)))

    ;; (with-http-client client body ...) makes a client that of the requests in the body, and
    ;; closes it behind it.
    (define-syntax with-http-client
      (syntax-rules ()
        ((_ expression body0 body ...)
         (let ((client expression))
           (dynamic-wind
            (lambda () #f)
            (lambda ()
              (parameterize ((current-http-client client))
                body0 body ...))
            (lambda () (close-http-client client)))))))

    ;; Requests.

    (define-record-type request
      (make-request method uri headers payload client options deadline)
      request?
      (method request-method)
      (uri request-uri)
      ;; Pairs of symbols and texts.
      (headers request-headers)
      (payload request-payload)
      (client request-client)
      (options request-options)
      (deadline request-deadline))

    (define (option request name)
      (cdr (assq name (request-options request))))

    ;; The text of a header that was given: strings are as they are to be.
    (define (header-text name value)
      (if (string? value)
          (begin
            (let ((end (string-length value)))
              (let loop ((index 0))
                (if (< index end)
                    (if (char<? (string-ref value index) #\space)
                        (if (char=? (string-ref value index) #\tab)
                            (loop (+ index 1))
                            (refuse name "a control character in the value"))
                        (loop (+ index 1))))))
            value)
          (header->string name value)))

    (define (given-headers headers)
      (let loop ((rest headers) (result '()))
        (if (null? rest)
            (reverse! result)
            (let* ((header (car rest))
                   (name (and (pair? header)
                              (if (string? (car header))
                                  (string->symbol (string-downcase (car header)))
                                  (car header)))))
              (if (not (and (symbol? name) (all-token? (symbol->string name))))
                  (raise-bad-option 'http-request "#:headers" "an association list of headers"
                                    headers))
              (if (memq name '(content-length transfer-encoding connection))
                  (refuse name "the client writes this header itself"))
              (loop (cdr rest) (cons (cons name (header-text name (cdr header))) result))))))

    ;; What of a malformed URL may be shown: nothing in front of an @.
    (define (public-text text)
      (let ((at (%string-rindex text #\@)))
        (if at (substring text (+ at 1)) text)))

    ;; Whatever else is wrong with the arguments of a request is an error of their types.
    (define (in-request url thunk)
      (guard (object ((or (uri-error? object) (header-error? object))
                      (fail url 'request (error-object-message object) object)))
        (thunk)))

    (define (parse-url url)
      (cond ((uri? url) url)
            ((string? url)
             (in-request (public-text url) (lambda () (string->uri (escape-uri url)))))
            (else (%type-error 'http-request 2 "URL" url))))

    (define (target-uri url query)
      (let* ((uri (parse-url url))
             (uri (if query
                      (uri-with uri #:query (if (uri-query uri)
                                                (string-append (uri-query uri) "&"
                                                               (alist->query query))
                                                (alist->query query)))
                      uri)))
        (check-target uri)
        uri))

    (define (check-target uri)
      (if (not (and (memq (uri-scheme uri) '(http https))
                    (uri-host uri)
                    (not (string-null? (uri-host uri)))))
          (fail uri 'request "the URL has another scheme than http or https, or no host" #f)))

    (define (deadline-after seconds)
      (and seconds
           (+ (%clock-nanoseconds clock/monotonic) (exact (ceiling (* 1000000000 seconds))))))

    ;; Makes a request and gives the response.
    (define* (http-request method url
                           #:key (client (current-http-client)) (headers '()) (query #f)
                           (body unset) (json unset) (multipart #f) (authorization #f)
                           (timeout unset) (connect-timeout unset) (first-byte-timeout unset)
                           (redirects unset) (retries unset) (retry-delay unset)
                           (body-limit unset) (decompress? unset) (stream? #f))
      (check-argument 'http-request 1 symbol? "symbol" method)
      (check-argument 'http-request 3 http-client? "client of HTTP" client)
      (check-options 'http-request headers timeout connect-timeout first-byte-timeout redirects
                     retries
                     retry-delay body-limit)
      (if (not (all-token? (symbol->string method)))
          (%range-error 'http-request 1 "the name of a method" method))
      (let* ((options (options-of unset timeout connect-timeout first-byte-timeout redirects
                                  retries
                                  retry-delay body-limit decompress?
                                  (client-options client)))
             (uri (target-uri url query))
             (headers (in-request uri
                        (lambda ()
                          (with-defaults (append (given-headers headers)
                                                 (given-authorization authorization))
                            (given-headers (cdr (assq 'headers options)))))))
             (request (make-request method
                                    uri
                                    headers
                                    (as-payload body json multipart)
                                    client
                                    options
                                    (deadline-after (cdr (assq 'timeout options))))))
        (let ((response (follow request '())))
          (if (not stream?)
              (collect! response))
          response)))

    (define (given-authorization value)
      (if value
          (list (cons 'authorization (header-text 'authorization value)))
          '()))

    ;; Headers, and of others those that are not among them.
    (define (with-defaults headers others)
      (let loop ((rest others) (result headers))
        (cond ((null? rest) result)
              ((assq (caar rest) headers) (loop (cdr rest) result))
              (else (loop (cdr rest) (append result (list (car rest))))))))

    (define-syntax define-request
      (syntax-rules ()
        ((_ name method)
         (define (name url . options)
           (apply http-request method url options)))))

    ;; The same with the method of the name.
    (define-request http-get 'GET)
    (define-request http-head 'HEAD)
    (define-request http-post 'POST)
    (define-request http-put 'PUT)
    (define-request http-patch 'PATCH)
    (define-request http-delete 'DELETE)

    ;; Calls a procedure with the response to a request, of which the body is read as it comes, and
    ;; closes it.
    (define (call-with-http-response procedure method url . options)
      (check-procedure 'call-with-http-response 1 procedure)
      (let ((response (apply http-request method url #:stream? #t options)))
        (dynamic-wind
         (lambda () #f)
         (lambda () (procedure response))
         (lambda () (close-http-response response)))))

    ;; Redirects.

    (define (same-origin? a b)
      (equal? (uri-origin a) (uri-origin b)))

    (define (without names headers)
      (cond ((null? headers) '())
            ((memq (caar headers) names) (without names (cdr headers)))
            (else (cons (car headers) (without names (cdr headers))))))

    (define (follow request visited)
      (let* ((response (persist request 0))
             (location (and (memv (http-response-status response) '(301 302 303 307 308))
                            (> (option request 'redirects) 0)
                            (http-response-raw response 'location))))
        (set-response-redirects! response visited)
        (if (not location)
            response
            (let ((uri (request-uri request)))
              (close-http-response response)
              (if (>= (length visited) (option request 'redirects))
                  (fail uri 'redirect "there are more redirects than are followed" #f))
              (let* ((target (in-stage uri 'redirect
                               (lambda () (resolve-uri uri (escape-uri location)))))
                     (target (if (and (uri-fragment uri) (not (uri-fragment target)))
                                 (uri-with target #:fragment (uri-fragment uri))
                                 target)))
                (if (not (and (memq (uri-scheme target) '(http https)) (uri-host target)))
                    (fail uri 'redirect "the redirect leads to another scheme than http or https"
                          #f))
                (follow (redirected request (http-response-status response) target)
                        (cons (public-url uri) visited)))))))

    ;; As the Fetch Standard has it: POST becomes GET by 301 and 302, all but HEAD by 303.
    (define (redirected request status target)
      (let* ((method (request-method request))
             (get? (or (and (memv status '(301 302)) (eq? method 'POST))
                       (and (eqv? status 303) (not (memq method '(GET HEAD))))))
             (uri (request-uri request))
             (target (if (and (same-origin? uri target)
                              (uri-userinfo uri)
                              (not (uri-userinfo target)))
                         (uri-with target #:userinfo (uri-userinfo uri))
                         target))
             (payload (request-payload request))
             (headers (if get?
                          (without '(content-type content-encoding content-language
                                     content-location)
                                   (request-headers request))
                          (request-headers request)))
             (headers (if (same-origin? uri target)
                          headers
                          (without '(authorization cookie proxy-authorization host) headers))))
        (if (and payload (not get?) (not (payload-again? payload)))
            (fail uri 'redirect "the body of the request cannot be sent again" #f))
        (make-request (if get? 'GET method) target headers (and (not get?) payload)
                      (request-client request) (request-options request)
                      (request-deadline request))))

    ;; Attempts.

    (define (idempotent? method)
      (memq method '(GET HEAD OPTIONS TRACE PUT DELETE)))

    (define (repeatable? request)
      (and (idempotent? (request-method request))
           (or (not (request-payload request))
               (payload-again? (request-payload request)))))

    ;; Tries a request again that failed on its way, or that the server had no time for.
    (define (persist request count)
      (let ((again? (and (repeatable? request) (< count (option request 'retries)))))
        (define (wait-and-go-on seconds)
          (sleep seconds)
          (persist request (+ count 1)))
        (if (not again?)
            (exchange request #f)
            (let ((result (guard (object ((and (http-error? object)
                                               (memq (http-error-stage object)
                                                     '(connect send head))
                                               (fits? request (delay-of request count)))
                                          'failed))
                            (exchange request #f))))
              (cond ((eq? result 'failed) (wait-and-go-on (delay-of request count)))
                    ((memv (http-response-status result) '(429 502 503 504))
                     (let ((seconds (max (delay-of request count) (asked-delay result))))
                       (if (and (<= seconds 60) (fits? request seconds))
                           (begin
                             (close-http-response result)
                             (wait-and-go-on seconds))
                           result)))
                    (else result))))))

    ;; Twice as long each time, and up to a half more, so that clients that failed together do not
    ;; come back together.
    (define (delay-of request count)
      (* (option request 'retry-delay) (expt 2 count) (+ 1 (/ (random-real) 2))))

    ;; Whether there is time for a wait.
    (define (fits? request seconds)
      (let ((deadline (request-deadline request)))
        (or (not deadline)
            (< (+ (%clock-nanoseconds clock/monotonic) (* seconds 1000000000)) deadline))))

    (define (asked-delay response)
      (let* ((text (http-response-raw response 'retry-after))
             (value (and text
                         (guard (condition ((header-error? condition) #f))
                           (parse-header 'retry-after text)))))
        (cond ((not value) 0)
              ((eq? (car value) 'after) (cdr value))
              (else
               (max 0 (- (cdr value) (quotient (%clock-nanoseconds clock/realtime) 1000000000)))))))

    ;; One request and its response.

    (define (exchange request fresh?)
      (let* ((uri (request-uri request))
             (pool (client-pool (request-client request)))
             (proxy (in-stage uri 'connect (lambda () (proxy-for uri (option request 'proxy)))))
             (link (in-stage uri 'connect
                     (lambda ()
                       (acquire-link pool uri proxy fresh? (request-deadline request)
                                     (option request 'connect-timeout)))))
             (reader (link-reader link))
             (settled? #f))
        (define (settle! persistent?)
          (if (not settled?)
              (begin
                (set! settled? #t)
                (if persistent?
                    (release-link! pool link)
                    (discard-link! link)))))
        (set-reader-limits! reader (request-deadline request)
                            (option request 'first-byte-timeout))
        (let ((outcome
               (guard (object (#t
                               (let ((unanswered? (not (reader-started? reader))))
                                 (settle! #f)
                                 (if (and (link-used? link)
                                          unanswered?
                                          (repeatable? request)
                                          (http-error? object)
                                          (not (http-timeout-error? object)))
                                     'stale
                                     (raise object)))))
                 (converse request link settle!))))
          (if (eq? outcome 'stale)
              (exchange request #t)
              outcome))))

    (define (converse request link settle!)
      (let* ((uri (request-uri request))
             (reader (link-reader link))
             ;; A server may answer before it has read all, and close.
             (refusal (guard (object ((and (http-error? object)
                                           (broken-pipe? (http-error-cause object)))
                                      (set-reader-limits! reader (request-deadline request) 1)
                                      object))
                        (in-stage uri 'send (lambda () (send request link)))
                        #f))
             (head (if refusal
                       (guard (object ((error-object? object) (raise refusal)))
                         (final-head request reader))
                       (in-stage uri 'head (lambda () (final-head request reader))))))
        (set-reader-limits! reader (request-deadline request) #f)
        (let* ((source (in-stage uri 'body
                         (lambda ()
                           (body-source reader head
                                        (lambda (persistent?)
                                          (settle! (and persistent? (not refusal))))))))
               (response (make-response request uri head source settle! reader)))
          (store-cookies! response)
          response)))

    ;; Whether the connection was the reason, not what wrote the body.
    (define (broken-pipe? object)
      (and (error-object? object) (memq (condition-kind object) '(system file)) #t))

    (define (final-head request reader)
      (let loop ((count 0))
        (let ((head (or (read-head reader (symbol->string (request-method request)))
                        (fault "the server closed the connection without an answer"))))
          (cond ((eqv? (head-status head) 101) (fault "the server speaks another protocol now"))
                ((>= (head-status head) 200) head)
                ((> count 10) (fault "the server does not come to an answer"))
                (else (loop (+ count 1)))))))

    ;; Sending.

    (define (host-text uri)
      (let ((host (if (%string-index (uri-host uri) #\:)
                      (string-append "[" (uri-host uri) "]")
                      (uri-host uri))))
        (if (and (uri-port uri) (not (eqv? (uri-port uri) (uri-default-port (uri-scheme uri)))))
            (string-append host ":" (number->string (uri-port uri)))
            host)))

    (define (request-target uri link)
      (let ((path (string-append (if (string-null? (uri-path uri)) "/" (uri-path uri))
                                 (if (uri-query uri) "?" "")
                                 (or (uri-query uri) ""))))
        (if (link-by-proxy? link)
            (string-append "http://" (host-text uri) path)
            path)))

    ;; All headers of a request, the client's own ones behind those that were given.
    (define (all-headers request link)
      (let* ((uri (request-uri request))
             (payload (request-payload request))
             (jar (cookies-of (request-client request)))
             (cookies (if jar (cookie-jar-cookies jar uri) '()))
             (proxy (and (link-by-proxy? link) (proxy-for uri (option request 'proxy)))))
        (define (unless-given name text headers)
          (if (or (not text) (assq name headers))
              headers
              (append headers (list (cons name text)))))
        (let* ((headers (request-headers request))
               (headers (unless-given 'host (host-text uri) headers))
               (headers (unless-given 'user-agent (option request 'user-agent) headers))
               (headers (unless-given 'accept "*/*" headers))
               (headers (unless-given 'accept-encoding
                                      (and (option request 'decompress?)
                                           (not (assq 'range headers))
                                           "gzip, deflate, zstd")
                                      headers))
               (headers (unless-given 'authorization
                                      (and (uri-userinfo uri) (basic (uri-userinfo uri)))
                                      headers))
               (headers (unless-given 'proxy-authorization
                                      (and proxy
                                           (uri-userinfo proxy)
                                           (basic (uri-userinfo proxy)))
                                      headers))
               (headers (unless-given 'cookie
                                      (and (pair? cookies) (cookies-text cookies))
                                      headers))
               (headers (unless-given 'content-type (and payload (payload-type payload))
                                      headers)))
          (cond ((and payload (payload-length payload))
                 (append headers
                         (list (cons 'content-length
                                     (number->string (payload-length payload))))))
                (payload (append headers (list (cons 'transfer-encoding "chunked"))))
                ((memq (request-method request) '(POST PUT PATCH))
                 (append headers (list (cons 'content-length "0"))))
                (else headers)))))

    (define (basic userinfo)
      (string-append "Basic "
                     (%base64-encode (percent-decode->bytevector
                                      (if (%string-index userinfo #\:)
                                          userinfo
                                          (string-append userinfo ":"))
                                      #:malformed 'replace)
                                     #f #t)))

    ;; What servers have set goes back as it came.
    (define (cookies-text cookies)
      (join-texts 'cookie cookies "; "
        (lambda (cookie port)
          (if (not (string-null? (car cookie)))
              (begin
                (write-string (car cookie) port)
                (write-char #\= port)))
          (write-string (cdr cookie) port))))

    (define (send request link)
      (let ((text (open-output-string))
            (output (link-output link))
            (payload (request-payload request))
            (deadline (request-deadline request)))
        (write-string (symbol->string (request-method request)) text)
        (write-char #\space text)
        (write-string (request-target (request-uri request) link) text)
        (write-string " HTTP/1.1\r\n" text)
        (let loop ((rest (all-headers request link)))
          (if (pair? rest)
              (begin
                (write-string (symbol->string (caar rest)) text)
                (write-string ": " text)
                (write-string (cdar rest) text)
                (write-string "\r\n" text)
                (loop (cdr rest)))))
        (write-string "\r\n" text)
        (let ((bytes (string->utf8 (get-output-string text))))
          (write-limited bytes output 0 (bytevector-length bytes) deadline))
        (cond ((not payload) #f)
              ((payload-bytes payload) (write-pieces (payload-bytes payload) output deadline))
              ((payload-length payload) ((payload-write payload) output))
              (else (write-chunks (payload-write payload) output deadline)))
        (set-port-timeout! output (time-left deadline #f))
        (flush-output-port output)))

    ;; Responses.

    (define-record-type response
      (new-response request uri head source settle! reader content port redirects)
      http-response?
      (request response-request)
      (uri response-uri)
      (head response-head)
      ;; The source of the body as it is sent, or #f.
      (source response-source set-response-source!)
      (settle! response-settle!)
      (reader response-reader)
      ;; The body as a bytevector once it was read, else #f.
      (content response-content set-response-content!)
      (port response-port* set-response-port!)
      ;; The URLs that led here, the first one last.
      (redirects response-redirects set-response-redirects!))

    (define (make-response request uri head source settle! reader)
      (new-response request uri head source settle! reader (if source #f (bytevector)) #f '()))

    (define (check-response who object)
      (check-argument who 1 http-response? "response" object))

    ;; The status, a number.
    (define (http-response-status response)
      (check-response 'http-response-status response)
      (head-status (response-head response)))

    ;; What the server says about it.
    (define (http-response-reason response)
      (check-response 'http-response-reason response)
      (head-reason (response-head response)))

    ;; All headers, an association list of symbols and strings.
    (define (http-response-headers response)
      (check-response 'http-response-headers response)
      (head-headers (response-head response)))

    (define (http-response-raw response name)
      (header-value (head-headers (response-head response)) name))

    ;; The value of a header, or #f if there is none.  Of Set-Cookie it is the first one.
    (define (http-response-header response name)
      (check-response 'http-response-header response)
      (let ((text (if (eq? name 'set-cookie)
                      (let ((found (assq name (http-response-headers response))))
                        (and found (cdr found)))
                      (http-response-raw response name))))
        (and text (parse-header name text))))

    ;; The URL that the response came from, after redirects, as a string.
    (define (http-response-url response)
      (check-response 'http-response-url response)
      (public-url (response-uri response)))

    ;; The URLs that were left by redirects, in their order.
    (define (http-response-redirects response)
      (check-response 'http-response-redirects response)
      (reverse (response-redirects response)))

    ;; Whether the status says that all is well.
    (define (http-response-ok? response)
      (<= 200 (http-response-status response) 299))

    (define (store-cookies! response)
      (let ((jar (cookies-of (request-client (response-request response)))))
        (if jar
            (let loop ((rest (header-values (head-headers (response-head response)) 'set-cookie)))
              (if (pair? rest)
                  (begin
                    (cookie-jar-store! jar (response-uri response) (car rest))
                    (loop (cdr rest))))))))

    ;; Reading a source; what fails gives the connection up.
    (define (guarded-source response)
      (in-body response
               (lambda (target place count)
                 ((response-source response) target place count))))

    (define (in-body response source)
      (lambda (target place count)
        (guard (object (#t
                        ((response-settle! response) #f)
                        (raise object)))
          (in-stage (response-uri response) 'body
            (lambda () (source target place count))))))

    (define (collect! response)
      (if (response-source response)
          (let ((source (guarded-source response))
                (buffer (make-bytevector 16384))
                (collected (open-output-bytevector))
                (limit (option (response-request response) 'body-limit)))
            (let loop ((sum 0))
              (let ((count (source buffer 0 16384)))
                (if (> count 0)
                    (begin
                      (check-size response (+ sum count) limit)
                      (write-bytevector buffer collected 0 count)
                      (loop (+ sum count))))))
            (set-response-source! response #f)
            (set-response-content! response
                                   (decoded response (get-output-bytevector collected) limit)))))

    (define (check-size response size limit)
      (if (and limit (> size limit))
          (begin
            ((response-settle! response) #f)
            (fail (response-uri response) 'body "the body is longer than is allowed" #f))))

    ;; The codings of the body that are undone here, the last one first; #f if there is one that is
    ;; not known.
    (define (codings response)
      (let ((text (and (option (response-request response) 'decompress?)
                       (http-response-raw response 'content-encoding))))
        (if (not text)
            '()
            (guard (condition ((header-error? condition) #f))
              (let loop ((rest (parse-header 'content-encoding text)) (codings '()))
                (cond ((null? rest) codings)
                      ((eq? (car rest) 'identity) (loop (cdr rest) codings))
                      ((memq (car rest) '(gzip x-gzip deflate zstd))
                       (loop (cdr rest) (cons (car rest) codings)))
                      (else #f)))))))

    (define (check-codings response codings)
      (if (> (length codings) 3)
          (begin
            ((response-settle! response) #f)
            (fail (response-uri response) 'body "the body is compressed too many times" #f))))

    (define (decoded response bytes limit)
      (let ((codings (if (eqv? 0 (bytevector-length bytes)) '() (codings response))))
        (in-stage (response-uri response) 'body
          (lambda ()
            (check-codings response (or codings '()))
            (let loop ((rest (or codings '())) (bytes bytes))
              (if (null? rest)
                  bytes
                  (loop (cdr rest)
                        (decompress bytes (format-of (car rest) bytes) #:limit limit))))))))

    ;; `deflate` is the zlib format, but some servers leave its frame out.
    (define (format-of coding bytes)
      (case coding
        ((gzip x-gzip) 'gzip)
        ((zstd) 'zstd)
        (else
         (if (and (>= (bytevector-length bytes) 2)
                  (eqv? 8 (bitwise-and 15 (bytevector-u8-ref bytes 0)))
                  (eqv? 0
                        (remainder (+ (* 256 (bytevector-u8-ref bytes 0))
                                      (bytevector-u8-ref bytes 1))
                                   31)))
             'zlib
             'deflate))))

    ;; The body as a bytevector.
    (define (http-response-bytes response)
      (check-response 'http-response-bytes response)
      (if (response-port* response)
          (%range-error 'http-response-bytes 1 "a response whose port was not asked for" response))
      (collect! response)
      (response-content response))

    ;; The body as text, in the encoding that the content type names or UTF-8; what is malformed is
    ;; U+FFFD.
    (define (http-response-text response)
      (let* ((bytes (http-response-bytes response))
             (text (http-response-raw response 'content-type))
             (type (and text
                        (guard (condition ((header-error? condition) #f))
                          (parse-header 'content-type text))))
             (charset (and type (assq 'charset (cdr type))))
             (encoding (or (and charset (string? (cdr charset)) (%encoding-name (cdr charset)))
                           "UTF-8")))
        (decode-bytevector bytes encoding #:malformed 'replace)))

    ;; The body as a value of JSON; the options are those of `string->json`.
    (define (http-response-json response . options)
      (let ((text (http-response-text response)))
        (in-stage (response-uri response) 'body
          (lambda () (apply string->json text options)))))

    ;; A binary port that reads the body, as it comes if the request was made with `#:stream? #t`.
    (define (http-response-port response)
      (check-response 'http-response-port response)
      (or (response-port* response)
          (let ((port (if (response-source response)
                          (streaming-port response)
                          (open-input-bytevector (http-response-bytes response)))))
            (set-response-port! response port)
            port)))

    (define (streaming-port response)
      (let* ((codings (or (codings response) '()))
             (source (guarded-source response))
             (port (make-binary-input "body" source)))
        (check-codings response codings)
        (if (or (null? codings) (eof-object? (peek-u8 port)))
            port
            (let loop ((codings codings) (port port))
              (if (null? codings)
                  port
                  (loop (cdr codings)
                        (make-binary-input
                         "body"
                         (to-the-end response source
                                     (port-source (decompressing-port (car codings) port))))))))))

    ;; A decompressor that has all it needs does not look at the end of the body; the connection
    ;; waits for that.
    (define (to-the-end response source decompressed)
      (in-body response
               (lambda (target place count)
                 (let ((taken (decompressed target place count)))
                   (if (and (eqv? taken 0) (> (source target place count) 0))
                       ((response-settle! response) #f))
                   taken))))

    (define (decompressing-port coding port)
      (case coding
        ((gzip x-gzip) (open-gzip-input port))
        ((zstd) (open-zstd-input port))
        (else
         ;; The first byte of the zlib format says so.
         (let ((byte (peek-u8 port)))
           (if (or (eof-object? byte) (eqv? 8 (bitwise-and 15 byte)))
               (open-zlib-input port)
               (open-deflate-input port))))))

    ;; Gives up what is left of the body, and the connection with it.
    (define (close-http-response response)
      (check-response 'close-http-response response)
      (if (response-source response)
          (begin
            (drain response)
            (set-response-source! response
                                  (lambda (target place count) (fault "the response is closed")))
            ((response-settle! response) #f))))

    ;; Little that is left and has arrived is read, so that the connection can be used again.
    (define (drain response)
      (if (guard (condition ((header-error? condition) #f))
            (let ((length (http-response-raw response 'content-length)))
              (and length (<= (parse-header 'content-length length) 16384))))
          (guard (condition ((http-error? condition) #f))
            (set-reader-limits! (response-reader response) #f 0)
            (let ((source (guarded-source response)) (buffer (make-bytevector 16384)))
              (let loop ()
                (if (> (source buffer 0 16384) 0)
                    (loop)))))))

    ;; The response itself, if all is well; else an error.
    (define (check-http-response response)
      (if (http-response-ok? response)
          response
          (fail (response-uri response) 'status
                (string-append (number->string (http-response-status response))
                               " "
                               (http-response-reason response))
                #f)))))
