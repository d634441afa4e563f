;;; A binding without its parentheses (line 3).
(define (hypotenuse a b)
  (let (sum (+ (* a a) (* b b)))
    (sqrt sum)))

(display (hypotenuse 3 4))
