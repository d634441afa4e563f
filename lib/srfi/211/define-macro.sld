;;; (srfi 211 define-macro): macros without hygiene.

(define-library (srfi 211 define-macro)
  (export define-macro)
  (import (canny syntax-case)))
