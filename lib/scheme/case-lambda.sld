;;; (scheme case-lambda): R7RS appendix A.

(define-library (scheme case-lambda)
  (export case-lambda)
  (import (canny syntax)))
