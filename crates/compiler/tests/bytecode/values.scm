;; Values go straight to their variables.
(define (divide a b) (let-values (((q r) (if (= b 0) (values 0 a) (floor/ a b)))) (cons q r)))
(define (rest-of p) (call-with-values p (lambda (a . b) (list a b))))
(define (swap a b) (let-values (((a b) (values b a)) ((c) (car a))) (list a b c)))
(define (hand-on p c) (call-with-values p c))
(display (list (divide 7 2) (rest-of list) (swap '(1) 2) (hand-on list list)))
