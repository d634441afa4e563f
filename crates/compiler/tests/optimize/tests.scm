;; Boolean contexts.
(define (f x y) (if (or (pair? x) (memv y '(1 2 b))) 'yes 'no))
(define (g x) (if (let ((t (null? x))) (if t t (eqv? x 5))) (not (not x)) (if x #t #f)))
(define (h x) (and x (if x (car x) (cdr x))))
(display (list (f 1 2) (g 3) (h '(1))))
