(define (f x)
  (let ((y 1)
    (+ x y)))

(define (g) 2)
(h #\bad)
