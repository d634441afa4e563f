;;; (canny web server): a web server.
;;;
;;;     (run-server (lambda (request body)
;;;                   (values '((content-type . (text/plain)))
;;;                           "Hello, World!"))
;;;                 #:port 8080)
;;;
;;; A handler takes a request and its body (a binary input port, or #f). It gives a response, or the
;;; headers and the body of one whose status is 200. It runs in a task, on any thread of the pool,
;;; and may wait for anything.
;;;
;;; How requests come to handlers. The connections are the machine's: one that has no request has no
;;; task. Some tasks, the *servers*, take the next request, answer it and take another one. One of
;;; them waits when there is none. A task that takes a request *calls* another one, to stand by on
;;; the same worker. That runs there as soon as the handler waits, or has used up its slice. So a
;;; handler that does not wait costs no switch of tasks, and one that does blocks no other.
;;;
;;; A task that was away in the middle of a request, since its handler waited or was preempted,
;;; polls for no other request afterwards. The task that was called meanwhile does. It becomes a
;;; *spare*, to be called later. So there are as many servers as requests were begun and not
;;; answered, one for each worker and one that waits.
;;;
;;; | `called` of a worker | there is |
;;; |---|---|
;;; | #f | no task on standby |
;;; | #t | a task that will poll for requests as soon as a worker runs it |

;;; A connection may speak HTTP/2, by agreement inside of TLS or because its client begins so;
;;; handlers need not know. Each of its streams is a request like any other.

(define-library (canny web server)
  (export run-server start-server server? server-addresses server-statistics server-running?
          stop-server! server-wait handler-timeout-error?
          ;; For `canny serve`.
          %set-run-server-hook!)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny machine arguments)
          (only (canny data lists) for-each map)
          (rename (only (canny net) listen close-listener listener-address listener? address?
                        %listener-socket %tls-context-handle)
                  (listen listen-at))
          (only (canny signals) on-shutdown)
          (only (canny systemd) systemd-notify start-watchdog!)
          (canny tasks) (canny web message)
          (only (canny metrics) registry? default-registry %add-source! %remove-source!)
          (only (canny telemetry observers) %request-observer %failure-observer)
          (only (canny web server log-writer) check-access-log log-format-number start-log-writer)
          (only (canny web headers) header->string)
          (only (canny sxml) sxml->html-bytes sxml->xml-bytes))
  (begin

    (define-record-type server
      (make-server spares called machine listeners handler on-error memory-limit log metrics done)
      server?
      (spares server-spares)
      ;; For each worker whether a standby task was called there, in a vector.
      (called server-called)
      (machine server-machine)
      (listeners server-listeners)
      (handler server-handler)
      (on-error server-on-error)
      ;; Bytes that the handling of a request may use, or #f.
      (memory-limit server-memory-limit)
      ;; A future that is resolved when the log is written; #f without a log.
      (log server-log set-server-log!)
      ;; The registry that has the server's numbers, or #f.
      (metrics server-metrics)
      ;; Resolved when the last connection has ended.
      (done server-done))

    ;; The field of the record, for compare-and-swap.
    (define spares-field 0)

    ;; A task that may be called, and those below it.
    (define-record-type spare
      (make-spare waiter depth next)
      spare?
      (waiter spare-waiter set-spare-waiter!)
      (depth spare-depth set-spare-depth!)
      (next spare-next set-spare-next!))

    ;; More are not kept.
    (define spares-max 32)

    ;; Workers whose numbers differ by a multiple of this share a place in `called`.
    (define places 64)

    ;; Tasks that serve.

    ;; Ensures that a task polls for requests when the current handler waits.
    (define (call-standby! server)
      (let ((called (server-called server))
            (place (bitwise-and (%worker) (- places 1))))
        (if (not (vector-ref called place))
            (begin
              (vector-set! called place #t)
              (call-spare! server called place)))))

    (define (call-spare! server called place)
      (let ((spare (server-spares server)))
        (cond ((not spare)
               (guard (object (#t
                               (vector-set! called place #f)
                               (raise object)))
                 (%spawn-standby (lambda () (serve server place)) 'server)))
              ((and (eq? spare
                         (%compare-and-swap! server spares-field spare (spare-next spare)))
                    (%call-standby! (spare-waiter spare) place)))
              (else (call-spare! server called place)))))

    (define (start-serving server)
      (without-scope (spawn (lambda () (serve server #f)) #:name 'server)))

    ;; The account of what serves: it is not stopped for what others have used. Each request has an
    ;; account of its own.
    (define exempt 4294967295)

    ;; The tasks that keep a server alive continue when another task has used up the memory.
    (define (despite-memory thunk)
      (guard (object ((out-of-memory? object) #f))
        (thunk)))

    ;; Waits to be called; gives the place, or #f if there are enough spares.
    (define (stand-by server)
      (let* ((spare (make-spare #f 0 #f))
             (place
              (%park 'standby
                     (lambda (waiter)
                       (set-spare-waiter! spare waiter)
                       (add-spare! server spare)))))
        (and (fixnum? place) place)))

    ;; #f, or `enough`.
    (define (add-spare! server spare)
      (let* ((next (server-spares server))
             (depth (if next (+ (spare-depth next) 1) 1)))
        (set-spare-next! spare next)
        (set-spare-depth! spare depth)
        (cond ((> depth spares-max) 'enough)
              ((eq? next (%compare-and-swap! server spares-field next spare)) #f)
              (else (add-spare! server spare)))))

    ;; The task that was called at a place looks for requests from now on.
    (define (begin-to-look! server place)
      (if place
          (vector-set! (server-called server) place #f)))

    ;; Serves until enough tasks do.
    (define (serve server place)
      (begin-to-look! server place)
      (%set-account! exempt)
      (let ((present (make-present #f #f (%current-task) server #f)))
        (note-serving! present)
        (%set-abandon! (%current-task)
                       (lambda (object)
                         (let ((request (present-request present)))
                           (cond ((eq? request 'cancelled) #f)
                                 (request (fail server request object))
                                 (else (report-loss object))))))
        (let again ()
          (let ((outcome
                 (call-with-escape-continuation
                  (lambda (escape)
                    (with-exception-handler
                      (lambda (object)
                        (let ((request (present-request present)))
                          ;; The memory that the request has used must not stop its answer.
                          (if (eq? (%current-task) (present-task present))
                              (%end-account!))
                          (cond ((not (eq? (%current-task) (present-task present)))
                                 (%end-task (list object)))
                                ((eq? request 'cancelled) (escape #f))
                                (request (escape (lambda () (fail server request object))))
                                ;; Another request has used up the memory.
                                ((out-of-memory? object) (escape void))
                                (else (raise object)))))
                      (lambda () (serve-requests server present)))))))
            (if (procedure? outcome)
                (begin
                  (outcome)
                  (if (leave! present (present-request present))
                      (again))))))))

    (define (out-of-memory? object)
      (and (error-object? object)
           (eq? 'memory (condition-kind object))))

    ;; The state of a task that serves: #f, a request, or `cancelled` once it is to end because the
    ;; client has gone.
    (define-record-type present
      (make-present request step task server suspect)
      present?
      (request present-request)
      ;; The machine's number of the request shows whether the task was away in between.
      (step present-step)
      (task present-task)
      (server present-server)
      ;; The request whose client seemed to have gone at the last look.
      (suspect present-suspect set-present-suspect!))

    ;; The task is done with a request; #f if it was cancelled for it, and is to serve no more.
    (define (leave! present request)
      (and (not (eq? request 'cancelled))
           (eq? request (%compare-and-swap! present present-field/request request #f))))

    ;; Clients that have gone.

    ;; The tasks that serve, of all servers.
    (define-record-type serving-tasks
      (make-serving-tasks %lock presents)
      serving-tasks?
      (%lock serving-tasks-lock)
      (presents presents set-presents!))

    (define serving (make-serving-tasks #f '()))

    (define (note-serving! present)
      (let ((entry (list present)))
        (%with-lock serving
          (set-cdr! entry (presents serving))
          (set-presents! serving entry))))

    ;; Forgets the tasks that have ended.
    (define (forget-ended!)
      (let* ((all (presents serving))
             (left (let loop ((rest all) (left '()))
                     (cond ((null? rest) left)
                           ((future-done? (present-task (car rest))) (loop (cdr rest) left))
                           (else (loop (cdr rest) (cons (car rest) left)))))))
        (%with-lock serving
          (if (eq? all (presents serving))
              (set-presents! serving left)))))

    ;; Cancels the handlers of requests whose clients have gone, as was seen twice. A client that
    ;; has only ended its own direction has until then to get its answer.
    (define (cancel-abandoned! server)
      (forget-ended!)
      (for-each
       (lambda (present)
         (if (eq? server (present-server present))
             (let ((request (present-request present)))
               (cond ((not (abandoned? request)) (set-present-suspect! present #f))
                     ((not (eq? request (present-suspect present)))
                      (set-present-suspect! present request))
                     ((eq? request
                           (%compare-and-swap! present present-field/request request 'cancelled))
                      (set-present-suspect! present #f)
                      (%http-abort! request)
                      (note-failure request 'cancelled #f)
                      (cancel! (present-task present)))))))
       (presents serving)))

    (define (abandoned? request)
      (and (request? request)
           (not (request-attribute request 'changes-protocol))
           (%http-gone? request)))

    ;; A handler may call a continuation of another task, of a handler for instance. Then its own
    ;; request cannot be answered: the frames that would answer it are gone.
    (define (check-mine present)
      (if (not (eq? (%current-task) (present-task present)))
          (%end-task (list (%foreign-end (present-task present))))))

    (define (serve-requests server present)
      (let ((machine (server-machine server))
            (handler (server-handler server)))
        (let loop ()
          (let ((request (%http-next! machine %request-type present)))
            (cond ((eq? request #t)
                   (let ((place (stand-by server)))
                     (if place
                         (begin
                           (begin-to-look! server place)
                           (loop)))))
                  (request
                   (call-standby! server)
                   (let ((handler (if (%begin-account! (server-memory-limit server))
                                      refuse-for-now
                                      handler)))
                     (if (eq? 0 (request-body-length request))
                         (handle handler request #f)
                         (let ((body (%http-body request)))
                           (%set-request-body! request body)
                           (handle handler request body)
                           (close-quietly body))))
                   (check-mine present)
                   (%end-account!)
                   (if (leave! present request)
                       (loop)))
                  (else
                   (%http-close-log! machine)
                   (if (server-metrics server)
                       (%remove-source! (server-metrics server) machine))
                   (future-resolve! (server-done server) #t)))))))

    ;; A handler for when what has been there for long leaves too little memory for new work.
    (define (refuse-for-now request body)
      (values (make-response #:status 503
                             #:headers '((retry-after . 1) (content-type . (text/plain)))
                             #:body "Service Unavailable\n")))

    (define (handle handler request body)
      (let ((observe (%request-observer)))
        (if observe
            (observe request body handler answer)
            (answer handler request body))))

    ;; A receiver of several forms would not be compiled to machine code.
    (define (answer handler request body)
      (call-with-values
        (lambda () (handler request body))
        (lambda results
          (cond ((and (pair? results) (null? (cdr results)))
                 (respond request (car results)))
                ((and (pair? results) (null? (cddr results)))
                 (respond-with request 200 (car results) (cadr results)))
                (else
                 (error "a handler gave neither a response nor headers and a body" results))))))

    (define (respond request response)
      (cond ((response? response)
             (if (response-trailers response)
                 (respond-with-trailers request response)
                 (respond-with request
                               (response-status response)
                               (response-headers response)
                               (response-body response))))
            ((string? response) (respond-with request 200 '() response))
            (else (error "a handler gave no response" response))))

    (define (respond-with request status headers body)
      (cond ((= status 101) (change-protocol request headers body))
            ((or (not body) (string? body) (bytevector? body))
             (if (pair? (%http-respond! request status headers body))
                 (%http-respond! request status (as-texts headers) body)))
            ((pair? body) (respond-with-markup request status headers body))
            ((procedure? body)
             (respond-in-parts request status headers #f (textual? headers) body))
            ((input-port? body)
             (closing body
                      (lambda ()
                        (respond-in-parts request status headers #f (textual-port? body)
                                          (lambda (port) (copy body port))))))
            (else (error "a handler gave a body that is none" body))))

    ;; Closes a port behind what reads it, also if the client has gone.
    (define (closing port thunk)
      (guard (object (#t (close-quietly port) (raise object)))
        (thunk))
      (close-port port))

    ;; Trailers are known when the body was written, which is then sent in parts in any case.
    (define (respond-with-trailers request response)
      (let ((body (response-body response)))
        (if (input-port? body)
            (closing body (lambda () (send-with-trailers request response body)))
            (send-with-trailers request response body))))

    (define (send-with-trailers request response body)
      (let ((headers (response-headers response)))
        (respond-in-parts request (response-status response) headers #f
                          (not (or (bytevector? body) (binary-port? body)))
                          (cond ((procedure? body) body)
                                ((string? body) (lambda (port) (write-string body port)))
                                ((bytevector? body) (lambda (port) (write-bytevector body port)))
                                ((not body) void)
                                ((input-port? body) (lambda (port) (copy body port)))
                                (else
                                 (error "a response with trailers has another body than these"
                                        body)))
                          (response-trailers response))))

    ;; SXML, as HTML unless the headers say something else.
    (define (respond-with-markup request status headers body)
      (let* ((entry (assq 'content-type headers))
             (type (and entry (cdr entry)))
             (name (if (pair? type) (car type) type)))
        (if (or (not name) (eq? name 'text/html))
            (respond-with request status
                          (if entry headers (cons html-type headers))
                          (sxml->html-bytes body #:doctype (eq? 'html (car body))))
            (respond-with request status headers (sxml->xml-bytes body)))))

    (define html-type '(content-type . "text/html; charset=utf-8"))

    ;; Headers whose values the machine cannot write by itself, as texts.
    (define (as-texts headers)
      (map (lambda (header)
             (let ((value (cdr header)))
               (if (or (string? value) (symbol? value) (exact-nonnegative-integer? value))
                   header
                   (cons (car header) (header->string (car header) value)))))
           headers))

    (define (begin-response request status headers length text?)
      (let ((port (%http-respond-in-parts! request status headers length text?)))
        (if (pair? port)
            (%http-respond-in-parts! request status (as-texts headers) length text?)
            port)))

    ;; Writes what a port gives, as it comes.
    (define (copy from to)
      (let loop ()
        (let ((part (read-available from)))
          (if (not (eof-object? part))
              (begin
                (if (string? part) (write-string part to) (write-bytevector part to))
                (flush-output-port to)
                (loop))))))

    ;; Whether what is written to the body of a response is text.
    (define (textual? headers)
      (let ((entry (assq 'content-type headers)))
        (or (not entry)
            (let* ((value (cdr entry))
                   (type (if (pair? value) (car value) value))
                   (name (if (symbol? type) (symbol->string type) type)))
              (and (string? name)
                   (or (string-prefix? "text/" name)
                       (string-search-forward "json" name 0)
                       (string-search-forward "xml" name 0)
                       (string-search-forward "javascript" name 0))
                   #t)))))

    (define* (respond-in-parts request status headers length text? write-body
                               #:optional (trailers #f))
      (let ((port (begin-response request status headers length text?)))
        (if port
            (begin
              (write-body port)
              (close-port port)
              (let ((fields (if (procedure? trailers) (trailers) trailers)))
                (if (pair? (%http-end-response! request fields))
                    (%http-end-response! request (as-texts fields))))))))

    ;; The connection goes to a procedure that takes its two ports.
    (define (change-protocol request headers procedure)
      (check-argument 'run-server 1 procedure? "procedure of two ports" procedure)
      (if (equal? '(2 . 0) (request-version request))
          (error "a stream of HTTP/2 cannot change its protocol"))
      (set-request-attribute! request 'changes-protocol #t)
      (let ((head (begin-response request 101 (cons '(connection . "upgrade") headers) #f #f)))
        (let ((ports (and head (%http-detach! request))))
          (if ports
              (without-scope
               (spawn (lambda ()
                        (dynamic-wind
                         void
                         (lambda () (procedure (car ports) (cdr ports)))
                         (lambda ()
                           (close-quietly (cdr ports))
                           (close-quietly (car ports)))))
                      #:name 'connection))))))

    (define (close-quietly port)
      (guard (object ((error-object? object) #f))
        (close-port port)))

    ;; Failures.

    ;; Answers for a handler that raised.
    (define (fail server request object)
      (answer-failure server request object)
      (if (request-body request)
          (close-quietly (request-body request))))

    (define (answer-failure server request object)
      (guard (again (#t
                     (note-failure request object #f)
                     (%http-abort! request)))
        (cond ((%http-begun? request)
               (note-failure request object #f)
               ;; The client learns that it did not get everything.
               (if (not (network-failure? object))
                   (report server request object))
               (%http-abort! request))
              ((%failure-status request object)
               => (lambda (status)
                    (note-failure request object status)
                    (%http-respond! request status '((connection . "close"))
                                    (string-append (status-reason status) "\n"))))
              (else
               (report server request object)
               (let ((response ((server-on-error server) request object)))
                 (respond request response)
                 (note-failure request object
                               (if (response? response) (response-status response) 200)))))))

    (define (note-failure request object status)
      (let ((note (%failure-observer)))
        (if note (note request object status))))

    ;; The client has gone, or is too slow.
    (define (network-failure? object)
      (and (error-object? object)
           (memq (condition-kind object) '(system timeout closed file))
           #t))

    (define (report server request object)
      (write-error (string-append (symbol->string (request-method request)) " "
                                  (request-target request))
                   object))

    (define (write-error what object)
      (let ((port (current-error-port)))
        (write-string (string-append "canny: " what ": " (condition->string object)
                                     (%place-text object) "\n")
                      port)
        (flush-output-port port)))

    ;; The failure of a task that served, between two requests.
    (define (report-loss object)
      (write-error "a task of the server" object))

    (define (plain-failure request object)
      (if (handler-timeout-error? object)
          (make-response #:status 503 #:headers '((content-type . (text/plain)))
                         #:body "Service Unavailable\n")
          (make-response #:status 500 #:headers '((content-type . (text/plain)))
                         #:body "Internal Server Error\n")))

    ;; Time limits of handlers.

    (define out-of-time (list 'out-of-time))

    ;; A handler that runs in a task of its own and is cancelled when it takes too long.
    (define (limited handler seconds)
      (lambda (request body)
        (let ((results (call-with-timeout seconds
                         (lambda ()
                           (call-with-values (lambda () (handler request body))
                             list))
                         #:default out-of-time)))
          (if (eq? results out-of-time)
              (raise (%make-condition 'handler-timeout "the handler took too long" (list seconds)
                                      #f)))
          (apply values results))))

    ;; Whether an object was raised because a handler took longer than `#:handler-timeout`.
    (define (handler-timeout-error? object)
      (and (error-object? object)
           (eq? 'handler-timeout (condition-kind object))))

    ;; Servers.

    ;; Why an address cannot be had, in words of the system, and what to do about it.
    (define advice
      '(("Address already in use"
         . "is in use by another program, or by this one; end that, or choose another port (0 is \
            any that is free)")
        ("Cannot assign requested address"
         . "is none of this machine; \"0.0.0.0\" is all of its addresses")
        ("Permission denied"
         . "may not be used; ports below 1024 need CAP_NET_BIND_SERVICE, or a socket of systemd")))

    (define (listen-or-advise address reuse-port)
      (guard (object ((and (error-object? object)
                           (let loop ((advice advice))
                             (and (pair? advice)
                                  (if (string-suffix? (caar advice)
                                                      (error-object-message object))
                                      (cdar advice)
                                      (loop (cdr advice))))))
                      => (lambda (text)
                           (raise (%make-condition (condition-kind object)
                                                   (string-append "the address " address " "
                                                                  text)
                                                   '() 'start-server)))))
        (listen-at address #:share reuse-port)))

    (define (address-or-listener? object)
      (or (address? object) (listener? object)))

    (define (addresses? object)
      (or (not object)
          (address-or-listener? object)
          (and (list? object)
               (pair? object)
               (let loop ((rest object))
                 (or (null? rest)
                     (and (address-or-listener? (car rest))
                          (loop (cdr rest))))))))

    (define (port-number? object)
      (and (exact-nonnegative-integer? object)
           (<= object 65535)))

    ;; The result of a procedure; if it raises, an action is undone.
    (define (call-or-undo thunk undo)
      (guard (object (#t (undo) (raise object)))
        (thunk)))

    (define (listeners-of host port addresses reuse-port)
      (let loop ((rest (or addresses (list (address-of host port)))) (opened '()))
        (if (null? rest)
            (reverse opened)
            (loop (cdr rest)
                  (cons (if (listener? (car rest))
                            (car rest)
                            (call-or-undo
                             (lambda () (listen-or-advise (car rest) reuse-port))
                             (lambda () (for-each close-listener opened))))
                        opened)))))

    (define (address-of host port)
      (string-append (if (%string-index host #\:) (string-append "[" host "]") host)
                     ":"
                     (number->string port)))

    (define (option-check who keyword test? expected value)
      (if (not (test? value))
          (raise-bad-option who keyword expected value)))

    (define (seconds? object)
      (and (real? object) (> object 0)))

    (define (count? object)
      (and (exact-integer? object) (> object 0)))

    (define (proxies? object)
      (or (null? object)
          (and (pair? object)
               (string? (car object))
               (%http-proxy? (car object))
               (proxies? (cdr object)))))

    (define (limit? object)
      (or (not object) (count? object)))

    ;; Begins to serve, and gives the server.
    (define* (start-server handler
                           #:key (host "127.0.0.1") (port 8080) (listen #f) (reuse-port #f) (tls #f)
                           (max-header-bytes 32768) (max-headers 100) (max-target-bytes 8192)
                           (max-body-bytes 16777216)
                           (max-connections 65536) (max-connections-per-client #f)
                           (max-streams 128) (max-unsent-bytes 268435456)
                           (max-unsent-bytes-per-connection 1048576) (trusted-proxies '())
                           (proxy-header 'x-forwarded-for)
                           (idle-timeout 75) (header-timeout 20) (body-timeout 30)
                           (access-log #f) (access-log-format 'common) (metrics #f)
                           (handler-timeout #f) (handler-memory-limit #f) (cancel-abandoned #t)
                           (on-error plain-failure))
      (check-procedure 'start-server 1 handler)
      (option-check 'start-server "#:port" port-number? "a port number, at most 65535" port)
      (option-check 'start-server "#:host"
                    (lambda (host) (and (string? host) (address? (address-of host 0))))
                    "an IP address" host)
      (option-check 'start-server "#:listen" addresses? "an address, a listener or a list of these"
                    listen)
      (option-check 'start-server "#:max-header-bytes" count? "a count" max-header-bytes)
      (option-check 'start-server "#:max-headers" count? "a count" max-headers)
      (option-check 'start-server "#:max-target-bytes" count? "a count" max-target-bytes)
      (option-check 'start-server "#:max-body-bytes" limit? "a count or #f" max-body-bytes)
      (option-check 'start-server "#:max-connections" count? "a count" max-connections)
      (option-check 'start-server "#:max-connections-per-client" limit? "a count or #f"
                    max-connections-per-client)
      (option-check 'start-server "#:max-streams" exact-nonnegative-integer? "a count or 0"
                    max-streams)
      (option-check 'start-server "#:max-unsent-bytes" count? "a count" max-unsent-bytes)
      (option-check 'start-server "#:max-unsent-bytes-per-connection" count? "a count"
                    max-unsent-bytes-per-connection)
      (option-check 'start-server "#:trusted-proxies" proxies?
                    "a list of addresses, of networks such as \"10.0.0.0/8\", or \"unix\""
                    trusted-proxies)
      (option-check 'start-server "#:proxy-header"
                    (lambda (name) (memq name '(x-forwarded-for forwarded)))
                    "x-forwarded-for or forwarded" proxy-header)
      (option-check 'start-server "#:idle-timeout" seconds? "a number of seconds" idle-timeout)
      (option-check 'start-server "#:header-timeout" seconds? "a number of seconds"
                    header-timeout)
      (option-check 'start-server "#:body-timeout" seconds? "a number of seconds" body-timeout)
      (option-check 'start-server "#:tls"
                    (lambda (tls) (or (not tls) (%tls-context-handle tls)))
                    "a context of tls-server-context" tls)
      (option-check 'start-server "#:on-error" procedure? "a procedure" on-error)
      (option-check 'start-server "#:handler-timeout"
                    (lambda (object) (or (not object) (seconds? object)))
                    "a number of seconds or #f" handler-timeout)
      (option-check 'start-server "#:handler-memory-limit" limit? "a number of bytes or #f"
                    handler-memory-limit)
      (option-check 'start-server "#:cancel-abandoned" boolean? "a boolean" cancel-abandoned)
      (check-access-log 'start-server access-log)
      (option-check 'start-server "#:metrics"
                    (lambda (object) (or (boolean? object) (registry? object)))
                    "a boolean or a registry of metrics" metrics)
      (let* ((listen (if (address-or-listener? listen) (list listen) listen))
             (listeners (listeners-of host port listen reuse-port))
             (machine (%http-server
                       (vector-at
                        server-option/count
                        (server-option/max-header-bytes max-header-bytes)
                        (server-option/max-headers max-headers)
                        (server-option/max-target-bytes max-target-bytes)
                        (server-option/max-body-bytes max-body-bytes)
                        (server-option/max-connections max-connections)
                        (server-option/max-connections-per-client max-connections-per-client)
                        (server-option/idle-timeout idle-timeout)
                        (server-option/header-timeout header-timeout)
                        (server-option/body-timeout body-timeout)
                        (server-option/log-format
                         (log-format-number 'start-server access-log access-log-format))
                        (server-option/metrics (and metrics #t))
                        (server-option/max-streams max-streams)
                        (server-option/trusted-proxies trusted-proxies)
                        (server-option/proxy-field
                         (if (eq? proxy-header 'forwarded)
                             proxy-field/forwarded
                             proxy-field/x-forwarded-for))
                        (server-option/max-unsent-bytes max-unsent-bytes)
                        (server-option/max-unsent-bytes-per-connection
                         max-unsent-bytes-per-connection))))
             (registry (if (eq? metrics #t) default-registry metrics))
             (handler (if handler-timeout (limited handler handler-timeout) handler))
             (server (make-server #f (make-vector places #f) machine listeners handler on-error
                                  handler-memory-limit #f registry (make-future))))
        (if access-log
            (call-or-undo
             (lambda () (set-server-log! server (start-log-writer machine access-log)))
             (lambda () (for-each close-listener listeners))))
        (if registry (%add-source! registry machine))
        (for-each (lambda (listener)
                    (%http-listen! machine (%listener-socket listener)
                                   (and tls (%tls-context-handle tls))))
                  listeners)
        (start-serving server)
        (without-scope (spawn (lambda () (sweep server cancel-abandoned))
                              #:name 'server-timeouts))
        server))

    ;; Once in a second, ends requests that take too long. Starts a new task that polls for requests
    ;; if the last one failed for lack of memory.
    (define (sweep server cancels?)
      (let ((machine (server-machine server)))
        (let loop ()
          (despite-memory
           (lambda ()
             (sleep 1)
             (%http-sweep! machine)
             (if cancels? (cancel-abandoned! server))
             (if (%http-deserted? machine)
                 (begin
                   (vector-fill! (server-called server) #f)
                   (start-serving server)))
             ;; Requests are refused until a collection finds that there is room again.
             (if (%heap-short?) (collect-garbage))
             (tell-trouble (%http-trouble! machine))))
          (if (not (future-done? (server-done server)))
              (loop)))))

    ;; Says once why nothing can be accepted.
    (define (tell-trouble trouble)
      (if trouble
          (let ((port (current-error-port)))
            (write-string (string-append
                           "canny: connections cannot be accepted, and wait: " trouble "\n")
                          port)
            (flush-output-port port))))

    ;; A procedure of the handler and the list of options that `run-server` calls instead; or #f.
    (define run-server-hook #f)

    (define (%set-run-server-hook! procedure)
      (set! run-server-hook procedure))

    ;; Serves until the program receives a signal to end.
    (define (run-server handler . options)
      (if run-server-hook
          (run-server-hook handler options)
          (run-until-asked handler options)))

    (define (run-until-asked handler options)
      (let ((server (apply start-server handler options)))
        (on-shutdown (lambda ()
                       (systemd-notify 'stopping)
                       (stop-server! server))
                     #:deadline 30)
        (start-watchdog!)
        (systemd-notify 'ready)
        (let wait ()
          (if (eq? 'again
                   (guard (object ((out-of-memory? object) 'again))
                     (server-wait server)))
              (wait)))))

    (define (check-server who object)
      (check-argument who 1 server? "server" object))

    ;; The addresses of a server.
    (define (server-addresses server)
      (check-server 'server-addresses server)
      (map listener-address (server-listeners server)))

    ;; Whether a server was not stopped.
    (define (server-running? server)
      (check-server 'server-running? server)
      (not (future-done? (server-done server))))

    ;; Numbers since the start: connections now, accepted, requests, refused, timed-out,
    ;; turned-away, http2, bytes-in, bytes-out.
    (define (server-statistics server)
      (check-server 'server-statistics server)
      (%http-statistics (server-machine server)))

    ;; Accepts no more connections, has those that are there answered, and waits for that; after a
    ;; time they are closed.
    (define* (stop-server! server #:key (timeout 10))
      (check-server 'stop-server! server)
      (%http-stop! (server-machine server) #f)
      (for-each close-listener (server-listeners server))
      ;; A client that was answered just before may send one more request; then what rests is
      ;; closed.
      (without-scope (spawn (lambda ()
                              (sleep grace)
                              (%http-sweep! (server-machine server)))
                            #:name 'server-grace))
      (guard (object ((timeout-error? object)
                      (%http-stop! (server-machine server) #t)
                      (await (server-done server))))
        (call-with-timeout timeout (lambda () (await (server-done server)))))
      (await-log server)
      (void))

    ;; Seconds, a little more than for what the machine keeps connections that were busy when it was
    ;; stopped.
    (define grace 0.3)

    ;; A slow reader of the log does not block the end for ever.
    (define (await-log server)
      (if (server-log server)
          (await/default (server-log server) log-patience #f)))

    (define log-patience 5)

    ;; Waits until a server was stopped.
    (define (server-wait server)
      (check-server 'server-wait server)
      (await (server-done server))
      (await-log server)
      (void))))
