;;; (canny profile): profiles that a program takes of itself, and labels for what it does.
;;;
;;; Labels are an entry of the parameters register, so that tasks inherit them and continuations
;;; have those in force where they were captured. The machine knows the key of the entry. Its value
;;; is a list of pairs of key and value, the innermost first.

(define-library (canny profile)
  (export start-profiling! stop-profiling! profiling? call-with-profile
          with-profile-label call-with-profile-labels
          %profile-labels-entry %call-with-labels-entry)
  (import (canny primitives) (canny syntax) (canny machine control) (canny machine arguments)
          (canny data lists))
  (begin

    (define key (list 'profile-labels))
    (%set-profile-labels-key! key)

    ;; With `#:keep`, a number of minutes, `path` is a directory: it has the profiles of these
    ;; minutes, in files of `#:file` seconds.
    (define* (start-profiling! path #:key (interval #f) (waits-per-second #f) (native? #f)
                               (allocation-interval 524288) (keep #f) (file 60) (counts? #f))
      (check-argument 'start-profiling! 1 string? "string" path)
      (if (not (or (not interval)
                   (and (exact-integer? interval) (<= 50 interval 10000000))))
          (raise-bad-option 'start-profiling! "#:interval" "50 to 10000000 microseconds" interval))
      (if (not (and (exact-integer? allocation-interval)
                    (<= 0 allocation-interval 1000000000000)))
          (raise-bad-option 'start-profiling! "#:allocation-interval"
                            "0 to 1000000000000 bytes" allocation-interval))
      (if (not (or (not waits-per-second)
                   (and (exact-integer? waits-per-second) (<= 0 waits-per-second 1000000000))))
          (raise-bad-option 'start-profiling! "#:waits-per-second" "0 to 1000000000 waits"
                            waits-per-second))
      (if (not (or (not keep)
                   (and (real? keep) (< 0 keep 1000000))))
          (raise-bad-option 'start-profiling! "#:keep" "a number of minutes" keep))
      (if (not (and (exact-integer? file) (<= 1 file 86400)))
          (raise-bad-option 'start-profiling! "#:file" "1 to 86400 seconds" file))
      (let ((failure
             (if keep
                 (%start-profile-ring path (or interval 10000)
                                      (exact (ceiling (* 60 keep))) file
                                      (or waits-per-second 500))
                 (%start-profile path (or interval 1000) (or waits-per-second 4000) (and native? #t)
                                 allocation-interval (and counts? #t)))))
        (if failure
            (error (string-append "start-profiling!: " failure)))))

    ;; Whether there was a profile to end.
    (define (stop-profiling!)
      (let ((result (%stop-profile)))
        (if (string? result)
            (error (string-append "stop-profiling!: " result)))
        result))

    (define (profiling?)
      (%profiling?))

    (define* (call-with-profile path thunk #:key (interval 1000) (waits-per-second #f) (native? #f)
               (allocation-interval 524288) (counts? #f))
      (check-procedure 'call-with-profile 2 thunk)
      (start-profiling! path #:interval interval #:waits-per-second waits-per-second
                        #:native? native? #:allocation-interval allocation-interval
                        #:counts? counts?)
      (dynamic-wind
       (lambda () #f)
       thunk
       (lambda () (stop-profiling!))))

    (define (label-text object)
      (if (or (string? object) (symbol? object))
          object
          (let ((port (open-output-string)))
            (display object port)
            (get-output-string port))))

    ;; `labels` is a list of pairs of key and value.
    (define (call-with-profile-labels labels thunk)
      (check-argument 'call-with-profile-labels 1 list? "list of pairs" labels)
      (check-procedure 'call-with-profile-labels 2 thunk)
      (let* ((outer (%parameters))
             (entry (%parameter-entry key))
             (known (if entry (cdr entry) '()))
             (new (map (lambda (label)
                         (check-argument 'call-with-profile-labels 1 pair? "list of pairs" label)
                         (cons (label-text (car label)) (label-text (cdr label))))
                       labels)))
        (%set-parameters! (cons (cons key (append new known)) outer))
        (let ((result (thunk)))
          (%set-parameters! outer)
          result)))

    ;; The entry of the parameters register that stands for labels. A server makes it once for each
    ;; route.
    (define (%profile-labels-entry labels)
      (cons key labels))

    ;; The same as `call-with-profile-labels` for a handler: one pair is made if there are no labels
    ;; yet.
    (define (%call-with-labels-entry entry handler request body)
      (let ((outer (%parameters)))
        (%set-parameters!
         (cons (let ((known (and (pair? outer) (%parameter-entry key))))
                 (if known
                     (cons key (append (cdr entry) (cdr known)))
                     entry))
               outer))
        (let ((result (handler request body)))
          (%set-parameters! outer)
          result)))

    (define-syntax with-profile-label
      (syntax-rules ()
        ((_ ((label value) ...) body0 body ...)
         (call-with-profile-labels (list (cons 'label value) ...)
           (lambda () body0 body ...)))))))
