;;; Torture: laws of numbers on many values, and round trips of their texts.

(import (scheme base) (scheme inexact) (scheme complex) (canny test))

;; A linear congruential generator, so that every run sees the same numbers.
(define state 12345)
(define (random-below n)
  (set! state (modulo (+ (* state 6364136223846793005) 1442695040888963407) 18446744073709551616))
  (modulo (quotient state 65536) n))
(define (random-bits bits)
  (let loop ((n 0) (left bits))
    (if (<= left 0) n (loop (+ (* n 65536) (random-below 65536)) (- left 16)))))
(define (random-integer)
  (let ((n (random-bits (+ 1 (random-below 200))))) (if (= 0 (random-below 2)) n (- n))))
(define (random-nonzero) (let ((n (random-integer))) (if (= n 0) 1 n)))
(define (random-ratio) (/ (random-integer) (random-nonzero)))
(define (random-float)
  (let ((m (random-bits 53)) (e (- (random-below 600) 300)))
    (* (if (= 0 (random-below 2)) 1.0 -1.0) (inexact m) (expt 2.0 e))))

;; Whether a law holds of `count` random tuples; on failure the tuple.
(define (holds? count make law)
  (let loop ((i 0))
    (if (= i count)
        #t
        (let ((tuple (make)))
          (if (apply law tuple) (loop (+ i 1)) tuple)))))

