//! Programs in which the debugger once showed a value that was not that of the variable, or none where
//! there is one, or left out a frame.

/// Names and texts.
pub const PROGRAMS: &[(&str, &str)] = &[
    (
        "the-next-value-of-a-loop",
        "(import (scheme base))
(define total 0)
(define (note x) (set! total (+ total x)) x)
(define (sum n)
  (let loop ((i 0) (s 0))
    (if (= i n)
        s
        (loop (+ i 1) (+ s (note i))))))
(define (count n)
  (do ((i 0 (+ i 1)) (s 0 (note s))) ((= i n) s) (note i)))
(+ (sum 5) (count 5))
",
    ),
    (
        "a-removed-variable-with-the-name-of-an-outer-one",
        "(import (scheme base))
(define (use f x) (f x))
(define (outer x y)
  (use (lambda (z)
         (let ((x z))
           (let* ((y x) (w (use (lambda (v) (+ v y)) x)))
             (+ x y w))))
       (+ x y)))
(define (inner x)
  (let ((x (+ x 1)))
    (let ((x (* x 2)))
      (use (lambda (x) x) x))))
(list (outer 1 2) (inner 3))
",
    ),
    (
        "the-name-of-a-loop-in-its-first-values",
        "(import (scheme base))
(define (twice f x) (f (f x)))
(define (f again)
  (let again ((n 3) (m (twice (lambda (v) (+ v again)) 1)))
    (if (= n 0) m (+ 1 (again (- n 1) m)))))
(f 10)
",
    ),
    (
        "a-variable-of-the-same-form",
        "(import (scheme base))
(define (g x) (* x x))
(define (f v a)
  (let ((v (g a)) (w (g v)))
    (+ v w)))
(f 1 2)
",
    ),
    (
        "the-value-of-a-form-in-the-register-of-its-variable",
        "(import (scheme base))
(define (g x) x)
(define (f b)
  (let ((r (let ((n 4) (m b)) (g 5))))
    (let-values (((p q) (let ((p b) (q r)) (values (g p) 2))))
      (g (+ p q)))))
(f 1)
",
    ),
    (
        "a-variable-before-its-assignment",
        "(import (scheme base))
(define (f x) (begin (set! x 0) x))
(define (g x y) (if (= y 0) x (begin (set! x (+ y 1)) (g x (- y 1)))))
(list (f 1) (g 1 3))
",
    ),
    (
        "a-procedure-that-captures-nothing",
        "(import (scheme base))
(define (f a)
  (let ((h (lambda (x) (* x 2))))
    (define (k x) (+ (h x) 1))
    (+ (h a) (k a))))
(f 3)
",
    ),
    (
        "a-variable-of-the-library",
        "(import (scheme base))
(define calls 0)
(define (g b e) (set! calls (+ calls 1)) (+ b e))
(define (f b)
  (let ((acc (guard (e (#t (+ 1 (g b e)))) (raise 17))))
    (+ acc b)))
(list (f 1) (f 2))
",
    ),
    (
        // The live map of the call looks like the opcode of an entry.
        "a-frame-with-certain-live-registers",
        "(import (scheme base))
(define (clip x) x)
(define (f a n)
  (let ((g (lambda (y)
             (clip (apply + (map (lambda (z)
                                   (+ z y))
                                 (list a n 1)))))))
    (clip (+ (g n)
             (g n)))))
(f 1 2)
",
    ),
];
