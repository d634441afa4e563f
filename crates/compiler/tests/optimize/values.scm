;; Multiple values are bound without a values object.
(define (two x) (values x (+ x 1)))
(define (f x) (call-with-values (lambda () (two x)) (lambda (a b) (* a b))))
(define (g p c) (call-with-values p c))
(define (h x) (let-values (((a b) (if (car x) (values 1 2) (two 3)))) (list a b)))
(display (list (f 1) (g f list) (h '(#t))))
(define (pair x) (call-with-values (lambda () (values x 1)) cons))
(define (all x) (call-with-values x list))
(display (list pair all))
