;;; (srfi 195): multiple-value boxes.

(define-library (srfi 195)
  (export box box? unbox set-box! box-arity unbox-value set-box-value!)
  (import (canny data boxes)))
