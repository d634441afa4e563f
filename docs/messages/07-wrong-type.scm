;;; A wrong type deep in a recursion (line 5).
(define (total prices)
  (if (null? prices)
      0
      (+ (car prices) (total (cdr prices)))))

(define (report prices)
  (list 'total (total prices)))

(display (report '(1 2 "3" 4)))
