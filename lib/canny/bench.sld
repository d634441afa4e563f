;;; (canny bench): benchmarks, for `canny bench` and for programs that run alone.
;;;
;;; A benchmark is timed in samples: runs of a loop over its body, with the clock and the heap's
;;; statistics read before and after.  The first sample has one iteration, so the samples show the
;;; whole warm-up.  Counts double until a sample takes its share of the time.  This library only
;;; takes samples; `canny bench` finds the steady state and does the statistics.
;;;
;;; Under `canny bench` these variables are set:
;;;
;;; | variable | meaning |
;;; |---|---|
;;; | CANNY_BENCH_REPORT | the file for the report |
;;; | CANNY_BENCH_ONLY | the number of the benchmark to run, from 0; -1 lists them and runs none |
;;; | CANNY_BENCH_MICROSECONDS | the time for samples |
;;;
;;; The report has a datum on each line:
;;;
;;;   (library)                                       this library was loaded
;;;   (benchmark NAME)                                while listing
;;;   (bytes NUMBER) (items NUMBER)                   of an iteration
;;;   (sample COUNT NANOSECONDS BYTES COLLECTIONS PAUSE-NANOSECONDS)
;;;   (waited NANOSECONDS) (switches NUMBER)          by the kernel's account of the thread
;;;   (end)                                           all samples are there
;;;
;;; Samples are written after the last one, or when an interrupt or another object is raised.

