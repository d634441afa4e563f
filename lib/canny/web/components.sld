;;; (canny web components): components of WebAssembly that serve and make requests of HTTP.
;;;
;;;     (run-server (component-handler (read-component "app.wasm") #:http #t) #:port 8080)
;;;
;;; A request is answered by a *run*: a call of the component's function `handle` in a task of its
;;; own. The call has an exchange of the machine. The handler waits for the response. The body of that is
;;; taken whole if it has ended by then. Else it is a port, which the server reads while the guest
;;; writes.
;;;
;;; A task copies the body of the request to the guest. Another one makes the requests of the guest.
;;;
;;; | a run ends when | what follows |
;;; |---|---|
;;; | `handle` returns | the guest may answer another request |
;;; | the guest traps, or its time is over | the handler, or the read of the body, raises that |
;;; | the handler is cancelled, or the body is closed before its end | the task is cancelled |
;;;
;;; In any case the exchange is closed then, so that nothing waits for a guest that has ended.

(define-library (canny web components)
  (export component-handler call-with-component-http)
  (import (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control) raise guard dynamic-wind current-error-port)
          (only (canny data lists) for-each)
          (only (canny tasks)
                %with-lock spawn cancel! with-tasks without-scope call-with-timeout
                cancelled-error?)
          (only (canny io) make-binary-input set-port-timeout!)
          (only (canny machine posix) timeout-error?)
          (canny wasm) (canny web message)
          (only (canny web client)
                http-request http-response-status http-response-headers http-response-port
                close-http-response current-http-client http-client?
                http-error? http-error-stage http-error-cause http-timeout-error?)
          (only (canny web client payloads) sized-payload)
          (only (canny web client messages) port-source))
  (begin

    ;; Guests.

    (define-record-type guest
      (make-guest instance wasi index served)
      guest?
      (instance guest-instance)
      (wasi guest-wasi)
      ;; The number of its function `handle`.
      (index guest-index)
      ;; How many requests it has answered.
      (served guest-served set-guest-served!))

    (define-record-type pool
      (make-pool %lock idle make reuse)
      pool?
      (%lock pool-lock)
      ;; Guests that wait for a request. It is changed under the lock.
      (idle pool-idle set-pool-idle!)
      ;; Makes a guest.
      (make pool-make)
      ;; How many requests a guest may answer.
      (reuse pool-reuse))

    ;; More guests do not wait.
    (define idle-max 16)

    (define (take-guest! pool)
      (or (%with-lock pool
            (let ((idle (pool-idle pool)))
              (and (pair? idle)
                   (begin
                     (set-pool-idle! pool (cdr idle))
                     (car idle)))))
          ((pool-make pool))))

    (define (give-back! pool guest)
      (let ((served (+ 1 (guest-served guest))))
        (set-guest-served! guest served)
        (if (not (and (< served (pool-reuse pool))
                      (%with-lock pool
                        (let ((idle (pool-idle pool)))
                          (and (< (length idle) idle-max)
                               (begin
                                 (set-pool-idle! pool (cons guest idle))
                                 #t))))))
            (end-guest! guest))))

    (define (end-guest! guest)
      (%end-instance! (guest-instance guest) (guest-wasi guest)))

    ;; Runs.

    (define-record-type run
      (make-run exchange task failure watched?)
      run?
      (exchange run-exchange)
      (task run-task set-run-task!)
      ;; The object that the guest's call has raised, or #f.
      (failure run-failure set-run-failure!)
      ;; Whether the handler or a read of the body raises the failure.
      (watched? run-watched? set-run-watched!))

    (define-record-type settings
      (make-settings pool timeout fuel http client)
      settings?
      (pool settings-pool)
      (timeout settings-timeout)
      (fuel settings-fuel)
      (http settings-http)
      (client settings-client))

    (define (start-run settings guest request body)
      (let* ((exchange (exchange-for guest request))
             (run (make-run exchange #f #f #t))
             (thunk (lambda () (answer settings guest run request body))))
        (if (settings-fuel settings)
            (set-store-fuel! (%component-store (guest-instance guest)) (settings-fuel settings)))
        (set-run-task! run
                       (without-scope
                        (if (settings-timeout settings)
                            (spawn thunk #:name 'guest #:time-limit (settings-timeout settings))
                            (spawn thunk #:name 'guest))))
        run))

    (define (exchange-for guest request)
      (%wasi-receive (%wasi-handle (guest-wasi guest))
                     (symbol->string (request-method request))
                     (if (request-secure? request) "https" "http")
                     (request-field request 'host)
                     (request-target request)
                     (request-fields request)))

    ;; The task of a run.
    (define (answer settings guest run request body)
      (let ((returned? #f)
            (writer (%guest-request-body (run-exchange run)))
            (copier #f))
        (dynamic-wind
         void
         (lambda ()
           (guard (object (#t (note-failure! settings run object)))
             (if body
                 (set! copier
                       (spawn (lambda () (send-request-body request body writer))
                              #:name 'guest-body))
                 (%guest-body-end! writer #f '()))
             (with-requests settings guest
               (lambda ()
                 (%call-handler (guest-instance guest) (guest-index guest) (run-exchange run))
                 (%finish-output (guest-wasi guest))))
             (set! returned? #t)))
         (lambda ()
           (%guest-exchange-close! (run-exchange run))
           (if copier (cancel! copier))
           (if returned?
               (give-back! (settings-pool settings) guest)
               (end-guest! guest))))))

    (define (with-requests settings guest thunk)
      (if (settings-http settings)
          (call-with-component-http (guest-wasi guest) thunk #:client (settings-client settings))
          (thunk)))

    ;; A failure after the response has no other place.
    (define (note-failure! settings run object)
      (let ((object (if (and (settings-timeout settings) (timeout-error? object))
                        (%make-condition 'handler-timeout "the guest took too long"
                                         (list (settings-timeout settings)) #f)
                        object)))
        (set-run-failure! run object)
        (if (not (or (run-watched? run) (cancelled-error? object)))
            (let ((port (current-error-port)))
              (write-string (string-append "canny: a guest failed behind its response: "
                                           (condition->string object) "\n")
                            port)
              (flush-output-port port)))))

    ;; The task that gives a guest the body of a request. A guest may leave it unread.
    (define (send-request-body request body writer)
      (guard (object (#t (%guest-body-end! writer
                                           (if (body-too-long? object)
                                               "HTTP-request-body-size"
                                               "connection-terminated")
                                           '())))
        (copy body writer read-available)
        (%guest-body-end! writer #f (request-trailers request))))

    ;; Writes what a port has to a body for a guest.
    (define (copy port writer read)
      (let ((output (%guest-body-output writer)))
        (let loop ()
          (let ((part (read port)))
            (if (not (eof-object? part))
                (begin
                  (write-bytevector part output)
                  (flush-output-port output)
                  (loop)))))
        (close-port output)))

    ;; Responses.

    (define (serve settings request body)
      (let* ((guest (take-guest! (settings-pool settings)))
             (run (start-run settings guest request body))
             (response (or-cancel run (lambda () (%guest-response (run-exchange run))))))
        (cond ((and (vector? response) (< (vector-ref response 0) 200))
               (%guest-body-close! (vector-ref response 2))
               (cancel! (run-task run))
               (raise (%make-condition 'wasm "the guest answered with an informational status"
                                       (list (vector-ref response 0)) 'component-handler)))
              ((vector? response)
               (respond run (vector-ref response 0) (vector-ref response 1)
                        (vector-ref response 2)))
              ((run-failure run) => raise)
              ((string=? response "internal-error")
               (raise (%make-condition 'wasm "the guest has not answered the request" '()
                                       'component-handler)))
              (else
               (raise (%make-condition 'wasm
                                       (string-append "the guest answered with an error: " response)
                                       '() 'component-handler))))))

    ;; The result of a procedure; the run is cancelled if it has none.
    (define (or-cancel run thunk)
      (let ((done? #f))
        (dynamic-wind
         void
         (lambda ()
           (let ((result (thunk)))
             (set! done? #t)
             result))
         (lambda ()
           (if (not done?) (cancel! (run-task run)))))))

    (define (respond run status headers reader)
      (let ((whole (%guest-body-whole reader)))
        (if whole
            (begin
              (set-run-watched! run #f)
              (%guest-body-close! reader)
              (make-response #:status status #:headers headers
                             #:body (and (< 0 (bytevector-length (car whole))) (car whole))
                             #:trailers (and (pair? (cdr whole)) (cdr whole))))
            (let ((trailers '()))
              (make-response #:status status #:headers headers
                             #:body (body-port run reader
                                               (lambda (fields) (set! trailers fields)))
                             #:trailers (lambda () trailers))))))

    ;; A port that reads the body of a response. Closing it before the end ends the guest.
    (define (body-port run reader note-trailers!)
      (let* ((input (%guest-body-input reader))
             (source (port-source input))
             (ended? #f))
        (make-binary-input
         "body"
         (lambda (target start count)
           (let ((count (guard (object (#t (raise (or (run-failure run) object))))
                          (source target start count))))
             (if (and (= count 0) (not ended?))
                 (begin
                   (set! ended? #t)
                   (set-run-watched! run #f)
                   (let ((trailers (%guest-body-trailers reader)))
                     (if (not (string? trailers))
                         (note-trailers! trailers)))))
             count))
         #:close
         (lambda ()
           (close-port input)
           (%guest-body-close! reader)
           (if (not ended?) (cancel! (run-task run)))))))

    (define (handler-export? row)
      (and (string-prefix? "wasi:http/incoming-handler@0.2." (car row))
           (string=? (cadr row) "handle")))

    (define (serves? component)
      (let loop ((rows (component-exports component)))
        (and (pair? rows)
             (or (handler-export? (car rows))
                 (loop (cdr rows))))))

    ;; A handler for `(canny web server)` that has a component answer requests, by its export
    ;; `wasi:http/incoming-handler`. Each request gets an instance and a store of its own; with
    ;; `#:reuse` an instance answers so many requests, one after another. `#:timeout` are the
    ;; seconds of a call. `#:fuel`, `#:memory-limit` and `#:stack-size` are the limits of a store;
    ;; of fuel there is so much for each request. The other keywords are those of `make-wasi`. With
    ;; `#:http`, the requests of guests are made with `#:client`.
    (define* (component-handler component
                                #:key (reuse 1) (timeout 60) (imports '()) (fuel #f)
                                (memory-limit #f) (stack-size %default-stack-size)
                                (arguments '("guest")) (environment '()) (directories '())
                                (input #f) (output #t) (error-output #t) (network #f) (http #f)
                                (client #f))
      (check-argument 'component-handler 1 component? "component" component)
      (if (not (and (exact-integer? reuse) (> reuse 0)))
          (raise-bad-option 'component-handler "#:reuse" "a count of requests" reuse))
      (if (not (or (not timeout) (and (real? timeout) (> timeout 0))))
          (raise-bad-option 'component-handler "#:timeout" "a number of seconds or #f" timeout))
      (check-client 'component-handler client)
      (if (not (serves? component))
          (raise (%make-condition 'wasm
                                  "the component does not export wasi:http/incoming-handler"
                                  '() 'component-handler)))
      (let* ((make (lambda ()
                     (let* ((wasi (make-wasi #:arguments arguments #:environment environment
                                             #:directories directories #:input input
                                             #:output output #:error-output error-output
                                             #:network network #:http http))
                            (instance (instantiate-component component
                                                             #:imports imports #:wasi wasi
                                                             #:fuel fuel
                                                             #:memory-limit memory-limit
                                                             #:stack-size stack-size)))
                       (make-guest instance wasi (%handler-index instance) 0))))
             (settings (make-settings (make-pool #f '() make reuse) timeout fuel http client)))
        (lambda (request body)
          (serve settings request body))))

    (define (check-client who client)
      (if (not (or (not client) (http-client? client)))
          (raise-bad-option who "#:client" "a client of HTTP or #f" client)))

    ;; Requests of guests.

    ;; Calls a procedure, and makes the requests of the guests that have a WASI made with
    ;; `#:http #t` until it returns. `#:client` is the client for them.
    (define* (call-with-component-http wasi thunk #:key (client #f))
      (check-argument 'call-with-component-http 1 wasi? "WASI" wasi)
      (check-procedure 'call-with-component-http 2 thunk)
      (check-client 'call-with-component-http client)
      (if (not (%wasi-requests? (%wasi-handle wasi)))
          (raise (%make-condition 'error "WASI was made without #:http, so that its guest makes no \
                                          requests"
                                  '() 'call-with-component-http)))
      (let ((carrier #f)
            (handle (%wasi-handle wasi))
            (client (or client (current-http-client))))
        (dynamic-wind
         (lambda ()
           (set! carrier
                 (without-scope
                  (spawn (lambda () (with-tasks (take-requests handle client)))
                         #:name 'guest-requests))))
         thunk
         (lambda () (cancel! carrier)))))

    (define (take-requests handle client)
      (let ((row (%wasi-next-request handle)))
        (if row
            (begin
              (if (not (%guest-request-abandoned? (vector-ref row 0)))
                  (spawn (lambda () (apply make-request-of-guest client (vector->list row)))
                         #:name 'guest-request))
              (take-requests handle client)))))

    (define (make-request-of-guest client request method scheme authority path fields body
                                   connect-limit first-limit between-limit)
      (dynamic-wind
       void
       (lambda ()
         (guard (object (#t (%guest-request-fail! request (failure-code object)
                                                  (failure-text object))))
           (let ((response
                  (apply http-request (string->symbol method)
                         (string-append scheme "://" authority path)
                         #:client client #:stream? #t #:redirects 0 #:retries 0 #:decompress? #f
                         #:headers (without-framing fields)
                         #:body (payload-of method fields body)
                         (append (limit-option #:connect-timeout connect-limit)
                                 (limit-option #:first-byte-timeout first-limit)))))
             (dynamic-wind
              void
              (lambda () (pass-response request response between-limit))
              (lambda () (close-http-response response))))))
       (lambda () (%guest-body-close! body))))

    (define (seconds-of nanoseconds)
      (inexact (/ nanoseconds 1000000000)))

    (define (limit-option keyword limit)
      (if limit (list keyword (seconds-of limit)) '()))

    ;; Fields that say how a message is framed are the client's.
    (define (without-framing fields)
      (cond ((null? fields) '())
            ((memq (caar fields) '(content-length transfer-encoding connection host))
             (without-framing (cdr fields)))
            (else (cons (car fields) (without-framing (cdr fields))))))

    ;; Seconds in which the end of a body may come that a request of its method has not.
    (define body-patience 1/10)

    ;; The body of a request of a guest: nothing, bytes if it has ended, else what is written while
    ;; the guest makes it.
    (define (payload-of method fields body)
      (let* ((length (assq 'content-length fields))
             (length (and length (string->number (cdr length))))
             (length (and (exact-nonnegative-integer? length) length))
             (expected? (or length (member-of? method '("POST" "PUT" "PATCH"))))
             (whole (or (%guest-body-whole body)
                        (and (not expected?)
                             (call-with-timeout body-patience
                               (lambda () (%guest-body-await body))
                               #:default #f)
                             (%guest-body-whole body)))))
        (cond ((not whole) (sized-payload #f (lambda (port) (send-body body port)) length))
              ((and (= 0 (bytevector-length (car whole))) (not length)) #f)
              (else (sized-payload (car whole) #f (bytevector-length (car whole)))))))

    (define (member-of? text texts)
      (and (pair? texts)
           (or (string=? text (car texts))
               (member-of? text (cdr texts)))))

    (define (send-body body port)
      (let ((input (%guest-body-input body)))
        (let loop ()
          (let ((part (read-available input)))
            (if (not (eof-object? part))
                (begin
                  (write-bytevector part port)
                  (flush-output-port port)
                  (loop)))))))

    (define (pass-response request response between-limit)
      (let ((writer (%guest-request-answer! request (http-response-status response)
                                            (http-response-headers response)))
            (read (if between-limit
                      (lambda (port)
                        (call-with-timeout (seconds-of between-limit)
                          (lambda () (read-available port))))
                      read-available)))
        (if writer
            (guard (object (#t (%guest-body-end! writer (failure-code object) '())))
              (copy (http-response-port response) writer read)
              (%guest-body-end! writer #f '())))))

    ;; The name of a code for what has gone wrong.
    (define (failure-code object)
      (if (http-error? object)
          (let ((stage (http-error-stage object))
                (late? (http-timeout-error? object)))
            (case stage
              ((request) "HTTP-request-URI-invalid")
              ((connect) (if late? "connection-timeout" (connection-code object)))
              ((send) (if late? "connection-write-timeout" "connection-terminated"))
              ((head) (if late? "HTTP-response-timeout" (head-code object)))
              (else (if late? "connection-read-timeout" "HTTP-response-incomplete"))))
          (if (timeout-error? object) "connection-read-timeout" "internal-error")))

    (define (connection-code object)
      (let* ((cause (http-error-cause object))
             (text (failure-text cause)))
        (let loop ((rest connection-codes))
          (cond ((null? rest) "destination-unavailable")
                ((string-search-forward (caar rest) text 0) (cdar rest))
                (else (loop (cdr rest)))))))

    (define connection-codes
      '(("refused" . "connection-refused")
        ("certificate" . "TLS-certificate-error")
        ("TLS" . "TLS-protocol-error")
        ("unreachable" . "destination-IP-unroutable")
        ("find the address" . "DNS-error")))

    (define (head-code object)
      (let ((cause (http-error-cause object)))
        (if (and (error-object? cause) (eq? (condition-kind cause) 'http-message))
            "HTTP-protocol-error"
            "connection-terminated")))

    (define (failure-text object)
      (if (error-object? object)
          (error-object-message object)
          "the request failed"))))
