;;; (canny postgresql values): what is sent and received, by the number of its type.
;;;
;;; Types that are known come in binary form; the others come as the text that PostgreSQL makes of
;;; them. Arguments are sent as text, but for bytevectors.

(define-library (canny postgresql values)
  (export result-format decode encode)
  (import (canny primitives) (canny syntax) (canny machine control)
          (only (canny data lists) for-each map)
          (only (canny base64) hex-encode)
          (only (canny json) string->json json->string)
          (only (scheme bytevector) bytevector-u16-ref bytevector-s16-ref bytevector-s32-ref
                bytevector-u32-ref
                bytevector-s64-ref
                bytevector-ieee-single-ref
                bytevector-ieee-double-ref)
          (srfi 19))
  (begin

    (define-syntax s16 (syntax-rules () ((_ bytes at) (bytevector-s16-ref bytes at 'big))))
    (define-syntax u16 (syntax-rules () ((_ bytes at) (bytevector-u16-ref bytes at 'big))))
    (define-syntax s32 (syntax-rules () ((_ bytes at) (bytevector-s32-ref bytes at 'big))))
    (define-syntax s64 (syntax-rules () ((_ bytes at) (bytevector-s64-ref bytes at 'big))))

    ;; The type of the elements of an array type, or #f.
    (define (element-type type)
      (case type
        ((1000) 16)
        ((1001) 17)
        ((1005) 21)
        ((1007) 23)
        ((1016) 20)
        ((1028) 26)
        ((1009) 25)
        ((1015) 1043)
        ((1014) 1042)
        ((1003) 19)
        ((1021) 700)
        ((1022) 701)
        ((1231) 1700)
        ((1182) 1082)
        ((1183) 1083)
        ((1115) 1114)
        ((1185) 1184)
        ((2951) 2950)
        ((199) 114)
        ((3807) 3802)
        (else #f)))

    ;; 1 for types that are requested in binary form, 0 for text.
    (define (result-format type)
      (case type
        ((16 17 18 19 20 21 23 25 26 114 700 701 1042 1043 1082 1083 1114 1184 1700 2950 3802) 1)
        (else (if (element-type type) 1 0))))

    ;; The value of some bytes.
    (define (decode type bytes start end)
      (case type
        ((23) (s32 bytes start))
        ((25 1043 1042 19 18) (utf8->string bytes start end))
        ((20) (s64 bytes start))
        ((16) (not (= 0 (bytevector-u8-ref bytes start))))
        ((21) (s16 bytes start))
        ((26) (bytevector-u32-ref bytes start 'big))
        ((701) (bytevector-ieee-double-ref bytes start 'big))
        ((700) (bytevector-ieee-single-ref bytes start 'big))
        ((17) (bytevector-copy bytes start end))
        ((1700) (decode-numeric bytes start))
        ((1082) (decode-date bytes start))
        ((1114) (decode-timestamp bytes start))
        ((1184) (decode-moment bytes start))
        ((1083) (microseconds->time time-duration (s64 bytes start)))
        ((2950) (decode-uuid bytes start))
        ((114) (string->json (utf8->string bytes start end)))
        ;; A byte for the version of the format comes first.
        ((3802) (string->json (utf8->string bytes (+ start 1) end)))
        (else
         (if (element-type type)
             (decode-array bytes start)
             (utf8->string bytes start end)))))

    (define (decode-uuid bytes start)
      (let ((hex (hex-encode (bytevector-copy bytes start (+ start 16)))))
        (string-append (substring hex 0 8) "-" (substring hex 8 12) "-" (substring hex 12 16) "-"
                       (substring hex 16 20)
                       "-"
                       (substring hex 20 32))))

    ;; Digits to the base of 10,000; the weight is the exponent of the first.
    (define (decode-numeric bytes start)
      (let ((count (s16 bytes start))
            (weight (s16 bytes (+ start 2)))
            (sign (u16 bytes (+ start 4))))
        (case sign
          ((49152) +nan.0)
          ((53248) +inf.0)
          ((61440) -inf.0)
          (else
           (let loop ((index 0) (number 0))
             (if (< index count)
                 (loop (+ index 1)
                       (+ (* number 10000) (s16 bytes (+ start 8 (* 2 index)))))
                 (let ((value (* number (expt 10000 (- weight (- count 1))))))
                   (if (= sign 0) value (- value)))))))))

    ;; Dates. Days are counted from the first of January 2000, moments in microseconds from its
    ;; beginning.

    (define day-microseconds 86400000000)

    ;; Year, month and day of a number of days, by the proleptic Gregorian calendar.
    (define (days->civil days)
      (let* ((shifted (+ days 730425))
             (era (floor-quotient* shifted 146097))
             (day-of-era (- shifted (* era 146097)))
             (year-of-era
              (quotient (- (+ (- day-of-era (quotient day-of-era 1460))
                              (quotient day-of-era 36524))
                           (quotient day-of-era 146096))
                        365))
             (day-of-year
              (- day-of-era
                 (- (+ (* 365 year-of-era) (quotient year-of-era 4)) (quotient year-of-era 100))))
             (shifted-month (quotient (+ (* 5 day-of-year) 2) 153))
             (day (+ 1 (- day-of-year (quotient (+ (* 153 shifted-month) 2) 5))))
             (month (if (< shifted-month 10) (+ shifted-month 3) (- shifted-month 9)))
             (year (+ year-of-era (* era 400) (if (<= month 2) 1 0))))
        (list year month day)))

    (define (floor-quotient* n d)
      (let ((q (quotient n d)))
        (if (and (< n 0) (not (= n (* q d)))) (- q 1) q)))

    (define (civil-date days microseconds)
      (let ((civil (days->civil days))
            (seconds (quotient microseconds 1000000)))
        (make-date (* 1000 (- microseconds (* seconds 1000000)))
                   (modulo seconds 60)
                   (modulo (quotient seconds 60) 60)
                   (quotient seconds 3600)
                   (caddr civil)
                   (cadr civil)
                   (car civil)
                   0)))

    (define (decode-date bytes start)
      (let ((days (s32 bytes start)))
        (case days
          ((2147483647) "infinity")
          ((-2147483648) "-infinity")
          (else (civil-date days 0)))))

    ;; `work` of a number of microseconds, unless it stands for infinity.
    (define (finite microseconds work)
      (case microseconds
        ((9223372036854775807) "infinity")
        ((-9223372036854775808) "-infinity")
        (else (work microseconds))))

    (define (decode-timestamp bytes start)
      (finite (s64 bytes start)
              (lambda (microseconds)
                (let ((days (floor-quotient* microseconds day-microseconds)))
                  (civil-date days (- microseconds (* days day-microseconds)))))))

    (define (decode-moment bytes start)
      (finite (s64 bytes start)
              (lambda (microseconds)
                ;; SRFI 19 counts from 1970.
                (microseconds->time time-utc (+ microseconds (* 10957 day-microseconds))))))

    (define (microseconds->time type microseconds)
      (let ((seconds (floor-quotient* microseconds 1000000)))
        (make-time type (* 1000 (- microseconds (* seconds 1000000))) seconds)))

    ;; Arrays are vectors, of vectors if they have several dimensions.
    (define (decode-array bytes start)
      (let* ((dimensions (s32 bytes start))
             (type (s32 bytes (+ start 8)))
             (at (+ start 12 (* 8 dimensions))))
        (define (extent index) (s32 bytes (+ start 12 (* 8 index))))
        (define (element!)
          (let ((length (s32 bytes at)))
            (set! at (+ at 4))
            (if (< length 0)
                'null
                (let ((from at))
                  (set! at (+ at length))
                  (decode type bytes from at)))))
        (define (part index)
          (if (= index dimensions)
              (element!)
              (let* ((length (extent index))
                     (vector (make-vector length)))
                (do ((i 0 (+ i 1))) ((= i length) vector)
                  (vector-set! vector i (part (+ index 1)))))))
        (if (= dimensions 0)
            (vector)
            (part 0))))

    ;; Arguments.

    (define (refuse position message object)
      (raise (%make-condition 'type
                              (string-append "argument " (number->string position)
                                             " of the statement "
                                             message)
                              (list object)
                              'query)))

    ;; The form of an object as an argument of a type: #f for NULL, a bytevector in binary form, or
    ;; a string.
    (define (encode object type position)
      (cond ((eq? object 'null) #f)
            ((memv type '(114 3802)) (if (string? object) object (json->string object)))
            ((bytevector? object) object)
            (else (text object type position))))

    (define (text object type position)
      (cond ((string? object) object)
            ((exact-integer? object) (number->string object))
            ((eq? object #t) "true")
            ((eq? object #f) "false")
            ((and (real? object) (inexact? object)) (flonum-text object))
            ((and (real? object) (exact? object)) (ratio-text object position))
            ((date? object) (date-text object type))
            ((time? object) (time-text object))
            ((vector? object) (array-text (vector->list object) type position))
            ((list? object) (array-text object type position))
            (else
             (refuse position
                     "is not a real number, a string, a bytevector, a boolean, null, a date, a \
                      time or a list or vector of these"
                     object))))

    (define (flonum-text number)
      (cond ((not (= number number)) "NaN")
            ((= number +inf.0) "Infinity")
            ((= number -inf.0) "-Infinity")
            (else (number->string number))))

    ;; A ratio as a decimal fraction, if it is one.
    (define (ratio-text ratio position)
      (let loop ((denominator (denominator ratio)) (twos 0) (fives 0))
        (cond ((= 0 (modulo denominator 2)) (loop (quotient denominator 2) (+ twos 1) fives))
              ((= 0 (modulo denominator 5)) (loop (quotient denominator 5) twos (+ fives 1)))
              ((= denominator 1)
               (let* ((digits (max twos fives))
                      (scaled (abs (* ratio (expt 10 digits))))
                      (whole (quotient scaled (expt 10 digits))))
                 (string-append (if (< ratio 0) "-" "")
                                (number->string whole)
                                "."
                                (padded (- scaled (* whole (expt 10 digits))) digits))))
              (else (refuse position "has no end as a decimal fraction" ratio)))))

    (define (padded number width)
      (let ((digits (number->string number)))
        (string-append (make-string (max 0 (- width (string-length digits))) #\0) digits)))

    (define (date-text date type)
      (let ((day
             (string-append (padded (date-year date) 4) "-" (padded (date-month date) 2) "-"
                            (padded (date-day date) 2)))
            (offset (date-zone-offset date)))
        (if (= type 1082)
            day
            (string-append day " " (padded (date-hour date) 2) ":" (padded (date-minute date) 2) ":"
                           (padded (date-second date) 2)
                           "."
                           (padded (quotient (date-nanosecond date) 1000) 6)
                           ;; A timestamp without a zone is what the date says.
                           (if (= type 1114)
                               ""
                               (string-append (if (< offset 0) "-" "+")
                                              (padded (quotient (abs offset) 3600) 2)
                                              ":"
                                              (padded (modulo (quotient (abs offset) 60) 60)
                                                      2)))))))

    (define (time-text time)
      (if (eq? (time-type time) time-duration)
          (let* ((nanoseconds (+ (* 1000000000 (time-second time)) (time-nanosecond time)))
                 (microseconds (quotient (abs nanoseconds) 1000))
                 (seconds (quotient microseconds 1000000)))
            (string-append (if (< nanoseconds 0) "-" "")
                           (padded (quotient seconds 3600) 2)
                           ":"
                           (padded (modulo (quotient seconds 60) 60) 2)
                           ":"
                           (padded (modulo seconds 60) 2)
                           "."
                           (padded (modulo microseconds 1000000) 6)))
          (date-text (time-utc->date time 0) 1184)))

    ;; {1,2,"three",NULL}
    (define (array-text elements type position)
      (let ((element-type (or (element-type type) 25)))
        (string-append
         "{"
         (let loop ((rest elements) (text-before ""))
           (if (null? rest)
               text-before
               (loop (cdr rest)
                     (string-append text-before
                                    (if (eq? rest elements) "" ",")
                                    (element-text (car rest) type element-type position)))))
         "}")))

    (define (element-text object type element-type position)
      (cond ((eq? object 'null) "NULL")
            ((and (or (vector? object) (pair? object)) (not (memv element-type '(114 3802))))
             (text object type position))
            ((bytevector? object) (string-append "\"\\\\x" (hex-encode object) "\""))
            (else
             (let ((value (encode object element-type position)))
               (string-append "\"" (escaped value) "\"")))))

    (define (escaped string)
      (let ((port (open-output-string)))
        (do ((index 0 (+ index 1))) ((= index (string-length string)) (get-output-string port))
          (let ((char (string-ref string index)))
            (if (or (char=? char #\") (char=? char #\\))
                (write-char #\\ port))
            (write-char char port)))))))
