;;; (srfi 211 variable-transformer): macros that take assignments of their keyword.

(define-library (srfi 211 variable-transformer)
  (export make-variable-transformer)
  (import (canny syntax-case)))
