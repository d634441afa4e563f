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
;;; back to the pool or is closed. `settle!` ensures that this happens once.
;;;
;;; Clients and errors are in `client/clients.scm`, responses in `client/responses.scm`.

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
          (only (canny data lists) map)
          (only (canny tasks) sleep cancelled-error?)
          (only (canny io) make-binary-input decode-bytevector set-port-timeout!)
          (only (canny json) string->json)
          (only (canny compression)
                decompress open-gzip-input open-zlib-input open-deflate-input open-zstd-input)
          (only (canny machine posix) timeout-error?)
          (except (canny web headers text) fail) (canny web uri)
          (only (canny web headers) parse-header header->string)
          (canny web cookies) (canny web client payloads) (canny web client messages)
          (canny web client connections)
          (only (canny telemetry observers) %exchange-observer))
  (include "client/clients.scm" "client/responses.scm")
  (begin

    ;; Requests.

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

    ;; The part of a malformed URL that may be shown: nothing in front of an @.
    (define (public-text text)
      (let ((at (%string-rindex text #\@)))
        (if at (substring text (+ at 1)) text)))

    ;; Other errors of the arguments of a request are errors of their types.
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
            (attempt request count)
            (let ((result (guard (object ((and (http-error? object)
                                               (memq (http-error-stage object)
                                                     '(connect send head))
                                               (fits? request (delay-of request count)))
                                          'failed))
                            (attempt request count))))
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

    ;; An exchange after so many others for the same request.
    (define (attempt request count)
      (let ((observe (%exchange-observer)))
        (if observe
            (observe (request-method request) (request-uri request) count
                     (lambda (headers) (exchange (with-further-headers request headers) #f))
                     http-response-status)
            (exchange request #f))))

    ;; A request with headers, pairs of symbols and texts, in place of its own of these names.
    (define (with-further-headers request headers)
      (make-request (request-method request) (request-uri request)
                    (append (without (map car headers) (request-headers request)) headers)
                    (request-payload request) (request-client request) (request-options request)
                    (request-deadline request)))

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

    ;; Cookies of servers are sent back as they came.
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
        (flush-output-port output)))))
