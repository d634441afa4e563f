;;; A variable is used before its definition (line 3).
(define (make-account)
  (define opening (* 2 minimum))
  (define minimum (string->number "50"))
  (list opening minimum))

(display (make-account))
