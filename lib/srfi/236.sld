;;; (srfi 236): independently, evaluation in an unspecified order.

(define-library (srfi 236)
  (export independently)
  (import (canny syntax) (only (canny primitives) void))
  (begin

    (define-syntax independently
      (syntax-rules ()
        ((_ expression ...)
         (void (begin expression #f) ...))))))
