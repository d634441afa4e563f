(import (scheme base) (scheme write) (only (canny base) define*))
;; A default that fails is reported where it stands, though the call got a copy of it.
(define* (order #:key (a 1) (b (+ a 1)) (c (list a b)))
  (if (eq? a 'again) (order #:c c #:a b) (list a b c)))
(define (use x) (list (order #:a x)))
(write (use 1)) (newline)
(write (use 'no))
