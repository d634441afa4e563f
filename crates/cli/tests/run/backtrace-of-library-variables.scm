;; Variables of library procedures that were inlined are nobody's business.
(import (scheme base) (scheme write))

(define (f x)
  (dynamic-wind
   (lambda () #f)
   (lambda () (let ((y (list x))) (car (car y))))
   (lambda () #f)))

(define (g x)
  (let ((r (f x)))
    (+ r 1)))

(display (g 5))
