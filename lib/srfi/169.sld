;;; (srfi 169): underscores in numbers.
;;;
;;; The reader and `string->number` take them: there is nothing to import.

(define-library (srfi 169)
  (export)
  (import (canny syntax)))
