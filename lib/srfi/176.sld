;;; (srfi 176): the version flag.
;;;
;;; `canny -V` prints what this SRFI asks for: there is nothing to import.

(define-library (srfi 176)
  (export)
  (import (canny syntax)))
