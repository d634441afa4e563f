;;; The hints about a name that nothing binds.
(import (scheme base) (scheme write))
(define (area width height) (* width heigth))
(define (sum numbers) (fold + 0 numbers))
(defin x 5)
(display (sum '(1 2)))
