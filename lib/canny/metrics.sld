;;; (canny metrics): counters, gauges and histograms, and their text for Prometheus.
;;;
;;;     (define orders (make-counter "orders_total" "Orders by kind." #:labels '(kind)))
;;;     (counter-increment! orders "book")
;;;     (write-string (registry->string default-registry))
;;;
;;; A metric with labels has a *series* for each list of their values that was seen. There are at
;;; most so many of these. Later ones are counted together, under values that are all `other`, so
;;; that no input makes memory grow.
;;;
;;; A series is a record that is changed under its lock, which is held for moments. New series are
;;; made under the mutex of their metric.

(define-library (canny metrics)
  (export make-registry registry? default-registry registry-collect registry->string
          add-collector! metrics-content-type
          make-counter counter? counter-increment! counter-add! counter-value
          make-gauge gauge? gauge-set! gauge-add! gauge-value
          make-histogram histogram? histogram-observe! histogram-count histogram-sum
          call-with-duration
          ;; For servers.
          %registry-sources %add-source! %remove-source!)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control) guard)
          (only (canny data lists) for-each map member)
          (only (canny tasks) %with-lock)
          (only (canny sync) make-mutex with-mutex))
  (begin

    (define (append-map procedure list)
      (apply append (map procedure list)))

    ;; Registries.

    (define-record-type registry
      (new-registry mutex metrics collectors sources)
      registry?
      (mutex registry-mutex)
      ;; The newest first.
      (metrics registry-metrics set-registry-metrics!)
      (collectors registry-collectors set-registry-collectors!)
      ;; Servers, whose figures `(canny web metrics)` reads.
      (sources %registry-sources set-sources!))

    (define (make-registry)
      (new-registry (make-mutex) '() '() '()))

    (define default-registry (make-registry))

    (define (check-registry who position object)
      (check-argument who position registry? "registry of metrics" object))

    (define (%add-source! registry source)
      (with-mutex (registry-mutex registry)
        (set-sources! registry (cons source (%registry-sources registry)))))

    (define (%remove-source! registry source)
      (with-mutex (registry-mutex registry)
        (set-sources! registry
                      (let loop ((sources (%registry-sources registry)))
                        (cond ((null? sources) '())
                              ((eq? source (car sources)) (cdr sources))
                              (else (cons (car sources) (loop (cdr sources)))))))))

    ;; Registers a procedure that makes more families whenever the registry is read. A family is a
    ;; list of a name, a type, a text and samples. A sample is a list of a suffix, an association
    ;; list of labels and a number.
    (define (add-collector! registry procedure)
      (check-registry 'add-collector! 1 registry)
      (check-procedure 'add-collector! 2 procedure)
      (with-mutex (registry-mutex registry)
        (set-registry-collectors! registry (cons procedure (registry-collectors registry)))))

    ;; Metrics.

    (define-record-type metric
      (new-metric type name help labels most mutex series extra)
      metric?
      ;; `counter`, `gauge` or `histogram`.
      (type metric-type)
      (name metric-name)
      (help metric-help)
      ;; Names, which are strings.
      (labels metric-labels)
      (most metric-most)
      (mutex metric-mutex)
      ;; The one series of a metric without labels, or a table of them by lists of values.
      (series metric-series)
      ;; Of a histogram the bounds, of a gauge a procedure that gives its value, or #f.
      (extra metric-extra))

    ;; The sum of a histogram, the value of anything else. The counts are a vector, of a histogram
    ;; only.
    (define-record-type series
      (make-series %lock value counts)
      series?
      (%lock series-lock)
      (value series-value set-series-value!)
      (counts series-counts))

    (define (metric-of-type? object type)
      (and (metric? object)
           (eq? type (metric-type object))))

    (define (counter? object) (metric-of-type? object 'counter))
    (define (gauge? object) (metric-of-type? object 'gauge))
    (define (histogram? object) (metric-of-type? object 'histogram))

    (define (letter? char)
      (or (char<=? #\a char #\z) (char<=? #\A char #\Z) (char=? char #\_)))

    (define (name? text colons?)
      (and (string? text)
           (> (string-length text) 0)
           (let loop ((index 0))
             (or (= index (string-length text))
                 (let ((char (string-ref text index)))
                   (and (or (letter? char)
                            (and colons? (char=? char #\:))
                            (and (> index 0) (char<=? #\0 char #\9)))
                        (loop (+ index 1))))))))

    (define (label-name who label type)
      (let ((name (if (symbol? label) (symbol->string label) label)))
        (if (not (and (name? name #f)
                      (not (string-prefix? "__" name))
                      (not (and (eq? type 'histogram) (string=? name "le")))))
            (raise-bad-option who "#:labels" "a list of names of labels" label))
        name))

    (define (add-metric! who registry type name help labels most extra)
      (check-argument who 1 string? "string" name)
      (if (not (name? name #t))
          (%range-error who 1 "a name of letters, digits and underlines" name))
      (check-argument who 2 string? "string" help)
      (if (not (registry? registry))
          (raise-bad-option who "#:registry" "a registry of metrics" registry))
      (if (not (list? labels))
          (raise-bad-option who "#:labels" "a list of names of labels" labels))
      (if (not (and (exact-integer? most) (> most 0)))
          (raise-bad-option who "#:max-series" "a count" most))
      (let* ((labels (map (lambda (label) (label-name who label type)) labels))
             (metric (new-metric type name help labels most (make-mutex)
                                 (if (null? labels)
                                     (make-first-series type extra)
                                     (%make-hash-table 'equal #f 0))
                                 extra)))
        (with-mutex (registry-mutex registry)
          (if (member name (map metric-name (registry-metrics registry)))
              (%range-error who 1 "a name that the registry does not have yet" name))
          (set-registry-metrics! registry (cons metric (registry-metrics registry))))
        metric))

    (define (make-first-series type extra)
      (make-series #f 0
                   (and (eq? type 'histogram)
                        (make-vector (+ 1 (vector-length extra)) 0))))

    (define usual-most 1000)

    ;; A number that only grows. Its name ends with `_total`.
    (define* (make-counter name help
                           #:key (labels '()) (registry default-registry)
                           (max-series usual-most))
      (check-argument 'make-counter 1 string? "string" name)
      (add-metric! 'make-counter registry 'counter
                   (if (string-suffix? "_total" name) name (string-append name "_total"))
                   help labels max-series #f))

    ;; A number that goes up and down. With `#:value`, a procedure without parameters, that is
    ;; called when the number is wanted.
    (define* (make-gauge name help
                         #:key (labels '()) (registry default-registry) (max-series usual-most)
                         (value #f))
      (if (not (or (not value) (and (procedure? value) (null? labels))))
          (raise-bad-option 'make-gauge "#:value" "a procedure, for a gauge without labels" value))
      (add-metric! 'make-gauge registry 'gauge name help labels max-series value))

    (define usual-bounds
      '(1/1000 25/10000 5/1000 1/100 25/1000 5/100 1/10 25/100 1/2 1 25/10 5 10))

    ;; Counts of numbers by size: of those up to each bound, in ascending order, and of all; and
    ;; their sum.
    (define* (make-histogram name help
                             #:key (labels '()) (registry default-registry)
                             (max-series usual-most)
                             (buckets usual-bounds))
      (if (not (and (list? buckets) (pair? buckets) (ascending? buckets)))
          (raise-bad-option 'make-histogram "#:buckets" "a list of ascending numbers" buckets))
      (add-metric! 'make-histogram registry 'histogram name help labels max-series
                   (list->vector buckets)))

    (define (finite-real? object)
      (and (real? object)
           (= object object)
           (< -inf.0 object +inf.0)))

    (define (ascending? numbers)
      (and (finite-real? (car numbers))
           (or (null? (cdr numbers))
               (and (finite-real? (cadr numbers))
                    (< (car numbers) (cadr numbers))
                    (ascending? (cdr numbers))))))

    ;; Series.

    (define (label-text who value)
      (cond ((string? value) value)
            ((symbol? value) (symbol->string value))
            ((number? value) (number->string value))
            (else (%type-error who 0 "string, symbol or number as the value of a label" value))))

    (define (series-of who metric values)
      (if (null? (metric-labels metric))
          (if (null? values)
              (metric-series metric)
              (raise-bad-option who "labels" "no value, since the metric has no labels" values))
          (let ((values (map (lambda (value) (label-text who value)) values)))
            (or (%hash-table-ref (metric-series metric) values #f)
                (new-series who metric values)))))

    (define (new-series who metric values)
      (if (not (= (length values) (length (metric-labels metric))))
          (raise-bad-option who "labels" "a value for each label of the metric" values))
      (with-mutex (metric-mutex metric)
        (let* ((table (metric-series metric))
               (full? (>= (%hash-table-count table) (metric-most metric)))
               (key (if full?
                        (map (lambda (value) "other") values)
                        (map string-copy values))))
          (or (%hash-table-ref table key #f)
              (let ((series (make-first-series (metric-type metric) (metric-extra metric))))
                (%hash-table-set! table key series)
                series)))))

    ;; The sample that `counter-value` and its like read; it is not made here.
    (define (known-series metric values)
      (if (null? (metric-labels metric))
          (metric-series metric)
          (%hash-table-ref (metric-series metric)
                           (map (lambda (value) (label-text 'metric value)) values)
                           #f)))

    (define (add! series amount)
      (%with-lock series
        (set-series-value! series (+ (series-value series) amount))))

    (define (value-of series)
      (if series
          (%with-lock series (series-value series))
          0))

    ;; Counters.

    (define (counter-increment! counter . labels)
      (check-argument 'counter-increment! 1 counter? "counter" counter)
      (add! (series-of 'counter-increment! counter labels) 1))

    (define (counter-add! counter amount . labels)
      (check-argument 'counter-add! 1 counter? "counter" counter)
      (if (not (and (finite-real? amount) (>= amount 0)))
          (%range-error 'counter-add! 2 "a number that is not negative" amount))
      (add! (series-of 'counter-add! counter labels) amount))

    (define (counter-value counter . labels)
      (check-argument 'counter-value 1 counter? "counter" counter)
      (value-of (known-series counter labels)))

    ;; Gauges.

    (define (check-gauge who gauge value)
      (check-argument who 1 gauge? "gauge" gauge)
      (check-argument who 2 real? "real number" value)
      (if (metric-extra gauge)
          (%range-error who 1 "a gauge whose value is no procedure" gauge)))

    (define (gauge-set! gauge value . labels)
      (check-gauge 'gauge-set! gauge value)
      (let ((series (series-of 'gauge-set! gauge labels)))
        (%with-lock series
          (set-series-value! series value))
        (void)))

    (define (gauge-add! gauge amount . labels)
      (check-gauge 'gauge-add! gauge amount)
      (add! (series-of 'gauge-add! gauge labels) amount)
      (void))

    (define (gauge-value gauge . labels)
      (check-argument 'gauge-value 1 gauge? "gauge" gauge)
      (if (metric-extra gauge)
          ((metric-extra gauge))
          (value-of (known-series gauge labels))))

    ;; Histograms.

    ;; The bucket of a number: the index of the first bound that is not below it.
    (define (bucket-of bounds value)
      (let loop ((index 0))
        (if (or (= index (vector-length bounds)) (<= value (vector-ref bounds index)))
            index
            (loop (+ index 1)))))

    (define (histogram-observe! histogram value . labels)
      (check-argument 'histogram-observe! 1 histogram? "histogram" histogram)
      (check-argument 'histogram-observe! 2 finite-real? "finite real number" value)
      (let ((series (series-of 'histogram-observe! histogram labels))
            (bucket (bucket-of (metric-extra histogram) value)))
        (%with-lock series
          (vector-set! (series-counts series) bucket
                       (+ 1 (vector-ref (series-counts series) bucket)))
          (set-series-value! series (+ value (series-value series))))
        (void)))

    (define (sum-of-vector vector)
      (let loop ((index 0) (sum 0))
        (if (= index (vector-length vector))
            sum
            (loop (+ index 1) (+ sum (vector-ref vector index))))))

    (define (histogram-count histogram . labels)
      (check-argument 'histogram-count 1 histogram? "histogram" histogram)
      (let ((series (known-series histogram labels)))
        (if series (sum-of-vector (series-counts series)) 0)))

    (define (histogram-sum histogram . labels)
      (check-argument 'histogram-sum 1 histogram? "histogram" histogram)
      (value-of (known-series histogram labels)))

    ;; Calls a procedure and notes how many seconds that took, however it ends by returning.
    (define (call-with-duration histogram thunk . labels)
      (check-argument 'call-with-duration 1 histogram? "histogram" histogram)
      (check-procedure 'call-with-duration 2 thunk)
      (let ((begun (%clock-nanoseconds clock/monotonic)))
        (call-with-values thunk
          (lambda results
            (apply histogram-observe! histogram
                   (inexact (/ (- (%clock-nanoseconds clock/monotonic) begun) 1000000000))
                   labels)
            (apply values results)))))

    ;; Samples and families.

    (define (samples-of-series metric values series)
      (let ((labels (map cons (metric-labels metric) values)))
        (if (eq? 'histogram (metric-type metric))
            (let* ((parts (%with-lock series
                            (cons (series-value series) (vector->list (series-counts series)))))
                   (bounds (vector->list (metric-extra metric))))
              (let loop ((bounds bounds) (counts (cdr parts)) (sum 0) (samples '()))
                (let ((sum (+ sum (car counts))))
                  (if (null? bounds)
                      (append (reverse! samples)
                              (list (list "_bucket" (append labels '(("le" . "+Inf"))) sum)
                                    (list "_sum" labels (car parts))
                                    (list "_count" labels sum)))
                      (loop (cdr bounds) (cdr counts) sum
                            (cons (list "_bucket"
                                        (append labels
                                                (list (cons "le" (bound-text (car bounds)))))
                                        sum)
                                  samples))))))
            (list (list "" labels (value-of series))))))

    (define (bound-text bound)
      (number-text (inexact bound)))

    (define (family-of metric)
      (list (metric-name metric)
            (metric-type metric)
            (metric-help metric)
            (cond ((and (eq? 'gauge (metric-type metric)) (metric-extra metric))
                   => (lambda (value) (list (list "" '() (value)))))
                  ((null? (metric-labels metric))
                   (samples-of-series metric '() (metric-series metric)))
                  (else
                   (append-map (lambda (entry)
                                 (samples-of-series metric (car entry) (cdr entry)))
                               (%hash-table->alist (metric-series metric)))))))

    ;; All families: lists of a name, a type, a text and samples. A family whose procedure raises is
    ;; left out.
    (define (registry-collect registry)
      (check-registry 'registry-collect 1 registry)
      (append-map (lambda (collect) (guard (object ((error-object? object) '())) (collect)))
                  (append (map (lambda (metric) (lambda () (list (family-of metric))))
                               (reverse (registry-metrics registry)))
                          (reverse (registry-collectors registry)))))

    ;; Text.

    ;; The media type of a text.
    (define* (metrics-content-type #:optional (format 'prometheus))
      (check-format 'metrics-content-type format)
      (if (eq? format 'prometheus)
          "text/plain; version=0.0.4; charset=utf-8"
          "application/openmetrics-text; version=1.0.0; charset=utf-8"))

    (define (check-format who format)
      (if (not (memq format '(prometheus openmetrics)))
          (raise-bad-option who "the format" "prometheus or openmetrics" format)))

    (define (number-text number)
      (cond ((exact-integer? number) (number->string number))
            ((not (= number number)) "NaN")
            ((= number +inf.0) "+Inf")
            ((= number -inf.0) "-Inf")
            (else
             (let ((text (number->string (inexact number))))
               (if (string-suffix? ".0" text)
                   (substring text 0 (- (string-length text) 2))
                   text)))))

    (define (write-escaped text quotes? port)
      (let loop ((index 0))
        (if (< index (string-length text))
            (let ((char (string-ref text index)))
              (cond ((char=? char #\\) (write-string "\\\\" port))
                    ((char=? char #\newline) (write-string "\\n" port))
                    ((and quotes? (char=? char #\")) (write-string "\\\"" port))
                    (else (write-char char port)))
              (loop (+ index 1))))))

    ;; A bound as the format wants it: `1`, or `1.0` in OpenMetrics.
    (define (bound-in-format text open?)
      (let ((whole (if (string-suffix? ".0" text)
                       (substring text 0 (- (string-length text) 2))
                       text)))
        (if (and open? (string->number whole) (exact-integer? (string->number whole)))
            (string-append whole ".0")
            whole)))

    (define (write-sample name sample open? port)
      (write-string name port)
      (write-string (car sample) port)
      (let ((labels (cadr sample)))
        (if (pair? labels)
            (let loop ((labels labels) (before "{"))
              (if (pair? labels)
                  (begin
                    (write-string before port)
                    (write-string (caar labels) port)
                    (write-string "=\"" port)
                    (write-escaped (if (string=? "le" (caar labels))
                                       (bound-in-format (cdar labels) open?)
                                       (cdar labels))
                                   #t port)
                    (write-string "\"" port)
                    (loop (cdr labels) ","))
                  (write-string "}" port)))))
      (write-string " " port)
      (write-string (number-text (caddr sample)) port)
      (newline port))

    (define (write-family family open? port)
      (let* ((name (car family))
             ;; A counter's family has the name without the ending of its sample.
             (shown (if (and open? (string-suffix? "_total" name))
                        (substring name 0 (- (string-length name) 6))
                        name)))
        (write-string (string-append "# HELP " shown " ") port)
        (write-escaped (caddr family) open? port)
        (write-string (string-append "\n# TYPE " shown " " (symbol->string (cadr family)) "\n")
                      port)
        (for-each (lambda (sample) (write-sample name sample open? port)) (cadddr family))))

    ;; The text of a registry, with further families.
    (define* (registry->string registry #:key (format 'prometheus) (families '()))
      (check-registry 'registry->string 1 registry)
      (check-format 'registry->string format)
      (let ((port (open-output-string))
            (open? (eq? format 'openmetrics)))
        (for-each (lambda (family) (write-family family open? port))
                  (append (registry-collect registry) families))
        (if open?
            (write-string "# EOF\n" port))
        (get-output-string port)))))
