;;; (scheme process-context): R7RS appendix A.

(define-library (scheme process-context)
  (export command-line emergency-exit exit get-environment-variable get-environment-variables)
  (import (canny primitives)
          (canny machine control)))
