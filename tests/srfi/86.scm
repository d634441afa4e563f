;; SRFI 86: mu, nu, alet and alet*.

(import (scheme base) (srfi 86) (canny test))

(test '(1 2) ((mu 1 2) list))
(test '(1 2 3) ((nu 1 '(2 3)) list))

(test-group "single and several values"
  (test '(1 2) (alet ((a 1) (b 2)) (list a b)))
  (test '(2 1) (let ((a 1) (b 2)) (alet ((a b) (b a)) (list a b))))
  (test '(2 2) (let ((a 1) (b 2)) (alet* ((a b) (b a)) (list a b))))
  (test 5 (alet () (define x 5) x))
  (test 5 (alet* () (define x 5) x))
  (test '(1 2 3 4 5 6 (7 8) 9 10 (11 12))
    (alet ((a b (mu 1 2)) ((c) 3) ((d e) 4 5) ((f . g) (mu 6 7 8)) ((h i . j) 9 10 11 12))
      (list a b c d e f g h i j)))
  (test '(1 2 3 4 5 6 7 8 9 10 (11 12) 13 14 (15 16) (17 18) (19 20))
    (alet ((a b (mu 1 2)) (values c d (values 3 4)) ((e f) (mu 5 6)) ((values g h) (values 7 8))
           ((i j . k) (nu 9 '(10 11 12))) ((values l m . n) (apply values 13 '(14 15 16)))
           o (mu 17 18) ((values . p) (values 19 20)))
      (list a b c d e f g h i j k l m n o p)))
  (test '(1 2 (3)) (alet* (((values a b . c) 1 (+ a 1) 3)) (list a b c)))
  (test '(1 2 3) (alet* ((a 1) ((b c) (mu (+ a 1) 3))) (list a b c)))
  (test-error (alet ((a b (mu 1))) a))
  ;; From left to right.
  (test '(3 2 1)
        (let ((seen '()))
          (alet ((a (set! seen (cons 1 seen)))
                 (b (set! seen (cons 2 seen)))
                 (c (set! seen (cons 3 seen))))
                seen))))

(test-group "recursion and escape"
  (test '(10 6 6 5 5)
    (alet* tag ((a 1) (a b b c (mu (+ a 2) 4 5 6)) ((d e e) b 5 (+ a b c)))
      (if (< a 10) (tag a 10 b c c d e d) (list a b c d e))))
  (test '(1 11 12 10 3 6)
    (alet* ((a 1) ((b 2) (b c c (mu 3 4 5)) ((d e d (mu a b c)) . intag) . tag) (f 6))
      (if (< d 10) (intag d e 10)
          (if (< c 10) (tag b 11 c 12 a b d intag) (list a b c d e f)))))
  (test '(0 1 2 3) (alet loop ((i 3) (l '())) (if (< i 0) l (loop (- i 1) (cons i l)))))
  (test '(0 1 2 3) (alet (((i 3) (l '()) . loop)) (if (< i 0) l (loop (- i 1) (cons i l)))))
  (test 3 (let ((n 0)) (alet ((() . again)) (set! n (+ n 1)) (if (< n 3) (again) n))))
  (test 10 (alet ((exit) (a 1)) (exit 10) a))
  (test 10 (alet* ((exit) (a (exit 10))) a)))

(test-group "and, rec, environments"
  (test '(1 2) (alet ((and (a 1) (b 2))) (list a b)))
  (test #f (alet ((and (a 1) (b #f) (c (error "no")))) (list a b)))
  (test '(1 #f) (alet ((and (a 1) (b #f (not b)))) (list a b)))
  (test #f (alet* ((and (a 1) (b a (> b 1)))) (list a b)))
  (test '(2 2 2 50)
        (alet* ((a 1) (rec (a 2) (b 3) (b (lambda () c)) (c a)) (d 50)) (list a (b) c d)))
  (test #t (alet ((rec (ev? (lambda (n) (or (= n 0) (od? (- n 1)))))
                    (od? (lambda (n) (and (> n 0) (ev? (- n 1)))))))
                 (ev? 10)))
  (test '(1 10) (alet ((a 1) (() (define a 10) (define b 100)) (b a)) (list a b)))
  (test '(10 10) (alet* ((a 1) (() (define a 10) (define b 100)) (b a)) (list a b))))

(test-group "opt"
  (define (sub str . rest)
    (alet* ((len (string-length str))
            (opt rest
                 (start 0 (integer? start) (if (< start 0) 0 (if (< len start) len start)))
                 (end len (integer? end) (if (< end start) start (if (< len end) len end)))))
      (substring str start end)))
  (test "bcdefg" (sub "abcdefg" 1 20))
  (test "abcdefg" (sub "abcdefg"))
  (test-error (sub "abcdefg" 'x))
  (test-error (sub "abcdefg" 1 2 3))
  (test '(1 (2 3)) (alet ((opt '(1 2 3) (a 0) . r)) (list a r)))
  (test '(1 false) (alet ((opt '(1 x) (a 0) (b 0 (number? b) b 'false))) (list a b))))

(test-group "cat"
  (define (sub str . rest)
    (alet ((cat rest
                (start 0 (and (list? start) (= 2 (length start)) (eq? 'start (car start)))
                       (cadr start))
                (end (string-length str) (and (list? end) (= 2 (length end)) (eq? 'end (car end)))
                     (cadr end))))
      (substring str start end)))
  (test "bcdef" (sub "abcdefg" '(end 6) '(start 1)))
  (test "abcdefg" (sub "abcdefg"))
  (test-error (sub "abcdefg" 'other))
  (test '(1 a (b)) (alet ((cat '(a 1 b) (n 0 (number? n)) (s 'none) . r)) (list n s r)))
  (test '(no 2) (alet ((cat '(x 2) (n 0 (number? n) n 'no) (m 0))) (list n m))))

(test-group "key"
  (define l '(a 10 cc 30 40 b 20))
  (test '(10 2 30 (40 b 20)) (alet ((key l (a 1) (b 2) ((c 'cc) 3) . d)) (list a b c d)))
  (test '(10 2 30 (40 b 20)) (alet ((key l (a 1) (b 2) ((c 'cc) 3) #f . d)) (list a b c d)))
  (test '(10 20 30 (40)) (alet ((key l (a 1) (b 2) ((c 'cc) 3) #t . d)) (list a b c d)))
  (define m (list 'a 10 'd 40 "c" 30 50 'b 20))
  (test '(10 2 30 (d 40 50 b 20)) (alet ((key m (a 1) (b 2) ((c "c") 3) . d)) (list a b c d)))
  (test '(10 2 3 (d 40 "c" 30 50 b 20))
        (alet ((key m (a 1) (b 2) ((c "c") 3) #f . d)) (list a b c d)))
  (test '(10 20 30 (d 40 50)) (alet ((key m (a 1) (b 2) ((c "c") 3) #t . d)) (list a b c d)))
  (test-error (alet ((key l (a 1))) a))
  (test '(0 30 2 3 10 20)
    ((lambda (m . n)
       (alet* ((opt n (a 10) (b 20) (c 30) . d) (key d (x 100) (y 200) (a 300)))
              (list m a b c x y)))
     0
     1
     2
     3
     'a
     30
     'y
     20
     'x
     10))
  (test '(0 1 2 3 10 20)
    ((lambda (m . n)
       (alet* ((key n (x 100) (y 200) (a 300) . d) (opt d (a 10) (b 20) (c 30)))
              (list m a b c x y)))
     0
     'a
     30
     'y
     20
     'x
     10
     1
     2
     3)))

(test-finish)
