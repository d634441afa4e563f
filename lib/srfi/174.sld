;;; (srfi 174): POSIX timespecs.
;;;
;;; Timespecs are records of their own.  The seconds are any exact integer.  A time less than a
;;; second before the epoch cannot be expressed as seconds and nanoseconds; it becomes the epoch.

(define-library (srfi 174)
  (export timespec timespec? timespec-seconds timespec-nanoseconds
          inexact->timespec timespec->inexact timespec=? timespec<? timespec-hash)
  (import (canny syntax) (canny primitives))
  (begin

    (define-record-type timespec-type
      (make-timespec seconds nanoseconds)
      timespec?
      (seconds timespec-seconds)
      (nanoseconds timespec-nanoseconds))

    (define (timespec seconds nanoseconds)
      (if (not (exact-integer? seconds))
          (%type-error 'timespec 1 "exact integer" seconds))
      (if (not (exact-nonnegative-integer? nanoseconds))
          (%type-error 'timespec 2 "exact integer from 0 to 999999999" nanoseconds))
      (if (>= nanoseconds 1000000000)
          (%range-error 'timespec 2 "0 to 999999999" nanoseconds))
      (make-timespec seconds nanoseconds))

    ;; Nanoseconds since the epoch.
    (define (total timespec)
      (let ((seconds (* 1000000000 (timespec-seconds timespec))))
        (if (< seconds 0)
            (- seconds (timespec-nanoseconds timespec))
            (+ seconds (timespec-nanoseconds timespec)))))

    (define (inexact->timespec number)
      (if (not (and (real? number) (rational? number)))
          (%type-error 'inexact->timespec 1 "finite real number" number))
      (let* ((nanoseconds (round (* 1000000000 (exact number))))
             (seconds (quotient nanoseconds 1000000000)))
        (if (and (= seconds 0) (< nanoseconds 0))
            (make-timespec 0 0)
            (make-timespec seconds (abs (remainder nanoseconds 1000000000))))))

    (define (timespec->inexact timespec)
      (inexact (/ (total timespec) 1000000000)))

    (define (timespec=? timespec1 timespec2)
      (= (total timespec1) (total timespec2)))

    (define (timespec<? timespec1 timespec2)
      (< (total timespec1) (total timespec2)))

    (define (timespec-hash timespec)
      (hash (total timespec)))))
