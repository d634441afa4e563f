;;; A parameter occurs twice (line 2).
(define (distance x y x)
  (sqrt (+ (* x x) (* y y))))

(display (distance 1 2 3))
