;;; (srfi 149): syntax-rules templates with more ellipses than the pattern.
;;;
;;; The `syntax-rules` of Canny has them: a variable is repeated for the innermost excess ellipses.

(define-library (srfi 149)
  (export syntax-rules)
  (import (canny syntax)))
