;;; (srfi 19): times and dates.
;;;
;;; Years are numbered as by astronomers: before year 1 is year 0. A time is a whole number of
;;; seconds and of nanoseconds. They have the same sign in a duration, and the nanoseconds are not
;;; negative in a point of time. Monotonic time has the epoch of TAI, from which it differs by what
;;; the clock was set since the program started. TAI is ahead of UTC by the leap seconds since 1972,
;;; and before not at all. Names of days and months are English.

(define-library (srfi 19)
  (export time-duration time-monotonic time-process time-tai time-thread time-utc
          current-date current-julian-day current-modified-julian-day current-time time-resolution
          make-time time? time-type time-nanosecond time-second set-time-type!
          set-time-nanosecond! set-time-second! copy-time
          time<=? time<? time=? time>=? time>?
          time-difference time-difference! add-duration add-duration!
          subtract-duration subtract-duration!
          make-date date? date-nanosecond date-second date-minute date-hour date-day date-month
          date-year date-zone-offset date-year-day date-week-day date-week-number
          date->julian-day date->modified-julian-day date->time-monotonic date->time-tai
          date->time-utc
          julian-day->date julian-day->time-monotonic julian-day->time-tai julian-day->time-utc
          modified-julian-day->date modified-julian-day->time-monotonic
          modified-julian-day->time-tai modified-julian-day->time-utc
          time-monotonic->date time-monotonic->julian-day time-monotonic->modified-julian-day
          time-monotonic->time-tai time-monotonic->time-tai! time-monotonic->time-utc
          time-monotonic->time-utc!
          time-tai->date time-tai->julian-day time-tai->modified-julian-day
          time-tai->time-monotonic time-tai->time-monotonic! time-tai->time-utc
          time-tai->time-utc!
          time-utc->date time-utc->julian-day time-utc->modified-julian-day
          time-utc->time-monotonic time-utc->time-monotonic! time-utc->time-tai
          time-utc->time-tai!
          date->string string->date)
  (import (canny machine protocols) (canny syntax) (canny primitives)
          (only (canny machine control) error)
          (only (canny machine ports) call-with-output-string)
          (canny data time-zones))
  (begin

    (define time-duration 'time-duration)
    (define time-monotonic 'time-monotonic)
    (define time-process 'time-process)
    (define time-tai 'time-tai)
    (define time-thread 'time-thread)
    (define time-utc 'time-utc)

    (define nano 1000000000)
    (define day-seconds 86400)

    ;; Times.

    (define-record-type time
      (new-time type nanosecond second)
      time?
      (type time-type set-type!)
      (nanosecond time-nanosecond set-nanosecond!)
      (second time-second set-second!))

    (define (check-type who position type)
      (if (not (memq type '(time-duration time-monotonic time-process time-tai time-thread
                            time-utc)))
          (%type-error who position "time type" type)))

    (define (check-integer who position object)
      (if (not (exact-integer? object))
          (%type-error who position "exact integer" object)))

    (define (check-time who position time type)
      (if (not (and (time? time) (eq? (time-type time) type)))
          (%type-error who position (string-append "time of the type " (symbol->string type))
                       time)))

    (define (make-time type nanosecond second)
      (check-type 'make-time 1 type)
      (check-integer 'make-time 2 nanosecond)
      (check-integer 'make-time 3 second)
      (new-time type nanosecond second))

    (define (set-time-type! time type)
      (check-type 'set-time-type! 2 type)
      (set-type! time type))

    (define (set-time-nanosecond! time nanosecond)
      (check-integer 'set-time-nanosecond! 2 nanosecond)
      (set-nanosecond! time nanosecond))

    (define (set-time-second! time second)
      (check-integer 'set-time-second! 2 second)
      (set-second! time second))

    (define (copy-time time)
      (new-time (time-type time) (time-nanosecond time) (time-second time)))

    ;; A time as a number of nanoseconds, and back.
    (define (time->nanoseconds time)
      (+ (* nano (time-second time)) (time-nanosecond time)))

    (define (nanoseconds->time type nanoseconds)
      (if (eq? type time-duration)
          (new-time type (remainder nanoseconds nano) (quotient nanoseconds nano))
          (new-time type (floor-remainder nanoseconds nano) (floor-quotient nanoseconds nano))))

    (define (replace-time! time other)
      (set-type! time (time-type other))
      (set-nanosecond! time (time-nanosecond other))
      (set-second! time (time-second other))
      time)

    (define-syntax define-time-comparison
      (syntax-rules ()
        ((_ name compare)
         (define (name time1 time2)
           (if (not (time? time1)) (%type-error 'name 1 "time" time1))
           (check-time 'name 2 time2 (time-type time1))
           (compare (time->nanoseconds time1) (time->nanoseconds time2))))))

    (define-time-comparison time<=? <=)
    (define-time-comparison time<? <)
    (define-time-comparison time=? =)
    (define-time-comparison time>=? >=)
    (define-time-comparison time>? >)

    (define (time-difference time1 time2)
      (if (not (time? time1)) (%type-error 'time-difference 1 "time" time1))
      (check-time 'time-difference 2 time2 (time-type time1))
      (nanoseconds->time time-duration (- (time->nanoseconds time1) (time->nanoseconds time2))))

    (define (time-difference! time1 time2)
      (replace-time! time1 (time-difference time1 time2)))

    (define (add-duration time duration)
      (if (not (time? time)) (%type-error 'add-duration 1 "time" time))
      (check-time 'add-duration 2 duration time-duration)
      (nanoseconds->time (time-type time)
                         (+ (time->nanoseconds time) (time->nanoseconds duration))))

    (define (add-duration! time duration)
      (replace-time! time (add-duration time duration)))

    (define (subtract-duration time duration)
      (if (not (time? time)) (%type-error 'subtract-duration 1 "time" time))
      (check-time 'subtract-duration 2 duration time-duration)
      (nanoseconds->time (time-type time)
                         (- (time->nanoseconds time) (time->nanoseconds duration))))

    (define (subtract-duration! time duration)
      (replace-time! time (subtract-duration time duration)))

    ;; Leap seconds: the start of each day, in UTC, from which on TAI is ahead by so many seconds.

    (define leap-seconds
      '((1483228800 . 37) (1435708800 . 36) (1341100800 . 35) (1230768000 . 34)
        (1136073600 . 33) (915148800 . 32) (867715200 . 31) (820454400 . 30) (773020800 . 29)
        (741484800 . 28) (709948800 . 27) (662688000 . 26) (631152000 . 25) (567993600 . 24)
        (489024000 . 23) (425865600 . 22) (394329600 . 21) (362793600 . 20) (315532800 . 19)
        (283996800 . 18) (252460800 . 17) (220924800 . 16) (189302400 . 15) (157766400 . 14)
        (126230400 . 13) (94694400 . 12) (78796800 . 11) (63072000 . 10)))

    (define (utc->tai second)
      (let loop ((rest leap-seconds))
        (cond ((null? rest) second)
              ((>= second (caar rest)) (+ second (cdar rest)))
              (else (loop (cdr rest))))))

    (define (tai->utc second)
      (let loop ((rest leap-seconds))
        (cond ((null? rest) second)
              ((>= (- second (cdar rest)) (caar rest)) (- second (cdar rest)))
              ;; In a leap second UTC is already that of the next day.
              ((= (- second (cdar rest) -1) (caar rest)) (caar rest))
              (else (loop (cdr rest))))))

    (define (leap-second? second)
      (let loop ((rest leap-seconds))
        (and (pair? rest)
             ;; Before 1972 there was no leap second.
             (pair? (cdr rest))
             (or (= (- second (cdar rest) -1) (caar rest))
                 (loop (cdr rest))))))

    (define (convert time type second)
      (new-time type (time-nanosecond time) second))

    (define-syntax define-conversion
      (syntax-rules ()
        ((_ name name! from to change)
         (begin
           (define (name time)
             (check-time 'name 1 time from)
             (let ((normal (nanoseconds->time from (time->nanoseconds time))))
               (convert normal to (change (time-second normal)))))
           (define (name! time)
             (check-time 'name! 1 time from)
             (replace-time! time (name time)))))))

    (define (same second) second)

    (define-conversion time-utc->time-tai time-utc->time-tai! time-utc time-tai utc->tai)
    (define-conversion time-tai->time-utc time-tai->time-utc! time-tai time-utc tai->utc)
    (define-conversion time-utc->time-monotonic time-utc->time-monotonic!
      time-utc time-monotonic utc->tai)
    (define-conversion time-monotonic->time-utc time-monotonic->time-utc!
      time-monotonic time-utc tai->utc)
    (define-conversion time-tai->time-monotonic time-tai->time-monotonic!
      time-tai time-monotonic same)
    (define-conversion time-monotonic->time-tai time-monotonic->time-tai!
      time-monotonic time-tai same)

    ;; Clocks.

    (define (utc-now)
      (nanoseconds->time time-utc (%clock-nanoseconds clock/realtime)))

    ;; The nanoseconds of TAI less those of the monotonic clock when the library was loaded.
    (define monotonic-offset
      (- (time->nanoseconds (time-utc->time-tai (utc-now)))
         (%clock-nanoseconds clock/monotonic)))

    (define current-time
      (case-lambda
        (() (utc-now))
        ((type)
         (case type
           ((time-utc) (utc-now))
           ((time-tai) (time-utc->time-tai! (utc-now)))
           ((time-monotonic)
            (nanoseconds->time type (+ monotonic-offset (%clock-nanoseconds clock/monotonic))))
           ((time-process) (nanoseconds->time type (%clock-nanoseconds clock/process)))
           ((time-thread) (nanoseconds->time type (%clock-nanoseconds clock/thread)))
           (else (%type-error 'current-time 1 "time type of a clock" type))))))

    (define time-resolution
      (case-lambda
        (() 1)
        ((type)
         (check-type 'time-resolution 1 type)
         1)))

    ;; The calendar.  Days are counted from 1970-01-01.

    (define (leap-year? year)
      (and (= 0 (modulo year 4))
           (or (not (= 0 (modulo year 100))) (= 0 (modulo year 400)))))

    (define (month-days year month)
      (if (and (= month 2) (leap-year? year))
          29
          (vector-ref #(31 28 31 30 31 30 31 31 30 31 30 31) (- month 1))))

    ;; Years are counted from March here, so that the leap day ends one.
    (define (days-of year month day)
      (let* ((shifted (if (<= month 2) (- year 1) year))
             (era (floor-quotient shifted 400))
             (year-of-era (- shifted (* era 400)))
             (month-from-march (modulo (+ month 9) 12))
             (day-of-year (+ (quotient (+ (* 153 month-from-march) 2) 5) (- day 1)))
             (day-of-era (+ (* 365 year-of-era) (quotient year-of-era 4)
                            (- (quotient year-of-era 100)) day-of-year)))
        (+ (* era 146097) day-of-era -719468)))

    ;; Year, month and day.
    (define (days->calendar days)
      (let* ((shifted (+ days 719468))
             (era (floor-quotient shifted 146097))
             (day-of-era (- shifted (* era 146097)))
             (year-of-era (quotient (- day-of-era (quotient day-of-era 1460)
                                       (- (quotient day-of-era 36524))
                                       (quotient day-of-era 146096))
                                    365))
             (day-of-year (- day-of-era (+ (* 365 year-of-era) (quotient year-of-era 4)
                                           (- (quotient year-of-era 100)))))
             (month-from-march (quotient (+ (* 5 day-of-year) 2) 153))
             (day (+ 1 (- day-of-year (quotient (+ (* 153 month-from-march) 2) 5))))
             (month (if (< month-from-march 10) (+ month-from-march 3) (- month-from-march 9)))
             (year (+ year-of-era (* era 400) (if (<= month 2) 1 0))))
        (values year month day)))

    ;; Dates.

    (define-record-type date
      (new-date nanosecond second minute hour day month year zone-offset)
      date?
      (nanosecond date-nanosecond)
      (second date-second)
      (minute date-minute)
      (hour date-hour)
      (day date-day)
      (month date-month)
      (year date-year)
      (zone-offset date-zone-offset))

    (define (check-field position object least greatest)
      (check-integer 'make-date position object)
      (if (not (<= least object greatest))
          (%range-error 'make-date position
                        (string-append (number->string least) " to " (number->string greatest))
                        object)))

    (define (make-date nanosecond second minute hour day month year zone-offset)
      (check-field 1 nanosecond 0 (- nano 1))
      (check-field 2 second 0 60)
      (check-field 3 minute 0 59)
      (check-field 4 hour 0 23)
      (check-field 6 month 1 12)
      (check-integer 'make-date 7 year)
      (check-field 5 day 0 (month-days year month))
      (check-integer 'make-date 8 zone-offset)
      (new-date nanosecond second minute hour day month year zone-offset))

    (define (check-date who position object)
      (if (not (date? object))
          (%type-error who position "date" object)))

    ;; Seconds since 1970 in UTC.
    (define (date->seconds date)
      (+ (* day-seconds (days-of (date-year date) (date-month date) (date-day date)))
         (* 3600 (date-hour date))
         (* 60 (date-minute date))
         (date-second date)
         (- (date-zone-offset date))))

    (define (seconds->date seconds nanosecond offset)
      (let* ((local (+ seconds offset))
             (second-of-day (floor-remainder local day-seconds)))
        (let-values (((year month day) (days->calendar (floor-quotient local day-seconds))))
          (new-date nanosecond
                    (remainder second-of-day 60)
                    (remainder (quotient second-of-day 60) 60)
                    (quotient second-of-day 3600)
                    day month year offset))))

    (define (offset-argument who offset seconds)
      (cond ((null? offset) ((local-time-zone) seconds))
            ((exact-integer? (car offset)) (car offset))
            (else (%type-error who 2 "exact integer" (car offset)))))

    (define (current-date . offset)
      (%apply time-utc->date (cons (utc-now) offset)))

    (define (time-utc->date time . offset)
      (check-time 'time-utc->date 1 time time-utc)
      (let* ((time (nanoseconds->time time-utc (time->nanoseconds time)))
             (seconds (time-second time)))
        (seconds->date seconds (time-nanosecond time)
                       (offset-argument 'time-utc->date offset seconds))))

    ;; A leap second is second 60 of the minute before.
    (define (tai-seconds->date who time offset)
      (let* ((time (nanoseconds->time time-tai (time->nanoseconds time)))
             (second (time-second time))
             (leap? (leap-second? second))
             (utc (if leap? (- (tai->utc second) 1) (tai->utc second)))
             (date (seconds->date utc (time-nanosecond time) (offset-argument who offset utc))))
        (if leap?
            (new-date (date-nanosecond date) 60 (date-minute date) (date-hour date)
                      (date-day date) (date-month date) (date-year date)
                      (date-zone-offset date))
            date)))

    (define (time-tai->date time . offset)
      (check-time 'time-tai->date 1 time time-tai)
      (tai-seconds->date 'time-tai->date time offset))

    (define (time-monotonic->date time . offset)
      (check-time 'time-monotonic->date 1 time time-monotonic)
      (tai-seconds->date 'time-monotonic->date time offset))

    (define (date->time-utc date)
      (check-date 'date->time-utc 1 date)
      (new-time time-utc (date-nanosecond date) (date->seconds date)))

    (define (date->tai who type date)
      (check-date who 1 date)
      (let ((seconds (date->seconds date)))
        (new-time type (date-nanosecond date)
                  (if (= (date-second date) 60)
                      (+ 1 (utc->tai (- seconds 1)))
                      (utc->tai seconds)))))

    (define (date->time-tai date)
      (date->tai 'date->time-tai time-tai date))

    (define (date->time-monotonic date)
      (date->tai 'date->time-monotonic time-monotonic date))

    (define (date-year-day date)
      (check-date 'date-year-day 1 date)
      (+ 1 (- (days-of (date-year date) (date-month date) (date-day date))
              (days-of (date-year date) 1 1))))

    (define (date-week-day date)
      (check-date 'date-week-day 1 date)
      (week-day (days-of (date-year date) (date-month date) (date-day date))))

    (define (week-day days)
      (modulo (+ 4 days) 7))

    ;; The days before the first one that starts a week are week 0.
    (define (date-week-number date first-day)
      (check-date 'date-week-number 1 date)
      (check-integer 'date-week-number 2 first-day)
      (quotient (+ (date-year-day date) 6 (- (modulo (- (date-week-day date) first-day) 7)))
                7))

    ;; The week of ISO 8601: the first one has the first Thursday.
    (define (iso-week date)
      (let* ((days (days-of (date-year date) (date-month date) (date-day date)))
             (thursday (+ days (- 3 (modulo (+ 3 days) 7)))))
        (let-values (((year month day) (days->calendar thursday)))
          (+ 1 (quotient (- thursday (days-of year 1 1)) 7)))))

    ;; Julian days are exact rational numbers.

    (define (nanoseconds->julian-day nanoseconds)
      (+ (/ nanoseconds (* nano day-seconds)) 4881175/2))

    (define (julian-day->nanoseconds who day)
      (if (not (and (real? day) (rational? day)))
          (%type-error who 1 "finite real number" day))
      (floor (* (- (exact day) 4881175/2) nano day-seconds)))

    (define modified-offset 4800001/2)

    (define (current-julian-day)
      (time-utc->julian-day (utc-now)))

    (define (current-modified-julian-day)
      (time-utc->modified-julian-day (utc-now)))

    (define (date->julian-day date)
      (check-date 'date->julian-day 1 date)
      (time-utc->julian-day (date->time-utc date)))

    (define (date->modified-julian-day date)
      (- (date->julian-day date) modified-offset))

    (define (time-utc->julian-day time)
      (check-time 'time-utc->julian-day 1 time time-utc)
      (nanoseconds->julian-day (time->nanoseconds time)))

    (define (time-utc->modified-julian-day time)
      (- (time-utc->julian-day time) modified-offset))

    (define (time-tai->julian-day time)
      (time-utc->julian-day (time-tai->time-utc time)))

    (define (time-tai->modified-julian-day time)
      (- (time-tai->julian-day time) modified-offset))

    (define (time-monotonic->julian-day time)
      (time-utc->julian-day (time-monotonic->time-utc time)))

    (define (time-monotonic->modified-julian-day time)
      (- (time-monotonic->julian-day time) modified-offset))

    (define (julian-day->time-utc day)
      (nanoseconds->time time-utc (julian-day->nanoseconds 'julian-day->time-utc day)))

    (define (julian-day->time-tai day)
      (time-utc->time-tai! (julian-day->time-utc day)))

    (define (julian-day->time-monotonic day)
      (time-utc->time-monotonic! (julian-day->time-utc day)))

    (define (julian-day->date day . offset)
      (%apply time-utc->date (cons (julian-day->time-utc day) offset)))

    (define (modified->julian who day)
      (if (not (and (real? day) (rational? day)))
          (%type-error who 1 "finite real number" day))
      (+ (exact day) modified-offset))

    (define (modified-julian-day->time-utc day)
      (julian-day->time-utc (modified->julian 'modified-julian-day->time-utc day)))

    (define (modified-julian-day->time-tai day)
      (julian-day->time-tai (modified->julian 'modified-julian-day->time-tai day)))

    (define (modified-julian-day->time-monotonic day)
      (julian-day->time-monotonic (modified->julian 'modified-julian-day->time-monotonic day)))

    (define (modified-julian-day->date day . offset)
      (%apply julian-day->date
              (cons (modified->julian 'modified-julian-day->date day) offset)))

    ;; Dates as text.

    (define day-names
      #("Sunday" "Monday" "Tuesday" "Wednesday" "Thursday" "Friday" "Saturday"))

    (define month-names
      #("January" "February" "March" "April" "May" "June" "July" "August" "September" "October"
        "November" "December"))

    (define (abbreviation name)
      (substring name 0 3))

    ;; `pad` is a character, or #f for none.
    (define (write-padded number width pad port)
      (let ((digits (number->string number)))
        (if pad
            (let loop ((length (string-length digits)))
              (if (< length width)
                  (begin
                    (write-char pad port)
                    (loop (+ length 1))))))
        (write-string digits port)))

    (define (hour-12 date)
      (let ((hour (modulo (date-hour date) 12)))
        (if (= hour 0) 12 hour)))

    (define (write-zone date port)
      (let* ((offset (date-zone-offset date)) (minutes (quotient (abs offset) 60)))
        (if (= offset 0)
            (write-char #\Z port)
            (begin
              (write-char (if (< offset 0) #\- #\+) port)
              (write-padded (quotient minutes 60) 2 #\0 port)
              (write-padded (remainder minutes 60) 2 #\0 port)))))

    (define (write-fraction date port)
      (if (not (= 0 (date-nanosecond date)))
          (let loop ((digits (number->string (+ nano (date-nanosecond date)))))
            (let ((end (- (string-length digits) 1)))
              (if (eqv? (string-ref digits end) #\0)
                  (loop (substring digits 0 end))
                  (begin
                    (write-char #\. port)
                    (write-string digits port 1)))))))

    ;; Years have at least four digits.
    (define (write-year date port)
      (let ((year (date-year date)))
        (if (< year 0)
            (write-char #\- port))
        (write-padded (abs year) 4 #\0 port)))

    (define date->string
      (case-lambda
        ((date) (date->string date "~c"))
        ((date format)
         (check-date 'date->string 1 date)
         (if (not (string? format))
             (%type-error 'date->string 2 "string" format))
         (call-with-output-string
           (lambda (port) (write-date date format port))))))

    (define (write-date date format port)
      (let ((length (string-length format)))
        (let loop ((index 0))
          (if (< index length)
              (let ((char (string-ref format index)))
                (if (not (eqv? char #\~))
                    (begin
                      (write-char char port)
                      (loop (+ index 1)))
                    ;; After the tilde - means no padding and _ padding with spaces.
                    (let* ((flag (and (< (+ index 2) length)
                                      (memv (string-ref format (+ index 1)) '(#\- #\_))
                                      (string-ref format (+ index 1))))
                           (directive-index (if flag (+ index 2) (+ index 1))))
                      (if (>= directive-index length)
                          (error "date->string: the format ends in a directive" format))
                      (write-directive date (string-ref format directive-index) flag port)
                      (loop (+ directive-index 1)))))))))

    (define (write-directive date directive flag port)
      (define (pad default)
        (case flag ((#\-) #f) ((#\_) #\space) (else default)))
      (define (padded number width default)
        (write-padded number width (pad default) port))
      (define (format string)
        (write-date date string port))
      (case directive
        ((#\~) (write-char #\~ port))
        ((#\a) (write-string (abbreviation (vector-ref day-names (date-week-day date))) port))
        ((#\A) (write-string (vector-ref day-names (date-week-day date)) port))
        ((#\b #\h)
         (write-string (abbreviation (vector-ref month-names (- (date-month date) 1))) port))
        ((#\B) (write-string (vector-ref month-names (- (date-month date) 1)) port))
        ((#\c) (format "~a ~b ~d ~H:~M:~S~z ~Y"))
        ((#\d) (padded (date-day date) 2 #\0))
        ((#\D) (format "~m/~d/~y"))
        ((#\e) (padded (date-day date) 2 #\space))
        ((#\f)
         (padded (date-second date) 2 #\0)
         (write-fraction date port))
        ((#\H) (padded (date-hour date) 2 #\0))
        ((#\I) (padded (hour-12 date) 2 #\0))
        ((#\j) (padded (date-year-day date) 3 #\0))
        ((#\k) (padded (date-hour date) 2 #\space))
        ((#\l) (padded (hour-12 date) 2 #\space))
        ((#\m) (padded (date-month date) 2 #\0))
        ((#\M) (padded (date-minute date) 2 #\0))
        ((#\n) (newline port))
        ((#\N) (padded (date-nanosecond date) 9 #\0))
        ((#\p) (write-string (if (< (date-hour date) 12) "AM" "PM") port))
        ((#\r) (format "~I:~M:~S ~p"))
        ((#\s) (padded (date->seconds date) 1 #\0))
        ((#\S) (padded (date-second date) 2 #\0))
        ((#\t) (write-char #\tab port))
        ((#\T) (format "~H:~M:~S"))
        ((#\U) (padded (date-week-number date 0) 2 #\0))
        ((#\V) (padded (iso-week date) 2 #\0))
        ((#\w) (padded (date-week-day date) 1 #\0))
        ((#\W) (padded (date-week-number date 1) 2 #\0))
        ((#\x) (format "~m/~d/~y"))
        ((#\X) (format "~H:~M:~S"))
        ((#\y) (padded (modulo (date-year date) 100) 2 #\0))
        ((#\Y) (write-year date port))
        ((#\z #\Z) (write-zone date port))
        ((#\1) (format "~Y-~m-~d"))
        ((#\2) (format "~H:~M:~S~z"))
        ((#\3) (format "~H:~M:~S"))
        ((#\4) (format "~Y-~m-~dT~H:~M:~S~z"))
        ((#\5) (format "~Y-~m-~dT~H:~M:~S"))
        (else (error "date->string: an unknown directive" directive))))

    ;; Text as dates.

    (define (string->date string template)
      (if (not (string? string)) (%type-error 'string->date 1 "string" string))
      (if (not (string? template)) (%type-error 'string->date 2 "string" template))
      (let ((fields (make-vector 8 #f))
            (port (open-input-string string)))

        (define (fail what)
          (error (string-append "string->date: " what) string template))

        (define (set-field! index value)
          (vector-set! fields index value))

        (define (field index default)
          (or (vector-ref fields index) default))

        (define (skip-to wanted?)
          (let ((char (peek-char port)))
            (cond ((eof-object? char) (fail "the string ends too early"))
                  ((not (wanted? char))
                   (read-char port)
                   (skip-to wanted?)))))

        (define (next-char-is? wanted?)
          (let ((char (peek-char port)))
            (and (char? char) (wanted? char))))

        ;; Reads at most so many digits.
        (define (read-digits most)
          (let loop ((count 0) (number 0))
            (if (and (< count most) (next-char-is? digit-value))
                (loop (+ count 1) (+ (* 10 number) (digit-value (read-char port))))
                (if (= count 0)
                    (fail "a number is missing")
                    number))))

        ;; Reads a number of two places that may start with blanks.
        (define (read-blank-padded)
          (if (next-char-is? char-whitespace?)
              (begin
                (read-char port)
                (read-digits 1))
              (read-digits 2)))

        (define (read-word)
          (let loop ((chars '()))
            (if (next-char-is? char-alphabetic?)
                (loop (cons (read-char port) chars))
                (%reverse-list->string chars))))

        (define (read-name names change)
          (let ((word (read-word)))
            (let loop ((index 0))
              (cond ((= index (vector-length names)) (fail "an unknown name"))
                    ((string-ci=? word (change (vector-ref names index))) index)
                    (else (loop (+ index 1)))))))

        ;; Z, +hh, +hhmm or +hh:mm.
        (define (read-zone)
          (let ((sign (read-char port)))
            (case sign
              ((#\Z #\z) 0)
              ((#\+ #\-)
               (let* ((hours (read-digits 2))
                      (minutes (begin
                                 (if (next-char-is? (lambda (char) (eqv? char #\:)))
                                     (read-char port))
                                 (if (next-char-is? digit-value) (read-digits 2) 0)))
                      (offset (+ (* 3600 hours) (* 60 minutes))))
                 (if (eqv? sign #\-) (- offset) offset)))
              (else (fail "a time zone is missing")))))

        ;; The year with these last digits that is at most 50 years away.
        (define (near-year digits)
          (let* ((now (date-year (current-date 0)))
                 (year (+ digits (* 100 (quotient now 100)))))
            (cond ((> (- year now) 50) (- year 100))
                  ((<= (- year now) -50) (+ year 100))
                  (else year))))

        (define (read-directive directive)
          (case directive
            ((#\~)
             (if (not (eqv? (read-char port) #\~))
                 (fail "the string does not match the template")))
            ((#\a) (skip-to char-alphabetic?) (read-name day-names abbreviation))
            ((#\A) (skip-to char-alphabetic?) (read-name day-names (lambda (name) name)))
            ((#\b #\h)
             (skip-to char-alphabetic?)
             (set-field! 5 (+ 1 (read-name month-names abbreviation))))
            ((#\B)
             (skip-to char-alphabetic?)
             (set-field! 5 (+ 1 (read-name month-names (lambda (name) name)))))
            ((#\d) (skip-to digit-value) (set-field! 4 (read-digits 2)))
            ((#\e) (set-field! 4 (read-blank-padded)))
            ((#\H) (skip-to digit-value) (set-field! 3 (read-digits 2)))
            ((#\k) (set-field! 3 (read-blank-padded)))
            ((#\m) (skip-to digit-value) (set-field! 5 (read-digits 2)))
            ((#\M) (skip-to digit-value) (set-field! 2 (read-digits 2)))
            ((#\N) (skip-to digit-value) (set-field! 0 (read-digits 9)))
            ((#\S) (skip-to digit-value) (set-field! 1 (read-digits 2)))
            ((#\y) (set-field! 6 (near-year (read-digits 2))))
            ((#\Y)
             (let ((negative? (next-char-is? (lambda (char) (eqv? char #\-)))))
               (skip-to digit-value)
               (let ((year (read-digits 9)))
                 (set-field! 6 (if negative? (- year) year)))))
            ((#\z) (set-field! 7 (read-zone)))
            ((#\1) (read-template "~Y-~m-~d"))
            ((#\2) (read-template "~H:~M:~S~z"))
            ((#\3 #\T) (read-template "~H:~M:~S"))
            ((#\4) (read-template "~Y-~m-~dT~H:~M:~S~z"))
            ((#\5) (read-template "~Y-~m-~dT~H:~M:~S"))
            (else (fail "an unknown directive in the template"))))

        (define (read-template template)
          (let ((length (string-length template)))
            (let loop ((index 0))
              (if (< index length)
                  (let ((char (string-ref template index)))
                    (cond ((not (eqv? char #\~))
                           (if (not (eqv? char (read-char port)))
                               (fail "the string does not match the template"))
                           (loop (+ index 1)))
                          ((= (+ index 1) length)
                           (fail "the template ends in a directive"))
                          (else
                           (read-directive (string-ref template (+ index 1)))
                           (loop (+ index 2)))))))))

        (read-template template)
        (if (not (and (field 4 #f) (field 5 #f) (field 6 #f)))
            (fail "day, month or year is missing"))
        ;; A date without a zone is in local time, whose offset depends on the date.
        (let* ((without-zone
                (make-date (field 0 0) (field 1 0) (field 2 0) (field 3 0)
                           (field 4 1) (field 5 1) (field 6 1970) 0))
               (offset (or (field 7 #f)
                           (let* ((zone (local-time-zone))
                                  (seconds (date->seconds without-zone)))
                             (zone (- seconds (zone seconds)))))))
          (new-date (date-nanosecond without-zone) (date-second without-zone)
                    (date-minute without-zone) (date-hour without-zone)
                    (date-day without-zone) (date-month without-zone)
                    (date-year without-zone) offset))))))
