;;; A conditional with too many parts (line 3).
(define (sign x)
  (if (< x 0)
      (display "negative")
      -1
      1))

(display (sign 5))
