;;; Part of (canny web client): clients, their options, requests as records, and errors of requests.

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

;; An error in a stage becomes an error of the request; a cancellation stays as it is.
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
