;;; options: --message-format json
(define (f x)
  (let ((y 1) (y 2))
    (+ x y)))
(display (f 1)))
