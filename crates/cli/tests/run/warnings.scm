;;; options: -W all
;;; Every warning of the compiler.
(define (area width height depth)
  (let ((size (* width height))
        (twice (* 2 width))
        (_ignored 1))
    (define half (/ size 2))
    size))
(define (spare) 'unused)
(define (check x)
  (if (< x 0)
      (begin (error "negative:" x) (display "never")))
  (if #t x (display "never")))
(define (pair-up list) (map (lambda (x) (list x x)) list))
(define choose
  (case-lambda
    ((a . rest) a)
    ((a b) b)))
(define (name n) (case n ((1) 'one) ((1 2) 'two) (else 'many)))
(display (list (area 1 2 3) (check 1) (choose 1 2) (name 1) (car 1 2)))
(display (pair-up '(1)))
(display heigth)
