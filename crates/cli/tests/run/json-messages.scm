;;; options: --message-format json -W no-unused-definition
(define (add a b) (+ a b))
(define (spare) 1)
(define-syntax twice (syntax-rules () ((_ e) (begin e e))))
(define (total numbers)
  (if (null? numbers) 0 (+ (car numbers)
                           (total (cdr numbers)))))
(twice (diplay "a\tb"))
(display (total '(1 "2\n" 3)))
