;;; (srfi 2): and-let*, an and with local bindings.

(define-library (srfi 2)
  (export and-let*)
  (import (canny machine syntax-extensions)))
