(import (scheme base))
(define-syntax swap!
  (syntax-rules ()
    ((_ a b) (let ((temporary a)) (set! a b) (set! b temporary)))))
(define x 1)
(define (f)
  (swap! x 5))
(swap! x)
