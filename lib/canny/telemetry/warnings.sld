;;; (canny telemetry warnings): what telemetry says about itself on standard error.
;;;
;;; A warning of a subject is written once in a minute at most. The next one says how many were left
;;; out. Nothing that fails here has an effect on the program.

(define-library (canny telemetry warnings)
  (export warn!)
  (import (canny machine protocols) (canny primitives) (canny syntax)
          (only (canny machine control) guard current-error-port)
          (only (canny tasks) %with-lock))
  (begin

    ;; For each subject, a symbol: when a warning was written, and how many were not since then.
    (define-record-type warnings
      (make-warnings %lock subjects)
      warnings?
      (%lock warnings-lock)
      (subjects subjects set-subjects!))

    (define all (make-warnings #f '()))

    (define pause-nanoseconds (* 60 1000000000))

    ;; The number of warnings that were left out, or #f if this one is to be left out too.
    (define (take-turn! subject)
      (let ((now (%clock-nanoseconds clock/monotonic)))
        (%with-lock all
          (let ((entry (assq subject (subjects all))))
            (cond ((not entry)
                   (set-subjects! all (cons (vector-for subject now) (subjects all)))
                   0)
                  ((< (- now (vector-ref (cdr entry) 0)) pause-nanoseconds)
                   (vector-set! (cdr entry) 1 (+ 1 (vector-ref (cdr entry) 1)))
                   #f)
                  (else
                   (let ((left-out (vector-ref (cdr entry) 1)))
                     (vector-set! (cdr entry) 0 now)
                     (vector-set! (cdr entry) 1 0)
                     left-out)))))))

    (define (vector-for subject now)
      (cons subject (vector now 0)))

    ;; Writes a warning, unless there was one of that subject a moment ago.
    (define (warn! subject . texts)
      (let ((left-out (take-turn! subject)))
        (if left-out
            (guard (object (#t #f))
              (let ((port (current-error-port)))
                (write-string (apply string-append "canny: telemetry: " texts) port)
                (if (> left-out 0)
                    (write-string (string-append " (" (number->string left-out)
                                                 " warnings like this were left out)")
                                  port))
                (newline port)
                (flush-output-port port))))))))
