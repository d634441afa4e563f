(define-syntax check
  (syntax-rules ()
    ((_ x) (if x))
    ((_ x y) (let ((x)) y))))
(define-syntax outer
  (syntax-rules () ((_ a) (inner a))))
(define-syntax inner
  (syntax-rules () ((_ a) (begin (check a) (unknown-name a)))))
(outer 5)
(check 1 2 3)
check
(check . 5)
(define-syntax zip (syntax-rules () ((_ (a ...) (b ...)) '((a b) ...))))
(zip (1 2 3) (1 2))
(define-syntax must-be-list
  (syntax-rules () ((_ (x ...)) 'ok) ((_ x) (syntax-error "not a list:" x))))
(must-be-list 5)
