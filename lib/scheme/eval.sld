;;; (scheme eval): R7RS appendix A.

(define-library (scheme eval)
  (export environment eval)
  (import (canny machine evaluation)))