(define-library (canny bench)
  (export benchmark keep
          %benchmark %drop %with-options)
  (import (scheme base) (scheme file) (scheme write) (scheme process-context)
          (only (canny primitives)
                current-jiffy keyword? %gc-statistics %open-file reference-barrier string-contains)
          (only (canny machine control) %guard-else) (canny machine arguments)
          (canny machine protocols))
  (begin

    ;; The value of the last iteration.
    (define-record-type sink
      (make-sink value)
      sink?
      (value sink-value set-sink-value!))

    (define the-sink (make-sink #f))

    ;; Gives the value, so that the compiler neither leaves it out nor knows anything of the result.
    ;; It takes the call of the primitive for one that may change the record.
    (define (keep value)
      (set-sink-value! the-sink value)
      (reference-barrier the-sink)
      (sink-value the-sink))

    ;; Takes the value of an iteration, at the cost of a store.
    (define (%drop value)
      (set-sink-value! the-sink value))

    (define (variable name)
      (let ((text (get-environment-variable name)))
        (and text
             (not (string=? text ""))
             text)))

    (define (number-in name)
      (let ((text (variable name)))
        (and text (string->number text))))

    ;; The port of the report, or #f.
    (define port
      (let ((name (variable "CANNY_BENCH_REPORT")))
        (and name
             (guard (object (#t #f))
               (%open-file name port-kind/textual-output
                           (+ open-flag/append open-flag/create)
                           #o600)))))

    (define (report! line)
      (write line port)
      (newline port)
      (flush-output-port port))

    (if port
        (report! '(library)))

    (define only (and port (number-in "CANNY_BENCH_ONLY")))

    ;; Nanoseconds.
    (define time-limit (* 1000 (or (number-in "CANNY_BENCH_MICROSECONDS") 500000)))

    ;; A sample's share of the time.
    (define sample-time (max 200000 (quotient time-limit 80)))

    ;; A body that takes no time at all ends by these.
    (define count-max 1000000000000)
    (define samples-max 1000)

    ;; With fewer samples the time may be exceeded, up to this multiple.
    (define samples-min 3)
    (define excess-max 4)

    (define-record-type sample
      (make-sample count time bytes collections pause)
      sample?
      (count sample-count)
      (time sample-time-taken)
      (bytes sample-bytes)
      (collections sample-collections)
      (pause sample-pause))

    (define (statistic name statistics)
      (cdr (assq name statistics)))

    (define (take-sample loop count)
      (let* ((before (%gc-statistics))
             (start (current-jiffy)))
        (loop count)
        (let* ((end (current-jiffy))
               (after (%gc-statistics)))
          (define (difference name)
            (- (statistic name after) (statistic name before)))
          (make-sample count
                       (max 0 (- end start))
                       (max 0 (difference 'bytes-allocated))
                       (difference 'collections)
                       (difference 'pause-nanoseconds)))))

    (define (next-count count time)
      (cond ((< time (quotient sample-time 2)) (min count-max (* 2 count)))
            ((> time (* 2 sample-time)) (max 1 (quotient (* count sample-time) time)))
            (else count)))

    ;; Calls `add!` with each sample.
    (define (take-samples loop add!)
      (let next ((count 1) (samples 0) (time 0))
        (if (and (< samples samples-max)
                 (< time (* excess-max time-limit))
                 (or (< time time-limit) (< samples samples-min)))
            (let* ((sample (take-sample loop count))
                   (taken (sample-time-taken sample)))
              (add! sample)
              (next (next-count count taken) (+ samples 1) (+ time taken))))))

    (define (first-line name)
      (guard (object (#t #f))
        (call-with-input-file name read-line)))

    (define (digit? character)
      (char<=? #\0 character #\9))

    ;; The whole number that begins at a place of a text, after blanks.
    (define (number-at text index)
      (let skip ((begin index))
        (and (< begin (string-length text))
             (if (digit? (string-ref text begin))
                 (let scan ((end begin))
                   (if (and (< end (string-length text)) (digit? (string-ref text end)))
                       (scan (+ end 1))
                       (string->number (substring text begin end))))
                 (skip (+ begin 1))))))

    ;; Nanoseconds for which this thread was ready and had no processor, or #f.
    (define (time-waited)
      (let* ((line (first-line "/proc/thread-self/schedstat"))
             (blank (and (string? line) (string-contains line " "))))
        (and blank (number-at line blank))))

    ;; How often the kernel took the processor from this thread, or #f.
    (define (involuntary-switches)
      (guard (object (#t #f))
        (call-with-input-file "/proc/thread-self/status"
          (lambda (port)
            (let next ((line (read-line port)))
              (and (string? line)
                   (if (string-contains line "nonvoluntary_ctxt_switches:")
                       (number-at line 0)
                       (next (read-line port)))))))))

    (define (report-difference! name before after)
      (if (and before after)
          (report! (list name (- after before)))))

    (define (report-sample! sample)
      (report! (list 'sample
                     (sample-count sample)
                     (sample-time-taken sample)
                     (sample-bytes sample)
                     (sample-collections sample)
                     (sample-pause sample))))

    (define (report-amount! name keyword thunk)
      (if thunk
          (let ((amount (thunk)))
            (if (not (amount? amount))
                (raise-bad-option 'benchmark keyword "a positive number" amount))
            (report! (list name (inexact amount))))))

    (define (amount? object)
      (and (real? object) (< 0 object +inf.0)))

    ;; Takes samples and reports them, also those before an object was raised.
    (define (measure-and-report loop)
      (let ((samples '()) (waited (time-waited)) (switches (involuntary-switches)))
        (define (add! sample)
          (set! samples (cons sample samples)))
        (define (finish)
          (let ((waited-then (time-waited)) (switches-then (involuntary-switches)))
            (for-each report-sample! (reverse samples))
            (report-difference! 'waited waited waited-then)
            (report-difference! 'switches switches switches-then)))
        (%guard-else (lambda ()
                       (take-samples loop add!))
                     (lambda (object)
                       (finish)
                       (raise object)))
        (finish)))

    ;; Benchmarks so far.
    (define number 0)

    ;; `form` is the first of the body.
    (define (%benchmark name setup teardown bytes items form loop)
      (if (keyword? form)
          (error "benchmark: there is no option" form))
      (let ((own number) (name (text-of name)))
        (set! number (+ number 1))
        (cond ((not port)
               (if setup (setup))
               (measure-and-print name loop)
               (if teardown (teardown)))
              ((eqv? only -1) (report! (list 'benchmark name)))
              ((eqv? only own)
               (if setup (setup))
               (report-amount! 'bytes "#:bytes" bytes)
               (report-amount! 'items "#:items" items)
               (measure-and-report loop)
               (if teardown (teardown))
               (report! '(end))))))

    ;; A name may be any object.
    (define (text-of name)
      (if (string? name)
          name
          (let ((port (open-output-string)))
            (write name port)
            (get-output-string port))))

    ;; Without `canny bench`: a line with rough figures.
    (define (measure-and-print name loop)
      (let ((samples '()))
        (take-samples loop
                      (lambda (sample)
                        (set! samples (cons sample samples))))
        (let next ((rest samples) (left (quotient (+ 1 (length samples)) 2)) (time 0) (count 0))
          (if (> left 0)
              (next (cdr rest)
                    (- left 1)
                    (+ time (sample-time-taken (car rest)))
                    (+ count (sample-count (car rest))))
              (begin
                (write-string name)
                (write-string ": ")
                (write-string (show-time (/ time count)))
                (write-string " per iteration, first ")
                (write-string (show-time (sample-time-taken (list-ref samples
                                                                      (- (length samples) 1)))))
                (newline))))))

    (define (show-time nanoseconds)
      (let next ((number nanoseconds) (units '(" ns" " µs" " ms" " s")))
        (if (or (< number 1000) (null? (cdr units)))
            (string-append (number->string (/ (round (inexact (* 100 number))) 100))
                           (car units))
            (next (/ number 1000) (cdr units)))))

    (define-syntax benchmark
      (syntax-rules ()
        ((_ name option-or-expression ...)
         (%with-options name #f #f #f #f option-or-expression ...))))

    (define-syntax %with-options
      (syntax-rules ()
        ((_ name setup teardown bytes items #:setup expression rest ...)
         (%with-options name (lambda () expression) teardown bytes items rest ...))
        ((_ name setup teardown bytes items #:teardown expression rest ...)
         (%with-options name setup (lambda () expression) bytes items rest ...))
        ((_ name setup teardown bytes items #:bytes expression rest ...)
         (%with-options name setup teardown (lambda () expression) items rest ...))
        ((_ name setup teardown bytes items #:items expression rest ...)
         (%with-options name setup teardown bytes (lambda () expression) rest ...))
        ((_ name setup teardown bytes items)
         (syntax-error "benchmark: there is no expression to measure" name))
        ((_ name setup teardown bytes items first expression ...)
         (%benchmark name setup teardown bytes items 'first
                     (lambda (count)
                       (do ((left count (- left 1)))
                           ((eqv? left 0))
                         (%drop (let () first expression ...))))))))))
