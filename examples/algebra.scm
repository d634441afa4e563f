;;; Expressions of one variable: derivatives, simplification and printing by generic functions.
;;; An expression can be called like a procedure.

(import (scheme base) (scheme write) (canny generic) (canny applicable))

(define-class <expression> () #f expression?)
(define-class <variable> (<expression>) (make-variable) variable?)
(define-class <sum> (<expression>) (make-sum left right) sum?
  (left sum-left) (right sum-right))
(define-class <product> (<expression>) (make-product left right) product?
  (left product-left) (right product-right))
(define-class <power> (<expression>) (make-power base exponent) power?
  (base power-base) (exponent power-exponent))

(define x (make-variable))

;; Sums and products dispatch on both operands: numbers are added, and what changes nothing goes
;; away.

(define-generic (plus left right))
(define-method (plus left right)
  (make-sum left right))
(define-method (plus (left <number>) (right <number>))
  (+ left right))
(define-method (plus (left <number>) right)
  (if (eqv? left 0) right (next-method)))
(define-method (plus left (right <number>))
  (plus right left))

(define-generic (times left right))
(define-method (times left right)
  (make-product left right))
(define-method (times (left <number>) (right <number>))
  (* left right))
(define-method (times (left <number>) right)
  (case left
    ((0) 0)
    ((1) right)
    (else (next-method))))
(define-method (times (left <number>) (right <product>))
  (if (number? (product-left right))
      (times (* left (product-left right)) (product-right right))
      (next-method)))
(define-method (times left (right <number>))
  (times right left))

(define (power base exponent)
  (case exponent
    ((0) 1)
    ((1) base)
    (else (make-power base exponent))))

(define-generic (derivative expression))
(define-method (derivative (number <number>)) 0)
(define-method (derivative (variable <variable>)) 1)
(define-method (derivative (sum <sum>))
  (plus (derivative (sum-left sum)) (derivative (sum-right sum))))
(define-method (derivative (product <product>))
  (plus (times (derivative (product-left product)) (product-right product))
        (times (product-left product) (derivative (product-right product)))))
(define-method (derivative (expression <power>))
  (times (times (power-exponent expression) (derivative (power-base expression)))
         (power (power-base expression) (- (power-exponent expression) 1))))

(define-generic (value expression at))
(define-method (value (number <number>) at) number)
(define-method (value (variable <variable>) at) at)
(define-method (value (sum <sum>) at)
  (+ (value (sum-left sum) at) (value (sum-right sum) at)))
(define-method (value (product <product>) at)
  (* (value (product-left product) at) (value (product-right product) at)))
(define-method (value (expression <power>) at)
  (expt (value (power-base expression) at) (power-exponent expression)))

(define-apply-method ((expression <expression>) at)
  (value expression at))

(define-generic (show expression))
(define-method (show object) (display object))
(define-method (show (variable <variable>)) (display "x"))
(define-method (show (sum <sum>))
  (show (sum-left sum))
  (display " + ")
  (show (sum-right sum)))
(define-method (show (product <product>))
  (show-factor (product-left product))
  (display "·")
  (show-factor (product-right product)))
(define-method (show (expression <power>))
  (show-factor (power-base expression))
  (display "^")
  (display (power-exponent expression)))

(define-generic (show-factor expression))
(define-method (show-factor expression) (show expression))
(define-method (show-factor (sum <sum>))
  (display "(")
  (show sum)
  (display ")"))

(define (report name expression)
  (display name)
  (display " = ")
  (show expression)
  (newline))

(define f (plus (power x 3) (plus (times 2 (power x 2)) (plus x 7))))
(define g (times (plus x 1) (power x 2)))

(report "f" f)
(report "f'" (derivative f))
(report "f''" (derivative (derivative f)))
(report "g" g)
(report "g'" (derivative g))
(display (list (f 0) (f 2) ((derivative f) 2) (g 1/2) (map (lambda (n) (g n)) '(1 2 3))))
(newline)

;; Another kind of expression needs no change to what is there.

(define-class <sine> (<expression>) (make-sine argument) sine? (argument sine-argument))
(define-class <cosine> (<expression>) (make-cosine argument) cosine? (argument cosine-argument))
(define-method (derivative (sine <sine>))
  (times (derivative (sine-argument sine)) (make-cosine (sine-argument sine))))
(define-method (derivative (cosine <cosine>))
  (times (times -1 (derivative (cosine-argument cosine))) (make-sine (cosine-argument cosine))))
(define-method (show (sine <sine>))
  (display "sin(")
  (show (sine-argument sine))
  (display ")"))
(define-method (show (cosine <cosine>))
  (display "cos(")
  (show (cosine-argument cosine))
  (display ")"))

(define h (make-sine (times 2 x)))
(report "h" h)
(report "h'" (derivative h))
(report "h''" (derivative (derivative h)))
