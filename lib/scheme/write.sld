;;; (scheme write): R7RS appendix A.

(define-library (scheme write)
  (export display write write-shared write-simple)
  (import (canny primitives)))
