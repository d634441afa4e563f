;; Calls with the wrong number of arguments are reported and stay.
(define (two a b) (list a b))
(define three (case-lambda ((a) a) ((a b c) b)))
(two 1)
(three 1 2)
(car)
(let ((f (lambda* (x #:optional y) x))) (f 1 2 3) (vector-ref (vector 1) 0 1))
((lambda (x y . z) x) 1)
(display two)
