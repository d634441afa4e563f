;;; (canny data time-zones): the offset of local time from UTC.
;;;
;;; A zone is a procedure from seconds since 1970 in UTC to the seconds that local time is ahead. It
;;; is made of a TZif file (RFC 9636) or of a rule such as EST5EDT,M3.2.0,M11.1.0 (POSIX). The
;;; variable TZ names it as POSIX has it; without TZ it is /etc/localtime. A zone that cannot be
;;; read or parsed means UTC.

(define-library (canny data time-zones)
  (export local-time-zone parse-time-zone-rule parse-time-zone-file)
  (import (canny syntax) (canny primitives) (only (canny machine control) guard raise)
          (only (canny machine ports) call-with-port))
  (begin

    (define (utc seconds) 0)

    ;; The zone of the environment; it is looked up again when TZ has changed.
    (define known-name #f)
    (define known-zone #f)

    (define (local-time-zone)
      (let ((name (or (get-environment-variable "TZ") 'none)))
        (if (not (equal? name known-name))
            (begin
              (set! known-zone (find-zone name))
              (set! known-name name)))
        known-zone))

    (define (find-zone name)
      (cond ((eq? name 'none) (or (read-zone "/etc/localtime") utc))
            ((string-null? name) utc)
            ((eqv? (string-ref name 0) #\:) (find-zone (substring name 1)))
            ((eqv? (string-ref name 0) #\/) (or (read-zone name) utc))
            (else
             (or (and (not (string-contains name ".."))
                      (read-zone (string-append "/usr/share/zoneinfo/" name)))
                 (parse-time-zone-rule name)
                 utc))))

    (define (read-zone name)
      (guard (object (#t #f))
        (and (file-exists? name)
             (call-with-port (open-binary-input-file name)
               (lambda (port)
                 (parse-time-zone-file (read-bytevector 1000000 port)))))))

    ;; Files.

    (define (big-endian bytes start size)
      (let loop ((index start) (number 0))
        (if (< index (+ start size))
            (loop (+ index 1) (+ (* 256 number) (bytevector-u8-ref bytes index)))
            (if (>= number (expt 2 (- (* 8 size) 1)))
                (- number (expt 2 (* 8 size)))
                number))))

    ;; The header has, from offset 20, six counts.  A file of version 2 or later has a second part,
    ;; with times of 8 bytes, and a rule at its end.
    (define (parse-time-zone-file bytes)
      (define (count start index) (big-endian bytes (+ start 20 (* 4 index)) 4))
      (define (part-size start time-size)
        (+ 44
           (* (count start 3) (+ time-size 1))
           (* (count start 4) 6)
           (count start 5)
           (* (count start 2) (+ time-size 4))
           (count start 1)
           (count start 0)))
      (if (not (and (bytevector? bytes)
                    (>= (bytevector-length bytes) 44)
                    (equal? (bytevector-copy bytes 0 4) #u8(84 90 105 102))))
          (raise 'no-time-zone-file))
      (if (= (bytevector-u8-ref bytes 4) 0)
          (parse-part bytes 0 4 (count 0 3) (count 0 4) #f)
          (let* ((start (part-size 0 4))
                 (end (+ start (part-size start 8)))
                 (rule (utf8->string bytes (+ end 1) (- (bytevector-length bytes) 1))))
            (parse-part bytes start 8 (count start 3) (count start 4)
                        (parse-time-zone-rule rule)))))

    (define (parse-part bytes start size transition-count type-count rule)
      (let* ((times-start (+ start 44))
             (kinds-start (+ times-start (* size transition-count)))
             (types-start (+ kinds-start transition-count))
             (times (make-vector transition-count 0))
             (offsets (make-vector transition-count 0)))
        (define (type-offset type)
          (big-endian bytes (+ types-start (* 6 type)) 4))
        (define (summer? type)
          (= 1 (bytevector-u8-ref bytes (+ types-start (* 6 type) 4))))
        ;; Before the first transition: the first type that is no summer time.
        (define first-offset
          (let loop ((type 0))
            (cond ((= type type-count) (if (= type-count 0) 0 (type-offset 0)))
                  ((summer? type) (loop (+ type 1)))
                  (else (type-offset type)))))
        (let loop ((index 0))
          (if (< index transition-count)
              (begin
                (vector-set! times index (big-endian bytes (+ times-start (* size index)) size))
                (vector-set! offsets index
                             (type-offset (bytevector-u8-ref bytes (+ kinds-start index))))
                (loop (+ index 1)))))
        (lambda (seconds)
          (cond ((or (= transition-count 0) (< seconds (vector-ref times 0)))
                 (if (and rule (= transition-count 0))
                     (rule seconds)
                     first-offset))
                ((and rule (>= seconds (vector-ref times (- transition-count 1))))
                 (rule seconds))
                (else
                 ;; The last transition that is not after the time.
                 (let search ((low 0) (high transition-count))
                   (if (= (+ low 1) high)
                       (vector-ref offsets low)
                       (let ((middle (quotient (+ low high) 2)))
                         (if (<= (vector-ref times middle) seconds)
                             (search middle high)
                             (search low middle))))))))))

    ;; Rules.  A parser takes an index and gives a pair of value and next index, or #f.

    (define (parse-time-zone-rule string)
      (define length (string-length string))
      (define (char-at index)
        (if (< index length) (string-ref string index) #\null))

      (define (parse-name index)
        (if (eqv? (char-at index) #\<)
            (let ((end (%string-index string #\> index)))
              (and end (+ end 1)))
            (let loop ((end index))
              (if (char-alphabetic? (char-at end))
                  (loop (+ end 1))
                  (and (>= (- end index) 3) end)))))

      (define (parse-number index)
        (let loop ((end index) (number 0))
          (if (char<=? #\0 (char-at end) #\9)
              (loop (+ end 1) (+ (* 10 number) (char->integer (char-at end)) -48))
              (and (> end index) (cons number end)))))

      ;; hh[:mm[:ss]] with an optional sign, as seconds.
      (define (parse-time index)
        (let* ((negative? (eqv? (char-at index) #\-))
               (start (if (memv (char-at index) '(#\+ #\-)) (+ index 1) index)))
          (let loop ((index start) (unit 3600) (seconds 0))
            (let ((part (parse-number index)))
              (and part
                   (let ((seconds (+ seconds (* unit (car part)))) (index (cdr part)))
                     (if (and (eqv? (char-at index) #\:) (> unit 1))
                         (loop (+ index 1) (quotient unit 60) seconds)
                         (cons (if negative? (- seconds) seconds) index))))))))

      ;; A procedure from a year to the seconds, in local time, from its start to the change.
      (define (parse-change index)
        (let ((day (cond ((not (eqv? (char-at index) #\,)) #f)
                         ((eqv? (char-at (+ index 1)) #\M) (parse-month-day (+ index 2)))
                         ((eqv? (char-at (+ index 1)) #\J) (parse-julian-day (+ index 2)))
                         (else (parse-zero-day (+ index 1))))))
          (and day
               (let ((time (if (eqv? (char-at (cdr day)) #\/)
                               (parse-time (+ (cdr day) 1))
                               (cons 7200 (cdr day)))))
                 (and time
                      (cons (lambda (year) (+ (* 86400 ((car day) year)) (car time)))
                            (cdr time)))))))

      (define (parse-zero-day index)
        (let ((day (parse-number index)))
          (and day (cons (lambda (year) (car day)) (cdr day)))))

      ;; Day 60 is the first of March in every year.
      (define (parse-julian-day index)
        (let ((day (parse-number index)))
          (and day
               (cons (lambda (year)
                       (if (and (leap-year? year) (>= (car day) 60))
                           (car day)
                           (- (car day) 1)))
                     (cdr day)))))

      (define (parse-month-day index)
        (let* ((month (parse-number index))
               (week (and month (eqv? (char-at (cdr month)) #\.) (parse-number (+ (cdr month) 1))))
               (day (and week (eqv? (char-at (cdr week)) #\.) (parse-number (+ (cdr week) 1)))))
          (and day
               (<= 1 (car month) 12)
               (<= 1 (car week) 5)
               (<= 0 (car day) 6)
               (cons (lambda (year) (nth-week-day year (car month) (car week) (car day)))
                     (cdr day)))))

      (let* ((name (parse-name 0))
             (standard (and name (parse-time name))))
        (and standard
             (let ((offset (- (car standard)))
                   (summer-name (parse-name (cdr standard))))
               (if (not summer-name)
                   (and (= (cdr standard) length)
                        (lambda (seconds) offset))
                   (let* ((given (and (< summer-name length)
                                      (not (eqv? (char-at summer-name) #\,))
                                      (parse-time summer-name)))
                          (summer-offset (if given (- (car given)) (+ offset 3600)))
                          (index (if given (cdr given) summer-name))
                          (start (if (= index length)
                                     (cons (lambda (year)
                                             (+ 7200 (* 86400 (nth-week-day year 3 2 0))))
                                           index)
                                     (parse-change index)))
                          (end (and start
                                    (if (= (cdr start) length)
                                        (cons (lambda (year)
                                                (+ 7200 (* 86400 (nth-week-day year 11 1 0))))
                                              length)
                                        (parse-change (cdr start))))))
                     (and end
                          (= (cdr end) length)
                          (make-rule offset summer-offset (car start) (car end)))))))))

    ;; The changes are given in the local time before them.
    (define (make-rule offset summer-offset start end)
      (lambda (seconds)
        (let* ((year (year-of (+ seconds offset)))
               (base (* 86400 (days-before-year year)))
               (summer-starts (- (+ base (start year)) offset))
               (summer-ends (- (+ base (end year)) summer-offset))
               (summer? (if (< summer-starts summer-ends)
                            (and (<= summer-starts seconds) (< seconds summer-ends))
                            (or (<= summer-starts seconds) (< seconds summer-ends)))))
          (if summer? summer-offset offset))))

    ;; The calendar.  Days are counted from 1970-01-01, a Thursday.

    (define (leap-year? year)
      (and (= 0 (modulo year 4))
           (or (not (= 0 (modulo year 100))) (= 0 (modulo year 400)))))

    (define (days-before-year year)
      (let ((before (- year 1)))
        (- (+ (* 365 year) (floor-quotient before 4) (- (floor-quotient before 100))
              (floor-quotient before 400))
           719527)))

    (define (year-of seconds)
      (let ((days (floor-quotient seconds 86400)))
        (let loop ((year (+ 1970 (floor-quotient (* 400 days) 146097))))
          (cond ((< days (days-before-year year)) (loop (- year 1)))
                ((>= days (days-before-year (+ year 1))) (loop (+ year 1)))
                (else year)))))

    (define month-starts #(0 31 59 90 120 151 181 212 243 273 304 334 365))

    (define (month-start year month)
      (+ (vector-ref month-starts (- month 1))
         (if (and (> month 2) (leap-year? year)) 1 0)))

    ;; The day of the year, from 0, of the n-th such weekday of a month; 5 is the last one.
    (define (nth-week-day year month week day)
      (let* ((start (month-start year month))
             (end (if (= month 12) (if (leap-year? year) 366 365) (month-start year (+ month 1))))
             (first-week-day (modulo (+ 4 (days-before-year year) start) 7))
             (first (+ start (modulo (- day first-week-day) 7)))
             (found (+ first (* 7 (- week 1)))))
        (if (>= found end) (- found 7) found)))))
