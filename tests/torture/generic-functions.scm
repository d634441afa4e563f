;;; Generic functions that are hot while methods come and go, and a storm of classes.

(import (scheme base) (canny generic) (canny test))

(define-class <shape> () #f shape?)
(define-class <circle> (<shape>) (make-circle radius) circle? (radius circle-radius))
(define-class <square> (<shape>) (make-square side) square? (side square-side))
(define-generic (area shape))
(define-method (area (shape <circle>)) (* 3 (circle-radius shape) (circle-radius shape)))
(define-method (area (shape <square>)) (* (square-side shape) (square-side shape)))

(define (total shapes count)
  (let loop ((i 0) (sum 0))
    (if (< i count)
        (loop (+ i 1)
              (+ sum (area (vector-ref shapes (remainder i (vector-length shapes))))))
        sum)))

(define circles (vector (make-circle 1) (make-circle 2)))
(define mixed (vector (make-circle 1) (make-square 2) (make-square 3) (make-circle 2)))

(test-group "redefinition while hot"
  (test 1500000 (total circles 200000))
  (test 700000 (total mixed 100000))
  (let loop ((round 1))
    (when (<= round 12)
      (let ((factor round))
        (add-method! area
                     (make-method (list <square>)
                                  (lambda (next-method)
                                    (lambda (square) (* factor (square-side square))))))
        (test (* 10000 (+ 3 12 (* 5 factor))) (total mixed 40000)))
      (loop (+ round 1))))
  ;; From inside of a method, in the middle of the loop.
  (define calls 0)
  (define-method (area (shape <square>))
    (set! calls (+ calls 1))
    (if (= calls 50000)
        (add-method! area
                     (make-method (list <square>)
                                  (lambda (next-method) (lambda (square) 100)))))
    0)
  (test (+ (* 50000 15) (* 50000 100)) (total mixed 200000))
  (test 50000 calls))

(test-group "a chain of next-method"
  (define-generic (depth object))
  (define-method (depth object) 0)
  (define-method (depth (object <shape>)) (+ 1 (next-method)))
  (define-method (depth (object <circle>)) (+ 10 (next-method)))
  (define (sum count)
    (let loop ((i 0) (sum 0))
      (if (< i count)
          (loop (+ i 1) (+ sum (depth (if (even? i) (vector-ref circles 0) i))))
          sum)))
  (test 550000 (sum 100000))
  (define-method (depth (object <number>)) (+ 100 (next-method)))
  (test 5550000 (sum 100000)))

;; Record types of a loop: each has its own class key.
(define (make-maker number)
  (define-record-type (<numbered> <shape>) (make-numbered) numbered?)
  (define-method (number-of (object <numbered>)) number)
  make-numbered)
(define-generic (number-of object))
(define-method (number-of (object <shape>)) -1)

(define (numbers-of objects count)
  (let loop ((i 0) (sum 0))
    (if (< i count)
        (loop (+ i 1)
              (+ sum (number-of (vector-ref objects (remainder i (vector-length objects))))))
        sum)))

(test-group "a hundred classes"
  (define objects (make-vector 100))
  (let loop ((i 0))
    (when (< i 100)
      (vector-set! objects i ((make-maker i)))
      (loop (+ i 1))))
  (test 4950000 (numbers-of objects 100000))
  (test 100 (length (generic-cache number-of)))
  (test 4950000 (numbers-of objects 100000))
  ;; Pairs of classes: four thousand do not fit the limit.
  (define-generic (both left right) #:cache-limit 500)
  (define-method (both (left <shape>) (right <shape>)) 1)
  (define-method (both (left <shape>) (right <circle>)) 2)
  (define (pairs)
    (let loop ((i 0) (j 0) (sum 0))
      (cond ((= i 40) sum)
            ((= j 100) (loop (+ i 1) 0 sum))
            (else (loop i (+ j 1) (+ sum (both (vector-ref objects i) (vector-ref objects j))))))))
  (test 4000 (pairs))
  (test #t (<= (length (generic-cache both)) (generic-cache-limit both)))
  (test 4000 (pairs))
  (test 2 (both (vector-ref objects 0) (make-circle 1))))

(test-group "an error in the middle, and on it goes"
  (define (safe object)
    (guard (e (#t 0)) (area object)))
  (define things (vector (make-circle 1) 'a (make-square 5) "b"))
  (test 103000
        (let loop ((i 0) (sum 0))
          (if (< i 4000)
              (loop (+ i 1) (+ sum (safe (vector-ref things (remainder i 4)))))
              sum))))

(test-finish)
