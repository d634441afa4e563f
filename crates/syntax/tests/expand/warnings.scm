(define (f) (vector-lenght v))
(case 1 ((1 2) 'a) ((2 3) 'b))
(define g (lambda () (f)))
(define (h) (list v v (vector-lenght 1)))
