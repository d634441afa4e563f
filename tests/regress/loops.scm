;;; Guards and computations that compiled code does before a loop, and variables that a loop
;;; assigns. The answers are those of the interpreter where guards fail, where the loop does not run
;;; at all, and where it is left in the middle.

(import (scheme base) (canny test))

(define rounds 3000)

;; Calls often with usual arguments, and then once with others.
(define-syntax often-then
  (syntax-rules ()
    ((_ usual other)
     (begin
       (do ((i 0 (+ i 1))) ((= i rounds)) usual)
       other))))

(define table (vector 1 2 3 4 5 6 7 8))

(define (sum-table from to)
  (do ((i from (+ i 1)) (sum 0 (+ sum (vector-ref table i)))) ((= i to) sum)))

(define (with-table new thunk)
  (let ((old table))
    (dynamic-wind
     (lambda () (set! table new))
     thunk
     (lambda () (set! table old)))))

(test-group "questions before a loop"
  (test 36 (often-then (sum-table 0 8) (sum-table 0 8)))
  ;; No iteration, so nobody minds that there is no vector.
  (test 0 (often-then (sum-table 0 8) (with-table 'none (lambda () (sum-table 3 3)))))
  (test 6 (with-table (vector 1 2 3 4) (lambda () (sum-table 0 3))))
  (test-error (with-table "text" (lambda () (sum-table 0 3))))
  (test-error (sum-table 0 9))
  ;; Again and again.
  (test 0 (do ((i 0 (+ i 1)) (sum 0 (+ sum (with-table i (lambda () (sum-table 5 5))))))
              ((= i rounds) sum))))

(define (kinds-of x n)
  ;; Two ways that ask different things of what the loop does not change.
  (let loop ((i 0) (sum 0))
    (cond ((= i n) sum)
          ((pair? x) (loop (+ i 1) (+ sum (car x))))
          (else (loop (+ i 1) (+ sum (vector-ref x (modulo i (vector-length x)))))))))

(define (guarded x flag n)
  (let loop ((i 0) (sum 0))
    (if (= i n)
        sum
        (loop (+ i 1) (+ sum (if flag (car x) (vector-ref x 0)))))))

(test-group "several ways"
  (test 50 (often-then (kinds-of '(5) 10) (kinds-of '(5) 10)))
  (test 15 (often-then (kinds-of '(5) 10) (kinds-of (vector 1 2) 10)))
  (test 30 (often-then (guarded '(3) #t 10) (guarded '#(3) #f 10)))
  (test 20 (often-then (guarded '#(2) #f 10) (guarded '(2) #t 10)))
  (test-error (guarded '(2) #f 10)))

(define-record-type point (make-point x y) point? (x point-x set-point-x!) (y point-y))
(define-record-type other (make-other) other?)

(define (add-points p n)
  (let loop ((i 0) (sum 0))
    (if (= i n) sum (loop (+ i 1) (+ sum (point-x p) (point-y p))))))

(define (move-point p n)
  (do ((i 0 (+ i 1))) ((= i n) (point-x p))
    (set-point-x! p (+ (point-x p) (point-y p)))))

(define (if-point p n)
  (let loop ((i 0) (sum 0))
    (cond ((= i n) sum)
          ((point? p) (loop (+ i 1) (+ sum (point-y p))))
          (else (loop (+ i 1) (- sum 1))))))

(test-group "records"
  (test 30 (often-then (add-points (make-point 1 2) 10) (add-points (make-point 1 2) 10)))
  (test-error (add-points (make-other) 10))
  (test 0 (add-points (make-other) 0))
  (test 21 (often-then (move-point (make-point 1 2) 10) (move-point (make-point 1 2) 10)))
  (test -10 (often-then (if-point (make-point 1 2) 10) (if-point (make-other) 10)))
  (test -10 (if-point 'none 10)))

(define (fill-with v x)
  (do ((i 0 (+ i 1))) ((= i (vector-length v)) v)
    (vector-set! v i x)))

(define (spread v n)
  ;; The element is read again after it was set.
  (let loop ((i 0) (sum 0))
    (if (= i n)
        sum
        (begin
          (vector-set! v (modulo i 3) i)
          (loop (+ i 1) (+ sum (vector-ref v 0)))))))

(test-group "vectors"
  (test '#(a a a) (often-then (fill-with (make-vector 3) 'a) (fill-with (make-vector 3) 'a)))
  (test-error (fill-with '#(1 2 3) 'a))
  (test '#() (fill-with '#() 'a))
  (test 15 (often-then (spread (make-vector 3 0) 10) (spread (make-vector 3 0) 7)))
  (test-error (spread (make-vector 2 0) 7)))

(define (sum-list l)
  (let ((sum 0))
    (for-each (lambda (x) (set! sum (+ sum x))) l)
    sum))

(define (extent v)
  (let ((low +inf.0) (high -inf.0))
    (vector-for-each
     (lambda (x)
       (when (< x low) (set! low x))
       (when (> x high) (set! high x)))
     v)
    (list low high)))

(define (count-to n step)
  (let ((total 0) (calls 0))
    (define (add! x) (set! calls (+ calls 1)) (set! total (+ total x)))
    (do ((i 0 (+ i step))) ((>= i n) (list total calls))
      (add! i))))

(define (kept n)
  ;; The variable outlives the loop in a closure.
  (let ((sum 0))
    (do ((i 0 (+ i 1))) ((= i n)) (set! sum (+ sum i)))
    (lambda (x) (set! sum (+ sum x)) sum)))

(define (captured n)
  ;; Each iteration has a variable of its own.
  (let loop ((i 0) (procedures '()))
    (if (= i n)
        (map (lambda (procedure) (procedure)) procedures)
        (let ((count i))
          (set! count (+ count 1))
          (loop (+ i 1) (cons (lambda () (set! count (+ count 1)) count) procedures))))))

(define (swapped n)
  ;; Two variables that take turns.
  (let ((a 0) (b 1.5))
    (define (swap!) (let ((t a)) (set! a b) (set! b t)))
    (do ((i 0 (+ i 1))) ((= i n) (list a b)) (swap!))))

(define (even-odd n)
  ;; Procedures in assigned variables that name each other.
  (let ((even #f) (odd #f) (calls 0))
    (set! even (lambda (n) (set! calls (+ calls 1)) (or (= n 0) (odd (- n 1)))))
    (set! odd (lambda (n) (and (not (= n 0)) (even (- n 1)))))
    (list (even n) calls)))

(define (nested n)
  (let ((total 0))
    (do ((i 0 (+ i 1))) ((= i n) total)
      (let ((row 0.5))
        (do ((j 0 (+ j 1))) ((= j i)) (set! row (+ row j)))
        (set! total (+ total row))))))

(test-group "assigned variables"
  (test 6 (often-then (sum-list '(1 2 3)) (sum-list '(1 2 3))))
  (test 6.5 (sum-list '(1 2 3.5)))
  (test (+ 3 (expt 2 61) (expt 2 61)) (sum-list (list 1 (expt 2 61) (expt 2 61) 2)))
  (test 7/2 (sum-list '(1 2 1/2)))
  (test-error (sum-list '(1 2 x)))
  (test-error (sum-list '(1 2 . 3)))
  (test '(1.5 3.5) (often-then (extent '#(2.5 1.5 3.5)) (extent '#(2.5 1.5 3.5))))
  (test '(1 3.5) (extent '#(2.5 1 3.5)))
  (test '(45 10) (often-then (count-to 10 1) (count-to 10 1)))
  (test 55 (often-then ((kept 10) 10) ((kept 10) 10)))
  (test '(5 9) (let* ((add (kept 3)) (first (add 2))) (list first (add 4))))
  (test '(4 3 2) (often-then (captured 3) (captured 3)))
  (test '(1.5 0) (often-then (swapped 4) (swapped 5)))
  (test '(#t 6) (often-then (even-odd 10) (even-odd 10)))
  (test 12.5 (often-then (nested 5) (nested 5))))

(define (until limit)
  ;; Leaves the loop by an error in the middle, with what was counted so far.
  (let ((count 0) (log '()))
    (guard (condition (#t (list count log)))
      (for-each (lambda (x) (set! count (+ count 1)) (set! log (cons x log)) (vector-ref table x))
                '(0 1 2 3 99 4))
      'not-here)))

(define (escaping n)
  (let ((seen 0))
    (call/cc
     (lambda (k)
       (do ((i 0 (+ i 1))) ((= i n))
         (set! seen (+ seen i))
         (when (> seen 20) (k (list 'early seen))))
       (list 'late seen)))))

(test-group "left in the middle"
  (test '(5 (99 3 2 1 0)) (often-then (until 0) (until 0)))
  (test '(late 10) (often-then (escaping 5) (escaping 5)))
  (test '(early 21) (escaping 100)))
