;;; (srfi 111): boxes.

(define-library (srfi 111)
  (export box box? unbox set-box!)
  (import (canny data boxes)))
