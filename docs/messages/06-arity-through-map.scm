;;; A procedure of the wrong arity is handed over (line 6).
(define (add-all a b c)
  (+ a b c))

(define (sums left right)
  (map add-all left right))

(display (sums '(1 2) '(3 4)))
