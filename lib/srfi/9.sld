;;; (srfi 9): records.

(define-library (srfi 9)
  (export define-record-type)
  (import (canny syntax)))
