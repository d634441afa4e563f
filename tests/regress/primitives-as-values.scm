;;; Primitives as values, `apply`, and procedures with optional arguments and rest lists: cold and
;;; hot code give the same values and the same errors for every number of arguments.

(import (canny base) (scheme base) (scheme char) (scheme cxr) (scheme inexact) (scheme write)
        (canny test))

(define rounds 40)

(define (outcome thunk)
  (call-with-current-continuation
   (lambda (return)
     (with-exception-handler
       (lambda (condition)
         (return (if (error-object? condition)
                     (list 'error
                           (condition->string condition)
                           (error-object-irritants condition))
                     condition)))
       (lambda () (call-with-values thunk list))))))

;; The argument lists of the first round are those of the last: what is hot by then saw all of them.
(define (repeated thunk)
  (let loop ((i 0))
    (let ((result (outcome thunk)))
      (if (< i rounds) (loop (+ i 1)) result))))

(define primitives
  (list car cdr cadr caddr cons list vector append + - * / < > <= >= = max min abs sqrt exact
        inexact
        odd? even? zero? number? integer? exact? quotient modulo gcd expt
        eq? eqv? equal? not pair? null? symbol? string? procedure?
        char-upcase char-alphabetic? char=? char<? char->integer
        string-append string-length string-ref substring string->list string->number number->string
        string=? string<? string-copy symbol->string
        vector-ref vector-set! vector-length vector->list make-vector
        bytevector-u8-ref bytevector memq memv member assq assoc length reverse list-tail
        values boolean=? exact-integer-sqrt floor/))

(define lists
  (list '() '(1) '(2.5) '(a) '("text") '(#\x) '((1 2 3)) (list (vector 1 2)) '(#u8(7 8))
        '(1 2) '(2.5 1) '(a 1) '(1 a) '(#\x #\y) '("text" 1) '("text" "more") '((a b) 1) '(a (b a))
        (list (vector 1 2) 1) '(a ((a . 1))) '(#u8(7 8) 1)
        '(1 2 3) '("text" 1 2) '(#\a #\b #\c) '(1 2 a) '(a b c) (list (vector 1 2) 1 2)
        '(1 2 3 4) '(#\a #\b #\c #\b) '(a b c d) '(1 2 3 4 5) '(1.5 2 3 4 5 6 7)))

(define (apply-here procedure list) (apply procedure list))
(define (apply-behind procedure list) (apply procedure (car list) (cdr list)))
(define (call procedure list)
  (case (length list)
    ((0) (procedure))
    ((1) (procedure (car list)))
    ((2) (procedure (car list) (cadr list)))
    ((3) (procedure (car list) (cadr list) (caddr list)))
    (else (apply procedure list))))

(test-group "primitives as values"
  (for-each
   (lambda (primitive)
     (for-each
      (lambda (list)
        (let ((cold (outcome (lambda () (apply primitive list)))))
          (test cold (outcome (lambda () (call primitive list))))
          (test cold (repeated (lambda () (call primitive list))))
          (test cold (repeated (lambda () (apply-here primitive list))))
          (unless (null? list)
            (test cold (repeated (lambda () (apply-behind primitive list)))))))
      lists))
   primitives))

(test-group "wrong numbers of arguments name the arguments"
  (test `(error "car: called with 2 arguments, but takes 1: (car 1 2)" (,car 1 2))
        (outcome (lambda () (apply car '(1 2)))))
  (test `(error "car: called with 2 arguments, but takes 1: (car 1 2)" (,car 1 2))
        (outcome (lambda () (call-with-values (lambda () (values 1 2)) car))))
  (let ((two (lambda (a b) a)))
    (test (list two 1) (caddr (outcome (lambda () (apply two '(1))))))
    (test (list two 1 2 3) (caddr (outcome (lambda () (apply two 1 '(2 3))))))
    (test (list two 1 2 3)
          (caddr (outcome (lambda () (call-with-values (lambda () (values 1 2 3)) two)))))))

(test-group "improper lists"
  (test "apply: argument 2 is not a list: (2 3 . 4)"
        (cadr (repeated (lambda () (apply + 1 '(2 3 . 4))))))
  (test "apply: argument 2 is not a list: a" (cadr (repeated (lambda () (apply list 'a))))))

;; Optional arguments and rest lists, entered through values that are not known.
(define* (optional a #:optional (b 'none) (c (list b))) (list a b c))
(define* (rest-behind a #:optional (b 'none) . rest) (list a b rest))
(define (all . rest) rest)
(define (after a b . rest) (list rest a b))
(define cases
  (case-lambda
    ((a) (list 'one a))
    ((a b) (list 'two a b))
    ((a b c . rest) (list 'more a b c rest))))

(define procedures (list optional rest-behind all after cases))

(test-group "entries by the number of arguments"
  (for-each
   (lambda (procedure)
     (for-each
      (lambda (list)
        (let ((cold (outcome (lambda () (apply procedure list)))))
          (test cold (repeated (lambda () (call procedure list))))
          (test cold (repeated (lambda () (apply-here procedure list))))))
      lists))
   procedures)
  (test '(1 none ()) (rest-behind 1))
  (test '((3 4 5 6 7) 1 2) (apply after '(1 2 3 4 5 6 7))))
