;;; (srfi 87): => in case clauses.

(define-library (srfi 87)
  (export case => else)
  (import (canny syntax)))
