;;; Folding a call at compile time gives what the call gives at run time.

(import (scheme base) (scheme case-lambda) (only (srfi 1) cons*)
        (only (srfi 151) bitwise-and bitwise-ior bitwise-xor) (canny test))

(define minus-zero (string->number "-0.0"))

(test-group "sums keep the sign of zero"
  (test -0.0 (+ -0.0 -0.0))
  (test -0.0 (+ -0.0))
  (test -0.0 (+ -0.0 -0.0 -0.0))
  (test (+ minus-zero minus-zero) (+ -0.0 -0.0))
  (test (+ 0 minus-zero) (+ 0 -0.0))
  (test (* 1 minus-zero) (* 1 -0.0))
  (test (- minus-zero) (- -0.0)))

(test-group "procedures without clauses"
  (test #t (procedure? (case-lambda)))
  (test-error ((case-lambda))))

;; A procedure whose value the compiler cannot know.
(define itself
  (let ((procedure #f))
    (set! procedure (lambda (x) x))
    procedure))

(define alphabet '(a b c 1 #\x))
(define numerals '((1 . one) (two . 2) (#\3 . three)))

(test-group "searches of literal lists give parts of the literal"
  (test '(b c 1 #\x) (memq (itself 'b) alphabet))
  (test #t (eq? (memq (itself 'b) alphabet) (cdr alphabet)))
  (test #t (eq? (memv (itself 1) alphabet) (list-tail alphabet 3)))
  (test #t (eq? (member (itself #\x) alphabet) (list-tail alphabet 4)))
  (test #f (memv (itself 2) alphabet))
  (test #f (memq (itself "a") alphabet))
  (test #f (memv (itself 1.) alphabet))
  (test #t (eq? (assv (itself 1) numerals) (car numerals)))
  (test #t (eq? (assq (itself 'two) numerals) (cadr numerals)))
  (test '(#\3 . three) (assoc (itself #\3) numerals))
  (test #f (assq (itself 'three) numerals))
  (test '(2.5 "a") (memv (itself 2.5) '(1 2.5 "a")))
  (test '("a") (member (itself "a") '(1 2.5 "a")))
  (test #t (eq? (memq 'c alphabet) (cddr alphabet)))
  (test 2 (length (memv 1 alphabet)))
  (test-error (memq (itself 'z) '(a . b)))
  (test-error (assq (itself 'z) '((a . 1) b)))
  (let ((calls 0))
    (define (key)
      (set! calls (+ calls 1))
      'b)
    (test '(b c) (memq (key) '(a b c)))
    (test 1 calls)))

(test-group "vectors that are made of lists"
  (define (make x) `#(1 ,x #(2 ,x) ,@(list x x) y))
  (test '#(1 5 #(2 5) 5 5 y) (make 5))
  (test #f (eq? (make 5) (make 5)))
  (test '#(1 2 3) (list->vector (cons* 1 2 '(3))))
  (test-error (list->vector (cons 1 (itself 2))))
  (define (fresh) (list->vector '(1 2)))
  (let ((one (fresh)))
    (vector-set! one 0 'x)
    (test '#(1 2) (fresh))))

(test-group "calls with one operand"
  (test '(1 . 2) (append '(1 . 2)))
  (test 5 (append 5))
  (test 5 (list-tail 5 0))
  (test-error (list-tail (itself '(1)) 0.5))
  (test 6 (bitwise-and (itself 6)))
  (test -6 (bitwise-ior (itself -6)))
  (test (expt 2 80) (bitwise-xor (itself (expt 2 80))))
  (test-error (bitwise-and (itself 1.)))
  (test-error (bitwise-xor (itself 'a))))

(test-group "a procedure is nothing else"
  (define (kind object)
    (cond ((char? object) 'character)
          ((pair? object) 'pair)
          ((procedure? object) (object 'procedure))))
  (test 'procedure (kind (lambda (x) x)))
  (test 'character (kind #\a)))

(test-finish)
