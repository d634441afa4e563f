;;; (srfi 62): datum comments, which the reader always takes.

(define-library (srfi 62))
