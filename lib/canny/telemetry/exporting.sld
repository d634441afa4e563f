;;; (canny telemetry exporting): queues of what is to be sent, and the tasks that send it.
;;;
;;; Each signal has a pipeline: a queue with a limit, and a task that sends what is queued in
;;; batches. It does so from time to time, and when a batch is full. Adding to a queue waits for
;;; nothing: an item without room is counted and lost. Metrics are not queued, but read when they
;;; are to be sent.
;;;
;;; Failures are those that the OpenTelemetry protocol names. A batch is tried again, with growing
;;; delays, if the collector cannot be reached or answers 429, 502, 503 or 504; `Retry-After`
;;; counts. All other answers lose the batch. Each kind of failure gives a warning, at
;;; most one in a minute.
;;;
;;; | fields of a pipeline | changed under |
;;; |---|---|
;;; | items, count, dropped, sent, failed, flushes | its lock |
;;; | client | none: by its task only |

(define-library (canny telemetry exporting)
  (export start-pipeline! enqueue! flush-pipeline! stop-pipeline! pipeline-statistics
          pipeline-active?)
  (import (canny machine protocols) (canny primitives) (canny syntax)
          (only (canny machine control) guard current-output-port)
          (only (canny data lists) for-each map)
          (canny tasks)
          (only (canny sync)
                make-semaphore semaphore-acquire! semaphore-release! semaphore-try-acquire!)
          (only (canny net) tls-client-context)
          (only (canny compression) compress)
          (only (canny web client)
                make-http-client http-request http-response-status http-response-header
                http-response-bytes http-response-reason http-error? http-error-stage
                http-error-cause http-timeout-error?)
          (canny telemetry settings) (canny telemetry warnings)
          (only (canny telemetry spans) call-in-context)
          (only (canny telemetry otlp) rejected-in))
  (begin

    (define-record-type pipeline
      (make-pipeline %lock name signal encode show collect client waker stopping items count dropped
                     sent failed flushes)
      pipeline?
      (%lock pipeline-lock)
      ;; A text: "spans", "log records" or "metrics".
      (name pipeline-name)
      (signal pipeline-signal)
      ;; Gives the bytes of a list of items in a protocol.
      (encode pipeline-encode)
      ;; Writes an item to a port, for people.
      (show pipeline-show)
      ;; Gives the items to send, or #f where they are queued.
      (collect pipeline-collect)
      ;; Of HTTP; #f if nothing can be sent.
      (client pipeline-client)
      ;; Ends the wait of the task.
      (waker pipeline-waker)
      ;; A future that is resolved at the end.
      (stopping pipeline-stopping)
      ;; The newest first.
      (items pipeline-items set-pipeline-items!)
      (count pipeline-count set-pipeline-count!)
      (dropped pipeline-dropped set-pipeline-dropped!)
      (sent pipeline-sent set-pipeline-sent!)
      (failed pipeline-failed set-pipeline-failed!)
      ;; Futures of those that wait until the queue was sent.
      (flushes pipeline-flushes set-pipeline-flushes!))

    ;; Queues.

    ;; Adds an item, or counts it as lost.
    (define (enqueue! pipeline item)
      (let* ((signal (pipeline-signal pipeline))
             (most (signal-queue signal))
             (batch (signal-batch signal))
             (outcome
              (%with-lock pipeline
                (let ((count (pipeline-count pipeline)))
                  (if (>= count most)
                      (begin
                        (set-pipeline-dropped! pipeline (+ 1 (pipeline-dropped pipeline)))
                        ;; A program that loses many has better things to do than to warn.
                        (if (= 1 (bitwise-and 1023 (pipeline-dropped pipeline))) 'full #f))
                      (begin
                        (set-pipeline-items! pipeline (cons item (pipeline-items pipeline)))
                        (set-pipeline-count! pipeline (+ count 1))
                        (if (= (+ count 1) batch) 'batch #f)))))))
        (cond ((eq? outcome 'batch) (semaphore-release! (pipeline-waker pipeline)))
              ((eq? outcome 'full)
               (warn! 'queue "the queue is full, and " (pipeline-name pipeline) " are lost")))))

    ;; Takes all items, the oldest first.
    (define (take-all! pipeline)
      (if (pipeline-collect pipeline)
          (guard (object ((not (cancelled-error? object))
                          (warn! 'metrics "metrics cannot be read: " (condition->string object))
                          '()))
            ((pipeline-collect pipeline)))
          (reverse
           (%with-lock pipeline
             (let ((items (pipeline-items pipeline)))
               (set-pipeline-items! pipeline '())
               (set-pipeline-count! pipeline 0)
               items)))))

    (define (note-sent! pipeline count)
      (%with-lock pipeline
        (set-pipeline-sent! pipeline (+ count (pipeline-sent pipeline)))))

    (define (note-failed! pipeline count)
      (%with-lock pipeline
        (set-pipeline-failed! pipeline (+ count (pipeline-failed pipeline)))))

    ;; Numbers by name.
    (define (pipeline-statistics pipeline)
      (%with-lock pipeline
        (list (cons 'queued (pipeline-count pipeline))
              (cons 'sent (pipeline-sent pipeline))
              (cons 'dropped (pipeline-dropped pipeline))
              (cons 'failed (pipeline-failed pipeline)))))

    ;; The task.

    ;; A pipeline of a signal, whose task runs from now on. `name`, `encode`, `show` and `collect`
    ;; are those of the record.
    (define (start-pipeline! name signal encode show collect)
      (let ((pipeline
             (make-pipeline #f name signal encode show collect (client-of name signal)
                            (make-semaphore 0) (make-future) '() 0 0 0 0 '())))
        (if (pipeline-active? pipeline)
            (call-in-context 'suppressed
              (lambda ()
                (without-scope
                 (spawn (lambda () (work pipeline)) #:name 'telemetry)))))
        pipeline))

    ;; Whether there is an exporter.
    (define (pipeline-active? pipeline)
      (pair? (signal-exporters (pipeline-signal pipeline))))

    (define (client-of name signal)
      (let ((target (signal-target signal)))
        (and target
             (guard (object ((error-object? object)
                             (warn! 'certificate "nothing can be sent: "
                                    (condition->string object))
                             #f))
               (make-http-client
                #:redirects 0 #:retries 0 #:connections 2 #:body-limit 1048576
                #:user-agent (string-append "OTel-OTLP-Exporter-Canny/"
                                            (%implementation-version))
                #:tls-context (and (or (target-certificate target)
                                       (target-client-certificate target))
                                   (tls-client-context
                                    #:trust (or (target-certificate target) #t)
                                    #:certificate (target-client-certificate target)
                                    #:key (target-client-key target))))))))

    ;; Seconds that a task waits at least, whatever the environment says.
    (define least-delay 1/100)

    (define (stopping? pipeline)
      (future-done? (pipeline-stopping pipeline)))

    (define (work pipeline)
      (let ((waker (pipeline-waker pipeline))
            (delay (max least-delay (signal-delay (pipeline-signal pipeline)))))
        (let loop ()
          (if (not (stopping? pipeline))
              (guard (object ((timeout-error? object) #f))
                (semaphore-acquire! waker #:timeout delay)))
          (let drain ()
            (if (semaphore-try-acquire! waker) (drain)))
          (let ((last? (stopping? pipeline))
                (flushes (take-flushes! pipeline)))
            (guard (object (#t
                            (warn! 'internal "an error of its own: " (condition->string object))))
              (send-all pipeline (take-all! pipeline)))
            (for-each (lambda (future) (future-resolve! future #t)) flushes)
            (if (not last?)
                (loop)
                (for-each (lambda (future) (future-resolve! future #t))
                          (take-flushes! pipeline)))))))

    (define (take-flushes! pipeline)
      (%with-lock pipeline
        (let ((flushes (pipeline-flushes pipeline)))
          (set-pipeline-flushes! pipeline '())
          flushes)))

    ;; Waits until all was sent that is queued now; #f if that takes longer than so many seconds.
    (define (flush-pipeline! pipeline seconds)
      (or (not (pipeline-active? pipeline))
          (let ((future (make-future)))
            (%with-lock pipeline
              (set-pipeline-flushes! pipeline (cons future (pipeline-flushes pipeline))))
            (semaphore-release! (pipeline-waker pipeline))
            (await/default future seconds #f))))

    ;; The same, and ends the task. Batches are not tried again any more. If the time is over, what
    ;; was not sent counts as lost.
    (define (stop-pipeline! pipeline seconds)
      (if (not (stopping? pipeline))
          (future-resolve! (pipeline-stopping pipeline) #t))
      (or (flush-pipeline! pipeline seconds)
          (begin
            (warn! (string->symbol (pipeline-name pipeline))
                   "the program ends before all " (pipeline-name pipeline) " were sent")
            #f)))

    ;; Sending.

    ;; The first so many elements and the rest, as a pair.
    (define (split items count)
      (let loop ((rest items) (left count) (taken '()))
        (if (or (null? rest) (= left 0))
            (cons (reverse taken) rest)
            (loop (cdr rest) (- left 1) (cons (car rest) taken)))))

    (define (send-all pipeline items)
      (if (pair? items)
          (let* ((signal (pipeline-signal pipeline))
                 (parts (if (pipeline-collect pipeline)
                            (cons items '())
                            (split items (signal-batch signal)))))
            (for-each (lambda (exporter)
                        (if (eq? exporter 'console)
                            (show-all pipeline (car parts))
                            (send pipeline (car parts))))
                      (signal-exporters signal))
            (send-all pipeline (cdr parts)))))

    (define (show-all pipeline items)
      (guard (object ((error-object? object)
                      (warn! 'console "nothing can be written to standard output")))
        (let ((port (current-output-port)))
          (for-each (lambda (item) ((pipeline-show pipeline) item port)) items)
          (flush-output-port port))
        (note-sent! pipeline (length items))))

    ;; Attempts, and seconds before the second one and at most. Delays grow by half.
    (define attempts-most 5)
    (define first-delay 1)
    (define delay-most 5)

    (define (send pipeline items)
      (let ((count (length items)))
        (if (not (pipeline-client pipeline))
            (note-failed! pipeline count)
            (let* ((target (signal-target (pipeline-signal pipeline)))
                   (plain ((pipeline-encode pipeline) items (target-protocol target)))
                   (bytes (if (target-gzip? target) (compress plain 'gzip) plain))
                   (deadline (+ (seconds-now) (signal-timeout (pipeline-signal pipeline)))))
              (let again ((attempt 1) (delay first-delay))
                (let* ((outcome (attempt-to-send pipeline target bytes
                                                 (- deadline (seconds-now))))
                       (retry (and (pair? outcome) (car outcome))))
                  (cond ((eq? outcome 'sent) (note-sent! pipeline count))
                        ((and retry
                              (< attempt attempts-most)
                              (not (stopping? pipeline))
                              (let ((seconds (if (number? retry)
                                                 retry
                                                 (* delay (+ 1/2 (random-real))))))
                                (and (< (+ (seconds-now) seconds) deadline)
                                     (begin
                                       (await/default (pipeline-stopping pipeline) seconds #f)
                                       #t))))
                         (again (+ attempt 1) (min delay-most (* 3/2 delay))))
                        (else
                         (note-failed! pipeline count)
                         (warn! 'failed "cannot send " (pipeline-name pipeline) " to "
                                (target-url target) ": " (cdr outcome) "; "
                                (number->string count) " lost")))))))))

    (define (seconds-now)
      (/ (%clock-nanoseconds clock/monotonic) 1000000000))

    ;; One request. Gives `sent`, or a pair of whether to try again (#t, seconds or #f) and why it
    ;; failed.
    (define (attempt-to-send pipeline target bytes seconds-left)
      (guard (object ((http-error? object)
                      (cons (not (eq? 'request (http-error-stage object))) (reason object)))
                     ((and (error-object? object) (not (cancelled-error? object)))
                      (cons #f (condition->string object))))
        (let* ((protocol (target-protocol target))
               (response
                (http-request 'POST (target-url target)
                              #:client (pipeline-client pipeline)
                              #:timeout (max 1/1000 (min (target-timeout target) seconds-left))
                              #:headers (append
                                         (list (cons 'content-type
                                                     (if (eq? protocol 'http/json)
                                                         "application/json"
                                                         "application/x-protobuf")))
                                         (if (target-gzip? target)
                                             '((content-encoding . "gzip"))
                                             '())
                                         (target-headers target))
                              #:body bytes))
               (status (http-response-status response)))
          (cond ((<= 200 status 299)
                 (note-rejected (rejected-in (http-response-bytes response) protocol) pipeline)
                 'sent)
                (else
                 (cons (and (memv status '(429 502 503 504))
                            (or (asked-delay response) #t))
                       (string-append "the collector answers " (number->string status) " "
                                      (http-response-reason response))))))))

    (define (reason object)
      (cond ((http-timeout-error? object) "the collector does not answer in time")
            ((http-error-cause object)
             => (lambda (cause)
                  (if (error-object? cause)
                      (condition->string cause)
                      (error-object-message object))))
            (else (error-object-message object))))

    ;; Seconds of `Retry-After`, or #f.
    (define (asked-delay response)
      (guard (object ((error-object? object) #f))
        (let ((value (http-response-header response 'retry-after)))
          (cond ((not value) #f)
                ((eq? (car value) 'after) (cdr value))
                (else
                 (max 0 (- (cdr value)
                           (quotient (%clock-nanoseconds clock/realtime) 1000000000))))))))

    (define (note-rejected rejected pipeline)
      (if rejected
          (begin
            (note-failed! pipeline (car rejected))
            (note-sent! pipeline (- (car rejected)))
            (warn! 'rejected "the collector has rejected " (number->string (car rejected)) " "
                   (pipeline-name pipeline) ": " (cdr rejected)))))))
