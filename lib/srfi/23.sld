;;; (srfi 23): error.

(define-library (srfi 23)
  (export error)
  (import (canny machine control)))