(define-syntax law
  (syntax-rules ()
    ((_ count ((v generator) ...) e)
     (test #t (holds? count (lambda () (list (generator) ...)) (lambda (v ...) e))))))

(define edges
  (let ((powers (apply append (map (lambda (k) (let ((p (expt 2 k))) (list (- p 1) p (+ p 1))))
                                   '(0 1 7 8 29 30 31 32 52 53 54 60 61 62 63 64 65 127 128)))))
    (append powers (map - powers))))

(test-group "rings"
  (law 500 ((a random-integer) (b random-integer)) (= (+ a b) (+ b a)))
  (law 500 ((a random-integer) (b random-integer)) (= (* a b) (* b a)))
  (law 500 ((a random-integer) (b random-integer) (c random-integer))
       (= (* a (+ b c)) (+ (* a b) (* a c))))
  (law 500 ((a random-integer) (b random-integer)) (= a (- (+ a b) b)))
  (law 500 ((a random-integer) (b random-nonzero)) (= a (/ (* a b) b)))
  (law 300 ((a random-ratio) (b random-ratio) (c random-ratio))
       (= (* a (+ b c)) (+ (* a b) (* a c))))
  (law 300 ((a random-ratio) (b random-ratio)) (= (- (* a a) (* b b)) (* (- a b) (+ a b)))))

(test-group "division"
  (law 500 ((a random-integer) (b random-nonzero)) (= a (+ (* b (quotient a b)) (remainder a b))))
  (law 500 ((a random-integer) (b random-nonzero))
       (let-values (((q r) (floor/ a b)))
         (and (= a (+ (* b q) r)) (if (> b 0) (<= 0 r (- b 1)) (<= (+ b 1) r 0)))))
  (law 500 ((a random-integer) (b random-nonzero))
       (let-values (((q r) (truncate/ a b)))
         (and (= a (+ (* b q) r))
              (< (abs r) (abs b))
              (or (= r 0) (eq? (negative? r) (negative? a))))))
  (law 500 ((a random-integer) (b random-nonzero)) (= (modulo a b) (floor-remainder a b)))
  (law 300 ((a random-integer) (b random-integer))
       (let ((g (gcd a b))) (or (= g 0) (and (= 0 (remainder a g)) (= 0 (remainder b g))))))
  (law 300 ((a random-nonzero) (b random-nonzero)) (= (abs (* a b)) (* (gcd a b) (lcm a b))))
  (law 300 ((a random-ratio)) (= a (/ (numerator a) (denominator a))))
  (law 300 ((a random-ratio)) (= 1 (gcd (numerator a) (denominator a))))
  (law 300 ((a random-integer))
       (let ((n (abs a)))
         (let-values (((s r) (exact-integer-sqrt n)))
           (and (= n (+ (* s s) r)) (< n (* (+ s 1) (+ s 1)))))))
  (law 300 ((a random-integer)) (= (abs a) (sqrt (* a a)))))

(test-group "order and rounding"
  (law 500 ((a random-integer) (b random-integer)) (eq? (< a b) (> (- b a) 0)))
  (law 500 ((a random-ratio) (b random-ratio)) (eq? (< a b) (> (- b a) 0)))
  (law 300 ((a random-ratio)) (let ((f (floor a))) (and (<= f a) (< a (+ f 1)))))
  (law 300 ((a random-ratio)) (= (ceiling a) (- (floor (- a)))))
  (law 300 ((a random-ratio)) (<= (abs (- (round a) a)) 1/2))
  (law 300 ((a random-float))
       (let ((f (floor a))) (and (<= f a) (or (> (abs f) 1e15) (< a (+ f 1.0))))))
  (law 300 ((a random-float) (b random-integer)) (eq? (< a b) (< (exact a) b)))
  (law 300 ((a random-float) (b random-ratio)) (eq? (= a b) (= (exact a) b))))
(test-group "exactness"
  (law 500 ((a random-float)) (eqv? a (inexact (exact a))))
  (law 300 ((a random-ratio))
       (let* ((f (inexact a)) (e (abs (- (exact f) a)))) (<= e (* (abs a) (expt 2 -52)))))
  (law 300 ((a random-float) (b random-float))
       (let ((s (+ a b)))
         (<= (abs (- (exact s) (+ (exact a) (exact b))))
             (* (abs (+ (exact a) (exact b))) (expt 2 -52))))))

(test-group "texts"
  (for-each
   (lambda (radix)
     (law 200 ((a random-integer)) (= a (string->number (number->string a radix) radix)))
     (law 100 ((a random-ratio)) (= a (string->number (number->string a radix) radix))))
   '(2 3 8 10 16 36))
  (law 1000 ((a random-float)) (eqv? a (string->number (number->string a))))
  (law 200 ((a random-integer) (b random-integer))
       (let ((z (make-rectangular a b))) (= z (string->number (number->string z)))))
  (law 200 ((a random-float) (b random-float))
       (let ((z (make-rectangular a b))) (eqv? z (string->number (number->string z))))))

(test-group "edges"
  (test #t (let loop ((l edges))
             (or (null? l)
                 (and (= (car l) (string->number (number->string (car l)))) (loop (cdr l))))))
  (test '() (let loop ((l edges) (bad '()))
              (if (null? l)
                  bad
                  (loop (cdr l) (if (= (car l) (- (+ (car l) 1) 1)) bad (cons (car l) bad))))))
  (test '() (let loop ((l edges) (bad '()))
              (if (null? l)
                  bad
                  (loop (cdr l)
                        (if (= (* (car l) (car l)) (expt (car l) 2)) bad (cons (car l) bad))))))
  (test #t (let outer ((l edges))
             (or (null? l)
                 (and (let inner ((m edges))
                        (or (null? m)
                            (let ((a (car l)) (b (car m)))
                              (and (= (- (+ a b) b) a)
                                   (or (= b 0) (= a (+ (* b (quotient a b)) (remainder a b))))
                                   (eq? (< a b) (negative? (- a b)))
                                   (inner (cdr m))))))
                      (outer (cdr l)))))))

(test-group "factorials and powers"
  (define (factorial n) (let loop ((n n) (p 1)) (if (= n 0) p (loop (- n 1) (* p n)))))
  (test 158 (string-length (number->string (factorial 100))))
  (test 2568 (string-length (number->string (factorial 1000))))
  (test 1 (/ (factorial 200) (* 200 (factorial 199))))
  (test 4300 (string-length (number->string (expt 10 4299))))
  (test (- (expt 2 1000) 1) (let loop ((i 0) (n 0)) (if (= i 1000) n (loop (+ i 1) (+ n n 1)))))
  (test 43466557686937456435688527675040625802564660517371780402481729089536555417949051890403879840079255169295922593080322634775209689623239873322471161642996440906533187938298969649928516003704476137795166849228875
        (let fib ((n 1000) (a 0) (b 1)) (if (= n 0) a (fib (- n 1) b (+ a b))))))

(test-finish)
