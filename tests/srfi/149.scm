;; SRFI 149: excess ellipses in templates.

(import (except (scheme base) syntax-rules) (srfi 149) (canny test))

(define-syntax pairs
  (syntax-rules () ((_ (a b ...) ...) '((a b) ... ...))))
(test '((1 2) (1 3) (4 5)) (pairs (1 2 3) (4 5) (6)))
(define-syntax nested
  (syntax-rules () ((_ (a b ...) ...) '(((a b) ...) ...))))
(test '(((1 2) (1 3)) ((4 5)) ()) (nested (1 2 3) (4 5) (6)))
(define-syntax constant
  (syntax-rules () ((_ x (y ...)) '((x y) ...))))
(test '((0 1) (0 2)) (constant 0 (1 2)))

(test-finish)
