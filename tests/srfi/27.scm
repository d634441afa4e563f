(import (scheme base) (srfi 27) (canny test))

(define (draws thunk count)
  (let loop ((i 0) (out '())) (if (= i count) out (loop (+ i 1) (cons (thunk) out)))))
(define (all test? list) (or (null? list) (and (test? (car list)) (all test? (cdr list)))))

(test-group "default source"
  (test #t (all (lambda (x) (and (exact-integer? x) (<= 0 x 9)))
                (draws (lambda () (random-integer 10)) 500)))
  (test #t (all (lambda (x) (< 0.0 x 1.0)) (draws random-real 500)))
  (test 0 (random-integer 1))
  (test #t (< -1 (random-integer (expt 10 50)) (expt 10 50)))
  (test-error (random-integer 0))
  (test-error (random-integer 1.5))
  (test #t (random-source? default-random-source))
  (test #f (random-source? 1)))

(test-group "spread"
  ;; Each of ten values comes about as often: far from certain limits only by a defect.
  (let ((counts (make-vector 10 0)))
    (draws
     (lambda () (let ((x (random-integer 10))) (vector-set! counts x (+ 1 (vector-ref counts x)))))
     5000)
    (test #t (all (lambda (count) (< 350 count 650)) (vector->list counts)))))

(test-group "states"
  (let* ((source (make-random-source))
         (integers (random-source-make-integers source))
         (state (random-source-state-ref source))
         (first (draws (lambda () (integers 1000)) 10)))
    (random-source-state-set! source state)
    (test first (draws (lambda () (integers 1000)) 10))
    (random-source-pseudo-randomize! source 1 2)
    (let ((one (draws (lambda () (integers 1000)) 10)))
      (random-source-pseudo-randomize! source 2 1)
      (test #f (equal? one (draws (lambda () (integers 1000)) 10)))
      (random-source-pseudo-randomize! source 1 2)
      (test one (draws (lambda () (integers 1000)) 10)))
    (random-source-randomize! source)
    (let ((one (draws (lambda () (integers 1000000)) 10)))
      (random-source-randomize! source)
      (test #f (equal? one (draws (lambda () (integers 1000000)) 10))))
    (test-error (random-source-state-set! source '(1 2)))
    (test-error (random-source-state-ref 1))
    (test-error (random-source-pseudo-randomize! source -1 0))))

(test-group "reals"
  (let ((source (make-random-source)))
    (test #t (all (lambda (x) (< 0.0 x 1.0)) (draws (random-source-make-reals source) 200)))
    (test #t (all (lambda (x) (and (exact? x) (< 0 x 1) (integer? (* 10 x))))
                  (draws (random-source-make-reals source 1/10) 200)))
    (test #t (all inexact? (draws (random-source-make-reals source 0.01) 10)))
    (test-error (random-source-make-reals source 2))))

(test-finish)
