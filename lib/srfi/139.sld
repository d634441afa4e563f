;;; (srfi 139): syntax parameters.

(define-library (srfi 139)
  (export syntax-parameterize
          (rename define-syntax define-syntax-parameter))
  (import (canny syntax)))
