;; SRFI 188: splicing binding constructs for keywords.

(import (scheme base) (srfi 188) (canny test))

(splicing-let-syntax ((define-five (syntax-rules () ((_ x) (define x 5)))))
  (define-five five)
  (define six (+ five 1)))
(test '(5 6) (list five six))

(define (f)
  (splicing-letrec-syntax
   ((even (syntax-rules () ((_) #t) ((_ x . more) (odd . more))))
    (odd (syntax-rules () ((_) #f) ((_ x . more) (even . more)))))
   (define a (even 1 2 3 4))
   (define b (odd 1 2 3 4)))
  (list a b))
(test '(#t #f) (f))
(test 3 (splicing-let-syntax ((three (syntax-rules () ((_) 3)))) (three)))
;; let-syntax sees the outer keyword, letrec-syntax the inner one.
(define-syntax k (syntax-rules () ((_) 'outer)))
(test 'outer
  (splicing-let-syntax ((k (syntax-rules () ((_) 'inner))) (l (syntax-rules () ((_) (k))))) (l)))
(test 'inner
  (splicing-letrec-syntax ((k (syntax-rules () ((_) 'inner))) (l (syntax-rules () ((_) (k))))) (l)))
;; Definitions belong to the body around, also when an expression ends the form.
(test 1 (let ((x #t)) (splicing-let-syntax () (define x 1) #f) x))
(test 3 (let ((x #t)) (splicing-letrec-syntax ((f (syntax-rules () ((f) x)))) (define x 3) (f))))
(test 'outer (k))

(test-finish)
