;;; (canny contract), `assert` and (canny string-interpolation).

(import (scheme base) (canny contract) (canny string-interpolation) (canny test)
        (only (canny base) assert condition-kind condition-who condition->string
              condition-position))

(define-syntax report
  (syntax-rules ()
    ((_ expression)
     (guard (object
             ((error-object? object) (list (condition-kind object) (condition->string object))))
       expression))))

(define-syntax line-of
  (syntax-rules ()
    ((_ expression)
     (guard (object ((error-object? object) (cadr (condition-position object))))
       expression))))

(define/contract (area width height)
  (-> real? (and/c real? positive?) real?)
  (* width height))

(define/contract (names people . more)
  (-> (list-of string?) #:rest (list-of symbol?) any/c)
  (list people more))

(define/contract (wrong x) (-> any/c string?) x)

(define/contract (apply-twice f x)
  (-> (-> integer? integer?) integer? integer?)
  (f (f x)))

(define/contract limit (between/c 0 10) 5)

(test-group "arguments and results"
  (test 6 (area 2 3))
  (test '(contract "area: the argument width is not real?; the caller is to blame: a")
        (report (area 'a 3)))
  (test '(contract
          "area: the argument height is not (and/c real? positive?); the caller is to blame: -3")
        (report (area 2 -3)))
  (test '(contract "wrong: the result is not string?: 1") (report (wrong 1)))
  (test "s" (wrong "s"))
  (test 5 limit)
  (test '(contract "big: the value is not (between/c 0 10): 11")
        (report (let () (define/contract big (between/c 0 10) 11) big)))
  (test '(("a") (b c)) (names '("a") 'b 'c))
  (test 'contract (car (report (names '(1)))))
  (test 'contract (car (report (names '("a") 1))))
  (test 3 ((lambda/contract (x) (-> integer? integer?) (+ x 1)) 2))
  (test 'arity (car (report (area 1))))
  (test 4 (check-contract integer? 4))
  (test 'contract (car (report (check-contract integer? "4")))))

(test-group "procedures"
  (test 4 (apply-twice (lambda (x) (* x 2)) 1))
  (test '(contract
          "apply-twice: the result of the argument f is not integer?; the caller is to blame: \
           \"x\"")
        (report (apply-twice (lambda (x) "x") 1)))
  (test '(contract
          "apply-twice: the argument f is not (-> integer? integer?); the caller is to blame: 5")
        (report (apply-twice 5 1)))
  (test 'contract (car (report (apply-twice cons 1))))
  (define/contract (misuse f) (-> (-> integer? any/c) any/c) (f "no integer"))
  (test
   '(contract "misuse: an argument in a call of the argument f is not integer?: \"no integer\"")
   (report (misuse (lambda (x) x))))
  (define/contract (adder n) (-> integer? (-> integer? integer?)) (lambda (x) (+ x n)))
  (test 3 ((adder 1) 2))
  (test 'contract (car (report ((adder 1) 'x)))))

(test-group "combinators"
  (define-syntax takes
    (syntax-rules () ((_ contract value ...) (list (contract value) ...))))
  (test '(#t #f) (takes (and/c integer? even?) 2 3))
  (test '(#t #t #f) (takes (or/c #f string?) #f "s" 1))
  (test '(#f #t) (takes (not/c string?) "s" 1))
  (test '(#t #t #f #f) (takes (list-of integer?) '() '(1 2) '(1 a) 5))
  (test '(#t #f #f) (takes (vector-of integer?) #(1) #(a) '(1)))
  (test '(#t #t #f) (takes (one-of/c 'a "b") 'a "b" 'c))
  (test '(#t #f #f) (takes (between/c 1 3) 2 4 'x))
  (test '(#t) (takes any/c 'x))
  (test '(#t #f) (takes (list-of (or/c integer? (list-of symbol?))) '(1 (a b)) '((1)))))

(define (caller)
  ;; The blamed call stands on the next line.
  (list (area 'a 1)
        0))

(test-group "positions"
  (test 89 (line-of (caller))))

(test-group "assert"
  (define x 3)
  (define y "s")
  (test-error (assert #f))
  (test-true (begin (assert (= x 3)) #t))
  (test '(assertion "assert: assertion failed: (= x 4) where (x = 3)") (report (assert (= x 4))))
  (test
   '(assertion "assert: assertion failed: (and (number? x) (number? y)) where (x = 3) (y = \"s\")")
   (report (assert (and (number? x) (number? y)))))
  (test '(assertion "assert: assertion failed: (let ((z 1)) (< x z)) \"more\" where (x = 3)")
        (report (assert (let ((z 1)) (< x z)) "more")))
  (test '(assertion "assert: assertion failed: #f") (report (assert #f)))
  (test '(assertion "assert: assertion failed: (memq 'a '(b))") (report (assert (memq 'a '(b))))))

(test-group "string interpolation"
  (define name "Ada")
  (define n 3)
  (test "Hello, Ada!" (string-interpolate "Hello, ~name!"))
  (test "3 + 1 = 4" (string-interpolate "~n + 1 = ~(+ n 1)"))
  (test "~ 3.5 a b" (string-interpolate "~~ ~{(+ n 0.5)} ~{'a} ~(symbol->string 'b)"))
  (test "" (string-interpolate ""))
  (test "plain" (string-interpolate "plain"))
  (test "3-x" (string-interpolate "~n-~{'x}"))
  (test "x Ada" (string-interpolate "~(string-append \"x \" name)"))
  (test "(1 two)" (string-interpolate "~(list 1 \"two\")"))
  (test "tab\tAda" (string-interpolate "tab\t~name")))

(test-finish)
