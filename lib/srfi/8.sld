;;; (srfi 8): receive, binding to multiple values.

(define-library (srfi 8)
  (export receive)
  (import (canny syntax)))
