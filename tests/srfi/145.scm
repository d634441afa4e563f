;; SRFI 145: assumptions.

(import (scheme base) (srfi 145) (canny test))

(test 5 (assume 5 "message" (error "not evaluated")))
(test-error (assume #f))
(test '((= 1 2) "not equal" 1)
  (guard (object (#t (error-object-irritants object)))
    (assume (= 1 2) "not equal" 1)))
;; The object is evaluated once.
(test 1 (let ((n 0)) (assume (begin (set! n (+ n 1)) n)) n))

(test-finish)
