;;; expect: 11888890
;;; A million strings made by string-append of a string and the digits of a number.
(import (scheme base) (scheme write))
(define (label number)
  (string-append "label" (number->string number) "/"))
(define (total-length count)
  (let loop ((i 0) (total 0))
    (if (= i count)
        total
        (loop (+ i 1) (+ total (string-length (label i)))))))
(display (total-length 1000000))
(newline)
