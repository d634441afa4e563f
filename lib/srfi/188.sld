;;; (srfi 188): splicing binding constructs for syntactic keywords.

(define-library (srfi 188)
  (export splicing-let-syntax splicing-letrec-syntax)
  (import (canny syntax)))
