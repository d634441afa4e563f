;;; (canny telemetry settings): what the environment says about telemetry, under the names of the
;;; specification of OpenTelemetry.
;;;
;;; A variable that is empty counts as not set. One with a value that it does not take gives a
;;; warning and counts as not set, too: telemetry never ends a program. Options of
;;; `start-telemetry!` say what holds where the environment says nothing.

(define-library (canny telemetry settings)
  (export read-settings environment-asks?
          settings? settings-disabled? settings-resource settings-propagators settings-sampler
          settings-ratio settings-spans settings-logs settings-metrics settings-limits
          signal-exporters signal-target signal-delay signal-timeout signal-queue signal-batch
          target-url target-headers target-timeout target-protocol target-gzip?
          target-certificate target-client-certificate target-client-key
          limit-attributes limit-length limit-events limit-links
          ;; For baggage.
          %parse-pairs)
  (import (canny primitives) (canny syntax)
          (only (canny machine control) guard)
          (only (canny data lists) for-each map member assoc)
          (canny telemetry warnings)
          (only (canny web uri)
                string->uri uri->string uri-with uri-scheme uri-host uri-path percent-decode
                uri-error?))
  (begin

    (define-record-type settings
      (make-settings disabled? resource propagators sampler ratio spans logs metrics limits)
      settings?
      (disabled? settings-disabled?)
      ;; An association list of strings and values.
      (resource settings-resource)
      ;; Of `tracecontext` and `baggage`.
      (propagators settings-propagators)
      ;; A symbol of the specification, as `parentbased_traceidratio`, and its argument.
      (sampler settings-sampler)
      (ratio settings-ratio)
      ;; Signals.
      (spans settings-spans)
      (logs settings-logs)
      (metrics settings-metrics)
      (limits settings-limits))

    ;; Times are in seconds.
    (define-record-type signal
      (make-signal exporters target delay timeout queue batch)
      signal?
      ;; Of `otlp` and `console`.
      (exporters signal-exporters)
      ;; #f without `otlp`.
      (target signal-target)
      ;; Until what was queued is sent; of metrics the interval.
      (delay signal-delay)
      ;; For a batch with all its attempts.
      (timeout signal-timeout)
      (queue signal-queue)
      (batch signal-batch))

    ;; Where a signal is sent to, and how.
    (define-record-type target
      (make-target url headers timeout protocol gzip? certificate client-certificate client-key)
      target?
      (url target-url)
      (headers target-headers)
      ;; Seconds for an attempt.
      (timeout target-timeout)
      ;; `http/protobuf` or `http/json`.
      (protocol target-protocol)
      (gzip? target-gzip?)
      ;; Files in PEM form, or #f.
      (certificate target-certificate)
      (client-certificate target-client-certificate)
      (client-key target-client-key))

    ;; Counts of what a span has at most, and of the characters of texts; #f for no limit.
    (define-record-type limits
      (make-limits attributes length events links)
      limits?
      (attributes limit-attributes)
      (length limit-length)
      (events limit-events)
      (links limit-links))

    ;; Variables.

    (define (blank? char)
      (memv char '(#\space #\tab #\newline #\return)))

    (define (trimmed text)
      (let* ((end (let loop ((end (string-length text)))
                    (if (and (> end 0) (blank? (string-ref text (- end 1)))) (loop (- end 1)) end)))
             (start (let loop ((start 0))
                      (if (and (< start end) (blank? (string-ref text start)))
                          (loop (+ start 1))
                          start))))
        (substring text start end)))

    (define (variable name)
      (let ((text (get-environment-variable name)))
        (and text
             (let ((text (trimmed text)))
               (and (not (string=? text "")) text)))))

    ;; The first of some variables that is set, as a pair of its name and its value, or #f.
    (define (first-set names)
      (and (pair? names)
           (let ((text (variable (car names))))
             (if text
                 (cons (car names) text)
                 (first-set (cdr names))))))

    (define (complain name text expected instead)
      (warn! (string->symbol name)
             name " is \"" text "\", not " expected "; " instead))

    ;; The value of the first variable that is set, as `convert` gives it; it gives #f for a value
    ;; that is wrong.
    (define (converted names convert expected default instead)
      (let ((found (first-set names)))
        (if found
            (or (convert (cdr found))
                (begin
                  (complain (car found) (cdr found) expected instead)
                  default))
            default)))

    (define (whole text)
      (let ((number (string->number text)))
        (and number (exact-integer? number) number)))

    (define (number-of names least default)
      (converted names
                 (lambda (text)
                   (let ((number (whole text)))
                     (and number (>= number least) (< number 1000000000000) number)))
                 (if (= least 0) "a number" "a number above zero")
                 default
                 (if default
                     (string-append (number->string default) " is used")
                     "there is no limit")))

    ;; Variables have milliseconds; 0 is no time limit where the specification says so.
    (define (seconds-of names least default-milliseconds)
      (/ (number-of names least default-milliseconds) 1000))

    (define (true? names)
      (eq? 'true
           (converted names
                      (lambda (text)
                        (cond ((string-ci=? text "true") 'true)
                              ((string-ci=? text "false") 'false)
                              (else #f)))
                      "true or false" 'false "false is used")))

    ;; Texts between commas, without those that are empty.
    (define (comma-parts text)
      (let loop ((start 0) (parts '()))
        (let* ((comma (%string-index text #\, start))
               (part (trimmed (substring text start (or comma (string-length text)))))
               (parts (if (string=? part "") parts (cons part parts))))
          (if comma
              (loop (+ comma 1) parts)
              (reverse parts)))))

    (define (decoded text)
      (guard (object ((uri-error? object) text))
        (percent-decode text)))

    ;; `a=1,b=2` as an association list of strings; `wrong` is called with each part that is no
    ;; pair. Values are percent-encoded. Properties behind a
    ;; semicolon, as in baggage, are left out.
    (define (%parse-pairs text wrong)
      (let loop ((parts (comma-parts text)) (pairs '()))
        (if (null? parts)
            (reverse pairs)
            (let* ((part (car parts))
                   (equals (%string-index part #\=))
                   (key (and equals (decoded (trimmed (substring part 0 equals))))))
              (if (or (not key) (string=? key ""))
                  (begin
                    (wrong part)
                    (loop (cdr parts) pairs))
                  (let* ((rest (substring part (+ equals 1) (string-length part)))
                         (semicolon (%string-index rest #\;))
                         (value (trimmed (if semicolon (substring rest 0 semicolon) rest))))
                    (loop (cdr parts) (cons (cons key (decoded value)) pairs))))))))

    (define (pairs-of names)
      (let ((found (first-set names)))
        (if found
            (%parse-pairs (cdr found)
                          (lambda (part)
                            (complain (car found) part "a pair as key=value"
                                      "this part is left out")))
            '())))

    ;; Association lists, the first of which counts.
    (define (merged first second)
      (append first
              (let loop ((rest second))
                (cond ((null? rest) '())
                      ((assoc (caar rest) first) (loop (cdr rest)))
                      (else (cons (car rest) (loop (cdr rest))))))))

    ;; Exporters and targets.

    (define (exporters-of name others)
      (let ((found (first-set (list name))))
        (if (not found)
            '(otlp)
            (let loop ((parts (comma-parts (cdr found))))
              (cond ((null? parts) '())
                    ((string=? (car parts) "none") (loop (cdr parts)))
                    ((string=? (car parts) "otlp") (cons 'otlp (loop (cdr parts))))
                    ((string=? (car parts) "console") (cons 'console (loop (cdr parts))))
                    ((member (car parts) others) (loop (cdr parts)))
                    (else
                     (complain name (car parts) "otlp, console or none" "it is left out")
                     (loop (cdr parts))))))))

    (define (names-for signal suffix)
      (list (string-append "OTEL_EXPORTER_OTLP_" signal "_" suffix)
            (string-append "OTEL_EXPORTER_OTLP_" suffix)))

    (define (uri-of text)
      (guard (object ((uri-error? object) #f))
        (let ((uri (string->uri text)))
          (and (memq (uri-scheme uri) '(http https))
               (uri-host uri)
               (not (string=? "" (uri-host uri)))
               uri))))

    (define (with-path uri path)
      (uri->string (uri-with uri #:path path)))

    ;; The URL of a signal: that of its own variable as it is, or that of the common one with a path
    ;; behind it. Gives #f for a text that is no URL.
    (define (url-of signal path given)
      (let* ((own (first-set (list (string-append "OTEL_EXPORTER_OTLP_" signal "_ENDPOINT"))))
             (common (first-set '("OTEL_EXPORTER_OTLP_ENDPOINT")))
             (found (or own common
                        (cons "#:endpoint" (or given "http://localhost:4318"))))
             (uri (uri-of (cdr found))))
        (cond ((not uri)
               (complain (car found) (cdr found) "a URL as http://localhost:4318"
                         (string-append "no " (string-downcase signal) " are sent"))
               #f)
              (own (with-path uri (if (string=? "" (uri-path uri)) "/" (uri-path uri))))
              (else
               (let* ((base (uri-path uri))
                      (base (if (string-suffix? "/" base)
                                (substring base 0 (- (string-length base) 1))
                                base)))
                 (with-path uri (string-append base path)))))))

    (define (protocol-of signal given)
      (converted (names-for signal "PROTOCOL")
                 (lambda (text)
                   (let ((name (string->symbol text)))
                     (and (memq name '(http/protobuf http/json)) name)))
                 "http/protobuf or http/json" given
                 (string-append (symbol->string given) " is used")))

    (define (file-of names)
      (let ((found (first-set names)))
        (and found (cdr found))))

    (define (token? text)
      (let loop ((index 0))
        (or (= index (string-length text))
            (let ((char (string-ref text index)))
              (and (char<? #\space char #\x7f)
                   (not (%string-index "()<>@,;:\\\"/[]?={}" char))
                   (loop (+ index 1)))))))

    (define (field-value? text)
      (let loop ((index 0))
        (or (= index (string-length text))
            (let ((char (string-ref text index)))
              (and (or (char<=? #\space char #\~) (char=? char #\tab))
                   (loop (+ index 1)))))))

    ;; Headers that a client can send.
    (define (usable headers)
      (let loop ((rest headers))
        (cond ((null? rest) '())
              ((and (token? (caar rest)) (field-value? (cdar rest))
                    (not (member (string-downcase (caar rest))
                                 '("content-length" "transfer-encoding" "connection"))))
               (cons (cons (string->symbol (string-downcase (caar rest))) (cdar rest))
                     (loop (cdr rest))))
              (else
               (warn! 'headers "the header \"" (caar rest)
                      "\" of OTEL_EXPORTER_OTLP_HEADERS cannot be sent; it is left out")
               (loop (cdr rest))))))

    (define (target-of signal path endpoint protocol headers)
      (let ((url (url-of signal path endpoint)))
        (and url
             (make-target
              url
              (usable (merged (pairs-of (names-for signal "HEADERS")) headers))
              (seconds-of (names-for signal "TIMEOUT") 1 10000)
              (protocol-of signal protocol)
              (eq? 'gzip
                   (converted (names-for signal "COMPRESSION")
                              (lambda (text)
                                (let ((name (string->symbol text)))
                                  (and (memq name '(gzip none)) name)))
                              "gzip or none" 'none "none is used"))
              (file-of (names-for signal "CERTIFICATE"))
              (file-of (names-for signal "CLIENT_CERTIFICATE"))
              (file-of (names-for signal "CLIENT_KEY"))))))

    ;; Everything.

    (define samplers
      '(always_on always_off traceidratio parentbased_always_on parentbased_always_off
        parentbased_traceidratio))

    (define (propagators)
      (let ((found (first-set '("OTEL_PROPAGATORS"))))
        (if (not found)
            '(tracecontext baggage)
            (let loop ((parts (comma-parts (cdr found))))
              (cond ((null? parts) '())
                    ((string=? (car parts) "none") '())
                    ((memq (string->symbol (car parts)) '(tracecontext baggage))
                     (cons (string->symbol (car parts)) (loop (cdr parts))))
                    (else
                     (complain "OTEL_PROPAGATORS" (car parts) "tracecontext, baggage or none"
                               "it is left out")
                     (loop (cdr parts))))))))

    (define (ratio-of given)
      (converted '("OTEL_TRACES_SAMPLER_ARG")
                 (lambda (text)
                   (let ((number (string->number text)))
                     (and number (real? number) (<= 0 number 1) (inexact number))))
                 "a number from 0 to 1" given
                 (string-append (number->string given) " is used")))

    (define (resource service attributes)
      (let ((named (variable "OTEL_SERVICE_NAME")))
        (merged (merged (if named (list (cons "service.name" named)) '())
                        (merged (pairs-of '("OTEL_RESOURCE_ATTRIBUTES"))
                                (append (if service (list (cons "service.name" service)) '())
                                        attributes)))
                (list (cons "service.name" "unknown_service:canny")
                      (cons "telemetry.sdk.name" "canny")
                      (cons "telemetry.sdk.language" "scheme")
                      (cons "telemetry.sdk.version" (%implementation-version))
                      (cons "process.pid" (%process-id))
                      (cons "process.runtime.name" "canny")
                      (cons "process.runtime.version" (%implementation-version))))))

    ;; The settings of the environment, and options where it says nothing.
    (define (read-settings service attributes endpoint protocol headers sampler ratio)
      (define (signal name path exporters delay timeout queue batch)
        (make-signal exporters
                     (and (memq 'otlp exporters) (target-of name path endpoint protocol headers))
                     delay timeout queue (min batch queue)))
      (define (batched name path variable others delay)
        (define (variables suffix) (list (string-append variable "_" suffix)))
        (signal name path (exporters-of (string-append "OTEL_" name "_EXPORTER") others)
                (seconds-of (variables "SCHEDULE_DELAY") 0 delay)
                (seconds-of (variables "EXPORT_TIMEOUT") 1 30000)
                (number-of (variables "MAX_QUEUE_SIZE") 1 2048)
                (number-of (variables "MAX_EXPORT_BATCH_SIZE") 1 512)))
      (if (true? '("OTEL_SDK_DISABLED"))
          (make-settings #t '() '() 'always_off 0 #f #f #f #f)
          (make-settings
           #f
           (resource service attributes)
           (propagators)
           (converted '("OTEL_TRACES_SAMPLER")
                      (lambda (text)
                        (let ((name (string->symbol text)))
                          (and (memq name samplers) name)))
                      "a sampler as parentbased_traceidratio" sampler
                      (string-append (symbol->string sampler) " is used"))
           (ratio-of ratio)
           (batched "TRACES" "/v1/traces" "OTEL_BSP" '() 5000)
           (batched "LOGS" "/v1/logs" "OTEL_BLRP" '() 1000)
           (signal "METRICS" "/v1/metrics"
                   ;; Prometheus reads `/metrics`, which is a matter of the program.
                   (exporters-of "OTEL_METRICS_EXPORTER" '("prometheus"))
                   (seconds-of '("OTEL_METRIC_EXPORT_INTERVAL") 1 60000)
                   (seconds-of '("OTEL_METRIC_EXPORT_TIMEOUT") 1 30000)
                   1 1)
           (make-limits
            (number-of '("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" "OTEL_ATTRIBUTE_COUNT_LIMIT") 0 128)
            (number-of '("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"
                         "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT")
                       0 #f)
            (number-of '("OTEL_SPAN_EVENT_COUNT_LIMIT") 0 128)
            (number-of '("OTEL_SPAN_LINK_COUNT_LIMIT") 0 128)))))

    ;; Whether the environment names a collector or an exporter, so that telemetry starts by itself.
    (define (environment-asks?)
      (and (first-set '("OTEL_EXPORTER_OTLP_ENDPOINT" "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
                        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT" "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"
                        "OTEL_TRACES_EXPORTER" "OTEL_METRICS_EXPORTER" "OTEL_LOGS_EXPORTER"))
           #t))))
