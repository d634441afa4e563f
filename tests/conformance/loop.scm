;;; (canny loop): iterators, accumulators, nested loops, early exit.

(import (scheme base) (scheme char) (scheme read) (canny loop) (canny test)
        (only (canny base) make-hash-table hash-table-set! hash-table-ref/default sort))

(test-group "iterators"
  (test '(1 4 9) (loop ((for x (in-list '(1 2 3))) (listing (* x x)))))
  (test '((1 2 3) (2 3) (3)) (loop ((for x pair (in-list '(1 2 3))) (listing pair))))
  (test '() (loop ((for x (in-list '())) (listing x))))
  (test '(a b) (loop ((for x (in-vector #(a b))) (listing x))))
  (test '((0 a) (1 b)) (loop ((for x i (in-vector #(a b))) (listing (list i x)))))
  (test '(b c) (loop ((for x (in-vector #(a b c) 1)) (listing x))))
  (test '(b) (loop ((for x (in-vector #(a b c) 1 2)) (listing x))))
  (test '(#\a #\b) (loop ((for c (in-string "ab")) (listing c))))
  (test '(1 2) (loop ((for b (in-bytevector #u8(1 2))) (listing b))))
  (test '(0 1 2) (loop ((for i (in-range 3)) (listing i))))
  (test '(2 3) (loop ((for i (in-range 2 4)) (listing i))))
  (test '(0 2 4) (loop ((for i (in-range 0 5 2)) (listing i))))
  (test '(5 3 1) (loop ((for i (in-range 5 0 -2)) (listing i))))
  (test '(0.0 0.5) (loop ((for i (in-range 0.0 1.0 0.5)) (listing i))))
  (test '((a 1) (b 2)) (loop ((for x (in-list '(a b))) (for i (up-from 1)) (listing (list x i)))))
  (test '(0 10 20) (loop ((for i (up-from 0 10)) (while (< i 30)) (listing i))))
  (test '(#\a #\b) (loop ((for c (in-port (open-input-string "ab"))) (listing c))))
  (test '("a" "b") (loop ((for l (in-port (open-input-string "a\nb\n") read-line)) (listing l))))
  (test '(1 (2)) (loop ((for d (in-port (open-input-string "1 (2)") read)) (listing d))))
  (test '(3 2 1)
        (let* ((n 4)
               (next (lambda () (set! n (- n 1)) (if (= n 0) (eof-object) n))))
          (loop ((for x (in-generator next)) (listing x)))))
  (test '((a . 1) (b . 2))
        (let ((table (make-hash-table)))
          (hash-table-set! table 'a 1)
          (hash-table-set! table 'b 2)
          (sort (loop ((for k v (in-hash-table table)) (listing (cons k v))))
                (lambda (x y) (< (cdr x) (cdr y)))))))

(test-group "parallel and nested"
  (test '((1 a) (2 b))
        (loop ((for x (in-list '(1 2 3))) (for y (in-list '(a b))) (listing (list x y)))))
  (test '((1 a) (1 b) (2 a) (2 b))
        (loop ((for x (in-list '(1 2))) (nested) (for y (in-list '(a b))) (listing (list x y)))))
  (test '((1 0) (3 0) (3 1) (3 2))
        (loop
         ((for x (in-list '(1 2 3))) (when (odd? x)) (for y (in-range x)) (listing (list x y)))))
  (test 60
        (loop ((for x (in-range 3)) (nested) (for y (in-range 4)) (nested) (for z (in-range 5))
               (counting #t))))
  (test '((0 0 a) (1 0 b) (1 1 c))
        (loop
         ((for x (in-range 2)) (let n (+ x 1)) (for y (in-range n)) (with left '(a b c) (cdr left))
          (listing (list x y (car left)))))))

(test-group "steps"
  (test '(1 3) (loop ((for x (in-list '(1 2 3))) (unless (even? x)) (listing x))))
  (test '(1 2) (loop ((for x (in-list '(1 2 3 4))) (until (= x 3)) (listing x))))
  (test '(1 2) (loop ((for x (in-list '(1 2 3 1))) (while (< x 3)) (listing x))))
  (test '(2 4) (loop ((for x (in-list '(1 2))) (let y (* 2 x)) (listing y))))
  (test '(1 2) (loop ((for x (in-list '(1 3))) (let-values (q r) (floor/ x 2)) (listing (+ q r)))))
  (test '(2 1)
        (let ((seen '())) (loop ((for x (in-list '(1 2))) (do (set! seen (cons x seen))))) seen))
  ;; The inner loop ends, the outer one continues.
  (test '((1 0) (2 0) (2 1))
        (loop ((for x (in-list '(1 2)))
               (nested)
               (for y (up-from 0))
               (while (< y x))
               (listing (list x y)))))
  ;; Skipped rounds count for nothing.
  (test '(2 (1 3))
        (loop ((for x (in-list '(1 2 3))) (with n 0 (+ n 1)) (unless (= x 2)) (into l (listing x)))
              => (list n l))))

(test-group "accumulators"
  (test '(3 2 1) (loop ((for x (in-list '(1 2 3))) (listing-reverse x))))
  (test '(1 1 2 2) (loop ((for x (in-list '(1 2))) (appending (list x x)))))
  (test 6 (loop ((for x (in-list '(1 2 3))) (summing x))))
  (test 24 (loop ((for x (in-range 1 5)) (multiplying x))))
  (test 2 (loop ((for x (in-list '(1 2 3))) (counting (odd? x)))))
  (test 1 (loop ((for x (in-list '(3 1 2))) (minimizing x))))
  (test 3 (loop ((for x (in-list '(3 1 2))) (maximizing x))))
  (test #f (loop ((for x (in-list '())) (minimizing x))))
  (test #(1 2) (loop ((for x (in-list '(1 2))) (vectoring x))))
  (test "AB" (loop ((for c (in-string "ab")) (stringing (char-upcase c)))))
  (test "ab" (loop ((for s (in-list '("a" "b"))) (string-appending s))))
  (test #u8(1 2) (loop ((for x (in-list '(1 2))) (bytevectoring x))))
  (test 2 (hash-table-ref/default
           (loop ((for x (in-list '(a b))) (for i (up-from 1)) (hashing x i))) 'b 0))
  (test '(2) (loop ((for x (in-list '(1 2 3))) (listing x (if (even? x))))))
  (test-values ('(1 2) 3) (loop ((for x (in-list '(1 2))) (listing x) (summing x))))
  (test 55 (loop ((for x (in-range 11)) (with total 0 (+ total x))) => total)))

(test-group "names, ends and exits"
  (test '(3 (1 2))
        (loop ((for x (in-list '(1 2))) (into s (summing x)) (into l (listing x))) => (list s l)))
  (test 4 (loop go ((for x (in-list '(1 3 4 5)))) => 'none (if (even? x) x (go))))
  (test 'none (loop go ((for x (in-list '(1 3)))) => 'none (if (even? x) x (go))))
  (test '(2 1)
        (loop next ((for x (in-list '(1 2))) (nested) (for y (in-list '(1 2)))) => #f
              (if (> x y) (list x y) (next))))
  (test 3 (let ((n 0)) (loop ((for i (in-range 3))) (set! n (+ n 1))) n))
  (test 1000000 (loop ((for i (in-range 1000000)) (counting #t)))))

(test-group "iterators of users"
  (define-syntax in-digits
    (syntax-rules ()
      ((_ (digit) (number) next . rest)
       (next ((start number))
             ((left start (quotient left 10)))
             ((= left 0))
             ((digit (remainder left 10)))
             . rest))))
  (define-syntax joining
    (syntax-rules ()
      ((_ (digit) next . rest)
       (next ((number 0 (+ (* 10 number) digit))) number . rest))))
  (test '(3 2 1) (loop ((for d (in-digits 123)) (listing d))))
  (test 321 (loop ((for d (in-digits 123)) (joining d)))))

(test-group "hygiene"
  (define next 5)
  (define finish 6)
  (test '(5 6) (loop ((for i (in-range 1)) (appending (list next finish)))))
  (test '(1 2) (let ((list vector) (car cdr)) (loop ((for x (in-list '(1 2))) (listing x))))))

(test-group "errors"
  (test-error (loop ((for x (in-list 5)) (listing x))))
  (test-error (loop ((for x (in-list '(1 . 2))) (listing x))))
  (test-error (loop ((for x (in-vector '(1))) (listing x))))
  (test-error (loop ((for x (in-vector #(1) -1)) (listing x))))
  (test-error (loop ((for x (in-vector #(1) 0 5)) (listing x)))))

(test-finish)
