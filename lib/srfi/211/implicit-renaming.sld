;;; (srfi 211 implicit-renaming): ir-macro-transformer.

(define-library (srfi 211 implicit-renaming)
  (export ir-macro-transformer (rename er-identifier? identifier?))
  (import (canny machine syntax-runtime)))
