;; SRFI 236: evaluating in an unspecified order.

(import (scheme base) (srfi 236) (canny test))

(test '(2 . 3) (let ((p (cons 1 1))) (independently (set-car! p 2) (set-cdr! p 3)) p))
(test 6 (let ((n 0)) (independently (set! n (+ n 1)) (set! n (+ n 2)) (set! n (+ n 3))) n))
(test 'after (begin (independently) 'after))
(test 'after (begin (independently (values 1 2) (values)) 'after))

(test-finish)
