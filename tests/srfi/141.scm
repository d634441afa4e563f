(import (scheme base) (srfi 141) (canny test))

(define-syntax both
  (syntax-rules ()
    ((_ expression) (call-with-values (lambda () expression) list))))

(define pairs
  '((8 5) (8 -5) (-8 5) (-8 -5) (7 2) (-7 2) (7 -2) (-7 -2) (5 2) (6 2) (0 3) (9 6) (3 6) (-3 6)
    (15 6) (3 -6) (9 -6) (100000000000000000000 7) (-100000000000000000000 7) (8.0 5.0)))

(define-syntax check
  (syntax-rules ()
    ((_ divide quotient remainder (d r) law)
     (test-group (symbol->string 'divide)
       (for-each
        (lambda (pair)
          (let* ((n (car pair)) (d (cadr pair)) (result (both (divide n d)))
                 (q (car result)) (r (cadr result)))
            (test (list n d #t) (list n d (= n (+ (* q d) r))))
            (test (list n d #t) (list n d law))
            (test q (quotient n d))
            (test r (remainder n d))))
        pairs)
       (test-error (divide 1 0))
       (test-error (quotient 1 0))
       (test-error (remainder 1.5 1))))))

(check floor/ floor-quotient floor-remainder (d r) (or (zero? r) (eq? (negative? r) (negative? d))))
(check ceiling/ ceiling-quotient ceiling-remainder (d r)
       (or (zero? r) (not (eq? (negative? r) (negative? d)))))
(check truncate/ truncate-quotient truncate-remainder (d r) (< (abs r) (abs d)))
(check round/ round-quotient round-remainder (d r) (<= (* 2 (abs r)) (abs d)))
(check euclidean/ euclidean-quotient euclidean-remainder (d r) (and (<= 0 r) (< r (abs d))))
(check balanced/ balanced-quotient balanced-remainder (d r)
       (and (<= (- (abs d)) (* 2 r)) (< (* 2 r) (abs d))))

(test-group "values"
  (test '(2 -2) (both (ceiling/ 8 5)))
  (test '(-1 3) (both (ceiling/ 8 -5)))
  (test '(2 -2) (both (round/ 8 5)))
  (test '(2 1) (both (round/ 5 2)))
  (test '(4 -1) (both (round/ 7 2)))
  (test '(-2 2) (both (euclidean/ -8 5)))
  (test '(2 2) (both (euclidean/ -8 -5)))
  (test '(4 -1) (both (balanced/ 7 2)))
  (test '(-3 -1) (both (balanced/ -7 2)))
  (test '(2.0 -2.0) (both (round/ 8.0 5.0)))
  (test '(1 -1) (list (truncate-quotient 3 2) (floor-quotient -1 2))))

(test-finish)
