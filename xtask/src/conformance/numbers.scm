;;; Reads a file of parse-number-fxx-test-data. A line is
;;;
;;;     FLOAT16 FLOAT32 FLOAT64 TEXT
;;;
;;; with the bits in hexadecimal; TEXT must read as the FLOAT64, and what is written of that must
;;; read as the same number again.
(import (scheme base) (scheme char) (scheme file) (scheme inexact) (scheme process-context)
        (scheme write))

(define passed 0)
(define failed 0)

;; The flonum with these bits, which are no NaN's. The significand and the scale are exact, so that
;; the only conversion is of a number that has an exact flonum.
(define (bits->flonum bits)
  (let* ((negative? (>= bits (expt 2 63)))
         (magnitude (if negative? (- bits (expt 2 63)) bits))
         (exponent (quotient magnitude (expt 2 52)))
         (fraction (remainder magnitude (expt 2 52)))
         (value (cond ((= exponent 2047) +inf.0)
                      ((= exponent 0) (inexact (* fraction (expt 2 -1074))))
                      (else (inexact (* (+ fraction (expt 2 52)) (expt 2 (- exponent 1075))))))))
    (if negative? (- value) value)))

(define (fields line)
  (let loop ((characters (string->list line)) (field '()) (found '()))
    (cond ((null? characters)
           (reverse (cons (list->string (reverse field)) found)))
          ((char=? (car characters) #\space)
           (loop (cdr characters) '() (cons (list->string (reverse field)) found)))
          (else
           (loop (cdr characters) (cons (car characters) field) found)))))

(define (fail! line got)
  (set! failed (+ failed 1))
  (display "FAIL ")
  (display line)
  (newline)
  (display "  got ")
  (write got)
  (newline))

(define (check! line)
  (let* ((parts (fields line))
         (expected (bits->flonum (string->number (list-ref parts 2) 16)))
         (text (list-ref parts 3))
         (number (string->number text))
         (got (and number (inexact number)))
         ;; An exact zero has no sign.
         (right? (and got
                      (or (eqv? got expected)
                          (and (exact? number) (zero? number) (zero? expected))))))
    (cond ((not right?) (fail! line got))
          ((not (eqv? (string->number (number->string expected)) expected))
           (fail! line (number->string expected)))
          (else (set! passed (+ passed 1))))))

(call-with-input-file (cadr (command-line))
  (lambda (port)
    (let loop ()
      (let ((line (read-line port)))
        (if (not (eof-object? line))
            (begin
              (check! line)
              (loop)))))))
(display passed)
(display " passed, ")
(display failed)
(display " failed")
(newline)
(exit (if (= failed 0) 0 1))
