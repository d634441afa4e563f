;;; (srfi 45): primitives for expressing iterative lazy algorithms.
;;;
;;; The promises are those of R7RS, where `lazy` is called delay-force.

(define-library (srfi 45)
  (export delay lazy force eager)
  (import (canny primitives) (canny syntax) (rename (canny machine control) (delay-force lazy)))
  (begin

    ;; Unlike make-promise, this wraps promises too.
    (define (eager object)
      (delay object))))
