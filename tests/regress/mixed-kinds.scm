;;; Hot code that sees numbers of all kinds by turns: functions of numbers give what the primitives
;;; give as values, and raise errors where those do.

(import (scheme base) (scheme complex) (scheme inexact) (scheme write) (canny test)
        (only (srfi 151)
              bit-field bit-set? bitwise-and bitwise-if bitwise-ior bitwise-xor copy-bit)
        (only (canny base) exact-rational?))

(define (outcome thunk)
  (call-with-current-continuation
   (lambda (return)
     (with-exception-handler
       (lambda (condition)
         (return (if (error-object? condition) '(error) condition)))
       thunk))))

(define numbers
  (list 0 1 -1 7 -12 2305843009213693951 -2305843009213693952 (expt 2 61) (- (expt 2 61))
        9007199254740993 (expt 3 90) (- (expt 5 40)) 1/3 -7/2 22/7 (/ (expt 3 50) (expt 2 70))
        (/ -1 (expt 10 25)) 0. -0. 1.5 -2.5 6. -9. 9007199254740992. 1e300 -1e300 5e-324 1e-200
        +inf.0 -inf.0 +nan.0 1+2i -1/2+3i 1.5-2i))
(define others (list 'symbol "text" #\c '() #f (list 1) (vector 1)))
(define rounds 60)

;; Calls with all numbers by turns, then compares.
(define-syntax check-1
  (syntax-rules ()
    ((_ use ...)
     (begin
       (let ()
         (define (hot x) (list (use x)))
         (define as-value (vector-ref (vector use) 0))
         (do ((i 0 (+ i 1)))
             ((= i rounds))
           (for-each (lambda (x) (outcome (lambda () (hot x)))) numbers))
         (for-each
          (lambda (x)
            (test (outcome (lambda () (list (as-value x)))) (outcome (lambda () (hot x)))))
          (append numbers others)))
       ...))))

(define-syntax check-2
  (syntax-rules ()
    ((_ use ...)
     (begin
       (let ()
         (define (hot x y) (call-with-values (lambda () (use x y)) list))
         (define as-value (vector-ref (vector use) 0))
         (define (both)
           (for-each
            (lambda (x)
              (for-each (lambda (y) (outcome (lambda () (hot x y)))) numbers))
            numbers))
         (both)
         (both)
         (for-each
          (lambda (x)
            (for-each
             (lambda (y)
               (test (outcome (lambda () (call-with-values (lambda () (as-value x y)) list)))
                     (outcome (lambda () (hot x y)))))
             (append numbers '(none))))
          (append numbers '(none))))
       ...))))

;; The same with a constant on either side.
(define-syntax check-constant
  (syntax-rules ()
    ((_ constant use ...)
     (begin
       (let ()
         (define (hot x) (if (use x constant) 'yes 'no))
         (define (reversed x) (if (use constant x) 'yes 'no))
         (define as-value (vector-ref (vector use) 0))
         (do ((i 0 (+ i 1)))
             ((= i rounds))
           (for-each
            (lambda (x)
              (outcome (lambda () (hot x)))
              (outcome (lambda () (reversed x))))
            numbers))
         (for-each
          (lambda (x)
            (test (outcome (lambda () (if (as-value x constant) 'yes 'no)))
                  (outcome (lambda () (hot x))))
            (test (outcome (lambda () (if (as-value constant x) 'yes 'no)))
                  (outcome (lambda () (reversed x)))))
          (append numbers others)))
       ...))))

(test-group "predicates"
  (check-1 number? complex? real? rational? integer? exact-integer? exact-rational?)
  (check-1 exact? inexact? nan? finite? infinite? zero? positive? negative? even? odd?))

(test-group "functions of one number"
  (check-1 abs magnitude - / floor ceiling truncate round exact inexact real-part imag-part)
  (check-1 numerator denominator square sqrt log bitwise-and + * max min))

(test-group "functions of two numbers"
  (check-2 + - * / < > <= >= = min max quotient remainder modulo)
  (check-2 floor/ truncate/ floor-quotient gcd lcm log atan make-rectangular)
  (check-2 bitwise-and bitwise-ior bitwise-xor))

(test-group "comparisons with constants"
  (check-constant 0 < > <= >= =)
  (check-constant 1 < > <= >= =)
  (check-constant -12 < > <= >= =)
  (check-constant 2305843009213693951 < > <= >= =)
  (check-constant 9007199254740993 < > <= >= =))

(define (eqv-hot x y) (if (eqv? x y) 'yes 'no))
(define (equal-hot x y) (if (equal? x y) 'yes 'no))
(test-group "equality"
  (let ((values
         (append numbers
                 others
                 (list "text" (string #\a) (list 1) (list 1. 2) '(1. 2) (vector 1))
                 (list (expt 3 90) (/ 22 7) 1e300 #f #t 'symbol #\c #\d car)
                 (list (bytevector 1) (bytevector 1)))))
    (do ((i 0 (+ i 1)))
        ((= i 3))
      (for-each
       (lambda (x)
         (for-each
          (lambda (y)
            (test (if ((vector-ref (vector eqv?) 0) x y) 'yes 'no) (eqv-hot x y))
            (test (if ((vector-ref (vector equal?) 0) x y) 'yes 'no) (equal-hot x y)))
          values))
       values))))

(define (times-one x) (* x 1))
(define (over-one x) (/ x 1))
(test-group "products with one"
  (do ((i 0 (+ i 1)))
      ((= i rounds))
    (for-each (lambda (x) (times-one x) (over-one x)) numbers))
  (for-each
   (lambda (x)
     (test x (times-one x))
     (test x (over-one x)))
   numbers)
  (test 'error (car (outcome (lambda () (times-one 'none)))))
  (test 'error (car (outcome (lambda () (over-one "text"))))))

;; Powers of exact exponents; those of long numbers would take long.
(define (power x n) (expt x n))
(test-group "powers"
  (for-each
   (lambda (x)
     (for-each
      (lambda (n)
        (test (outcome (lambda () ((vector-ref (vector expt) 0) x n)))
              (outcome (lambda () (power x n)))))
      '(0 1 2 3 -1 -2 7 61 0.5 -1.5)))
   (append numbers numbers numbers)))

(define indices '(0 1 5 59 60 61 62 63 64 100 -1 1.0 none))
(define integers
  (list 0 1 -1 12345 -98765 2305843009213693951 -2305843009213693952 (expt 2 61) (expt 3 90)
        (- (expt 5 40)) 1.5 'none))
(define (set? index x) (bit-set? index x))
(define (copied index x bit) (copy-bit index x bit))
(define (with-bit index x) (copy-bit index x #t))
(define (field x start end) (bit-field x start end))
(define (chosen mask x y) (bitwise-if mask x y))
(define-syntax check-bits
  (syntax-rules ()
    ((_ (primitive argument ...) use)
     (test (outcome (lambda () ((vector-ref (vector primitive) 0) argument ...)))
           (outcome (lambda () use))))))
(test-group "bits"
  (do ((i 0 (+ i 1)))
      ((= i 12))
    (for-each
     (lambda (x)
       (for-each
        (lambda (index)
          (check-bits (bit-set? index x) (set? index x))
          (check-bits (copy-bit index x #t) (copied index x #t))
          (check-bits (copy-bit index x #f) (copied index x #f))
          (check-bits (copy-bit index x #t) (with-bit index x))
          (for-each
           (lambda (end) (check-bits (bit-field x index end) (field x index end)))
           indices))
        indices)
       (for-each
        (lambda (y) (check-bits (bitwise-if 240 x y) (chosen 240 x y)))
        integers))
     integers)))

(define (all name) (vector-ref (vector + * - max min < > = gcd lcm) name))
(test-group "many numbers"
  (for-each
   (lambda (operands expected)
     (test expected (map (lambda (name) (outcome (lambda () (apply (all name) operands))))
                         '(0 1 2 3 4 5 6 7))))
   (list '(1 2 3 4) '(1 2.5 3 4) '(2305843009213693951 2305843009213693951 3)
         (list 1 (expt 2 70) 3) '(-0. -0. -0.))
   (list '(10 24 -8 4 1 #t #f #f)
         '(10.5 30. -8.5 4. 1. #t #f #f)
         (list 4611686018427387905 (* 3 (expt 2305843009213693951 2)) -3 2305843009213693951 3
               #f #f #f)
         (list (+ 4 (expt 2 70)) (* 3 (expt 2 70)) (- -2 (expt 2 70)) (expt 2 70) 1 #f #f #f)
         '(-0. -0. 0. -0. -0. #f #f #t)))
  (test 12 (gcd 24 36 60))
  (test 360 (lcm 24 36 60 5))
  (test 12. (gcd 24 36. 60))
  (test 9. (max 1 2.5 9 -4))
  (test -4. (min 1 2.5 9 -4)))
