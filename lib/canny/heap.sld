;;; (canny heap): snapshots of the heap that a program takes of itself, and sums by type.

(define-library (canny heap)
  (export heap-snapshot! watch-heap! stop-watching-heap! heap-summary heap-growth
          type-sum? type-sum-family type-sum-name type-sum-file type-sum-line type-sum-library?
          type-sum-objects type-sum-bytes)
  (import (canny primitives) (canny syntax) (canny machine control) (canny machine arguments)
          (canny machine protocols) (canny data lists))
  (begin

    ;; The result of a job, which goes on if the task that waits is moved to another thread.
    (define (result-of job)
      (if (string? job)
          job
          (%heap-job-result job)))

    ;; Writes a snapshot to the file `path`; a file that has snapshots of this process gets one
    ;; more. An association list that says what was written.
    (define* (heap-snapshot! path #:key (reason "asked") (previews? #t) (collect? #f)
                             (in-place? #f) (replace? #f))
      (check-argument 'heap-snapshot! 1 string? "string" path)
      (if (not (string? reason))
          (raise-bad-option 'heap-snapshot! "#:reason" "a string" reason))
      (let ((report (result-of (%heap-snapshot path reason (and previews? #t) (and collect? #t)
                                               (and in-place? #t) (and replace? #t)))))
        (if (string? report)
            (error (string-append "heap-snapshot!: " report)))
        (list (cons 'objects (vector-ref report snapshot-report/objects))
              (cons 'bytes (vector-ref report snapshot-report/bytes))
              (cons 'written (vector-ref report snapshot-report/written))
              (cons 'stopped (/ (vector-ref report snapshot-report/stopped) 1000.0))
              (cons 'taken (/ (vector-ref report snapshot-report/taken) 1000.0))
              (cons 'in-place? (vector-ref report snapshot-report/in-place)))))

    (define (check-count name count)
      (if (not (or (not count) (and (fixnum? count) (> count 0))))
          (raise-bad-option 'watch-heap! name "a number of collections" count)))

    ;; Writes snapshots to the file `path` from now on: after each `#:full`-th full collection, and
    ;; after each `#:every`-th one of any kind. `#:growth` is a factor by which the heap has to
    ;; grow, and `#:limit?` says that one is wanted near the limit.
    (define* (watch-heap! path #:key (full #f) (every #f) (growth #f) (limit? #f)
                          (previews? #t) (replace? #f))
      (check-argument 'watch-heap! 1 string? "string" path)
      (check-count "#:full" full)
      (check-count "#:every" every)
      (if (not (or (not growth) (and (real? growth) (< 1 growth 1000000))))
          (raise-bad-option 'watch-heap! "#:growth" "a number above 1" growth))
      (if (not (or full every growth limit?))
          (error "watch-heap!: no rule is given; expected #:full, #:every, #:growth or #:limit?"))
      (let ((failure (%watch-heap path (or full 0) (or every 0) (and growth (inexact growth))
                                  (and limit? #t) (and previews? #t) (and replace? #t))))
        (if failure
            (error (string-append "watch-heap!: " failure)))))

    ;; Ends it. An association list with the numbers of snapshots, or #f if nothing was begun.
    (define (stop-watching-heap!)
      (let ((report (result-of (%end-heap-watch))))
        (if (string? report)
            (error (string-append "stop-watching-heap!: " report)))
        (and report
             (list (cons 'written (vector-ref report heap-watch-report/written))
                   (cons 'failed (vector-ref report heap-watch-report/failed))
                   (cons 'left-out (vector-ref report heap-watch-report/left-out))))))

    ;; The objects of one type. `family` is a symbol, such as `record`. `name` is that of a record
    ;; type or procedure, or `#f`. `file` and `line` say where a procedure stands, or are `#f`.
    (define-record-type type-sum
      (make-type-sum family name file line library? objects bytes)
      type-sum?
      (family type-sum-family)
      (name type-sum-name)
      (file type-sum-file)
      (line type-sum-line)
      (library? type-sum-library?)
      (objects type-sum-objects)
      (bytes type-sum-bytes))

    (define (vector->type-sum vector)
      (make-type-sum (vector-ref vector type-sum/family) (vector-ref vector type-sum/name)
                     (vector-ref vector type-sum/file) (vector-ref vector type-sum/line)
                     (vector-ref vector type-sum/library) (vector-ref vector type-sum/objects)
                     (vector-ref vector type-sum/bytes)))

    ;; Collects fully, and gives what is alive by type, the most bytes first.
    (define (heap-summary)
      (map vector->type-sum (%heap-summary)))

    (define (call-times count thunk)
      (if (> count 0)
          (begin
            (thunk)
            (call-times (- count 1) thunk))))

    ;; Calls `thunk` again and again. The types of which there are more objects after each `rounds`
    ;; calls, at least one for each call. Sums have what came in all of them, the most bytes first.
    ;; The first calls do not count, as they may fill caches.
    (define* (heap-growth thunk #:key (rounds 10))
      (check-procedure 'heap-growth 1 thunk)
      (if (not (and (exact-integer? rounds) (<= 1 rounds 1000000)))
          (raise-bad-option 'heap-growth "#:rounds" "1 to 1000000" rounds))
      (call-times 2 thunk)
      (%note-heap! #t)
      (call-times 3 (lambda ()
                      (call-times rounds thunk)
                      (%note-heap! #f)))
      (map vector->type-sum (%heap-growth rounds)))))
