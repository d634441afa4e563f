;;; (canny telemetry otlp): spans, log records and metrics as the messages of the OpenTelemetry
;;; protocol, in both encodings.
;;;
;;; A message is declared once, with the name, the number and the type of each field as the
;;; official definitions have them (opentelemetry-proto 1.x). Two procedures come of it: one writes
;;; it as Protocol Buffers, one gives it as an object for `json->string`. Fields with a default
;;; value are left out, as both encodings allow. In JSON, numbers of 64 bits are strings and
;;; identifiers are hexadecimal digits.
;;;
;;; | type | values |
;;; |---|---|
;;; | text | strings |
;;; | identifier | bytevectors |
;;; | fixed64, sfixed64 | integers |
;;; | fixed32, number | integers, of a count, an enumeration or flags |
;;; | double | real numbers |
;;; | flag | booleans |
;;; | (message m) | what `m` takes |
;;; | (list-of m) | a list of these |

(define-library (canny telemetry otlp)
  (export encode-spans encode-logs encode-metrics
          make-otlp-span make-otlp-log log-severity-text log-body log-attributes rejected-in)
  (import (canny primitives) (canny syntax)
          (only (canny machine control) guard)
          (only (canny data lists) for-each map)
          (only (canny json) json->string string->json)
          (canny telemetry protobuf))
  (begin

    ;; Types: pairs of a procedure that writes a field and one that gives its value in JSON. The
    ;; value is none of the defaults.

    (define text (cons put-string! (lambda (value) value)))
    (define identifier (cons put-bytes! (lambda (value) (%hex-encode value #f))))
    (define fixed64 (cons put-fixed64! number->string))
    (define fixed32 (cons put-fixed32! (lambda (value) value)))

    (define (put-number! writer number value)
      (put-varint! writer value)
      (put-tag! writer number wire-type/varint))

    (define number (cons put-number! (lambda (value) value)))

    ;; Numbers that JSON does not have are texts there.
    (define (double->json value)
      (let ((value (inexact value)))
        (cond ((not (= value value)) "NaN")
              ((= value +inf.0) "Infinity")
              ((= value -inf.0) "-Infinity")
              (else value))))

    (define double (cons put-double! double->json))

    (define flag
      (cons (lambda (writer number value) (put-number! writer number 1))
            (lambda (value) #t)))

    ;; A message is a pair of a procedure that writes its fields and one that gives an object.
    (define (message message)
      (cons (lambda (writer number value)
              (put-content! writer number (lambda () ((car message) writer value))))
            (cdr message)))

    (define (list-of message)
      (cons (lambda (writer number values)
              (for-each (lambda (value)
                          (put-content! writer number (lambda () ((car message) writer value))))
                        (reverse values)))
            (lambda (values) (list->vector (map (cdr message) values)))))

    ;; Numbers in one field.
    (define (packed put! ->json)
      (cons (lambda (writer number values)
              (put-content! writer number
                            (lambda ()
                              (for-each (lambda (value) (put! writer #f value))
                                        (reverse values)))))
            (lambda (values) (list->vector (map ->json values)))))

    (define packed-fixed64 (packed put-fixed64! number->string))
    (define packed-double (packed put-double! double->json))

    (define (default? value)
      (or (not value) (null? value) (eqv? value 0) (equal? value "")))

    ;; (define-message name (value) (field number type expression) ...), where `expression` gives
    ;; the value of the field for the value of the message.
    (define-syntax define-message
      (syntax-rules ()
        ((_ name (value) (field number type expression) ...)
         (define name
           (cons (lambda (writer value)
                   (let ((content expression))
                     (if (not (default? content))
                         ((car type) writer number content)))
                   ...)
                 (lambda (value)
                   (with-fields
                     (cons 'field (let ((content expression))
                                    (if (default? content) #f ((cdr type) content))))
                     ...)))))))

    ;; An object of the fields that have a value.
    (define (with-fields . fields)
      (let loop ((fields fields))
        (cond ((null? fields) '())
              ((cdar fields) (cons (car fields) (loop (cdr fields))))
              (else (loop (cdr fields))))))

    ;; Values of attributes and of log records. All of them are written, the defaults too.

    (define (int64? value)
      (and (exact-integer? value)
           (<= -9223372036854775808 value 9223372036854775807)))

    (define (shown value)
      (let ((port (open-output-string)))
        (write value port)
        (get-output-string port)))

    (define (put-any! writer value)
      (cond ((string? value) (put-string! writer 1 value))
            ((symbol? value) (put-string! writer 1 (symbol->string value)))
            ((boolean? value) (put-number! writer 2 (if value 1 0)))
            ((int64? value)
             (put-number! writer 3 (if (< value 0) (+ value 18446744073709551616) value)))
            ((real? value) (put-double! writer 4 value))
            ((vector? value)
             (put-content! writer 5
                           (lambda ()
                             (for-each (lambda (element)
                                         (put-content! writer 1
                                                       (lambda () (put-any! writer element))))
                                       (reverse (vector->list value))))))
            ((bytevector? value) (put-bytes! writer 7 value))
            (else (put-string! writer 1 (shown value)))))

    (define (any->json value)
      (cond ((string? value) (list (cons 'stringValue value)))
            ((symbol? value) (list (cons 'stringValue (symbol->string value))))
            ((boolean? value) (list (cons 'boolValue value)))
            ((int64? value) (list (cons 'intValue (number->string value))))
            ((real? value) (list (cons 'doubleValue (double->json value))))
            ((vector? value)
             (list (cons 'arrayValue
                         (list (cons 'values
                                     (list->vector (map any->json (vector->list value))))))))
            ((bytevector? value) (list (cons 'bytesValue (%base64-encode value #f #t))))
            (else (list (cons 'stringValue (shown value))))))

    (define any (cons put-any! any->json))

    (define (key-text key)
      (if (symbol? key) (symbol->string key) key))

    ;; `#f` as a value is one too: the field is written in any case.
    (define key-value
      (cons (lambda (writer entry)
              (put-content! writer 2 (lambda () (put-any! writer (cdr entry))))
              (put-string! writer 1 (key-text (car entry))))
            (lambda (entry)
              (list (cons 'key (key-text (car entry)))
                    (cons 'value (any->json (cdr entry)))))))

    ;; Parts of all signals.

    (define-message resource (attributes)
      (attributes 1 (list-of key-value) attributes))

    (define scope-name "canny")

    (define-message scope (ignored)
      (name 1 text scope-name)
      (version 2 text (%implementation-version)))

    ;; Spans. The parts are in a vector, so that this library knows nothing of their record.

    (define-record-type otlp-span
      (make-otlp-span trace-id id state parent-id flags name kind start end attributes
                      dropped-attributes events dropped-events links dropped-links status message)
      otlp-span?
      (trace-id span-trace-id)
      (id span-id)
      (state span-state)
      (parent-id span-parent-id)
      (flags span-flags)
      (name span-name)
      ;; As the enumeration has it: 1 internal, 2 server, 3 client, 4 producer, 5 consumer.
      (kind span-kind)
      ;; Nanoseconds since 1970.
      (start span-start)
      (end span-end)
      (attributes span-attributes)
      (dropped-attributes span-dropped-attributes)
      ;; Vectors of the time, the name, attributes and how many of these were left out.
      (events span-events)
      (dropped-events span-dropped-events)
      ;; Vectors of both identifiers, the state, attributes and flags.
      (links span-links)
      (dropped-links span-dropped-links)
      ;; 0 unset, 1 ok, 2 error.
      (status span-status)
      (message span-message))

    (define-message event (event)
      (timeUnixNano 1 fixed64 (vector-ref event 0))
      (name 2 text (vector-ref event 1))
      (attributes 3 (list-of key-value) (vector-ref event 2))
      (droppedAttributesCount 4 number (vector-ref event 3)))

    (define-message link (link)
      (traceId 1 identifier (vector-ref link 0))
      (spanId 2 identifier (vector-ref link 1))
      (traceState 3 text (vector-ref link 2))
      (attributes 4 (list-of key-value) (vector-ref link 3))
      (flags 6 fixed32 (vector-ref link 4)))

    (define-message status (span)
      (message 2 text (span-message span))
      (code 3 number (span-status span)))

    (define-message span (span)
      (traceId 1 identifier (span-trace-id span))
      (spanId 2 identifier (span-id span))
      (traceState 3 text (span-state span))
      (parentSpanId 4 identifier (span-parent-id span))
      (name 5 text (span-name span))
      (kind 6 number (span-kind span))
      (startTimeUnixNano 7 fixed64 (span-start span))
      (endTimeUnixNano 8 fixed64 (span-end span))
      (attributes 9 (list-of key-value) (span-attributes span))
      (droppedAttributesCount 10 number (span-dropped-attributes span))
      (events 11 (list-of event) (span-events span))
      (droppedEventsCount 12 number (span-dropped-events span))
      (links 13 (list-of link) (span-links span))
      (droppedLinksCount 14 number (span-dropped-links span))
      (status 15 (message status) (and (not (eqv? 0 (span-status span))) span))
      (flags 16 fixed32 (span-flags span)))

    ;; Log records.

    (define-record-type otlp-log
      (make-otlp-log time severity severity-text body attributes trace-id span-id flags)
      otlp-log?
      (time log-time)
      (severity log-severity)
      (severity-text log-severity-text)
      (body log-body)
      (attributes log-attributes)
      (trace-id log-trace-id)
      (span-id log-span-id)
      (flags log-flags))

    (define-message log-record (log)
      (timeUnixNano 1 fixed64 (log-time log))
      (severityNumber 2 number (log-severity log))
      (severityText 3 text (log-severity-text log))
      (body 5 (message any) (log-body log))
      (attributes 6 (list-of key-value) (log-attributes log))
      (flags 8 fixed32 (log-flags log))
      (traceId 9 identifier (log-trace-id log))
      (spanId 10 identifier (log-span-id log))
      (observedTimeUnixNano 11 fixed64 (log-time log)))

    ;; Metrics. They come as families of `(canny metrics)`, with the time at which counting began
    ;; and that of the reading.

    (define (exact-count? value)
      (and (exact-integer? value) (<= 0 value 9223372036854775807)))

    ;; A point: labels, value, begin, time. Zero is a value as any other.
    (define put-point!
      (lambda (writer point)
        (let ((value (vector-ref point 1)))
          ((car (list-of key-value)) writer 7 (vector-ref point 0))
          (if (exact-count? value)
              (put-fixed64! writer 6 value)
              (put-double! writer 4 value))
          (put-fixed64! writer 3 (vector-ref point 3))
          (put-fixed64! writer 2 (vector-ref point 2)))))

    (define (point->json point)
      (let ((value (vector-ref point 1)))
        (list (cons 'attributes ((cdr (list-of key-value)) (vector-ref point 0)))
              (cons 'startTimeUnixNano (number->string (vector-ref point 2)))
              (cons 'timeUnixNano (number->string (vector-ref point 3)))
              (if (exact-count? value)
                  (cons 'asInt (number->string value))
                  (cons 'asDouble (double->json value))))))

    (define point (cons put-point! point->json))

    (define-message gauge (points)
      (dataPoints 1 (list-of point) points))

    (define cumulative 2)

    (define-message sum (points)
      (dataPoints 1 (list-of point) points)
      (aggregationTemporality 2 number cumulative)
      (isMonotonic 3 flag #t))

    ;; Labels, sum, begin, time, count, counts of the buckets, bounds.
    (define-message histogram-point (point)
      (startTimeUnixNano 2 fixed64 (vector-ref point 2))
      (timeUnixNano 3 fixed64 (vector-ref point 3))
      (count 4 fixed64 (vector-ref point 4))
      (sum 5 double (inexact (vector-ref point 1)))
      (bucketCounts 6 packed-fixed64 (vector-ref point 5))
      (explicitBounds 7 packed-double (vector-ref point 6))
      (attributes 9 (list-of key-value) (vector-ref point 0)))

    (define-message histogram (points)
      (dataPoints 1 (list-of histogram-point) points)
      (aggregationTemporality 2 number cumulative))

    (define (family-type family) (cadr family))
    (define (family-samples family) (car (cdddr family)))

    (define-message metric (metric)
      (name 1 text (metric-name (vector-ref metric 0)))
      (description 2 text (caddr (vector-ref metric 0)))
      (unit 3 text (unit-of (car (vector-ref metric 0))))
      (gauge 5 (message gauge) (points-of 'gauge metric))
      (sum 7 (message sum) (points-of 'counter metric))
      (histogram 9 (message histogram) (points-of 'histogram metric)))

    ;; OpenTelemetry's names have no ending for counters, and exporters to Prometheus append it.
    (define (metric-name family)
      (let ((name (car family)))
        (if (and (eq? 'counter (family-type family)) (string-suffix? "_total" name))
            (substring name 0 (- (string-length name) 6))
            name)))

    (define (unit-of name)
      (let ((name (if (string-suffix? "_total" name)
                      (substring name 0 (- (string-length name) 6))
                      name)))
        (cond ((or (string-suffix? "_seconds" name) (string-suffix? "_seconds_max" name)) "s")
              ((string-suffix? "_bytes" name) "By")
              (else ""))))

    (define (points-of type metric)
      (let* ((family (vector-ref metric 0))
             (begun (vector-ref metric 1))
             (time (vector-ref metric 2)))
        (and (eq? type (family-type family))
             (if (eq? type 'histogram)
                 (histogram-points (family-samples family) begun time)
                 (map (lambda (sample)
                        (vector (cadr sample) (caddr sample) begun time))
                      (family-samples family))))))

    ;; The samples of a histogram as points. Those of a series follow each other: buckets with
    ;; growing counts, the sum, the count.
    (define (histogram-points samples begun time)
      (let loop ((samples samples) (before 0) (counts '()) (bounds '()) (sum 0) (points '()))
        (if (null? samples)
            (reverse points)
            (let* ((sample (car samples))
                   (suffix (car sample))
                   (labels (cadr sample))
                   (value (caddr sample)))
              (cond ((equal? suffix "_bucket")
                     (let ((bound (bound-of labels)))
                       (loop (cdr samples) value
                             (cons (- value before) counts)
                             (if bound (cons bound bounds) bounds)
                             sum points)))
                    ((equal? suffix "_sum")
                     (loop (cdr samples) before counts bounds value points))
                    (else
                     (loop (cdr samples) 0 '() '() 0
                           (cons (vector labels sum begun time value
                                         (reverse counts) (reverse bounds))
                                 points))))))))

    ;; The upper bound of a bucket, or #f for the last one.
    (define (bound-of labels)
      (let loop ((labels labels))
        (cond ((null? labels) #f)
              ((equal? "le" (caar labels))
               (if (equal? "+Inf" (cdar labels))
                   #f
                   (string->number (cdar labels))))
              (else (loop (cdr labels))))))

    ;; Requests: a resource, a scope, and what is sent.

    (define-syntax define-request
      (syntax-rules ()
        ((_ name (resources scopes elements) message)
         (define name
           (let ()
             (define-message scoped (content)
               (scope 1 (message* scope) #t)
               (elements 2 (list-of message) (cdr content)))
             (define-message whole (content)
               (resource 1 (message* resource) (car content))
               (scopes 2 (list-of scoped) (list content)))
             (define-message request (content)
               (resources 1 (list-of whole) (list content)))
             request)))))

    (define message* message)

    (define-request spans-request (resourceSpans scopeSpans spans) span)
    (define-request logs-request (resourceLogs scopeLogs logRecords) log-record)
    (define-request metrics-request (resourceMetrics scopeMetrics metrics) metric)

    (define (encode request attributes elements protocol)
      (let ((content (cons attributes elements)))
        (if (eq? protocol 'http/json)
            (string->utf8 (json->string ((cdr request) content)))
            (let ((writer (make-writer)))
              ((car request) writer content)
              (writer-bytes writer)))))

    ;; The bytes of a request, in the encoding of a protocol, `http/protobuf` or `http/json`.
    (define (encode-spans attributes spans protocol)
      (encode spans-request attributes spans protocol))

    (define (encode-logs attributes logs protocol)
      (encode logs-request attributes logs protocol))

    ;; Metrics are vectors of a family, the time at which counting began, and that of the reading.
    (define (encode-metrics attributes metrics protocol)
      (encode metrics-request attributes metrics protocol))

    ;; How many elements a collector has not taken, and why, as a pair; #f if it took all.
    (define (rejected-in bytes protocol)
      (guard (object (#t #f))
        (if (eq? protocol 'http/json)
            (let* ((answer (string->json (utf8->string bytes)))
                   (partial (and (pair? answer) (assq 'partialSuccess answer))))
              (and partial (rejected-in-object (cdr partial))))
            (let ((partial (assv 1 (protobuf-fields bytes))))
              (and partial
                   (let* ((fields (protobuf-fields (cdr partial)))
                          (count (assv 1 fields))
                          (text (assv 2 fields)))
                     (report (if count (cdr count) 0)
                             (if text (utf8->string (cdr text)) ""))))))))

    (define (rejected-in-object fields)
      (let loop ((fields fields) (count 0) (text ""))
        (cond ((null? fields) (report count text))
              ((memq (caar fields) '(rejectedSpans rejectedLogRecords rejectedDataPoints))
               (loop (cdr fields)
                     (if (string? (cdar fields)) (string->number (cdar fields)) (cdar fields))
                     text))
              ((eq? 'errorMessage (caar fields)) (loop (cdr fields) count (cdar fields)))
              (else (loop (cdr fields) count text)))))

    (define (report count text)
      (and (not (and (eqv? count 0) (string=? text "")))
           (cons count text)))))
