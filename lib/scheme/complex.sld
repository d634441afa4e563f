;;; (scheme complex): R7RS appendix A.

(define-library (scheme complex)
  (export angle imag-part magnitude make-polar make-rectangular real-part)
  (import (canny primitives)))
