;;; options: --message-format json
(define (add a b) (+ a b))
(define operations (list add))
((car operations) 1 (list 2) "\x7;")
