;;; (srfi 46): syntax-rules with a chosen ellipsis and tail patterns.
;;;
;;; The `syntax-rules` of R7RS has both.

(define-library (srfi 46)
  (export syntax-rules)
  (import (canny syntax)))
