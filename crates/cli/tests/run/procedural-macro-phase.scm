(import (scheme base) (canny syntax-case))
;; A transformer runs before the program does.
(define (helper x) x)
(define-syntax bad (lambda (x) (helper x)))
(bad 1)
