;;; (canny telemetry): traces, metrics and logs for a collector of OpenTelemetry.
;;;
;;;     (start-telemetry! #:service-name "shop")
;;;     (with-span "checkout"
;;;       (span-set-attribute! (current-span) 'order.items 3)
;;;       (charge!))
;;;
;;; Importing the library starts telemetry if the environment names a collector or an exporter.
;;; Requests of `(canny web server)` and of `(canny web client)` and statements of databases are
;;; spans then, without a word in the program. While telemetry is off, a span is #f, and
;;; descriptions of it have no effect.
;;;
;;; This file has the start, the end and the procedures for programs; `telemetry/observing.scm` has
;;; the observers of servers, clients and databases, `telemetry/showing.scm` texts for people. The
;;; parts are libraries: `(canny telemetry settings)` reads the environment, `spans` has spans and
;;; contexts, `otlp` the messages, `exporting` queues and sending.
;;;
;;; Nothing that fails in sending has an effect on the program but a warning on standard error.

(define-library (canny telemetry)
  (export start-telemetry! stop-telemetry! flush-telemetry! telemetry-running?
          telemetry-statistics
          with-span call-with-span start-span end-span! current-span call-with-current-span
          spawn-with-span
          span? span-recording? span-trace-id span-id
          span-set-attribute! span-set-attributes! span-add-event! span-record-error!
          span-set-status! span-set-name!
          trace-headers call-with-trace-headers current-baggage
          log-event!
          %tracing?)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control)
                guard dynamic-wind with-exception-handler raise-continuable)
          (only (canny data lists) for-each map member assoc)
          (only (canny tasks) spawn await %with-lock)
          (only (canny sync) make-mutex with-mutex)
          (only (canny signals) on-shutdown)
          (only (canny metrics)
                registry? default-registry registry-collect add-collector!)
          (only (canny web metrics) server-families process-families machine-families)
          (only (canny web message)
                request-method request-path request-query request-version request-secure?
                request-field request-client request-attribute set-request-attribute!
                response? response-status)
          (only (canny web router) route-pattern)
          (only (canny web uri)
                uri-scheme uri-host uri-query uri-effective-port uri-with uri->string)
          (only (canny databases sql) %sql-error-part)
          (canny telemetry observers) (canny telemetry settings) (canny telemetry otlp)
          (canny telemetry exporting)
          (rename (canny telemetry spans)
                  (span-trace-id trace-id-of)
                  (span-id id-of)
                  (span-recording? recording?)
                  (tracing? %tracing?)))
  (include "telemetry/observing.scm" "telemetry/showing.scm")
  (begin

    ;; The state while telemetry runs.
    (define-record-type running
      (make-running settings spans logs metrics)
      running?
      (settings running-settings)
      ;; Pipelines.
      (spans running-spans)
      (logs running-logs)
      (metrics running-metrics))

    (define current #f)

    ;; Held while telemetry is started or stopped.
    (define changes (make-mutex #:name "telemetry" #:recursive #t))

    ;; Registries that have the numbers of telemetry itself, and whether the end of the program is
    ;; watched.
    (define registries '())
    (define watching? #f)

    (define (telemetry-running?)
      (and current #t))

    ;; Starting.

    (define (check-option keyword test? expected value)
      (if (not (test? value))
          (raise-bad-option 'start-telemetry! keyword expected value)))

    (define (string-or-false? object)
      (or (not object) (string? object)))

    (define (attributes? object)
      (or (null? object)
          (and (pair? object)
               (pair? (car object))
               (or (symbol? (caar object)) (string? (caar object)))
               (attributes? (cdr object)))))

    (define (headers? object)
      (or (null? object)
          (and (pair? object)
               (pair? (car object))
               (or (symbol? (caar object)) (string? (caar object)))
               (string? (cdar object))
               (headers? (cdr object)))))

    (define samplers
      '(always_on always_off traceidratio parentbased_always_on parentbased_always_off
        parentbased_traceidratio))

    (define (text-of name)
      (if (symbol? name) (symbol->string name) name))

    (define (with-text-keys pairs)
      (map (lambda (pair) (cons (text-of (car pair)) (cdr pair))) pairs))

    ;; Starts telemetry, as the environment says, and options where that says nothing. Gives #f
    ;; where the environment disables it. Telemetry that runs already is stopped
    ;; first.
    (define* (start-telemetry! #:key (service-name #f) (attributes '()) (endpoint #f)
                               (protocol 'http/protobuf) (headers '())
                               (sampler 'parentbased_always_on) (ratio 1.0)
                               (registry default-registry) (flush-timeout 5))
      (check-option "#:service-name" string-or-false? "a string" service-name)
      (check-option "#:attributes" attributes? "an association list of symbols or strings"
                    attributes)
      (check-option "#:endpoint" string-or-false? "a URL" endpoint)
      (check-option "#:protocol" (lambda (name) (memq name '(http/protobuf http/json)))
                    "http/protobuf or http/json" protocol)
      (check-option "#:headers" headers? "an association list with strings as values" headers)
      (check-option "#:sampler" (lambda (name) (memq name samplers))
                    "a sampler as parentbased_traceidratio" sampler)
      (check-option "#:ratio" (lambda (number) (and (real? number) (<= 0 number 1)))
                    "a number from 0 to 1" ratio)
      (check-option "#:registry" registry? "a registry of metrics" registry)
      (check-option "#:flush-timeout" (lambda (number) (and (real? number) (>= number 0)))
                    "a number of seconds" flush-timeout)
      (with-mutex changes
        (stop-telemetry! #:timeout flush-timeout)
        (let ((settings (read-settings service-name (with-text-keys attributes) endpoint protocol
                                       (with-text-keys headers) sampler (inexact ratio))))
          (and (not (settings-disabled? settings))
               (begin
                 (begin! settings registry flush-timeout)
                 #t)))))

    (define (begin! settings registry flush-timeout)
      (let* ((resource (settings-resource settings))
             (spans (start-pipeline! "spans" (settings-spans settings)
                                     (lambda (spans protocol)
                                       (encode-spans resource (spans->otlp spans) protocol))
                                     show-span #f))
             (logs (start-pipeline! "log records" (settings-logs settings)
                                    (lambda (logs protocol) (encode-logs resource logs protocol))
                                    show-log #f))
             (begun (+ (now) (wall-offset)))
             (metrics (start-pipeline! "metrics" (settings-metrics settings)
                                       (lambda (metrics protocol)
                                         (encode-metrics resource metrics protocol))
                                       show-metric
                                       (lambda () (read-metrics registry begun)))))
        (set! current (make-running settings spans logs metrics))
        (if (not (memq registry registries))
            (begin
              (set! registries (cons registry registries))
              (add-collector! registry own-families)))
        (if (not watching?)
            (begin
              (set! watching? #t)
              (on-shutdown (lambda () (stop-telemetry! #:timeout flush-timeout))
                           #:deadline (+ flush-timeout 5)
                           ;; Ctrl-C stays what it is: it may end no more than an evaluation.
                           #:signals '(sigterm sighup))))
        (if (pipeline-active? spans)
            (begin
              (set-tracer! settings (lambda (span) (enqueue! spans span)))
              (%set-observers! observe-request observe-failure observe-exchange
                               observe-statement)))))

    ;; Sends what is queued; #f if that takes longer than so many seconds.
    (define* (flush-telemetry! #:key (timeout 5))
      (check-seconds 'flush-telemetry! timeout)
      (let ((running current))
        (or (not running)
            (for-all (lambda (pipeline seconds) (flush-pipeline! pipeline seconds))
                     running timeout))))

    ;; Sends what is queued, and ends telemetry. Gives #f if something is lost, since it takes
    ;; longer than so many seconds.
    (define* (stop-telemetry! #:key (timeout 5))
      (check-seconds 'stop-telemetry! timeout)
      (with-mutex changes
        (let ((running current))
          (or (not running)
              (begin
                (%set-observers! #f #f #f #f)
                (end-failing-spans!)
                (set-tracer! #f #f)
                (set! current #f)
                (for-all (lambda (pipeline seconds) (stop-pipeline! pipeline seconds))
                         running timeout))))))

    (define (check-seconds who timeout)
      (if (not (and (real? timeout) (>= timeout 0)))
          (raise-bad-option who "#:timeout" "a number of seconds" timeout)))

    ;; Calls a procedure with each pipeline and the time that is left; whether all give true. They
    ;; work beside each other.
    (define (for-all procedure running seconds)
      (let ((deadline (+ (now) (* 1000000000 seconds))))
        (define (left)
          (max 0 (/ (- deadline (now)) 1000000000)))
        (let* ((pipelines (list (running-spans running) (running-logs running)
                                (running-metrics running)))
               (tasks (map (lambda (pipeline)
                             (spawn (lambda () (procedure pipeline (left))) #:name 'telemetry))
                           pipelines))
               (results (map (lambda (task) (await task)) tasks)))
          (and (car results) (cadr results) (caddr results)))))

    ;; Numbers about what was queued, sent and lost, by signal.
    (define (telemetry-statistics)
      (let ((running current))
        (if running
            (list (cons 'spans (pipeline-statistics (running-spans running)))
                  (cons 'logs (pipeline-statistics (running-logs running)))
                  (cons 'metrics (pipeline-statistics (running-metrics running))))
            '())))

    ;; The same as families of metrics.
    (define (own-families)
      (let ((statistics (telemetry-statistics)))
        (define (samples name)
          (map (lambda (entry)
                 (list "" (list (cons "signal" (symbol->string (car entry))))
                       (cdr (assq name (cdr entry)))))
               statistics))
        (if (null? statistics)
            '()
            (list (list "canny_telemetry_queued" 'gauge
                        "Spans and log records that wait to be sent." (samples 'queued))
                  (list "canny_telemetry_sent_total" 'counter
                        "What collectors have taken." (samples 'sent))
                  (list "canny_telemetry_dropped_total" 'counter
                        "What the queue had no room for." (samples 'dropped))
                  (list "canny_telemetry_failed_total" 'counter
                        "What could not be sent." (samples 'failed))))))

    ;; All families, as `encode-metrics` takes them.
    (define (read-metrics registry begun)
      (let ((time (+ (now) (wall-offset))))
        (map (lambda (family) (vector family begun time))
             (append (registry-collect registry) (server-families registry) (process-families)
                     (machine-families)))))

    ;; Spans.

    (define kinds '(internal server client producer consumer))

    (define (check-span who span)
      (if (not (or (not span) (span? span)))
          (%type-error who 1 "span or #f" span)))

    (define (check-key who key)
      (if (not (or (symbol? key) (string? key)))
          (%type-error who 2 "symbol or string as the key of an attribute" key)))

    (define (check-attributes who position attributes)
      (check-argument who position attributes? "association list of attributes" attributes))

    ;; The parent of a new span: none where telemetry itself is at work.
    (define (parent-of root?)
      (let ((context (current-context)))
        (and (not root?) (span? context) context)))

    ;; Links to spans, as vectors.
    (define (links-to who spans)
      (map (lambda (span)
             (check-argument who 0 span? "span to link to" span)
             (vector (trace-id-of span) (id-of span) (span-state span) '() (span-flags span)))
           spans))

    (define (check-new who name kind attributes links)
      (check-argument who 1 string? "string" name)
      (if (not (memq kind kinds))
          (raise-bad-option who "#:kind" "internal, server, client, producer or consumer" kind))
      (if (not (attributes? attributes))
          (raise-bad-option who "#:attributes" "an association list of symbols or strings"
                            attributes))
      (if (not (list? links))
          (raise-bad-option who "#:links" "a list of spans" links)))

    ;; Begins a span, which `end-span!` ends, below the current one. Gives #f where telemetry is
    ;; off.
    (define* (start-span name #:key (kind 'internal) (attributes '()) (links '()) (root? #f))
      (check-new 'start-span name kind attributes links)
      (begin-span 'start-span name kind attributes links root?))

    (define (begin-span who name kind attributes links root?)
      (and (%tracing?)
           (not (eq? 'suppressed (current-context)))
           (let ((span (new-span name kind (parent-of root?) (links-to who links))))
             (if span
                 (for-each (lambda (attribute)
                             (set-attribute! span (car attribute) (cdr attribute)))
                           attributes))
             span)))

    ;; Ends a span.
    (define (end-span! span)
      (check-span 'end-span! span)
      (if span (finish-span! span (now)))
      (void))

    ;; Calls a procedure with a new span, or #f where telemetry is off; the span is the current one
    ;; meanwhile. It ends however the procedure is left, and has failed if that is by an exception.
    (define* (call-with-span name procedure
               #:key (kind 'internal) (attributes '()) (links '()) (root? #f))
      (check-procedure 'call-with-span 2 procedure)
      (check-new 'call-with-span name kind attributes links)
      (let ((span (begin-span 'call-with-span name kind attributes links root?)))
        (if span
            (call-in-span span (lambda () (procedure span)))
            (procedure #f))))

    ;; The body of `(with-span name option ... body ...)`, with the options of `call-with-span`, is
    ;; a span.
    (define-syntax with-span
      (syntax-rules ()
        ((_ name option ...) (%with-span name () option ...))))

    (define-syntax %with-span
      (syntax-rules ()
        ((_ name options #:kind kind rest ...)
         (%with-span name (#:kind kind . options) rest ...))
        ((_ name options #:attributes attributes rest ...)
         (%with-span name (#:attributes attributes . options) rest ...))
        ((_ name options #:links links rest ...)
         (%with-span name (#:links links . options) rest ...))
        ((_ name options #:root? root? rest ...)
         (%with-span name (#:root? root? . options) rest ...))
        ((_ name options body0 body ...)
         (let ((thunk (lambda () body0 body ...)))
           (if (%tracing?)
               (call-with-span name (lambda (span) (thunk)) . options)
               (thunk))))))

    ;; Spans through which an exception passes, with it. The program may end by it, and runs no
    ;; winders then.
    (define-record-type failing
      (make-failing %lock entries)
      failing?
      (%lock failing-lock)
      (entries failing-entries set-failing-entries!))

    (define failing-spans (make-failing #f '()))

    (define (note-failing! entry)
      (%with-lock failing-spans
        (set-failing-entries! failing-spans (cons entry (failing-entries failing-spans)))))

    (define (forget-failing! entry)
      (%with-lock failing-spans
        (set-failing-entries! failing-spans
                              (let loop ((entries (failing-entries failing-spans)))
                                (cond ((null? entries) '())
                                      ((eq? entry (car entries)) (cdr entries))
                                      (else (cons (car entries) (loop (cdr entries)))))))))

    (define (end-failing-spans!)
      (for-each (lambda (entry)
                  (fail-span! (vector-ref entry 0) (vector-ref entry 1) (vector-ref entry 2))
                  (finish-span! (vector-ref entry 0) (now)))
                (failing-entries failing-spans)))

    (define (call-in-span span thunk)
      (let ((done? #f) (failure #f))
        (dynamic-wind
         void
         (lambda ()
           (with-exception-handler
             (lambda (object)
               (if (recording? span)
                   (begin
                     (if failure (forget-failing! failure))
                     (set! failure (vector span object (%backtrace)))
                     (note-failing! failure)))
               (raise-continuable object))
             (lambda ()
               (let ((result (call-in-context span thunk)))
                 (set! done? #t)
                 result))))
         (lambda ()
           (if failure
               (begin
                 (forget-failing! failure)
                 (if (not done?)
                     (fail-span! span (vector-ref failure 1) (vector-ref failure 2)))))
           (finish-span! span (now))))))

    ;; The current span, or #f.
    (define (current-span)
      (let ((context (current-context)))
        (and (span? context) context)))

    ;; Calls a procedure while a span, or #f for none, is the current one; the span does not end.
    (define (call-with-current-span span thunk)
      (check-span 'call-with-current-span span)
      (check-procedure 'call-with-current-span 2 thunk)
      (call-in-context span thunk))

    ;; Starts a task whose work is a span below the current one.
    (define* (spawn-with-span name thunk #:key (kind 'internal) (attributes '()) (links '()))
      (check-procedure 'spawn-with-span 2 thunk)
      (check-new 'spawn-with-span name kind attributes links)
      (spawn (lambda ()
               (call-with-span name (lambda (span) (thunk))
                 #:kind kind #:attributes attributes #:links links))
             #:name (string->symbol name)))

    ;; Whether what is said of a span has an effect: it is sampled and has not ended.
    (define (span-recording? span)
      (check-span 'span-recording? span)
      (and span (recording? span) #t))

    ;; The identifier of the trace, 32 hexadecimal digits; #f for #f.
    (define (span-trace-id span)
      (check-span 'span-trace-id span)
      (and span (%hex-encode (trace-id-of span) #f)))

    ;; The identifier of a span, 16 hexadecimal digits; #f for #f.
    (define (span-id span)
      (check-span 'span-id span)
      (and span (%hex-encode (id-of span) #f)))

    ;; Sets an attribute: a string, a symbol, a number, a boolean, or a list or vector of these.
    (define (span-set-attribute! span key value)
      (check-span 'span-set-attribute! span)
      (check-key 'span-set-attribute! key)
      (if span (set-attribute! span key value))
      (void))

    ;; Sets all attributes of an association list.
    (define (span-set-attributes! span attributes)
      (check-span 'span-set-attributes! span)
      (check-attributes 'span-set-attributes! 2 attributes)
      (if span
          (for-each (lambda (attribute) (set-attribute! span (car attribute) (cdr attribute)))
                    attributes))
      (void))

    ;; Notes that something happened, now.
    (define* (span-add-event! span name #:optional (attributes '()))
      (check-span 'span-add-event! span)
      (check-argument 'span-add-event! 2 string? "string" name)
      (check-attributes 'span-add-event! 3 attributes)
      (if span (add-event! span name attributes))
      (void))

    ;; Says that a span failed by an object that was raised.
    (define (span-record-error! span object)
      (check-span 'span-record-error! span)
      (if span (fail-span! span object (if (recording? span) (%backtrace) '())))
      (void))

    ;; Says how it went: `ok`, or `error` with a text.
    (define* (span-set-status! span status #:optional (message ""))
      (check-span 'span-set-status! span)
      (if (not (memq status '(ok error)))
          (%range-error 'span-set-status! 2 "ok or error" status))
      (check-argument 'span-set-status! 3 string? "string" message)
      (if span (set-status! span status message))
      (void))

    ;; Names a span anew.
    (define (span-set-name! span name)
      (check-span 'span-set-name! span)
      (check-argument 'span-set-name! 2 string? "string" name)
      (if span (rename-span! span name))
      (void))

    ;; Contexts of other programs.

    ;; The headers that carry the current context to another program: pairs of symbols and texts.
    (define (trace-headers)
      (inject-context (current-context)))

    ;; Calls a procedure in the context that such headers carry; spans in it belong to that trace.
    (define (call-with-trace-headers headers thunk)
      (check-argument 'call-with-trace-headers 1 headers? "association list of headers" headers)
      (check-procedure 'call-with-trace-headers 2 thunk)
      (define (field name)
        (let loop ((headers headers))
          (cond ((null? headers) #f)
                ((string-ci=? (symbol->string name) (text-of (caar headers))) (cdar headers))
                (else (loop (cdr headers))))))
      (call-in-contexts (extract-context field) (extract-baggage field) thunk))

    ;; Logs.

    (define severities
      '((trace . 1) (debug . 5) (info . 9) (warn . 13) (error . 17) (fatal . 21)))

    ;; Sends a log record with the current context. Its severity is `trace`, `debug`, `info`,
    ;; `warn`, `error` or `fatal`.
    (define* (log-event! severity message #:optional (attributes '()))
      (let ((number (assq severity severities))
            (running current))
        (if (not number)
            (%range-error 'log-event! 1 "trace, debug, info, warn, error or fatal" severity))
        (check-attributes 'log-event! 3 attributes)
        (if (and running (pipeline-active? (running-logs running)))
            (let ((span (current-span)))
              (enqueue! (running-logs running)
                        (make-otlp-log (+ (now) (wall-offset)) (cdr number)
                                       (string-upcase (symbol->string severity))
                                       message attributes
                                       (and span (trace-id-of span))
                                       (and span (id-of span))
                                       (if span (bitwise-and 255 (span-flags span)) 0)))))
        (void)))

    (if (environment-asks?)
        (start-telemetry!))))
