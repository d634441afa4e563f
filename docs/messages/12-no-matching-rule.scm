;;; A macro that has no rule for its use (line 8).
(define-syntax swap!
  (syntax-rules ()
    ((_ a b) (let ((old a)) (set! a b) (set! b old)))))

(define x 1)
(define y 2)
(swap! x y 3)
(display (list x y))
