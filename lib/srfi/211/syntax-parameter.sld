;;; (srfi 211 syntax-parameter): keywords with a meaning for a while (SRFI 139).

(define-library (srfi 211 syntax-parameter)
  (export define-syntax-parameter syntax-parameterize)
  (import (srfi 139)))
