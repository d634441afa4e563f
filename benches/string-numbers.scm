;;; expect: 9888890 1911152 499999500000 1
;;; Numbers to text and back.
(import (scheme base) (scheme write))
(define (lengths count)
  (let loop ((i 0) (total 0))
    (if (= i count)
        total
        (loop (+ i 1)
              (+ total
                 (string-length (number->string i))
                 (string-length (number->string (+ 1000 (remainder i 9000)))))))))
(define (fractions count)
  (let loop ((i 0) (total 0))
    (if (= i count)
        total
        (loop (+ i 1)
              (+ total (string-length (number->string (+ 1.0625 (/ (inexact i) 8.0)))))))))
(define (back count)
  (let loop ((i 0) (total 0))
    (if (= i count)
        total
        (loop (+ i 1) (+ total (string->number (number->string i)))))))
(display (lengths 1000000))
(display " ")
(display (fractions 200000))
(display " ")
(display (back 1000000))
(display " ")
(display (string->number "1"))
(newline)
