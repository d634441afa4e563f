;;; (scheme inexact): R7RS appendix A.

(define-library (scheme inexact)
  (export acos asin atan cos exp finite? infinite? log nan? sin sqrt tan)
  (import (canny primitives)))
