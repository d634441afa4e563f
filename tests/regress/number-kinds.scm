;;; Functions of numbers that hot code decides by the kinds of their operands, or by comparing them,
;;; give what the primitives give as values, for numbers of every kind and for what is none.

(import (scheme base) (scheme complex) (scheme cxr) (scheme inexact) (scheme write) (canny test)
        (only (srfi 151) bitwise-not)
        (only (canny base) condition->string first second third fourth fifth exact-rational?))

(define rounds 1500)

(define (outcome thunk)
  (call-with-current-continuation
   (lambda (return)
     (with-exception-handler
       (lambda (condition)
         (return (if (error-object? condition)
                     (list 'error (condition->string condition))
                     condition)))
       thunk))))

(define numbers
  (list 0 1 -1 7 -12 4611686018427387903 -4611686018427387904 (expt 2 61) (- (expt 2 61))
        (expt 3 90) 1/3
        -7/2 0. -0. 1.5 -2.5 1e300 +inf.0 -inf.0 +nan.0 1+2i 1.5-2i))
(define others (list 'symbol "text" #\c '() #f (list 1) (vector 1)))

;; Each use has code of its own: hot with one kind of operand, then tried with all.
(define-syntax check-1
  (syntax-rules ()
    ((_ name ...)
     (begin
       (begin
         (for-each
          (lambda (first)
            (define (hot x) (list (name x)))
            (define as-value (vector-ref (vector name) 0))
            (do ((i 0 (+ i 1))) ((= i rounds)) (outcome (lambda () (hot first))))
            (for-each
             (lambda (x)
               (test (outcome (lambda () (list (as-value x)))) (outcome (lambda () (hot x)))))
             (append (list first) numbers others)))
          (list 5 2.5 (expt 7 40) 1/7 1+1i 'none)))
       ...))))

(define-syntax check-2
  (syntax-rules ()
    ((_ name ...)
     (begin
       (begin
         (for-each
          (lambda (first)
            (define (hot x y) (list (name x y)))
            (define as-value (vector-ref (vector name) 0))
            (do ((i 0 (+ i 1))) ((= i rounds)) (hot first (+ first i)) (hot (+ first i) first))
            (for-each
             (lambda (x)
               (for-each
                (lambda (y)
                  (test (outcome (lambda () (list (as-value x y))))
                        (outcome (lambda () (hot x y)))))
                (list x 3 -9 2.5 +nan.0 1/2 (expt 5 50) 'none)))
             (append numbers others)))
          (list 5 2.5)))
       ...))))

(define-syntax check-3
  (syntax-rules ()
    ((_ name ...)
     (begin
       (begin
         (for-each
          (lambda (first)
            (define (hot x y z) (if (name x y z) 'yes 'no))
            (define as-value (vector-ref (vector name) 0))
            (do ((i 0 (+ i 1))) ((= i rounds))
              (hot first (+ first i) (+ i i first))
              (hot first first first))
            (for-each
             (lambda (x)
               (for-each
                (lambda (y)
                  (for-each
                   (lambda (z)
                     (test (outcome (lambda () (if (as-value x y z) 'yes 'no)))
                           (outcome (lambda () (hot x y z)))))
                   (list x 4 2.5 +nan.0 'none)))
                (list x 3 -9 2.5 1/2 "none")))
             (list 0 3 4 -9 2.5 -0. +nan.0 1/2 (expt 5 50) 'none)))
          (list 5 2.5)))
       ...))))

(test-group "kinds"
  (check-1 number? complex? real? rational? integer? exact-integer? exact-rational? exact? inexact?)
  (check-1 nan? infinite? finite? exact floor ceiling truncate round numerator denominator)
  (check-1 abs magnitude even? odd? bitwise-not))

(test-group "choices"
  (check-2 min max))

(test-group "comparisons of three"
  (check-3 < > <= >= =))

(define (same x) (list (eqv? x x) (equal? x x)))
(test-group "an object and itself"
  (do ((i 0 (+ i 1))) ((= i rounds)) (same 2.5))
  (for-each (lambda (x) (test '(#t #t) (same x))) (append numbers others)))

(define tree '((((1 . 2) 3 . 4) (5 . 6) 7 . 8) ((9 . 10) 11 . 12) 13 14 . 15))
;; Messages name the part of a composition that failed, where the compiler takes it apart.
(define (outcome-or-error thunk)
  (let ((result (outcome thunk)))
    (if (and (pair? result) (eq? (car result) 'error)) 'error result)))

(define-syntax check-pairs
  (syntax-rules ()
    ((_ name ...)
     (begin
       (let ((as-value (vector-ref (vector name) 0)))
         (define (hot x) (list (name x)))
         (do ((i 0 (+ i 1))) ((= i rounds)) (hot (list tree tree tree tree tree)))
         (for-each
          (lambda (x)
            (test (outcome-or-error (lambda () (list (as-value x))))
                  (outcome-or-error (lambda () (hot x)))))
          (list tree (list tree tree tree tree tree) '(1 2) '(1 2 . 3) '() 'none "text"
                (vector 1))))
       ...))))

(test-group "paths through pairs"
  (check-pairs caar cdar caaar caadr cadar caddr cdaar cdadr cddar cdddr)
  (check-pairs caaaar caaadr caadar caaddr cadaar cadadr caddar cadddr)
  (check-pairs cdaaar cdaadr cdadar cdaddr cddaar cddadr cdddar cddddr)
  (check-pairs first second third fourth fifth))

(test-group "logarithms of exact numbers that no flonum is"
  (test 921.0340371976182 (log (expt 10 400)))
  (test -921.0340371976182 (log (/ 1 (expt 10 400))))
  (test 921.0340371976182 (log (/ (expt 10 401) 10)))
  (test 400.0 (log (expt 10 400) 10)))
