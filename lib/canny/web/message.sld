;;; (canny web message): requests and responses.
;;;
;;; A request that came to a server keeps its head as bytes: parts that a handler does not use are
;;; not parsed. Requests for tests are made from fields.
;;;
;;;     (request-method request)                      ; => GET
;;;     (request-path request)                        ; => "/a/b"
;;;     (request-field request 'accept)               ; => "text/html,*/*;q=0.8"
;;;
;;;     (request-header request 'if-modified-since)   ; => a date, or #f
;;;
;;; A field is the text of a header, as it came; a header is its value, as `(canny web headers)` has
;;; it. Names are symbols in lower case.
;;;
;;; The body of a request is a binary input port, or #f if there is none. It is read as it comes:
;;; who reads slowly slows the client down. The body of a response is a string, a bytevector, #f, a
;;; procedure that writes to a port, or an input port.

(define-library (canny web message)
  (export make-request request? request-method request-target request-path request-query
          request-version request-header request-headers request-malformed-headers
          request-field request-fields request-peer request-client request-body
          request-keep-alive? request-secure? request-body-length request-trailers
          request-attribute set-request-attribute!
          read-request-body read-request-text body-too-long? body-malformed?
          make-response response? response-status response-headers response-body response-trailers
          response-header response-with-header response-with-headers response-with-body
          status-reason
          ;; For servers.
          %place->string %place-text %request-type %request-server %request-upgrade?
          %request-fault %failure-status %set-request-body!)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control) raise error guard)
          (only (canny web headers) parse-header header-error?))
  (begin

    ;; The primitive rows of HTTP say what the first seven fields are.
    (define-record-type request
      (new-request server id serial method flags head length target fields headers malformed body
                   attributes peer)
      request?
      (server %request-server)
      (id request-id)
      (serial request-serial)
      (method request-method)
      (flags request-flags)
      (head request-head)
      (length request-length)
      (target known-target set-known-target!)
      (fields known-fields set-known-fields!)
      ;; The parsed headers: names with values, and the conditions for malformed ones.
      (headers parsed-headers set-parsed-headers!)
      (malformed malformed-headers set-malformed-headers!)
      (body request-body %set-request-body!)
      (attributes request-attributes set-request-attributes!)
      (peer known-peer set-known-peer!))

    (define %request-type request)

    (define (flag-set? request flag)
      (not (= 0 (bitwise-and flag (request-flags request)))))

    (define (check-request who object)
      (check-argument who 1 request? "request" object))

    ;; A request as a server would give it to a handler; the body is a string, a bytevector, a port
    ;; or #f.
    (define* (make-request method target
                           #:key (headers '()) (body #f) (version '(1 . 1)) (secure #f)
                           (peer "127.0.0.1:1"))
      (check-argument 'make-request 1 symbol? "symbol" method)
      (check-argument 'make-request 2 string? "string" target)
      (let ((bytes (if (string? body) (string->utf8 body) body)))
        (new-request #f 0 0 method
                     (bitwise-ior request-flag/keeps-alive
                                  (if (equal? version '(1 . 0)) 0 request-flag/new)
                                  (if (equal? version '(2 . 0)) request-flag/http2 0)
                                  (if (eq? method 'HEAD) request-flag/head 0)
                                  (if secure request-flag/secure 0))
                     #f
                     (cond ((bytevector? bytes) (bytevector-length bytes))
                           (bytes body-length/chunked)
                           (else 0))
                     target headers '() '()
                     (if (bytevector? bytes) (open-input-bytevector bytes) bytes)
                     '() peer)))

    ;; The target as the client wrote it: mostly a path with a query.
    (define (request-target request)
      (check-request 'request-target request)
      (or (known-target request)
          (let ((target (%http-target (request-head request))))
            (set-known-target! request target)
            target)))

    ;; The index of the path: behind a scheme and a host, if the target has these.
    (define (path-start target)
      (cond ((= 0 (string-length target)) 0)
            ((char=? #\/ (string-ref target 0)) 0)
            ((string-search-forward "://" target 0)
             => (lambda (index)
                  (or (%string-index target #\/ (+ index 3))
                      (%string-index target #\? (+ index 3))
                      (string-length target))))
            (else 0)))

    ;; The path, percent-encoded as the client wrote it, without the query.
    (define (request-path request)
      (let* ((target (request-target request))
             (start (path-start target))
             (end (or (%string-index target #\? start) (string-length target))))
        (cond ((= start end) "/")
              ((and (= start 0) (= end (string-length target))) target)
              (else (substring target start end)))))

    ;; The part behind the question mark, or #f.
    (define (request-query request)
      (let* ((target (request-target request))
             (mark (%string-index target #\? (path-start target))))
        (and mark (substring target (+ mark 1) (string-length target)))))

    ;; `(1 . 0)`, `(1 . 1)` or `(2 . 0)`.
    (define (request-version request)
      (check-request 'request-version request)
      (cond ((flag-set? request request-flag/http2) '(2 . 0))
            ((flag-set? request request-flag/new) '(1 . 1))
            (else '(1 . 0))))

    ;; Whether the client takes another response on the same connection.
    (define (request-keep-alive? request)
      (check-request 'request-keep-alive? request)
      (flag-set? request request-flag/keeps-alive))

    ;; Whether it came over TLS.
    (define (request-secure? request)
      (check-request 'request-secure? request)
      (flag-set? request request-flag/secure))

    ;; The fields behind a body that came in chunks, as `request-fields` gives those of the head.
    ;; They are there when the body was read to its end, and before it is answered. Those that
    ;; would change what the request is are left out.
    (define (request-trailers request)
      (check-request 'request-trailers request)
      (if (%request-server request) (%http-trailers request) '()))

    ;; The status that answers what is wrong with the body as far as it was read, or #f.
    (define (%request-fault request)
      (and (%request-server request) (%http-fault request)))

    ;; The status that answers an object which a handler has raised, if the client is to blame for
    ;; it; or #f.
    (define (%failure-status request object)
      (cond ((%request-fault request))
            ((body-too-long? object) 413)
            ((body-malformed? object) 400)
            (else #f)))

    (define (%request-upgrade? request)
      (flag-set? request request-flag/upgrades))

    ;; How many bytes the body has: #f if that is not known before it is read.
    (define (request-body-length request)
      (check-request 'request-body-length request)
      (and (>= (request-length request) 0)
           (request-length request)))

    ;; The text of a header, or #f; several of one name are joined by commas.
    (define (request-field request name)
      (check-request 'request-field request)
      (if (request-head request)
          (%http-field (request-head request) name)
          (let ((entry (assq name (known-fields request))))
            (and entry (cdr entry)))))

    ;; All headers, names with texts, as they came.
    (define (request-fields request)
      (check-request 'request-fields request)
      (or (known-fields request)
          (let ((fields (%http-fields (request-head request))))
            (set-known-fields! request fields)
            fields)))

    ;; The value of a header; the default if there is none, or if it is malformed.
    (define* (request-header request name #:optional (default #f))
      (check-request 'request-header request)
      (let* ((known (or (parsed-headers request) '()))
             (entry (assq name known)))
        (if entry
            (if (eq? absent (cdr entry)) default (cdr entry))
            (let ((value (parse request name (request-field request name))))
              (set-parsed-headers! request (cons (cons name value) known))
              (if (eq? absent value) default value)))))

    (define absent (list 'absent))

    (define (parse request name field)
      (cond ((not field) absent)
            ((string? field)
             (guard (object ((header-error? object)
                             (set-malformed-headers!
                              request
                              (cons object (or (malformed-headers request) '())))
                             absent))
               (parse-header name field)))
            ;; A request for tests has values.
            (else field)))

    ;; All headers with their values, each name once; the texts of those that are malformed.
    (define (request-headers request)
      (let loop ((fields (request-fields request)) (headers '()))
        (cond ((null? fields) (reverse headers))
              ((assq (caar fields) headers) (loop (cdr fields) headers))
              (else
               (let* ((name (caar fields))
                      (value (request-header request name (request-field request name))))
                 (loop (cdr fields) (cons (cons name value) headers)))))))

    ;; The conditions for malformed headers that were read.
    (define (request-malformed-headers request)
      (check-request 'request-malformed-headers request)
      (reverse (or (malformed-headers request) '())))

    ;; The address, without a port, of the client, or of the one for which a trusted proxy made the
    ;; request. It is #f if that is not known.
    (define (request-client request)
      (check-request 'request-client request)
      (or (and (%request-server request) (%http-client request))
          (let ((peer (request-peer request)))
            (and peer (without-port peer)))))

    (define (without-port address)
      (let loop ((index (- (string-length address) 1)))
        (cond ((< index 0) address)
              ((not (char=? #\: (string-ref address index))) (loop (- index 1)))
              ((char=? #\[ (string-ref address 0)) (substring address 1 (- index 1)))
              (else (substring address 0 index)))))

    ;; The address of the client, or #f over a socket of this machine.
    (define (request-peer request)
      (check-request 'request-peer request)
      (or (known-peer request)
          (and (%request-server request)
               (let ((peer (%http-peer request)))
                 (set-known-peer! request peer)
                 peer))))

    ;; Notes of middleware for handlers.
    (define* (request-attribute request key #:optional (default #f))
      (check-request 'request-attribute request)
      (let ((entry (assq key (or (request-attributes request) '()))))
        (if entry (cdr entry) default)))

    (define (set-request-attribute! request key value)
      (check-request 'set-request-attribute! request)
      (set-request-attributes! request
                               (cons (cons key value) (or (request-attributes request) '()))))

    ;; Whole bodies.

    (define default-limit (* 1024 1024))

    ;; The whole body as bytes; more than the limit is an error of kind `too-long`.
    (define* (read-request-body request #:optional (limit default-limit))
      (check-request 'read-request-body request)
      (check-index 'read-request-body 2 limit)
      (let ((length (request-length request))
            (body (request-body request)))
        (cond ((not body) (bytevector))
              ((> length limit) (raise-too-long limit))
              (else
               (let ((bytes (read-bytevector (+ limit 1) body)))
                 (cond ((eof-object? bytes) (bytevector))
                       ((> (bytevector-length bytes) limit) (raise-too-long limit))
                       (else bytes)))))))

    ;; The same as text in UTF-8; other bytes are an error of kind `malformed-body`.
    (define* (read-request-text request #:optional (limit default-limit))
      (let ((bytes (read-request-body request limit)))
        (guard (object ((error-object? object)
                        (raise (%make-condition 'malformed-body
                                                "the body of the request is not UTF-8" '()
                                                'read-request-text))))
          (utf8->string bytes))))

    (define (raise-too-long limit)
      (raise (%make-condition 'too-long "the body of the request is too long" (list limit)
                              'read-request-body)))

    (define (body-too-long? object)
      (and (error-object? object)
           (eq? 'too-long (condition-kind object))))

    (define (body-malformed? object)
      (and (error-object? object)
           (eq? 'malformed-body (condition-kind object))))

    ;; Places of failures.

    ;; A place, a list that begins with file, line and column, as text.
    (define (%place->string place)
      (string-append (car place) ":" (number->string (cadr place)) ":"
                     (number->string (car (cddr place)))))

    ;; The position at which a condition was made, in parentheses and behind a space; empty if that
    ;; is not known.
    (define (%place-text object)
      (let ((place (and (error-object? object) (condition-position object))))
        (if place (string-append " (" (%place->string place) ")") "")))

    ;; Responses.

    (define-record-type response
      (new-response status headers body trailers)
      response?
      (status response-status)
      (headers response-headers)
      (body response-body)
      ;; An association list, a procedure without arguments that gives one when the body was
      ;; written, or #f.
      (trailers response-trailers))

    (define* (make-response #:key (status 200) (headers '()) (body #f) (trailers #f))
      (if (not (and (exact-integer? status) (<= 100 status 999)))
          (raise-bad-option 'make-response "#:status" "an integer from 100 to 999" status))
      (if (not (list? headers))
          (raise-bad-option 'make-response "#:headers" "an association list" headers))
      (if (not (or (not trailers) (list? trailers) (procedure? trailers)))
          (raise-bad-option 'make-response "#:trailers"
                            "an association list, or a procedure that gives one" trailers))
      (new-response status headers body trailers))

    ;; The value of a header of a response, or a default.
    (define* (response-header response name #:optional (default #f))
      (check-argument 'response-header 1 response? "response" response)
      (let ((entry (assq name (response-headers response))))
        (if entry (cdr entry) default)))

    (define (without name headers)
      (cond ((null? headers) '())
            ((eq? name (caar headers)) (without name (cdr headers)))
            (else (cons (car headers) (without name (cdr headers))))))

    ;; A response with one header more, in place of those of that name.
    (define (response-with-header response name value)
      (check-argument 'response-with-header 1 response? "response" response)
      (new-response (response-status response)
                    (cons (cons name value) (without name (response-headers response)))
                    (response-body response)
                    (response-trailers response)))

    ;; A response with headers before its own, which stay.
    (define (response-with-headers response headers)
      (check-argument 'response-with-headers 1 response? "response" response)
      (new-response (response-status response)
                    (append headers (response-headers response))
                    (response-body response)
                    (response-trailers response)))

    (define (response-with-body response body)
      (check-argument 'response-with-body 1 response? "response" response)
      (new-response (response-status response) (response-headers response) body
                    (response-trailers response)))

    ;; The usual text of a status: `"Not Found"`; empty for unknown ones.
    (define (status-reason status)
      (%http-reason status))))
