(define (fact n) (if (= n 0) 1 (* n (fact (- n 1)))))
(define (even n) (or (= n 0) (odd (- n 1))))
(define (odd n) (and (not (= n 0)) (even (- n 1))))
,trace (fact 3)
(fact 3)
,trace (even 2)
,trace fact
(fact 1)
(eq? fact fact)
,untrace fact
(fact 2)
,untrace
,untrace fact
,trace car
,trace (values 1 2)
,trace (fact 'x)
(fact 4)
(define (escape k) (k 5))
,trace (call/cc escape)
,trace (escape (lambda (n) (fact 1)))
