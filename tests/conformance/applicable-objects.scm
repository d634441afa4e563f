;;; (canny applicable): objects that are called like procedures, where the library is imported.

(define-library (plain)
  (export call-it call-it-by-macro)
  (import (scheme base))
  (begin
    (define (call-it object operand) (object operand))
    ;; Names that a macro inserts belong to its library; its operands belong to the user.
    (define-syntax call-it-by-macro
      (syntax-rules () ((_ object operand) (let ((inserted object)) (inserted operand)))))))

(define-library (with-import)
  (export look-up)
  (import (scheme base) (canny applicable))
  (begin
    (define-syntax look-up
      (syntax-rules () ((_ object operand) (let ((inserted object)) (inserted operand)))))))

(import (scheme base) (srfi 26) (srfi 69) (canny generic) (canny applicable) (canny test)
        (plain) (with-import))

(define numbers (vector 10 20 30))
(define table (make-hash-table))
(hash-table-set! table 'a 1)
(define custom (make-hash-table (lambda (x y) (= (abs x) (abs y))) (lambda (x) (abs x))))
(hash-table-set! custom 5 'five)

(test-group "objects of the machine"
  (test '(10 30) (list (numbers 0) (numbers 2)))
  (test #\b ("abc" 1))
  (test 7 (#u8(1 7) 1))
  (test 1 (table 'a))
  (test '(1 none) (list (table 'a 'none) (table 'b 'none)))
  (test '(five five none) (list (custom 5) (custom -5) (custom 6 'none)))
  (test '(20 10) (map (lambda (i) (numbers i)) '(1 0)))
  (test '(20 10) (map (cut numbers <>) '(1 0)))
  (test 20 ((car (list numbers)) 1))
  (test 30 ((if (vector? numbers) numbers car) (+ 1 1)))
  (test 10 (let ((f numbers)) (f 0)))
  (test 20 (let loop ((i 0)) (if (= i 1) (numbers i) (loop (+ i 1))))))

(test-group "procedures stay procedures"
  (define (f x) (list 'f x))
  (define g f)
  (set! g (lambda (x) (list 'g x)))
  (test '((f 1) (g 2) 3) (list (f 1) (g 2) ((lambda (x) x) 3)))
  (test 6 (apply + (list 1 2 3)))
  (test '(1 2) (call-with-values (lambda () (values 1 2)) list))
  (test 5 (let ((count 0))
            (define (operator) (set! count (+ count 1)) numbers)
            (let loop ((i 0))
              (if (< i 5) (begin ((operator) 0) (loop (+ i 1)))))
            count)))

(test-group "wrong calls"
  (test-error (numbers 3))
  (test-error (numbers))
  (test-error (numbers 1 2))
  (test-error (table 'b))
  (test-error (table))
  (test-error (table 1 2 3))
  (test-error ("abc" 'x))
  (test-error (custom 6))
  (test-error ((list 1 2) 0))
  (test-error (7 1))
  (test-error ('symbol table)))

(define-class <polynomial> () (make-polynomial coefficients) polynomial?
  (coefficients polynomial-coefficients))
(define-class <named> (<polynomial>) (make-named coefficients name) named? (name named-name))
(define-class <plain-record> () (make-plain-record) plain-record?)
(define-apply-method ((p <polynomial>) x)
  (let loop ((rest (polynomial-coefficients p)) (value 0))
    (if (null? rest)
        value
        (loop (cdr rest) (+ (* value x) (car rest))))))

(test-group "records"
  (define p (make-polynomial '(1 2 3)))
  (test '(3 6 123) (list (p 0) (p 1) (p 10)))
  (test 123 ((make-named '(1 2 3) "q") 10))
  (test-error (p))
  (test-error (p 1 2))
  (test-error ((make-plain-record) 1))
  (test '(#t #t #f #t #f)
        (map applicable? (list p numbers (make-plain-record) car 1)))
  (test #t (procedure? (record-type-apply <named>)))
  (define-apply-method ((n <named>) . operands) (cons (named-name n) operands))
  (test '("q") ((make-named '() "q")))
  (test '("q" 1 2 3 4) ((make-named '() "q") 1 2 3 4))
  (test 123 (p 10))
  (set-record-type-apply! <named> #f)
  (test 123 ((make-named '(1 2 3) "q") 10))
  (test-error (set-record-type-apply! <named> 1)))

(test-group "tail calls"
  (define-class <countdown> () (make-countdown) countdown?)
  (define (go object n) (if (= n 0) 'done (object n)))
  (define-apply-method ((c <countdown>) n) (go c (- n 1)))
  (test 'done (go (make-countdown) 300000)))

(test-group "only where it is imported"
  (test-error (call-it numbers 1))
  (test '(1) (call-it list 1))
  (test-error (call-it-by-macro numbers 1))
  (test 20 (look-up numbers 1)))

(test-finish)
