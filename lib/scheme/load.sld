;;; (scheme load): R7RS appendix A.

(define-library (scheme load)
  (export load)
  (import (canny machine evaluation)))
