;;; A method takes what its generic function takes.
(import (scheme base) (canny generic))
(define-generic (area shape))
(define-method (area left right) 1)
