;;; (srfi 211 syntactic-closures): sc-macro-transformer and rsc-macro-transformer.

(define-library (srfi 211 syntactic-closures)
  (export sc-macro-transformer rsc-macro-transformer make-syntactic-closure close-syntax
          (rename er-identifier? identifier?))
  (import (canny machine syntax-runtime)))
