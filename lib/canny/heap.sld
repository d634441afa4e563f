;;; (canny heap): snapshots of the heap that a program takes of itself.

(define-library (canny heap)
  (export heap-snapshot! watch-heap! stop-watching-heap!)
  (import (canny primitives) (canny syntax) (canny machine control) (canny machine arguments)
          (canny machine protocols))
  (begin

    ;; Writes a snapshot to the file `path`; a file that has snapshots of this process gets one
    ;; more. An association list that says what was written.
    (define* (heap-snapshot! path #:key (reason "asked") (previews? #t) (collect? #f)
                             (in-place? #f) (replace? #f))
      (check-argument 'heap-snapshot! 1 string? "string" path)
      (if (not (string? reason))
          (raise-bad-option 'heap-snapshot! "#:reason" "a string" reason))
      (let ((report (%heap-snapshot path reason (and previews? #t) (and collect? #t)
                                    (and in-place? #t) (and replace? #t))))
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

    ;; Writes snapshots to the file `path` from now on: after each `#:full`-th full collection,
    ;; after each `#:every`-th one of any kind, when the heap has grown by the factor `#:growth`,
    ;; and near its limit.
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
      (let ((report (%end-heap-watch)))
        (and report
             (list (cons 'written (vector-ref report heap-watch-report/written))
                   (cons 'failed (vector-ref report heap-watch-report/failed))
                   (cons 'left-out (vector-ref report heap-watch-report/left-out))))))))
