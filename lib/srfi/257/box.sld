;;; (srfi 257 box): match patterns for boxes.

(define-library (srfi 257 box)
  (export ~box? ~box)
  (import (except (canny syntax) match) (canny data boxes) (srfi 257))
  (begin

    (define-match-pattern ~box? ()
      ((_ . patterns) (~and (~test box?) . patterns)))

    (define-match-pattern ~box ()
      ((_ pattern) (~and (~test box?) (~prop unbox => pattern))))))
