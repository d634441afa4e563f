;;; (canny web metrics): what servers, the process and the machine count, for Prometheus.
;;;
;;;     (define-routes app
;;;       (GET "/metrics" (metrics-handler)))
;;;     (run-server (router-handler app) #:metrics #t)
;;;
;;; The numbers of servers are those of the machine: what is counted for each request is some single
;;; words.

(define-library (canny web metrics)
  (export metrics-handler server-families process-families machine-families)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control) guard)
          (only (canny data lists) map)
          (only (srfi 1) append-map filter fold last)
          (only (canny files) file->lines)
          (only (canny tasks monitor) all-tasks task-state pool-statistics)
          (canny metrics)
          (only (canny web message) make-response request-field))
  (begin

    (define (single name type help value)
      (list name type help (list (list "" '() value))))

    (define (seconds nanoseconds)
      (inexact (/ nanoseconds 1000000000)))

    ;; Servers.

    ;; The number of a name in the statistics of all servers.
    (define (sum-of name statistics)
      (fold (lambda (one sum) (+ sum (cdr (assq name one)))) 0 statistics))

    (define (add-lists one other)
      (map + one other))

    ;; Two answers of `%http-measured` as one.
    (define (add-measured one other)
      (define (both combine part)
        (combine (list-ref one part) (list-ref other part)))
      (define (add-counts rows others)
        (map (lambda (row other) (cons (car row) (add-lists (cdr row) (cdr other)))) rows others))
      (vector->list
       (vector-at (length one)
                  (measured/in-flight (both + measured/in-flight))
                  (measured/counts (both add-counts measured/counts))
                  (measured/bounds (list-ref one measured/bounds))
                  (measured/durations (both add-lists measured/durations))
                  (measured/nanoseconds (both + measured/nanoseconds)))))

    (define classes '("none" "1xx" "2xx" "3xx" "4xx" "5xx"))

    (define (request-samples rows)
      (append-map
       (lambda (row)
         (filter (lambda (sample) (> (caddr sample) 0))
                 (map (lambda (class count)
                        (list "" (list (cons "method" (car row)) (cons "status" class)) count))
                      classes (cdr row))))
       rows))

    (define (duration-samples bounds counts sum)
      (let loop ((bounds bounds) (counts counts) (total 0) (samples '()))
        (let ((total (+ total (car counts))))
          (if (null? bounds)
              (append (reverse samples)
                      (list (list "_bucket" '(("le" . "+Inf")) total)
                            (list "_sum" '() (seconds sum))
                            (list "_count" '() total)))
              (loop (cdr bounds) (cdr counts) total
                    (cons (list "_bucket"
                                (list (cons "le"
                                            (number->string (inexact (/ (car bounds) 1000000)))))
                                total)
                          samples))))))

    ;; The families of the servers that were started with a registry.
    (define* (server-families #:optional (registry default-registry))
      (let ((servers (%registry-sources registry)))
        (if (null? servers)
            '()
            (let ((statistics (map %http-statistics servers))
                  (measured (let ((all (map %http-measured servers)))
                              (fold add-measured (car all) (cdr all)))))
              (define (of name) (sum-of name statistics))
              (define (measured-part part) (list-ref measured part))
              (list
               (list "http_requests_total" 'counter
                     "Requests by method and class of the response's status."
                     (request-samples (measured-part measured/counts)))
               (list "http_request_duration_seconds" 'histogram
                     "From the end of a request's head to the end of its response."
                     (duration-samples (measured-part measured/bounds)
                                       (measured-part measured/durations)
                                       (measured-part measured/nanoseconds)))
               (single "http_requests_in_flight" 'gauge "Requests that are not answered yet."
                       (measured-part measured/in-flight))
               (single "http_connections" 'gauge "Connections now." (of 'connections))
               (single "http_connections_accepted_total" 'counter "Connections." (of 'accepted))
               (single "http_connections_turned_away_total" 'counter
                       "Connections of clients that had too many." (of 'turned-away))
               (single "http_accept_failures_total" 'counter
                       "Connections that the system could not accept yet." (of 'accept-failures))
               (single "http_refused_total" 'counter "Heads that were no requests." (of 'refused))
               (single "http_timeouts_total" 'counter "Connections that took too long."
                       (of 'timed-out))
               (single "http_received_bytes_total" 'counter "Bytes that were read."
                       (of 'bytes-in))
               (single "http_sent_bytes_total" 'counter "Bytes that were written."
                       (of 'bytes-out))
               (single "http_unsent_bytes" 'gauge
                       "Bytes of whole responses that wait for their clients."
                       (of 'unsent-bytes))
               (single "http_shed_total" 'counter
                       "Connections that lost what waited on them, since too much did."
                       (of 'shed)))))))

    ;; The process.

    ;; The number in a line of a file of the system that begins with a text, or #f.
    (define (number-after text lines)
      (let loop ((lines lines))
        (cond ((null? lines) #f)
              ((string-prefix? text (car lines))
               (first-number (substring (car lines) (string-length text)
                                        (string-length (car lines)))))
              (else (loop (cdr lines))))))

    (define (digit? char)
      (char<=? #\0 char #\9))

    (define (first-number text)
      (let ((end (string-length text)))
        (let skip ((start 0))
          (cond ((= start end) #f)
                ((digit? (string-ref text start))
                 (let loop ((index start))
                   (if (and (< index end) (digit? (string-ref text index)))
                       (loop (+ index 1))
                       (string->number (substring text start index)))))
                (else (skip (+ start 1)))))))

    (define (lines-of file)
      (guard (object ((error-object? object) '()))
        (file->lines file)))

    ;; A list of a family, or none without a value.
    (define (family name type help value)
      (if value
          (list (single name type help value))
          '()))

    ;; Those of the process, under the names that all clients of Prometheus use.
    (define (process-families)
      (let* ((status (lines-of "/proc/self/status"))
             (kilobytes (lambda (name)
                          (let ((number (number-after name status)))
                            (and number (* 1024 number))))))
        (append
         (family "process_cpu_seconds_total" 'counter "Processor time."
                 (seconds (%clock-nanoseconds clock/process)))
         (family "process_resident_memory_bytes" 'gauge "Memory that is in use."
                 (kilobytes "VmRSS:"))
         (family "process_virtual_memory_bytes" 'gauge "Memory that has addresses."
                 (kilobytes "VmSize:"))
         (family "process_threads" 'gauge "Threads of the system."
                 (number-after "Threads:" status))
         (family "process_open_fds" 'gauge "Descriptors that are open."
                 (open-descriptors))
         (family "process_max_fds" 'gauge "Descriptors that may be open."
                 (number-after "Max open files" (lines-of "/proc/self/limits")))
         (family "process_start_time_seconds" 'gauge "When it was started, since 1970."
                 (seconds (- (%clock-nanoseconds clock/realtime)
                             (* (current-jiffy) (quotient 1000000000 (jiffies-per-second)))))))))

    (define (open-descriptors)
      (guard (object ((error-object? object) #f))
        ;; One of them is that of the directory itself.
        (- (length (%directory-list "/proc/self/fd")) 1)))

    ;; The machine.

    (define (count-states tasks)
      (map (lambda (state)
             (list "" (list (cons "state" (symbol->string state)))
                   (length (filter (lambda (task) (eq? state (task-state task))) tasks))))
           '(running ready waiting)))

    ;; Those of the heap, the collector, the specializer, tasks and the pool of threads.
    (define (machine-families)
      (append (heap-families)
              (collector-families)
              (specializer-families)
              (scheduler-families)))

    (define (heap-families)
      (let ((heap (%gc-statistics))
            (census (%heap-census)))
        (define (of name) (cdr (assq name heap)))
        ;; A sample for each kind of object; the number is at this place in the rows.
        (define (by-kind place)
          (map (lambda (row)
                 (list "" (list (cons "kind" (symbol->string (car row)))) (list-ref row place)))
               census))
        (append
         (list
          (single "canny_heap_used_bytes" 'gauge "Memory of the heap that is in use."
                  (of 'bytes-in-use))
          (single "canny_heap_used_bytes_max" 'gauge "The most that was in use so far."
                  (of 'bytes-in-use-max))
          (single "canny_heap_live_bytes" 'gauge "What was alive after the last full collection."
                  (of 'bytes-live))
          (single "canny_heap_allocated_bytes_total" 'counter "Bytes of objects that were made."
                  (of 'bytes-allocated))
          (single "canny_outside_bytes" 'gauge
                  "Memory outside of the heap that counts toward its limit, such as that of ports."
                  (of 'bytes-outside)))
         (if (pair? census)
             (list
              (list "canny_heap_object_bytes" 'gauge
                    "Bytes of objects by kind after the last full collection." (by-kind 2))
              (list "canny_heap_objects" 'gauge
                    "Objects by kind after the last full collection." (by-kind 1)))
             '()))))

    ;; The samples of one kind of collections, whose lengths `%gc-pauses` has counted.
    (define (pause-samples kind lengths)
      (let ((labels (list (cons "kind" kind))))
        (append (map (lambda (row)
                       (list "_bucket"
                             (append labels
                                     (list (cons "le"
                                                 (if (car row)
                                                     (number->string (seconds (car row)))
                                                     "+Inf"))))
                             (cdr row)))
                     (cdr lengths))
                (list (list "_sum" labels (seconds (car lengths)))
                      (list "_count" labels (cdr (last (cdr lengths))))))))

    (define (collector-families)
      (let ((heap (%gc-statistics))
            (pauses (%gc-pauses)))
        (define (of name) (cdr (assq name heap)))
        (list
         (list "canny_gc_collections_total" 'counter "Collections by kind."
               (list (list "" '(("kind" . "full")) (of 'full-collections))
                     (list "" '(("kind" . "young"))
                           (- (of 'collections) (of 'full-collections)))))
         (single "canny_gc_pause_seconds_total" 'counter "Time in which collections ran."
                 (seconds (of 'pause-nanoseconds)))
         (single "canny_gc_cpu_seconds_total" 'counter "Processor time of collections."
                 (seconds (of 'pause-cpu-nanoseconds)))
         (single "canny_gc_pause_seconds_max" 'gauge "The longest collection."
                 (seconds (of 'pause-nanoseconds-max)))
         (list "canny_gc_pause_duration_seconds" 'histogram
               "For how long collections stopped all threads, by kind."
               (append (pause-samples "young" (car pauses))
                       (pause-samples "full" (cadr pauses)))))))

    (define (specializer-families)
      (let ((figures (%specializer-statistics)))
        (define (of name) (cdr (assq name figures)))
        (list
         (list "canny_specializer_candidates_total" 'counter
               "Procedures and loops that were compiled, by whether code came of it."
               (list (list "" '(("outcome" . "compiled")) (of 'compiled))
                     (list "" '(("outcome" . "refused")) (of 'refused))))
         (single "canny_specializer_compile_seconds_total" 'counter
                 "Time in which the compiler ran, beside the program."
                 (seconds (of 'nanoseconds)))
         (single "canny_specializer_deoptimizations_total" 'counter
                 "Times that compiled code was left for a wrong guess." (of 'deoptimizations))
         (list "canny_specializer_code_bytes" 'gauge "Memory of machine code."
               (list (list "" '(("part" . "code")) (of 'code-bytes))
                     (list "" '(("part" . "descriptors")) (of 'descriptor-bytes)))))))

    (define (scheduler-families)
      (let ((pool (pool-statistics)))
        (define (in-pool name) (cdr (assq name pool)))
        (append
         (list
          (list "canny_tasks" 'gauge "Tasks by state." (count-states (all-tasks)))
          (single "canny_pool_cores" 'gauge "Cores that the pool of threads uses."
                  (in-pool 'cores))
          (single "canny_pool_workers" 'gauge "Threads that run tasks." (in-pool 'workers))
          (single "canny_pool_workers_max" 'gauge "The most that there were."
                  (in-pool 'workers-max))
          (single "canny_pool_blocked_workers" 'gauge "Those that a call of the system holds."
                  (in-pool 'blocked))
          (single "canny_pool_helpers" 'gauge
                  "Threads that do what would block, such as statements of SQLite."
                  (in-pool 'helpers))
          (single "canny_pool_busy_workers" 'gauge "Those that run a task."
                  (max 0 (- (in-pool 'workers) (in-pool 'idle) (in-pool 'blocked))))
          (single "canny_pool_idle_workers" 'gauge "Those that have nothing to do."
                  (in-pool 'idle))
          (single "canny_pool_ready_tasks" 'gauge "Tasks that wait for a thread."
                  (in-pool 'ready))
          (single "canny_pool_parked_tasks" 'gauge "Tasks that wait for the system or a time."
                  (in-pool 'parked)))
         (map (lambda (row)
                (single (car row) 'counter (cadr row) (in-pool (caddr row))))
              '(("canny_pool_taken_total" "Times that a task was taken up." taken)
                ("canny_pool_stolen_total" "Tasks that went to another thread." stolen)
                ("canny_pool_preempted_total" "Tasks that computed for long and gave way."
                 preempted)
                ("canny_pool_started_total" "Threads that were started." started)
                ("canny_pool_retired_total" "Threads that have ended, since they had nothing to do."
                 retired)
                ("canny_pool_refused_total" "Threads that the system would not make."
                 refused))))))

    ;; Handlers.

    (define (wants-openmetrics? request)
      (let ((accept (request-field request 'accept)))
        (and (string? accept)
             (string-search-forward "application/openmetrics-text" accept 0)
             #t)))

    ;; Answers with all metrics of a registry, and with those of the process and the machine unless
    ;; `#:process?` is #f.
    (define* (metrics-handler #:key (registry default-registry) (process? #t))
      (if (not (registry? registry))
          (raise-bad-option 'metrics-handler "#:registry" "a registry of metrics" registry))
      (lambda (request body)
        (let ((format (if (wants-openmetrics? request) 'openmetrics 'prometheus)))
          (make-response
           #:headers `((content-type . ,(metrics-content-type format))
                       (cache-control . "no-store"))
           #:body (registry->string
                   registry #:format format
                   #:families (append (server-families registry)
                                      (if process?
                                          (append (process-families) (machine-families))
                                          '())))))))))
