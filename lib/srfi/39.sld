;;; (srfi 39): parameter objects.

(define-library (srfi 39)
  (export make-parameter parameterize)
  (import (canny machine control)))
