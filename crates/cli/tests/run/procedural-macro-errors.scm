(import (scheme base) (canny syntax-case))
;; Each error of a transformer points to the macro use, or to the part that it names.
(define-syntax bad (lambda (x) (syntax-case x () ((_ a) (syntax-violation 'bad "not good" x #'a)))))
(define-syntax worse (lambda (x) (car 'x)))
(define-syntax worst (lambda (x) (list 'a 'b)))
(define-syntax none (lambda (x) (syntax-case x () ((_ a) #'a))))
(define-syntax five 5)
(define-syntax proc (lambda (x) car))
(bad (foo
  bar))
(worse 1)
(worst 2)
(none 1 2 3)
(proc 1)
