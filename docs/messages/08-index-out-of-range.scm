;;; An index out of range (line 5).
(define months (vector "January" "February" "March"))

(define (month-name number)
  (vector-ref months number))

(define (describe day month)
  (string-append (month-name month) " " (number->string day)))

(display (describe 14 3))
