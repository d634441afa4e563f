;;; A literal is changed (line 3).
(define (capitalize! text)
  (string-set! text 0 (char-upcase (string-ref text 0)))
  text)

(display (capitalize! "hello"))
