;; SRFI 46: basic syntax-rules extensions.

(import (except (scheme base) syntax-rules) (srfi 46) (canny test))

(define-syntax last-two
  (syntax-rules () ((_ a ... y z) '(z y (a ...)))))
(test '(4 3 (1 2)) (last-two 1 2 3 4))
(test '(2 1 ()) (last-two 1 2))
(define-syntax vector-last
  (syntax-rules () ((_ #(a ... z)) '(z a ...))))
(test '(3 1 2) (vector-last #(1 2 3)))
(define-syntax dotted
  (syntax-rules () ((_ a ... z . r) '((a ...) z r))))
(test '((1 2) 3 4) (dotted 1 2 3 . 4))
(define-syntax define-quoter
  (syntax-rules ()
    ((_ name) (define-syntax name (syntax-rules ::: () ((_ x :::) '((x :::) end)))))))
(define-quoter quoter)
(test '((1 2) end) (quoter 1 2))

(test-finish)
