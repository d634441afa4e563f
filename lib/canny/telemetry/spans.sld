;;; (canny telemetry spans): spans, the context in which a task runs, and contexts in headers as W3C
;;; has them.
;;;
;;; The context is a parameter, so that tasks inherit it. It is the current span, #f outside of any,
;;; or `suppressed` in the tasks that send telemetry, which are not to be observed. A span that is
;;; not sampled passes its identifiers on and records nothing.
;;;
;;; Times are nanoseconds of the monotonic clock, so that they are small numbers; `wall-offset` is
;;; what is missing to times since 1970.
;;;
;;; | fields | changed by | under |
;;; |---|---|---|
;;; | all mutable ones of a span | tasks that describe it, until it has ended | its lock |
;;; | the tracer | start and end of telemetry | none: read once for each span |

(define-library (canny telemetry spans)
  (export set-tracer! tracing? now wall-offset
          current-context call-in-context call-in-contexts current-baggage
          span? new-span root-context finish-span!
          span-trace-id span-id span-parent-id span-flags span-state span-recording? span-remote?
          span-name span-kind span-start span-end span-attributes span-dropped-attributes
          span-events span-dropped-events span-links span-dropped-links span-status span-message
          set-attribute! set-first-attributes! add-event! set-status! rename-span! fail-span!
          exception-attributes
          extract-context extract-baggage inject-context)
  (import (canny machine protocols) (canny primitives) (canny syntax)
          (only (canny machine control) make-parameter parameterize guard)
          (only (canny data lists) for-each map)
          (only (canny tasks) %with-lock)
          (only (canny web uri) percent-encode)
          (canny telemetry settings))
  (begin

    (define-record-type span
      (make-span %lock trace-id id parent-id flags state name kind start end attributes count
                 dropped-attributes events event-count dropped-events links dropped-links status
                 message)
      span?
      (%lock span-lock)
      ;; Bytevectors; the parent's is #f in a root.
      (trace-id span-trace-id)
      (id span-id)
      (parent-id span-parent-id)
      ;; Of `flag/sampled` and the others below.
      (flags span-flags)
      ;; The text of `tracestate`.
      (state span-state)
      (name span-name set-span-name!)
      ;; `internal`, `server`, `client`, `producer` or `consumer`; #f for the span of another
      ;; program.
      (kind span-kind)
      (start span-start)
      ;; #f until it has ended.
      (end span-end set-span-end!)
      ;; Pairs, the newest first.
      (attributes span-attributes set-span-attributes!)
      (count span-count set-span-count!)
      (dropped-attributes span-dropped-attributes set-span-dropped-attributes!)
      ;; Vectors of a time, a name and attributes, the newest first.
      (events span-events set-span-events!)
      (event-count span-event-count set-span-event-count!)
      (dropped-events span-dropped-events set-span-dropped-events!)
      (links span-links)
      (dropped-links span-dropped-links)
      ;; `unset`, `ok` or `error`.
      (status span-status set-span-status!)
      (message span-message set-span-message!))

    (define flag/sampled 1)
    ;; Whether the parent is a span of another program; the first flag says that the second is
    ;; known.
    (define flag/has-remote 256)
    (define flag/remote 512)

    (define (sampled? span)
      (not (eqv? 0 (bitwise-and (span-flags span) flag/sampled))))

    (define (span-remote? span)
      (not (span-kind span)))

    ;; Whether what is said of a span has an effect.
    (define (span-recording? span)
      (and (sampled? span) (span-kind span) (not (span-end span))))

    ;; The tracer: how spans are sampled and limited, which headers are known, and a procedure that
    ;; takes spans that have ended.
    (define-record-type tracer
      (make-tracer sampler ratio limits propagators deliver!)
      tracer?
      (sampler tracer-sampler)
      (ratio tracer-ratio)
      (limits tracer-limits)
      (propagators tracer-propagators)
      (deliver! tracer-deliver!))

    (define current-tracer #f)

    ;; Makes spans from now on as settings say; #f makes none.
    (define (set-tracer! settings deliver!)
      (set! current-tracer
            (and settings
                 (make-tracer (settings-sampler settings) (settings-ratio settings)
                              (settings-limits settings) (settings-propagators settings)
                              deliver!))))

    (define (tracing?)
      (and current-tracer #t))

    ;; Time.

    (define (now)
      (%clock-nanoseconds clock/monotonic))

    ;; The difference to times since 1970, at the moment of the call: the clock of the calendar may
    ;; be set.
    (define (wall-offset)
      (- (%clock-nanoseconds clock/realtime) (%clock-nanoseconds clock/monotonic)))

    ;; Contexts.

    (define context (make-parameter #f))

    (define (current-context)
      (context))

    (define (call-in-context new thunk)
      (parameterize ((context new))
        (thunk)))

    ;; The same with the baggage of a request.
    (define (call-in-contexts new baggage thunk)
      (parameterize ((context new) (current-baggage baggage))
        (thunk)))

    (define (baggage? object)
      (or (null? object)
          (and (pair? object)
               (pair? (car object))
               (string? (caar object))
               (string? (cdar object))
               (baggage? (cdr object)))))

    ;; Names and values that go with requests to other programs: an association list of strings.
    (define current-baggage
      (make-parameter '()
                      (lambda (object)
                        (if (not (baggage? object))
                            (%type-error 'current-baggage 1 "association list of strings" object))
                        object)))

    ;; Sampling.

    (define two-to-56 (expt 2 56))

    ;; The last seven bytes of an identifier, which are random, as a number.
    (define (tail-of id)
      (let loop ((index 9) (sum 0))
        (if (= index 16)
            sum
            (loop (+ index 1) (+ (* 256 sum) (bytevector-u8-ref id index))))))

    (define (sample? tracer parent trace-id)
      (define (by-ratio)
        (< (tail-of trace-id) (* (tracer-ratio tracer) two-to-56)))
      (case (tracer-sampler tracer)
        ((always_on) #t)
        ((always_off) #f)
        ((traceidratio) (by-ratio))
        ((parentbased_always_on) (or (not parent) (sampled? parent)))
        ((parentbased_always_off) (and parent (sampled? parent)))
        (else (if parent (sampled? parent) (by-ratio)))))

    ;; Spans.

    ;; Random bytes, many of which come from the system at once.
    (define-record-type supply
      (make-supply %lock bytes used)
      supply?
      (%lock supply-lock)
      (bytes supply-bytes set-supply-bytes!)
      (used supply-used set-supply-used!))

    (define supply-size 4096)

    (define random-supply (make-supply #f #f supply-size))

    (define (make-identifier count)
      (let ((start (%with-lock random-supply
                     (let ((used (supply-used random-supply)))
                       (if (> (+ used count) supply-size)
                           #f
                           (begin
                             (set-supply-used! random-supply (+ used count))
                             (cons (supply-bytes random-supply) used)))))))
        (if start
            (bytevector-copy (car start) (cdr start) (+ (cdr start) count))
            (let ((bytes (%random-bytes supply-size)))
              (%with-lock random-supply
                (set-supply-bytes! random-supply bytes)
                (set-supply-used! random-supply 0))
              (make-identifier count)))))

    ;; As many as a limit allows, and how many are beyond it.
    (define (within limit list)
      (let loop ((rest list) (count 0) (taken '()))
        (cond ((null? rest) (cons (reverse taken) 0))
              ((= count limit) (cons (reverse taken) (length rest)))
              (else (loop (cdr rest) (+ count 1) (cons (car rest) taken))))))

    ;; Begins a span below a parent, a span or #f. Links are vectors as `(canny telemetry otlp)` has
    ;; them. Gives #f where there is no tracer.
    (define (new-span name kind parent links)
      (let ((tracer current-tracer))
        (and tracer
             (let* ((parent (and (span? parent) parent))
                    (trace-id (if parent (span-trace-id parent) (make-identifier 16)))
                    (links (if (null? links)
                               '(() . 0)
                               (within (limit-links (tracer-limits tracer)) links))))
               (make-span #f trace-id (make-identifier 8)
                          (and parent (span-id parent))
                          (+ (if (sample? tracer parent trace-id) flag/sampled 0)
                             (if (and parent (span-remote? parent))
                                 (+ flag/has-remote flag/remote)
                                 flag/has-remote))
                          (if parent (span-state parent) "")
                          name kind (now) #f '() 0 0 '() 0 0 (car links) (cdr links)
                          'unset "")))))

    ;; The span of another program, as the parent of new ones.
    (define (root-context trace-id id flags state)
      (make-span #f trace-id id #f flags state #f #f 0 0 '() 0 0 '() 0 0 '() 0 'unset ""))

    ;; Ends a span and hands it over; a second time does nothing.
    (define (finish-span! span time)
      (let* ((tracer current-tracer)
             (ended? (%with-lock span
                       (if (span-end span)
                           #f
                           (begin
                             (set-span-end! span time)
                             #t)))))
        (if (and ended? tracer (sampled? span))
            ((tracer-deliver! tracer) span))))

    ;; Descriptions of spans.

    (define (cut text limits)
      (let ((most (limit-length limits)))
        (if (and most (> (string-length text) most))
            (substring text 0 most)
            text)))

    (define (limited value limits)
      (cond ((string? value) (cut value limits))
            ((and (vector? value) (limit-length limits))
             (list->vector (map (lambda (element) (limited element limits))
                                (vector->list value))))
            ((list? value) (limited (list->vector value) limits))
            (else value)))

    ;; The entry of a key, which is a symbol or a string.
    (define (entry-of key entries)
      (cond ((null? entries) #f)
            ((equal? key (caar entries)) (car entries))
            (else (entry-of key (cdr entries)))))

    ;; Neither raises, as the lock demands: the value has been limited before.
    (define (note-attribute! span key value most)
      (let ((entry (entry-of key (span-attributes span))))
        (cond (entry (set-cdr! entry value))
              ((>= (span-count span) most)
               (set-span-dropped-attributes! span (+ 1 (span-dropped-attributes span))))
              (else
               (set-span-count! span (+ 1 (span-count span)))
               (set-span-attributes! span (cons (cons key value) (span-attributes span)))))))

    (define (set-attribute! span key value)
      (let ((tracer current-tracer))
        (if (and tracer (span-recording? span))
            (let* ((limits (tracer-limits tracer))
                   (value (limited value limits)))
              (%with-lock span
                (note-attribute! span key value (limit-attributes limits)))))))

    ;; The first attributes of a span that no other task has yet. Their keys differ; pairs whose
    ;; value is #f are left out.
    (define (set-first-attributes! span attributes)
      (let* ((limits (tracer-limits current-tracer))
             (most (limit-attributes limits)))
        (let loop ((rest attributes) (kept '()) (count 0))
          (cond ((null? rest)
                 (set-span-attributes! span kept)
                 (set-span-count! span count))
                ((not (cdar rest)) (loop (cdr rest) kept count))
                ((>= count most)
                 (set-span-dropped-attributes! span (+ 1 (span-dropped-attributes span)))
                 (loop (cdr rest) kept count))
                (else
                 (loop (cdr rest)
                       (cons (cons (caar rest) (limited (cdar rest) limits)) kept)
                       (+ count 1)))))))

    (define (add-event! span name attributes)
      (let ((tracer current-tracer))
        (if (and tracer (span-recording? span))
            (let* ((limits (tracer-limits tracer))
                   (kept (within (limit-attributes limits)
                                 (map (lambda (attribute)
                                        (cons (car attribute) (limited (cdr attribute) limits)))
                                      attributes)))
                   (event (vector (now) name (car kept) (cdr kept))))
              (%with-lock span
                (if (>= (span-event-count span) (limit-events limits))
                    (set-span-dropped-events! span (+ 1 (span-dropped-events span)))
                    (begin
                      (set-span-event-count! span (+ 1 (span-event-count span)))
                      (set-span-events! span (cons event (span-events span))))))))))

    ;; A status of `ok` stays.
    (define (set-status! span status message)
      (%with-lock span
        (if (not (or (span-end span) (eq? 'ok (span-status span))))
            (begin
              (set-span-status! span status)
              (set-span-message! span (if (eq? status 'error) message ""))))))

    (define (rename-span! span name)
      (%with-lock span
        (if (not (span-end span))
            (set-span-name! span name))))

    ;; Exceptions.

    (define (type-text object)
      (cond ((error-object? object) (symbol->string (condition-kind object)))
            ((symbol? object) (symbol->string object))
            (else "object")))

    (define (place-text place)
      (if place
          (string-append " (" (car place) ":" (number->string (cadr place)) ":"
                         (number->string (car (cddr place))) ")")
          ""))

    (define (message-text object)
      (string-append (condition->string object)
                     (place-text (and (error-object? object) (condition-position object)))))

    ;; Frames without the values of their variables, which may be secrets.
    (define (frames-text frames)
      (let ((port (open-output-string)))
        (let loop ((frames frames) (count 0))
          (if (and (pair? frames) (< count 32))
              (begin
                (write-string (string-append "in " (caar frames) (place-text (cadr (car frames)))
                                             "\n")
                              port)
                (loop (cdr frames) (+ count 1)))))
        (get-output-string port)))

    ;; The attributes of an event for an object that was raised, with frames as `%backtrace` gives
    ;; them.
    (define (exception-attributes object frames)
      (append (list (cons "exception.type" (type-text object))
                    (cons "exception.message" (message-text object)))
              (if (pair? frames)
                  (list (cons "exception.stacktrace" (frames-text frames)))
                  '())))

    ;; Says that a span failed by an object that was raised.
    (define (fail-span! span object frames)
      (if (span-recording? span)
          (begin
            (add-event! span "exception" (exception-attributes object frames))
            (set-attribute! span "error.type" (type-text object))
            (set-status! span 'error (message-text object)))))

    ;; Headers.

    (define (digit? char)
      (or (char<=? #\0 char #\9) (char<=? #\a char #\f)))

    (define (digits? text start end)
      (or (= start end)
          (and (digit? (string-ref text start))
               (digits? text (+ start 1) end))))

    (define (zeros? text start end)
      (or (= start end)
          (and (char=? #\0 (string-ref text start))
               (zeros? text (+ start 1) end))))

    ;; Version, identifiers and flags: `00-<32 digits>-<16 digits>-<2 digits>`. A later version may
    ;; have more behind these.
    (define (valid-traceparent? text)
      (let ((length (string-length text)))
        (and (>= length 55)
             (digits? text 0 2)
             (char=? #\- (string-ref text 2))
             (digits? text 3 35)
             (char=? #\- (string-ref text 35))
             (digits? text 36 52)
             (char=? #\- (string-ref text 52))
             (digits? text 53 55)
             (not (string=? "ff" (substring text 0 2)))
             (if (string=? "00" (substring text 0 2))
                 (= length 55)
                 (or (= length 55) (char=? #\- (string-ref text 55))))
             (not (zeros? text 3 35))
             (not (zeros? text 36 52)))))

    (define state-most 512)

    ;; A text of printable characters; members at its end that are too much are left out.
    (define (usable-state text)
      (let ((length (string-length text)))
        (cond ((not (let loop ((index 0))
                      (or (= index length)
                          (and (char<=? #\space (string-ref text index) #\~)
                               (loop (+ index 1))))))
               "")
              ((<= length state-most) text)
              (else
               (let ((comma (%string-rindex text #\, 0 state-most)))
                 (if comma (substring text 0 comma) ""))))))

    (define (knows? propagator)
      (let ((tracer current-tracer))
        (and tracer (memq propagator (tracer-propagators tracer)))))

    ;; The context that headers carry, or #f. `field` gives the text of a header, or #f.
    (define (extract-context field)
      (and (knows? 'tracecontext)
           (let ((text (field 'traceparent)))
             (and (string? text)
                  (valid-traceparent? text)
                  (let ((state (field 'tracestate)))
                    (root-context (%hex-decode (substring text 3 35) #f)
                                  (%hex-decode (substring text 36 52) #f)
                                  (bitwise-and flag/sampled
                                               (string->number (substring text 53 55) 16))
                                  (if (string? state) (usable-state state) "")))))))

    (define baggage-members 64)
    (define baggage-bytes 8192)

    ;; The baggage that headers carry.
    (define (extract-baggage field)
      (let ((text (and (knows? 'baggage) (field 'baggage))))
        (if (and (string? text) (<= (string-length text) baggage-bytes))
            (car (within baggage-members (%parse-pairs text (lambda (part) #f))))
            '())))

    ;; The headers that carry a context, a span or #f, and the current baggage: pairs of symbols and
    ;; texts.
    (define (inject-context context)
      (append
       (if (and (span? context) (knows? 'tracecontext))
           (cons (cons 'traceparent
                       (string-append "00-" (%hex-encode (span-trace-id context) #f)
                                      "-" (%hex-encode (span-id context) #f)
                                      (if (sampled? context) "-01" "-00")))
                 (if (string=? "" (span-state context))
                     '()
                     (list (cons 'tracestate (span-state context)))))
           '())
       (let ((baggage (current-baggage)))
         (if (or (null? baggage) (not (knows? 'baggage)))
             '()
             (let ((text (baggage-text baggage)))
               (if (<= (string-length text) baggage-bytes)
                   (list (cons 'baggage text))
                   '()))))))

    (define (baggage-text baggage)
      (let ((port (open-output-string)))
        (let loop ((rest baggage) (before ""))
          (if (pair? rest)
              (begin
                (write-string before port)
                (write-string (percent-encode (caar rest)) port)
                (write-string "=" port)
                (write-string (percent-encode (cdar rest)) port)
                (loop (cdr rest) ","))))
        (get-output-string port)))))
