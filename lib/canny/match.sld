;;; (canny match): pattern matching.  The forms are the expander's own.

(define-library (canny match)
  (export match match-lambda match-lambda* match-let match-let* match-letrec match-define)
  (import (canny syntax)))
