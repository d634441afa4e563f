;;; (srfi 131): records with inheritance.
;;;
;;; The `define-record-type` of Canny is this one.

(define-library (srfi 131)
  (export define-record-type)
  (import (canny syntax)))
