;;; (scheme repl): R7RS appendix A.

(define-library (scheme repl)
  (export interaction-environment)
  (import (canny primitives)))
