;;; (srfi 0): feature-based conditional expansion.

(define-library (srfi 0)
  (export cond-expand)
  (import (canny syntax)))
