;;; (scheme lazy): R7RS appendix A.

(define-library (scheme lazy)
  (export delay delay-force force make-promise promise?)
  (import (canny machine control)))
