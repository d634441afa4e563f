;;; (canny heap): snapshots of the heap that a program takes of itself.

(define-library (canny heap)
  (export heap-snapshot!)
  (import (canny primitives) (canny syntax) (canny machine control) (canny machine arguments) (canny machine control)
          (canny machine protocols))
  (begin

    ;; Writes a snapshot to the file `path`; a file that has snapshots of this process gets one
    ;; more. An association list that says what was written.
    (define* (heap-snapshot! path #:key (reason "asked") (previews? #t) (collect? #f)
                             (in-place? #f))
      (check-argument 'heap-snapshot! 1 string? "string" path)
      (if (not (string? reason))
          (raise-bad-option 'heap-snapshot! "#:reason" "a string" reason))
      (let ((report (%heap-snapshot path reason (and previews? #t) (and collect? #t)
                                    (and in-place? #t))))
        (if (string? report)
            (error (string-append "heap-snapshot!: " report)))
        (list (cons 'objects (vector-ref report snapshot-report/objects))
              (cons 'bytes (vector-ref report snapshot-report/bytes))
              (cons 'written (vector-ref report snapshot-report/written))
              (cons 'stopped (/ (vector-ref report snapshot-report/stopped) 1000.0))
              (cons 'taken (/ (vector-ref report snapshot-report/taken) 1000.0))
              (cons 'in-place? (vector-ref report snapshot-report/in-place)))))))
