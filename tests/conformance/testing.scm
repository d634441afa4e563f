;;; (canny test) with its libraries: what tests accept, where values differ, values made at random.

(import (scheme base) (scheme write) (canny test) (canny test differences) (canny test properties)
        (srfi 1) (srfi 69))

(test-group "forms"
  (test 3 (+ 1 2))
  (test "with a name" 3 (+ 1 2))
  (test +nan.0 (/ 0. 0.))
  (test-approximate "with a name" 0.3 (+ 0.1 0.2))
  (test-assert 'true)
  (test-true "with a name" 1)
  (test-false "with a name" (= 1 2))
  (test-values (1 2) (values 1 2))
  (test-error (car '()))
  (test-error error-object? (car '()))
  (test-error "with a name" symbol? (raise 'oops))
  (test-output "ab" (display 'a) (display 'b)))

(define-record-type point
  (make-point x y)
  point?
  (x point-x)
  (y point-y))

(define (table . keys-and-values)
  (let ((table (make-hash-table)))
    (let loop ((rest keys-and-values))
      (if (pair? rest)
          (begin
            (hash-table-set! table (car rest) (cadr rest))
            (loop (cddr rest)))))
    table))

(define long (iota 100))

(test-group "differences"
  (test '() (differences 1 2))
  (test '() (differences '(1 2 3) '(1 2 4)))
  (test '() (differences long (append long '())))
  (test '("at [50]" "- 50" "+ x")
        (differences long (append (iota 50) '(x) (list-tail long 51))))
  (test '("at [50]" "+ x")
        (differences long (append (iota 50) '(x) (list-tail long 50))))
  (test '("at [50]" "- 50" "at [51]" "- 51")
        (differences long (append (iota 50) (list-tail long 52))))
  (test '("at [2].y[2]" "- 3" "+ 4")
        (differences (list (make-string 50 #\a) 2 (make-point 1 '(1 2 3)))
                     (list (make-string 50 #\a) 2 (make-point 1 '(1 2 4)))))
  (test '("at {b}[1]" "- 2" "+ 3" "at {c}" "+ 4")
        (differences (table 'a 1 'b '(1 2)) (table 'a 1 'b '(1 3) 'c 4)))
  (test '("at {a}" "- 1") (differences (table 'a 1) (table)))
  (test '("from line 2 on" "  one" "- two" "+ 2" "  three" "  four")
        (differences "one\ntwo\nthree\nfour\nfive" "one\n2\nthree\nfour\nfive"))
  (test '("from line 2 on" "  a" "+ b" "  c") (differences "a\nc" "a\nb\nc"))
  (test '("from character 50 on" "- ...\"aaaaaaaaaaaaaaaaaaaab\"" "+ ...\"aaaaaaaaaaaaaaaaaaaac\"")
        (differences (string-append (make-string 50 #\a) "b")
                     (string-append (make-string 50 #\a) "c")))
  (test '("from line 1 on" "- \\x1b;[31m" "+ b" "  ") (differences "\x1b;[31m\n" "b\n"))
  ;; Dotted and circular lists.
  (test '("at [2...]" "- 3" "+ (3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19)")
        (differences '(1 2 . 3) (cdr (iota 20))))
  (let ((one (list 1 (make-string 50 #\a))) (other (list 2 (make-string 50 #\a))))
    (set-cdr! (cdr one) one)
    (set-cdr! (cdr other) other)
    (test '("at [0]" "- 1" "+ 2") (differences one other)))
  ;; There may be too many to be shown.
  (test "92 more differences" (last (differences long (map (lambda (x) (+ x 1)) long))))
  ;; Large sequences of different lengths take no table of common subsequences.
  (test "9993 more differences"
        (last (differences (iota 10000) (append (map (lambda (x) (+ x 1)) (iota 10000)) '(x))))))

(test-group "properties"
  (test-property "lists" ((list (lists-of (integers)))) (equal? list (reverse (reverse list))))
  (test-property "bounds" ((n (integers -3 5)) (m (integers 2 4)) (k (integers -9 -7)))
    (and (<= -3 n 5) (<= 2 m 4) (<= -9 k -7)))
  (test-property "kinds" ((n (naturals)) (x (reals)) (b (booleans)) (c (characters)) (s (strings 5))
                          (y (symbols)) (v (vectors-of (always 1) 3)) (u (bytevectors))
                          (p (pairs-of (one-of 1 2) (choice-of (always 'a) (always 'b)))))
    (and (exact-integer? n) (>= n 0) (inexact? x) (boolean? b) (char? c)
         (<= (string-length s) 5) (symbol? y) (<= (vector-length v) 3) (bytevector? u)
         (memv (car p) '(1 2)) (memq (cdr p) '(a b))))
  (test-property "filtered" ((n (filtered even? (integers)))) (even? n))
  (test-property "chained"
                 ((list (chained (naturals 9) (lambda (n) (lists-of (always n) 9)))))
    (or (null? list) (every (lambda (n) (= n (car list))) list)))
  (test (sample (integers) 20 1) (sample (integers) 20 1))
  (test 3 (length (delete-duplicates (sample (one-of 'a 'b 'c) 100 1))))
  (test-error (integers 2 1))
  (test-error (sample (lambda (source) (choose! source 0)) 1)))

(test-finish)
