;;; (srfi 30): nested block comments, which the reader always takes.

(define-library (srfi 30))
