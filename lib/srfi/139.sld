;;; SRFI 139: syntax parameters.  Any macro can be parameterized.

(define-library (srfi 139)
  (export syntax-parameterize
          (rename define-syntax define-syntax-parameter))
  (import (canny syntax)))
