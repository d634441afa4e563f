;;; (srfi 28): basic format strings.
;;;
;;; The `format` of SRFI 48, which does all of this SRFI and more.

(define-library (srfi 28)
  (export format)
  (import (srfi 48)))
