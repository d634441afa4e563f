;;; (srfi 188): splicing binding constructs for syntactic keywords.
;;;
;;; `let-syntax` and `letrec-syntax` of Canny splice their bodies.

(define-library (srfi 188)
  (export (rename let-syntax splicing-let-syntax)
          (rename letrec-syntax splicing-letrec-syntax))
  (import (canny syntax)))
