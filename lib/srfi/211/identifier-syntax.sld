;;; (srfi 211 identifier-syntax): keywords that stand for expressions.

(define-library (srfi 211 identifier-syntax)
  (export identifier-syntax)
  (import (canny syntax-case)))
