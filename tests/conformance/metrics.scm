;; (canny metrics) and (canny web metrics): counters, gauges, histograms, and their text.

(import (scheme base) (canny metrics) (canny web metrics) (canny web server)
        (canny web message) (canny net) (canny tasks) (canny test)
        (only (canny base) collect-garbage string-search-forward string-split string-prefix?))

(test-group "the machine"
  (define kept (make-vector 5000 'kept))
  (define (samples-of name)
    (map cdr (list-ref (assoc name (machine-families)) 3)))
  (define (value-of name labels) (cadr (assoc labels (samples-of name))))
  (machine-families)
  (collect-garbage)
  (collect-garbage #f)
  (test-assert "bytes of vectors"
               (> (value-of "canny_heap_object_bytes" '(("kind" . "vector"))) 40000))
  (test-assert "pairs" (> (value-of "canny_heap_objects" '(("kind" . "pair"))) 0))
  ;; Each collection is in one of the buckets; there may be more of them meanwhile.
  (for-each
   (lambda (kind)
     (let* ((counted (value-of "canny_gc_collections_total" (list (cons "kind" kind))))
            (in-buckets (value-of "canny_gc_pause_duration_seconds"
                                  (list (cons "kind" kind) '("le" . "+Inf")))))
       (test-assert kind (<= 1 counted in-buckets))))
   '("full" "young"))
  (test 5000 (vector-length kept)))

(define (has? text part) (and (string-search-forward part text 0) #t))

(define registry (make-registry))

(test-group "counters"
  (define plain (make-counter "plain" "Help \\ of\nit." #:registry registry))
  (define labelled
    (make-counter "orders_total" "Orders." #:labels '(kind "size") #:registry registry))
  (test 0 (counter-value plain))
  (counter-increment! plain)
  (counter-add! plain 5/2)
  (test 7/2 (counter-value plain))
  (counter-increment! labelled "a\"b\\c\nd" 7)
  (counter-increment! labelled "a\"b\\c\nd" "7")
  (test 2 (counter-value labelled "a\"b\\c\nd" 7))
  (test 0 (counter-value labelled "x" 1))
  (test-error (counter-add! plain -1))
  (test-error (counter-add! plain +nan.0))
  (test-error (counter-increment! plain "label"))
  (test-error (counter-increment! labelled "one"))
  (test-error (counter-increment! labelled "one" #f))
  (test-error (counter-increment! 7)))

(test-group "gauges"
  (define level (make-gauge "level" "Level." #:registry registry))
  (define computed (make-gauge "computed" "Computed." #:registry registry #:value (lambda () 9)))
  (gauge-set! level 2.5)
  (gauge-add! level -1)
  (test 1.5 (gauge-value level))
  (test 9 (gauge-value computed))
  (test-error (gauge-set! computed 1)))

(test-group "histograms"
  (define sizes
    (make-histogram "sizes" "Sizes." #:buckets '(1 5/2 10) #:labels '(of) #:registry registry))
  (for-each (lambda (size) (histogram-observe! sizes size "x")) '(1 2 10 11))
  (test 4 (histogram-count sizes "x"))
  (test 24 (histogram-sum sizes "x"))
  (test 3 (call-with-duration sizes (lambda () (+ 1 2)) "y"))
  (test 1 (histogram-count sizes "y"))
  (test-error (histogram-observe! sizes +inf.0 "x"))
  (test-error (make-histogram "bad" "" #:buckets '(2 1) #:registry registry))
  (test-error (make-histogram "bad" "" #:labels '(le) #:registry registry)))

(test-group "names"
  (test-error (make-counter "no name" "" #:registry registry))
  (test-error (make-counter "1st" "" #:registry registry))
  (test-error (make-counter "plain" "" #:registry registry))
  (test-error (make-counter "ok" "" #:labels '(__own) #:registry registry)))

(define expected
  (string-append
   "# HELP plain_total Help \\\\ of\\nit.\n# TYPE plain_total counter\nplain_total 3.5\n"
   "# HELP orders_total Orders.\n# TYPE orders_total counter\n"
   "orders_total{kind=\"a\\\"b\\\\c\\nd\",size=\"7\"} 2\n"
   "# HELP level Level.\n# TYPE level gauge\nlevel 1.5\n"
   "# HELP computed Computed.\n# TYPE computed gauge\ncomputed 9\n"
   "# HELP sizes Sizes.\n# TYPE sizes histogram\n"
   "sizes_bucket{of=\"x\",le=\"1\"} 1\n"
   "sizes_bucket{of=\"x\",le=\"2.5\"} 2\n"
   "sizes_bucket{of=\"x\",le=\"10\"} 3\n"
   "sizes_bucket{of=\"x\",le=\"+Inf\"} 4\n"
   "sizes_sum{of=\"x\"} 24\n"
   "sizes_count{of=\"x\"} 4\n"))

(test-group "text"
  (define text (registry->string registry))
  (test expected (substring text 0 (string-length expected)))
  (let ((open (registry->string registry #:format 'openmetrics)))
    (test-assert (has? open "# TYPE plain counter\nplain_total 3.5\n"))
    (test-assert (has? open "sizes_bucket{of=\"x\",le=\"1.0\"} 1\n"))
    (test-assert (has? open "sizes_bucket{of=\"x\",le=\"2.5\"} 2\n"))
    (test-assert (has? open "\n# EOF\n")))
  (test "text/plain; version=0.0.4; charset=utf-8" (metrics-content-type)))

(test-group "so many series and no more"
  (define registry (make-registry))
  (define seen (make-counter "seen" "Seen." #:labels '(who) #:max-series 3 #:registry registry))
  (let loop ((number 0))
    (if (< number 1000)
        (begin
          (counter-increment! seen number)
          (loop (+ number 1)))))
  (test 997 (counter-value seen "other"))
  (test 1 (counter-value seen 2))
  (test 7 (length (string-split (registry->string registry) #\newline))))

(test-group "tasks count together"
  (define registry (make-registry))
  (define hits (make-counter "hits" "Hits." #:labels '(by) #:registry registry))
  (define times (make-histogram "times" "Times." #:registry registry))
  (define (work)
    (let loop ((count 0))
      (if (< count 2000)
          (begin
            (counter-increment! hits "all")
            (histogram-observe! times 1/4)
            (loop (+ count 1))))))
  (for-each await (map (lambda (n) (start (work))) '(1 2 3 4)))
  (test 8000 (counter-value hits "all"))
  (test 8000 (histogram-count times))
  (test 2000 (histogram-sum times)))

(test-group "collectors"
  (define registry (make-registry))
  (add-collector! registry (lambda () (error "no")))
  (add-collector! registry (lambda () '(("mine" gauge "Mine." (("" (("a" . "b")) +inf.0))))))
  (test "# HELP mine Mine.\n# TYPE mine gauge\nmine{a=\"b\"} +Inf\n" (registry->string registry)))

;; Servers.

(include "include/raw-requests.scm")

(test-group "what servers count"
  (define registry (make-registry))
  (define metrics (metrics-handler #:registry registry))
  (define (answer request body)
    (cond ((string=? "/metrics" (request-path request)) (metrics request body))
          ((string=? "/none" (request-path request)) (make-response #:status 404))
          (else "Hello")))
  (define server (start-server answer #:port 0 #:metrics registry))
  (exchange server "GET / HTTP/1.0\r\n\r\n")
  (exchange server "POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nab")
  (exchange server "BREW /none HTTP/1.0\r\n\r\n")
  (exchange server "nonsense\r\n\r\n")
  (let ((text (exchange server "GET /metrics HTTP/1.0\r\n\r\n")))
    (define (line? line) (test-assert line (has? text (string-append "\n" line "\n"))))
    (test-assert (has? text "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
    (line? "http_requests_total{method=\"GET\",status=\"2xx\"} 1")
    (line? "http_requests_total{method=\"POST\",status=\"2xx\"} 1")
    (line? "http_requests_total{method=\"other\",status=\"4xx\"} 1")
    (line? "http_request_duration_seconds_bucket{le=\"+Inf\"} 3")
    (line? "http_request_duration_seconds_bucket{le=\"1\"} 3")
    (line? "http_request_duration_seconds_count 3")
    (line? "http_requests_in_flight 1")
    (line? "http_refused_total 1")
    (line? "http_connections_accepted_total 5")
    (for-each (lambda (name) (test-assert name (has? text (string-append "\n" name " "))))
              '("process_cpu_seconds_total" "process_resident_memory_bytes" "process_open_fds"
                "process_start_time_seconds" "canny_heap_used_bytes"
                "canny_gc_pause_seconds_total" "canny_outside_bytes"
                "canny_gc_pause_duration_seconds_bucket{kind=\"young\",le=\"+Inf\"}"
                "canny_gc_pause_duration_seconds_count{kind=\"full\"}"
                "canny_specializer_candidates_total{outcome=\"compiled\"}"
                "canny_specializer_compile_seconds_total"
                "canny_specializer_deoptimizations_total"
                "canny_specializer_code_bytes{part=\"code\"}" "canny_pool_busy_workers"
                "canny_pool_workers" "canny_tasks{state=\"running\"}")))
  (let ((text
         (exchange server
                   "GET /metrics HTTP/1.0\r\nAccept: application/openmetrics-text\r\n\r\n")))
    (test-assert (has? text "application/openmetrics-text; version=1.0.0"))
    (test-assert (has? text "# TYPE http_requests counter"))
    (test-assert (has? text "# EOF\n")))
  (stop-server! server #:timeout 2)
  (test "" (registry->string registry)))

(test-finish)
