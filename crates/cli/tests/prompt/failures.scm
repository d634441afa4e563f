(define (price item) (* 2 (cdr item)))
(define (total items) (let ((prices (map price items))) (apply + prices)))
,bt
,locals
(total '((a . 1) (b . x)))
,bt
,locals
,up
,locals
,up 1
,up
,frame 0
,frame 99
,frame x
,down
,error
(define (count-down n) (let loop ((i n) (seen '())) (if (= i 0) (car i) (loop (- i 1) (cons i seen)))))
(count-down 3)
,locals
,q
,bt
,q
(define (make-counter) (let ((n 0)) (lambda (by) (set! n (+ n by)) n)))
(define counter (make-counter))
(counter 5)
(counter 'x)
,locals
(raise 'some-object)
(raise-continuable (list 1 2))
(error "a message:" 1 "two")
(with-exception-handler (lambda (e) 'ignored) (lambda () (raise 'back)))
(guard (e (#t (list 'caught e))) (raise 'x))
(define (deep n) (+ 1 (if (= n 0) (car '()) (deep (- n 1)))))
(deep 100)
,bt
(if)
(undefined-name)
(lambda (x
   y) (z
