;;; (srfi 244): define-values.

(define-library (srfi 244)
  (export define-values)
  (import (canny syntax)))
