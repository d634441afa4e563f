;;; Wrong uses of the forms of (canny generic).
(import (scheme base) (canny generic))
(define-generic (nothing))
(define-generic (rest-only . rest))
(define-class <both> (<object> <record>) #f both?)
(define (outside) (next-method))
(define-generic (area shape))
(define-method (area) 1)
(define-method (area (shape <missing-class>)) 1)
