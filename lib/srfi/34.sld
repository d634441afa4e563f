;;; (srfi 34): exception handling for programs.

(define-library (srfi 34)
  (export with-exception-handler raise guard)
  (import (canny machine control)))
