;;; (srfi 211 explicit-renaming): er-macro-transformer.

(define-library (srfi 211 explicit-renaming)
  (export er-macro-transformer (rename er-identifier? identifier?))
  (import (canny machine syntax-runtime)))
