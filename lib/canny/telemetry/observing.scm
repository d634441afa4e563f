;;; Part of (canny telemetry): the observers of servers, clients and databases. Names of attributes
;;; are those of the semantic conventions of OpenTelemetry.

(define known-methods '(GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH QUERY))

;; The name of a method; unknown ones have one name together, so that no client invents names.
(define (method-text method)
  (if (memq method known-methods) (symbol->string method) "_OTHER"))

(define (original-method method)
  (and (not (memq method known-methods)) (symbol->string method)))

(define (name-of-method method)
  (if (memq method known-methods) (symbol->string method) "HTTP"))

;; Parameters of queries that are secrets by convention.
(define secret-parameters '("AWSAccessKeyId" "Signature" "sig" "X-Goog-Signature"))

;; A query without the values of these.
(define (without-secrets query)
  (and query
       (let loop ((names secret-parameters) (query query))
         (if (null? names)
             query
             (loop (cdr names) (without-value (string-append (car names) "=") query))))))

(define (without-value prefix query)
  (let ((start (string-search-forward prefix query 0)))
    (if (and start
             (or (= start 0) (char=? #\& (string-ref query (- start 1)))))
        (let* ((behind (+ start (string-length prefix)))
               (end (or (%string-index query #\& behind) (string-length query))))
          (string-append (substring query 0 behind) "REDACTED"
                         (substring query end (string-length query))))
        query)))

;; Requests of the server.

(define (host-and-port request)
  (let ((host (request-field request 'host)))
    (if (not (string? host))
        '(#f . #f)
        (let ((colon (%string-rindex host #\:)))
          (if (and colon (string->number (substring host (+ colon 1) (string-length host))))
              (cons (substring host 0 colon)
                    (string->number (substring host (+ colon 1) (string-length host))))
              (cons host #f))))))

(define (version-text version)
  (cond ((equal? version '(1 . 1)) "1.1")
        ((equal? version '(2 . 0)) "2")
        (else "1.0")))

(define (describe-request! span request)
  (let ((host (host-and-port request)))
    (set-first-attributes! span
                           (list (cons "http.request.method" (method-text (request-method request)))
                                 (cons "http.request.method_original"
                                       (original-method (request-method request)))
                                 (cons "url.path" (request-path request))
                                 (cons "url.query" (without-secrets (request-query request)))
                                 (cons "url.scheme" (if (request-secure? request) "https" "http"))
                                 (cons "server.address" (car host))
                                 (cons "server.port" (cdr host))
                                 (cons "client.address" (request-client request))
                                 (cons "network.protocol.version"
                                       (version-text (request-version request)))
                                 (cons "user_agent.original"
                                       (request-field request 'user-agent))))))

(define status-key "http.response.status_code")

;; A span for a request. It is an attribute of the request too, for failures: these are answered
;; outside of the handler.
(define (observe-request request body handler answer)
  (let* ((field (lambda (name) (request-field request name)))
         (span (new-span (name-of-method (request-method request)) 'server (extract-context field)
                         '())))
    (if (not span)
        (answer handler request body)
        (begin
          (set-request-attribute! request 'span span)
          (if (recording? span)
              (describe-request! span request))
          (call-in-contexts span (extract-baggage field)
            (lambda ()
              (answer (lambda (request body)
                        ;; Headers and a body are two values in one object.
                        (let ((result (handler request body)))
                          (set-attribute! span status-key
                                          (if (response? result) (response-status result) 200))
                          result))
                      request body)))
          (end-request! span request)))))

(define (end-request! span request)
  (if (recording? span)
      (let ((route (route-pattern request))
            (status (assoc status-key (span-attributes span))))
        (if route
            (begin
              (set-attribute! span "http.route" route)
              (rename-span! span (string-append (name-of-method (request-method request)) " "
                                                route))))
        (if (and status (>= (cdr status) 500))
            (begin
              (if (not (assoc "error.type" (span-attributes span)))
                  (set-attribute! span "error.type" (number->string (cdr status))))
              (set-status! span 'error "")))))
  (finish-span! span (now)))

;; A request whose handler raised an object, or whose client has gone, `cancelled`. The status is
;; that of the answer, or #f if there is none.
(define (observe-failure request object status)
  (let ((span (request-attribute request 'span)))
    (if (span? span)
        (begin
          (cond ((eq? object 'cancelled)
                 (set-attribute! span "error.type" "cancelled")
                 (set-status! span 'error "the client has gone"))
                ;; A client's fault is no error of the server.
                ((not (and status (< status 500))) (fail-span! span object '())))
          (if status (set-attribute! span status-key status))
          (end-request! span request)))))

;; Requests of the client.

(define (observe-exchange method uri count send status-of)
  (let ((span (and (not (eq? 'suppressed (current-context)))
                   (new-span (name-of-method method) 'client (parent-of #f) '()))))
    (if (not span)
        (send '())
        (begin
          (if (recording? span)
              (describe-exchange! span method uri count))
          (call-in-span span
                        (lambda ()
                          (let* ((response (send (inject-context span)))
                                 (status (status-of response)))
                            (set-attribute! span status-key status)
                            (if (>= status 400)
                                (begin
                                  (set-attribute! span "error.type" (number->string status))
                                  (set-status! span 'error "")))
                            response)))))))

(define (describe-exchange! span method uri count)
  (set-first-attributes! span
                         (list (cons "http.request.method" (method-text method))
                               (cons "http.request.method_original" (original-method method))
                               (cons "url.full"
                                     (uri->string
                                      (uri-with uri #:userinfo #f #:fragment #f
                                                #:query (without-secrets (uri-query uri)))))
                               (cons "server.address" (uri-host uri))
                               (cons "server.port" (uri-effective-port uri))
                               (cons "http.request.resend_count" (and (> count 0) count)))))

;; Statements of databases.

(define (observe-statement system sql place thunk)
  (let ((span (and (not (eq? 'suppressed (current-context)))
                   (new-span "SQL" 'client (parent-of #f) '()))))
    (cond ((not span) (thunk))
          ((recording? span)
           (describe-statement! span system sql place)
           (call-in-span span
                         (lambda ()
                           (with-exception-handler
                             (lambda (object)
                               (note-code! span object)
                               (raise-continuable object))
                             thunk))))
          (else (call-in-context span thunk)))))

(define (note-code! span object)
  (let ((code (and (error-object? object)
                   (memq (condition-kind object) '(sqlite postgresql))
                   (%sql-error-part object 'code))))
    (if code
        (set-attribute! span "db.response.status_code"
                        (if (number? code) (number->string code) code)))))

(define (describe-statement! span system sql place)
  (let ((summary (summary-of sql)))
    (rename-span! span (vector-ref summary 1))
    (set-first-attributes! span
                           (append
                            (list (cons "db.system.name" (symbol->string system))
                                  (cons "db.query.text" (vector-ref summary 2))
                                  (cons "db.query.summary" (vector-ref summary 1))
                                  (cons "db.operation.name" (vector-ref summary 0)))
                            (if (pair? place)
                                (list (cons "db.namespace" (car place))
                                      (cons "server.address" (cadr place))
                                      (cons "server.port"
                                            (let ((port (caddr place)))
                                              (if (string? port) (string->number port) port))))
                                (list (cons "db.namespace"
                                            (if (equal? place "") ":memory:" place))))))))

;; Summaries of statements by their texts. There are few texts, as values are arguments; programs
;; that make others do not fill the memory.
(define summaries (%make-hash-table 'string #f 0))
(define summaries-lock (make-mutex))
(define summaries-most 500)

;; A vector of the operation, `SELECT`, a short text, `SELECT items`, and the text without values.
(define (summary-of sql)
  (or (%hash-table-ref summaries sql #f)
      (let ((summary (summarize sql)))
        (with-mutex summaries-lock
          (if (< (%hash-table-count summaries) summaries-most)
              (%hash-table-set! summaries (string-copy sql) summary)))
        summary)))

(define (word-char? char)
  (or (char<=? #\a char #\z) (char<=? #\A char #\Z) (char<=? #\0 char #\9)
      (memv char '(#\_ #\. #\" #\$))
      (char>? char #\x7f)))

;; The words at the beginning of a text.
(define (leading-words sql)
  (let ((end (min (string-length sql) 1000)))
    (let loop ((index 0) (start #f) (words '()))
      (cond ((= index end)
             (reverse (if start (cons (substring sql start end) words) words)))
            ((word-char? (string-ref sql index)) (loop (+ index 1) (or start index) words))
            (start (loop (+ index 1) #f (cons (substring sql start index) words)))
            (else (loop (+ index 1) #f words))))))

(define (summarize sql)
  (let ((words (leading-words sql)))
    (if (null? words)
        (vector "SQL" "SQL" (without-values sql))
        (let* ((operation (string-upcase (car words)))
               (table (table-in words)))
          (vector operation
                  (if table (string-append operation " " table) operation)
                  (without-values sql))))))

;; A statement with `?` in place of texts in quotes and of numbers: these may be secrets. Names in
;; double quotes and comments stay.
(define (without-values sql)
  (let ((port (open-output-string))
        (end (string-length sql)))
    (define (copy! from to)
      (write-string (substring sql from to) port)
      to)
    ;; The index behind a text that begins at an index or later.
    (define (behind text from)
      (let ((found (string-search-forward text sql (min from end))))
        (if found (+ found (string-length text)) end)))
    (define (word-end index)
      (if (and (< index end)
               (word-char? (string-ref sql index))
               (not (char=? #\" (string-ref sql index))))
          (word-end (+ index 1))
          index))
    (let loop ((index 0))
      (if (< index end)
          (let ((char (string-ref sql index)))
            (cond ((char=? char #\')
                   (write-char #\? port)
                   (loop (behind-quoted sql (+ index 1) end)))
                  ((char=? char #\") (loop (copy! index (behind "\"" (+ index 1)))))
                  ((string-at? "--" sql index) (loop (copy! index (behind "\n" index))))
                  ((string-at? "/*" sql index) (loop (copy! index (behind "*/" index))))
                  ((char<=? #\0 char #\9)
                   (write-char #\? port)
                   (loop (word-end index)))
                  ((word-char? char) (loop (copy! index (word-end index))))
                  (else
                   (write-char char port)
                   (loop (+ index 1)))))
          (get-output-string port)))))

(define (string-at? text string index)
  (let ((end (+ index (string-length text))))
    (and (<= end (string-length string))
         (string=? text (substring string index end)))))

;; The index behind the quote that ends a text; two quotes are one in it.
(define (behind-quoted sql index end)
  (let ((quote (%string-index sql #\' index)))
    (cond ((not quote) end)
          ((string-at? "''" sql quote) (behind-quoted sql (+ quote 2) end))
          (else (+ quote 1)))))

;; The word that follows the first one of these; `if not exists` is passed over.
(define (table-in words)
  (let loop ((rest words))
    (cond ((or (null? rest) (null? (cdr rest))) #f)
          ((member (string-downcase (car rest)) '("from" "into" "update" "table"))
           (let skip ((rest (cdr rest)))
             (cond ((null? rest) #f)
                   ((member (string-downcase (car rest)) '("if" "not" "exists" "or" "only"))
                    (skip (cdr rest)))
                   (else (car rest)))))
          (else (loop (cdr rest))))))
