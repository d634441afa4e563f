;;; (srfi 6): string ports.

(define-library (srfi 6)
  (export open-input-string open-output-string get-output-string)
  (import (canny primitives)))
