;;; (canny match): pattern matching.

(import (scheme base) (canny match) (canny test))

(define-record-type <point> (make-point x y) point? (x point-x) (y point-y))
(define-record-type (<point3> <point>) (make-point3 x y z) point3? (z point-z))

(define (match-error? object)
  (and (error-object? object)
       (string=? (error-object-message object) "no pattern takes the value")))

(test-group "literals"
  (define (name value)
    (match value
      (1 'one)
      (1.0 'inexact-one)
      (123456789012345678901234567890 'big)
      ("text" 'text)
      (#\a 'character)
      (#t 'true)
      (#f 'false)
      (() 'nothing)
      ('symbol 'symbol)
      (#u8(1 2) 'bytes)
      ('(1 (2 . 3) #(4)) 'datum)
      (_ 'other)))
  (test '(one inexact-one big text character true false nothing symbol bytes datum other other)
        (map name (list 1 1.0 123456789012345678901234567890 (string #\t #\e #\x #\t) #\a #t #f '()
                        'symbol (bytevector 1 2) (list 1 (cons 2 3) (vector 4)) 2 "other"))))

(test-group "lists and pairs"
  (test 3 (match '(1 2) ((a b) (+ a b))))
  (test '(1 2 (3 4)) (match '(1 2 3 4) ((a b . c) (list a b c))))
  (test '(1 . 2) (match '(1 . 2) ((a . b) (cons a b))))
  (test 'short (match '(1) ((a b) 'two) ((a) 'short)))
  (test 'long (match '(1 2 3) ((a b) 'two) ((a . _) 'long)))
  (test '(1 2 3) (match '((1 (2)) 3) (((a (b)) c) (list a b c))))
  (test 'none (match '() ((a . b) 'pair) (() 'none))))

(test-group "clauses in order"
  (define (f value)
    (match value
      ((1 x) (list 'first x))
      ((y 2) (list 'second y))
      ((x y) (list 'third x y))
      ((? symbol? s) (list 'symbol s))
      ((a . b) (list 'pair a b))
      (x (list 'any x))))
  (test '((first 2) (second 3) (third 3 4) (symbol s) (pair 1 ()) (any 7))
        (map f '((1 2) (3 2) (3 4) s (1) 7))))

(test-group "repeated patterns"
  (test '(1 2 3) (match '(1 2 3) ((x ...) x)))
  (test '() (match '() ((x ...) x)))
  (test '((a b) (1 2)) (match '((a 1) (b 2)) (((k v) ...) (list k v))))
  (test 'no (match '((a 1) (b)) (((k v) ...) (list k v)) (_ 'no)))
  (test '((1 2 3) 4 5) (match '(1 2 3 4 5) ((x ... y z) (list x y z))))
  (test '(() 4 5) (match '(4 5) ((x ... y z) (list x y z))))
  (test 'no (match '(5) ((x ... y z) (list x y z)) (_ 'no)))
  (test '(0 (1 2) 3) (match '(0 1 2 3) ((a x ... y) (list a x y))))
  (test '((1 2) end) (match '(1 2 . end) ((x ... . tail) (list x tail))))
  (test '((1) 2 end) (match '(1 2 . end) ((x ... y . tail) (list x y tail))))
  (test 'no (match '(1 2 . end) ((x ...) x) (_ 'no)))
  (test '((1 2) (3)) (match '(1 2 3) (((? number? x) ... 3) (list x '(3))) (_ 'no)))
  (test '(((1 2) (3)) (a b)) (match '((a 1 2) (b 3)) (((k v ...) ...) (list v k))))
  (test '((1 2)) (match '(1 2) ((x ..1) (list x)) (_ 'no)))
  (test 'no (match '() ((x ..1) (list x)) (_ 'no)))
  (test 'no (match '(1) ((x ..2) (list x)) (_ 'no)))
  (test '(1 2) (match '(1 2) (((and x (? number?)) ..2) x) (_ 'no)))
  (test 'no (match '(1 2 . 3) (((? number? x) ..2) x) (_ 'no)))
  (test 'none (match '() ((x =.. 0) 'none) (_ 'some)))
  (test 'some (match '(1) ((x =.. 0) 'none) (_ 'some)))
  (test 'some (match '(1) (((? number?) =.. 0) 'none) (_ 'some)))
  (test '((1 2) 3) (match '(1 2 3) ((x =.. 2 y) (list x y)) (_ 'no)))
  (test 'no (match '(1 2 3 4) ((x =.. 2 y) (list x y)) (_ 'no)))
  (test '(1 2 3) (match '(1 2 3) ((x =.. 3) x) (_ 'no)))
  (test 'no (match '(1 2) ((x =.. 3) x) (_ 'no)))
  (test '(3) (match '(1 2 3) ((_ ... x) (list x))))
  (test 'yes (match '(1 2 3) ((_ ...) 'yes)))
  (test '(1 2) (match '(1 2) ((x ___) x)))
  (test '((1 3) (2 4)) (match '((1 . 2) (3 . 4)) (((a . b) ...) (list a b))))
  (test 'circular
        (let ((ring (list 1 2)))
          (set-cdr! (cdr ring) ring)
          (match ring
            ((x ...) 'list)
            (((and x 1) ... y) 'list)
            (((? number? x) ...) 'list)
            (_ 'circular)))))

(test-group "vectors"
  (test '(1 2) (match (vector 1 2) (#(a b) (list a b))))
  (test 'no (match (vector 1) (#(a b) 'two) (_ 'no)))
  (test 'no (match '(1 2) (#(a b) 'two) (_ 'no)))
  (test '(1 2 3) (match #(1 2 3) (#(x ...) x)))
  (test '(1 (2 3) 4) (match #(1 2 3 4) (#(a x ... b) (list a x b))))
  (test '(1 () 4) (match #(1 4) (#(a x ... b) (list a x b))))
  (test 'no (match #(1) (#(a x ... b) (list a x b)) (_ 'no)))
  (test '((a b) (1 2)) (match #((a 1) (b 2)) (#((k v) ...) (list k v))))
  (test 'no (match #((a 1) b) (#((k v) ...) (list k v)) (_ 'no)))
  (test 'empty (match #() (#(a) 'one) (#() 'empty)))
  (test '(2 1) (map (lambda (v) (match v (#(a b) 2) (#(a) 1))) (list #(0 0) #(0)))))

(test-group "predicates, parts, conjunctions"
  (test 5 (match 5 ((? number? n) n)))
  (test 'no (match 'x ((? number? n) n) (_ 'no)))
  (test '(5 5) (match 5 ((and a b) (list a b))))
  (test '((1 2) 1) (match '(1 2) ((and whole (first . _)) (list whole first))))
  (test 'both (match 4 ((? number? (? even?)) 'both)))
  (test 'no (match 'x ((and (? number?) (? even?)) 'both) (_ 'no)))
  (test 4 (match "four" ((= string-length n) n)))
  (test 'four (match "four" ((? string? (= string-length 4)) 'four) (_ 'other)))
  (test 'other (match 'four ((? string? (= string-length 4)) 'four) (_ 'other)))
  (test '(small small big) (map (lambda (n) (match n ((or 1 2) 'small) (_ 'big))) '(1 2 3)))
  (test '(7 8 9 none)
        (map (lambda (value) (match value ((or ('a x) ('b _ x) #(x)) x) (_ 'none)))
             (list '(a 7) '(b 0 8) #(9) '(c 1))))
  (test 'odd (match 3 ((not (? even?)) 'odd)))
  (test 'no (match 4 ((not (? even?)) 'odd) (_ 'no)))
  (test '(3) (match '(1 3) (((not 2) x) (list x))))
  (test '(1 (2 3)) (match '(1 2 3) ((and (a . _) (_ . b)) (list a b))))
  (test 'inner
        (match '(x (1 2))
          ((_ (or (a b) #(a b))) (if (= (+ a b) 3) 'inner 'wrong)))))

(test-group "a predicate is asked once for adjacent clauses"
  (define asked 0)
  (define (count? x) (set! asked (+ asked 1)) (number? x))
  (test '(2 1)
        (let ((result (match (list 5 2)
                        (((? count?) 1) 1)
                        (((? count?) 2) 2))))
          (list result asked))))

(test-group "records"
  (test '(1 2) (match (make-point 1 2) (($ <point> x y) (list x y))))
  (test 'no (match 1 (($ <point> x y) (list x y)) (_ 'no)))
  (test '(y 2) (match (make-point 1 2) ((@ <point> (y 5)) 'five) ((@ <point> (y b)) (list 'y b))))
  (test '(1 3) (match (make-point3 1 2 3) ((@ <point3> (z c) (x a)) (list a c))))
  (test '(child parent other)
        (map (lambda (value)
               (match value
                 (($ <point3> 0 _ _) 'origin)
                 (($ <point> 1 2) 'parent)
                 (($ <point3> _ _ _) 'child)
                 (_ 'other)))
             (list (make-point3 1 3 3) (make-point3 1 2 3) 7)))
  (test '(1 2) (match (list (make-point 1 2)) ((($ <point> x y)) (list x y))))
  (test 'local
        (let ()
          (define-record-type node (make-node left right) node? (left node-left) (right node-right))
          (match (make-node (make-node 1 2) 3)
            (($ node ($ node 1 2) 3) 'local)))))

(test-group "quasipatterns"
  (define (evaluate expression)
    (match expression
      ((? number? n) n)
      (`(+ ,a ,b) (+ (evaluate a) (evaluate b)))
      (`(* ,a ,b) (* (evaluate a) (evaluate b)))
      (`(- ,a) (- (evaluate a)))
      (`(sum . ,rest) (apply + (map evaluate rest)))
      (`(list ,x ... end) (map evaluate x))
      (`(tail a ,@b) b)
      (`#(vector ,x) (list x))
      (`(,(? symbol? operator) . ,_) (list 'unknown operator))))
  (test '(7 -6 10 (1 5) (2 3) (x) (unknown f))
        (map evaluate (list '(+ 1 (* 2 3)) '(- (* 2 3)) '(sum 1 2 3 4) '(list 1 (+ 2 3) end)
                            '(tail a 2 3) #(vector x) '(f 1)))))

(test-group "guards"
  (define (order pair)
    (match pair
      ((a b) (where (< a b)) 'less)
      ((a b) (where (= a b) (number? a)) 'equal)
      ((a b) #:when (> a b) 'greater)))
  (test '(less equal greater) (map order '((1 2) (2 2) (3 2))))
  (test '(even 2)
        (match 2
          (n (=> next) (if (odd? n) 'odd (next)))
          (n (list 'even n))))
  (test 'third
        (match '(1 2)
          ((a b) (=> next) (if (= a 2) 'first (next)))
          ((a b) (=> next) (where (= b 3)) (next))
          (_ 'third)))
  (test 'kept
        (match 1
          (n (=> next) (let ((later next)) (later)))
          (_ 'kept))))

(test-group "other forms"
  (test '(1 (2) none)
        (map (match-lambda ((a) a) ((a b) (list b)) (_ 'none)) '((1) (1 2) (1 2 3))))
  (test '(one two) (let ((f (match-lambda* ((a) 'one) ((a b) 'two)))) (list (f 1) (f 1 2))))
  (test 6 (match-let (((a b) '(1 2)) (#(c) #(3))) (+ a b c)))
  (test '(3 2 1)
        (match-let loop (((a . rest) '(1 2 3)) (result '()))
          (if (null? rest) (cons a result) (loop rest (cons a result)))))
  (test '(1 2 3) (match-let* (((a b) '(1 2)) ((c) (list (+ a b)))) (list a b c)))
  (test '(#t #f)
        (match-letrec (((even odd)
                        (list (lambda (n) (or (= n 0) (odd (- n 1))))
                              (lambda (n) (and (> n 0) (even (- n 1)))))))
          (list (even 10) (odd 10))))
  (test '(1 (2 3))
        (let ()
          (match-define (a . b) '(1 2 3))
          (list a b)))
  (test 'changed
        (match 1 (x (set! x 'changed) x))))

(match-define (top-a (top-b ...)) '(1 (2 3)))
(match-define #(only) #(4))
(match-define 5 5)

(test-group "definitions at top level"
  (test '(1 (2 3) 4) (list top-a top-b only)))

(test-group "names"
  ;; A local variable is no operator.
  (test '(1 2) (let ((? 1)) (match '(1 2) ((? x) (list ? x)))))
  (test 1 (let ((quote list)) (match (list 0 1) ((quote x) x))))
  (define-syntax swap-pattern
    (syntax-rules ()
      ((_ value a b body) (match value ((b a) body)))))
  (test '(2 1) (swap-pattern '(1 2) x y (list x y)))
  (define-syntax has-first
    (syntax-rules ()
      ((_ value) (match value ((x . _) x) (_ #f)))))
  (test 1 (let ((x 5)) (has-first '(1))))
  (define-syntax numbers
    (syntax-rules ()
      ((_ value) (match value (((? number? n) (... ...)) n) (_ 'no)))))
  (test '((1 2) no) (list (numbers '(1 2)) (numbers '(a)))))

(test-group "failures"
  (test-error match-error? (match 3 (4 5)))
  (test-error match-error? ((match-lambda ((a) a)) 3))
  (test-error match-error? (match-let (((a b) '(1))) a))
  (test-error match-error? (let () (match-define (a b) '(1)) a))
  (test-error match-error? (match 1 (n (=> next) (next))))
  (test '((1 2))
        (guard (object (#t (error-object-irritants object)))
          (match '(1 2) ((a) a)))))

(test-group "many elements"
  (define long (make-list 100000 1))
  (test 100000 (match long (((? number? x) ...) (length x))))
  (test 99999 (match long ((x ... y) (length x))))
  (test 100000 (match (list->vector long) (#((? number? x) ...) (length x)))))

(test-finish)
