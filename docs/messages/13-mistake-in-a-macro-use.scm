;;; A mistake in the use of a macro (line 11).
(define-syntax my-unless
  (syntax-rules ()
    ((_ test body ...) (if test #f (begin body ...)))))

(define-syntax check
  (syntax-rules ()
    ((_ test) (my-unless test (display "wrong") (newline)))))

(define (check-all)
  (check (= (string-length 'abc) 3)))

(check-all)
