;;; A name of other languages is met with what there is instead.
(import (scheme base) (scheme write))

(define (last-digit n)
  (% n 10))

(display "before")
(newline)
(print (last-digit 42))
