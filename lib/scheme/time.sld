;;; (scheme time): R7RS appendix A.

(define-library (scheme time)
  (export current-jiffy current-second jiffies-per-second)
  (import (canny primitives)))
