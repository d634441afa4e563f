;;; Several values and lists given to procedures by `call-with-values` and `apply` in hot code: any
;;; number of them, of any kind, with the same errors as in cold code.

(import (scheme base) (scheme write) (canny test) (only (canny base) condition->string))

(define rounds 1500)

(define (outcome thunk)
  (call-with-current-continuation
   (lambda (return)
     (with-exception-handler
       (lambda (condition)
         (return (if (error-object? condition)
                     (list 'error (condition->string condition))
                     condition)))
       (lambda () (call-with-values thunk list))))))

(define (one a) a)
(define (two a b) (list b a))
(define (three a b c) (list c b a))
(define (any . rest) rest)
(define (some a . rest) (list a rest))
(define none (lambda () 'none))

(define (give n)
  (case n
    ((0) (values))
    ((1) 'single)
    ((2) (values 1 2))
    ((3) (values 1.5 "two" #\3))
    ((4) (values 1 2 3 4))
    (else (values 1 2 3 4 5 6))))

(define (hand n consumer)
  (let loop ((i 0) (last #f))
    (if (< i rounds)
        (loop (+ i 1) (list (call-with-values (lambda () (give n)) consumer)))
        (car last))))

(define (hand-list l consumer)
  (let loop ((i 0) (last #f))
    (if (< i rounds) (loop (+ i 1) (list (apply consumer l))) (car last))))

(test-group "known numbers of values"
  (test 'single (hand 1 one))
  (test '(2 1) (hand 2 two))
  (test '(#\3 "two" 1.5) (hand 3 three))
  (test '(1 2 3 4) (hand 4 any))
  (test '(1 2 3 4 5 6) (hand 5 list))
  (test '(1 . 2) (hand 2 cons))
  (test 'none (hand 0 none))
  (test '(1 (2 3 4)) (hand 4 some)))

;; One place of calls for all: it is hot before the number of values changes.
(define (mixed n) (call-with-values (lambda () (give n)) any))
(define (flip i) (mixed (modulo i 6)))

(test-group "numbers of values that change"
  (do ((i 0 (+ i 1))) ((= i rounds)) (mixed 2))
  (test '(() (single) (1 2) (1.5 "two" #\3) (1 2 3 4) (1 2 3 4 5 6))
        (let loop ((i 0) (last #f))
          (if (< i (* 6 rounds))
              (loop (+ i 6) (map (lambda (k) (flip (+ i k))) '(0 1 2 3 4 5)))
              last))))

(define (hot-two n) (+ 0 (call-with-values (lambda () (give n)) -)))
(define (own n) (call-with-values (lambda () (give n)) two))
(define (own-kept n) (list (call-with-values (lambda () (give n)) two)))

(test-group "wrong numbers of values"
  (do ((i 0 (+ i 1))) ((= i rounds)) (own 2) (own-kept 2) (hot-two 2))
  (test '((2 1)) (own-kept 2))
  (test (outcome (lambda () (own 3))) (outcome (lambda () (own-kept 3))))
  (test 'error (car (outcome (lambda () (own-kept 1)))))
  (test 'error (car (outcome (lambda () (own-kept 0)))))
  (test 'error (car (outcome (lambda () (hot-two 1)))))
  (test -1 (hot-two 2))
  (test -8 (hot-two 4)))

(test-group "lists"
  (test '(2 1) (hand-list '(1 2) two))
  (test '(3 2 1) (hand-list (list 1 2 3) three))
  (test 6 (hand-list (list 1 2 3) +))
  (test '(1 (2 3)) (hand-list (list 1 2 3) some))
  (test 'none (hand-list '() none)))

(define (apply-three l) (list (apply three 'first l)))

(test-group "lists of other lengths"
  (do ((i 0 (+ i 1))) ((= i rounds)) (apply-three '(2 3)))
  (test '((3 2 first)) (apply-three (list 2 3)))
  (test 'error (car (outcome (lambda () (apply-three '(2))))))
  (test 'error (car (outcome (lambda () (apply-three '(2 3 4))))))
  (test 'error (car (outcome (lambda () (apply-three '(2 . 3))))))
  (test 'error (car (outcome (lambda () (apply-three 7))))))

;; The consumer is no procedure, or changes.
(define (to consumer) (list (call-with-values (lambda () (give 2)) consumer)))
(test-group "other consumers"
  (do ((i 0 (+ i 1))) ((= i rounds)) (to two))
  (test '((2 1)) (to two))
  (test '((1 2)) (to any))
  (test '(3) (to +))
  (test 'error (car (outcome (lambda () (to 5))))))

;; A continuation that is entered again gives its values again.
(define (again)
  (let ((saved #f) (count 0) (seen '()))
    (let ((answer (call-with-values
                    (lambda ()
                      (call-with-current-continuation
                       (lambda (k) (set! saved k) (values 0 0))))
                    (lambda (a b) (+ a b)))))
      (set! seen (cons answer seen))
      (set! count (+ count 1))
      (if (< count 3) (saved count 10))
      (reverse seen))))

(test-group "continuations"
  (do ((i 0 (+ i 1))) ((= i rounds)) (again))
  (test '(0 11 12) (again)))
