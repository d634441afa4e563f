;;; (canny web headers dates): dates of HTTP as seconds since 1970, and back.
;;;
;;; A date of a header is an exact integer, the seconds since 1970 in UTC. It is compared with `<`,
;;; computed with, and costs no record. Three forms are read (RFC 9110, 5.6.7), the first is
;;; written:
;;;   Sun, 06 Nov 1994 08:49:37 GMT
;;;   Sunday, 06-Nov-94 08:49:37 GMT
;;;   Sun Nov  6 08:49:37 1994
;;; Cookies have dates in many forms, for which RFC 6265 has an algorithm.

(define-library (canny web headers dates)
  (export parse-date parse-cookie-date date->text)
  (import (canny machine protocols) (canny primitives) (canny syntax))
  (begin

    (define (digit? char)
      (and (char<=? #\0 char) (char<=? char #\9)))

    (define (digit-at text index)
      (let ((char (string-ref text index)))
        (and (digit? char) (- (char->integer char) 48))))

    ;; The number in a range that has only digits, or #f.
    (define (number-at text start end)
      (let loop ((index start) (number 0))
        (if (eqv? index end)
            number
            (let ((digit (digit-at text index)))
              (and digit (loop (+ index 1) (+ (* 10 number) digit)))))))

    (define month-names "janfebmaraprmayjunjulaugsepoctnovdec")
    (define day-names "SunMonTueWedThuFriSat")

    (define (month-at text start)
      (let* ((name (string-downcase text start (+ start 3)))
             (place (string-contains month-names name)))
        (and place
             (eqv? 0 (remainder place 3))
             (+ 1 (quotient place 3)))))

    (define (leap? year)
      (and (eqv? 0 (remainder year 4))
           (or (not (eqv? 0 (remainder year 100)))
               (eqv? 0 (remainder year 400)))))

    (define (month-length year month)
      (case month
        ((4 6 9 11) 30)
        ((2) (if (leap? year) 29 28))
        (else 31)))

    ;; The days from 1970 to a date. Years begin in March here, so that the day of a leap year is
    ;; the last one.
    (define (days year month day)
      (let* ((year (if (<= month 2) (- year 1) year))
             (era (floor-quotient year 400))
             (year-of-era (- year (* era 400)))
             (day-of-year (+ (quotient (+ (* 153 (+ month (if (> month 2) -3 9))) 2) 5) (- day 1)))
             (day-of-era (+ (* year-of-era 365)
                            (quotient year-of-era 4)
                            (- (quotient year-of-era 100))
                            day-of-year)))
        (+ (* era 146097) day-of-era -719468)))

    (define (seconds year month day hour minute second)
      (and year month day hour minute second
           (<= 1 day (month-length year month))
           (<= hour 23)
           (<= minute 59)
           (<= second 60)
           (+ (* 86400 (days year month day)) (* 3600 hour) (* 60 minute) second)))

    (define (matches? text start pattern)
      (let ((length (string-length pattern)))
        (let loop ((index 0))
          (or (eqv? index length)
              (and (char=? (string-ref text (+ start index)) (string-ref pattern index))
                   (loop (+ index 1)))))))

    ;; hh:mm:ss at a place.
    (define (with-time text start receive)
      (and (char=? (string-ref text (+ start 2)) #\:)
           (char=? (string-ref text (+ start 5)) #\:)
           (receive (number-at text start (+ start 2))
               (number-at text (+ start 3) (+ start 5))
             (number-at text (+ start 6) (+ start 8)))))

    (define (day-name? text start)
      (let ((place (string-contains day-names (substring text start (+ start 3)))))
        (and place (eqv? 0 (remainder place 3)))))

    ;; The seconds of a date in a range of a text, or #f.
    (define (parse-date text start end)
      (let ((length (- end start)))
        (cond ((< length 24) #f)
              ((and (eqv? length 29) (char=? (string-ref text (+ start 3)) #\,))
               (parse-fixed text start))
              ((and (eqv? length 24) (char=? (string-ref text (+ start 3)) #\space))
               (parse-asctime text start))
              (else (parse-rfc850 text start end)))))

    (define (parse-fixed text start)
      (and (day-name? text start)
           (char=? (string-ref text (+ start 4)) #\space)
           (char=? (string-ref text (+ start 7)) #\space)
           (char=? (string-ref text (+ start 11)) #\space)
           (char=? (string-ref text (+ start 16)) #\space)
           (matches? text (+ start 25) " GMT")
           (with-time text (+ start 17)
             (lambda (hour minute second)
               (seconds (number-at text (+ start 12) (+ start 16))
                        (month-at text (+ start 8))
                        (number-at text (+ start 5) (+ start 7))
                        hour minute second)))))

    (define (parse-asctime text start)
      (and (day-name? text start)
           (char=? (string-ref text (+ start 7)) #\space)
           (char=? (string-ref text (+ start 10)) #\space)
           (char=? (string-ref text (+ start 19)) #\space)
           (with-time text (+ start 11)
             (lambda (hour minute second)
               (seconds (number-at text (+ start 20) (+ start 24))
                        (month-at text (+ start 4))
                        (number-at text
                                   (+ start (if (char=? (string-ref text (+ start 8)) #\space) 9 8))
                                   (+ start 10))
                        hour minute second)))))

    ;; Two digits of a year are the one that is at most fifty years ahead.
    (define (parse-rfc850 text start end)
      (let ((comma (%string-index text #\, start end)))
        (and comma
             (<= 6 (- comma start) 9)
             (eqv? (- end comma) 24)
             (day-name? text start)
             (char=? (string-ref text (+ comma 1)) #\space)
             (char=? (string-ref text (+ comma 4)) #\-)
             (char=? (string-ref text (+ comma 8)) #\-)
             (char=? (string-ref text (+ comma 11)) #\space)
             (matches? text (+ comma 20) " GMT")
             (let ((year (number-at text (+ comma 9) (+ comma 11))))
               (with-time text (+ comma 12)
                 (lambda (hour minute second)
                   (let ((date (lambda (year)
                                 (seconds year
                                          (month-at text (+ comma 5))
                                          (number-at text (+ comma 2) (+ comma 4))
                                          hour minute second)))
                         (limit (+ (quotient (%clock-nanoseconds clock/realtime) 1000000000)
                                   (* 50 31556952))))
                     (and year
                          (let ((this (date (+ 2000 year))))
                            (if (and this (<= this limit))
                                this
                                (date (+ 1900 year))))))))))))

    ;; Cookies (RFC 6265, 5.1.1).

    (define (delimiter? char)
      (let ((code (char->integer char)))
        (or (eqv? code 9)
            (<= 32 code 47)
            (<= 59 code 64)
            (<= 91 code 96)
            (<= 123 code 126))))

    ;; The end of the digits that begin at an index.
    (define (digits-end text start end)
      (let loop ((index start))
        (if (and (< index end) (digit? (string-ref text index)))
            (loop (+ index 1))
            index)))

    ;; The seconds of a date in a range of a text, or #f.
    (define (parse-cookie-date text start end)
      (let loop ((index start) (time #f) (day #f) (month #f) (year #f))
        (cond ((eqv? index end)
               (and time day month year
                    (>= year 1601)
                    (seconds year month day (vector-ref time 0) (vector-ref time 1)
                             (vector-ref time 2))))
              ((delimiter? (string-ref text index)) (loop (+ index 1) time day month year))
              (else
               (let* ((stop (let next ((stop index))
                              (if (or (eqv? stop end) (delimiter? (string-ref text stop)))
                                  stop
                                  (next (+ stop 1)))))
                      (digits (- (digits-end text index stop) index))
                      (try-time (and (not time) (cookie-time text index stop))))
                 (cond (try-time (loop stop try-time day month year))
                       ((and (not day) (<= 1 digits 2))
                        (loop stop time (number-at text index (+ index digits)) month year))
                       ((and (not month) (>= (- stop index) 3) (month-at text index))
                        (loop stop time day (month-at text index) year))
                       ((and (not year) (or (eqv? digits 2) (eqv? digits 4)))
                        (let ((number (number-at text index (+ index digits))))
                          (loop stop time day month
                                (cond ((<= 70 number 99) (+ number 1900))
                                      ((<= 0 number 69) (+ number 2000))
                                      (else number)))))
                       (else (loop stop time day month year))))))))

    ;; h:m:s with one or two digits each, as a vector, or #f.
    (define (cookie-time text start end)
      (define (field start receive)
        (let ((stop (digits-end text start end)))
          (and (<= 1 (- stop start) 2)
               (receive (number-at text start stop) stop))))
      (define (colon? index)
        (and (< index end) (char=? (string-ref text index) #\:)))
      (field start
        (lambda (hour stop)
          (and (colon? stop)
               (field (+ stop 1)
                 (lambda (minute stop)
                   (and (colon? stop)
                        (field (+ stop 1)
                          (lambda (second stop)
                            (vector hour minute second))))))))))

    ;; Writing.

    (define (write-digits! text index number count)
      (let loop ((place (+ index count -1)) (number number))
        (if (>= place index)
            (begin
              (string-set! text place (integer->char (+ 48 (remainder number 10))))
              (loop (- place 1) (quotient number 10))))))

    ;; The text of a date, in the first form; #f if its year has not four digits.
    (define (date->text date)
      (let* ((day (floor-quotient date 86400))
             (second (- date (* day 86400)))
             (shifted (+ day 719468))
             (era (floor-quotient shifted 146097))
             (day-of-era (- shifted (* era 146097)))
             (year-of-era (quotient (- day-of-era
                                       (quotient day-of-era 1460)
                                       (- (quotient day-of-era 36524))
                                       (quotient day-of-era 146096))
                                    365))
             (day-of-year (- day-of-era
                             (+ (* 365 year-of-era)
                                (quotient year-of-era 4)
                                (- (quotient year-of-era 100)))))
             (month (quotient (+ (* 5 day-of-year) 2) 153))
             (month-day (+ 1 (- day-of-year (quotient (+ (* 153 month) 2) 5))))
             (month (if (< month 10) (+ month 3) (- month 9)))
             (year (+ (* era 400) year-of-era (if (<= month 2) 1 0))))
        (and (<= 0 year 9999)
             (let ((text (string-copy "Sun, 00 Jan 0000 00:00:00 GMT"))
                   (name (* 3 (modulo (+ day 4) 7)))
                   (month-name (* 3 (- month 1))))
               (string-copy! text 0 day-names name (+ name 3))
               (write-digits! text 5 month-day 2)
               (string-set! text 8 (char-upcase (string-ref month-names month-name)))
               (string-copy! text 9 month-names (+ month-name 1) (+ month-name 3))
               (write-digits! text 12 year 4)
               (write-digits! text 17 (quotient second 3600) 2)
               (write-digits! text 20 (remainder (quotient second 60) 60) 2)
               (write-digits! text 23 (remainder second 60) 2)
               text))))))
