;;; A misspelt keyword (line 3).
(define (absolute x)
  (cnod ((< x 0) (- x))
        (else x)))

(display (absolute -5))
