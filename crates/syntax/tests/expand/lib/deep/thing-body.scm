(define (thing) 'thing)
(define private-thing 5)
(define helper 1)
(define-syntax with-thing
  (syntax-rules () ((_ x) (list helper x))))
