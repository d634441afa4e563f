;;; (srfi 26): cut and cute, specializing parameters without currying.

(define-library (srfi 26)
  (export cut cute)
  (import (canny machine syntax-extensions)))
