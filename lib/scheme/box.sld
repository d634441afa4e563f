;;; (scheme box): R7RS-large's name of SRFI 111.

(define-library (scheme box)
  (export box box? unbox set-box!)
  (import (srfi 111)))
