;;; (scheme read): R7RS appendix A.

(define-library (scheme read)
  (export read)
  (import (canny primitives)))
