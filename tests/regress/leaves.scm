;;; Primitives that compiled code calls as leaf functions, and complex numbers in parts: what they
;;; decline, the general way does, also when it raises, and often enough to be compiled with and
;;; without the leaf function.

(import (scheme base) (scheme char) (scheme complex) (canny test))

(define rounds 3000)

;; The result of the last of many calls; the calls before are with other arguments.
(define (after-many thunk last)
  (do ((i 0 (+ i 1))) ((= i rounds)) (thunk))
  (last))

(define-syntax answers
  (syntax-rules ()
    ((_ (name arguments (usual ...) (other ...) expected))
     (let ((call (lambda arguments (name . arguments))))
       (test expected (after-many (lambda () (call usual ...)) (lambda () (call other ...))))))))

(define-syntax refuses
  (syntax-rules ()
    ((_ (name arguments (usual ...) (other ...)))
     (let ((call (lambda arguments (name . arguments))))
       (do ((i 0 (+ i 1))) ((= i rounds))
         (call usual ...)
         (when (> i (- rounds 20))
           (test-error (call other ...))))))))

(define circle (list 1 2 3))
(set-cdr! (cddr circle) circle)
(define long (make-list 100000 'x))

(test-group "lists"
  (answers (memq (x l) ('b '(a b c)) ('z '(a b c)) #f))
  (answers (memq (x l) ('b '(a b c)) ('x (append (make-list 100000 'y) '(x))) '(x)))
  (test #t (eq? (cdr circle)
                (after-many (lambda () (memq (quote b) (quote (a b))))
                            (lambda () (memq 2 circle)))))
  (answers (memv (x l) (2.5 '(1 2.5)) ((expt 2 70) (list 1 (expt 2 70))) (list (expt 2 70))))
  (answers (member (x l) ("b" '("a" "b")) ('(1 #(2)) '(0 (1 #(2)))) '((1 #(2)))))
  (answers (assq (x l) ('b '((a . 1) (b . 2))) ('z '((a . 1))) #f))
  (answers (assv (x l) (2 '((1 . 1) (2 . 2))) (1/2 '((1/2 . 3))) '(1/2 . 3)))
  (answers (assoc (x l) ("a" '(("a" . 1))) ("b" '(("a" . 1))) #f))
  (answers (length (l) ('(1 2)) (long) 100000))
  (answers (reverse (l) ('(1 2)) ((append long '(y))) (cons 'y long)))
  (answers (append (l m) ('(1) '(2)) (long 'z) (append long 'z)))
  (answers (list-copy (l) ('(1 2)) ('(1 2 . 3)) '(1 2 . 3)))
  (answers (list-tail (l k) ('(1 2 3) 1) ('(1 . 2) 1) 2))
  (answers (list? (l) ('(1 2)) (circle) #f))
  (answers (list? (l) ('(1 2)) ('(1 . 2)) #f))
  (refuses (memq (x l) ('b '(a b)) ('c '(a . b))))
  (refuses (memq (x l) ('b '(a b)) ('z circle)))
  (refuses (assq (x l) ('b '((b . 2))) ('c '(b))))
  (refuses (length (l) ('(1 2)) (circle)))
  (refuses (reverse (l) ('(1 2)) ('(1 . 2))))
  (refuses (append (l m) ('(1) '(2)) ('(1 . 2) '(3))))
  (refuses (list-tail (l k) ('(1 2) 1) ('(1 2) 3))))

(test-group "fresh objects stay apart"
  (let ((fresh (after-many (lambda () (reverse '(1 2))) (lambda () (reverse (list 1 2))))))
    (set-car! fresh 'new)
    (test '(2 1) (reverse '(1 2))))
  (let loop ((i 0) (kept '()))
    (if (< i 20000)
        (loop (+ i 1) (append (list i) (if (> (length kept) 5) (list-copy '(0)) kept)))
        (test 19999 (car kept)))))

(test-group "texts"
  (answers (string=? (x y) ("ab" "ab") ("\x3bb;" "\x3bb;") #t))
  (answers (string<? (x y) ("a" "b") ("\x3bb;" "a") #f))
  (answers (symbol->string (x) ('a) ('|a b|) "a b"))
  (answers (string->symbol (x) ("a") ((string-append "ne" "w" (string #\x3bb))) '|new\x3bb;|))
  (answers (char-upcase (x) (#\a) (#\x3bb) #\x39b))
  (answers (char-alphabetic? (x) (#\a) (#\x3bb) #t))
  (answers (char-numeric? (x) (#\1) (#\x663) #t))
  (answers (char-whitespace? (x) (#\space) (#\xa0) #t))
  (refuses (string=? (x y) ("a" "b") ("a" 'b)))
  (refuses (symbol->string (x) ('a) ("a")))
  (refuses (char-upcase (x) (#\a) (1)))
  (let ((text (make-string 3 #\a)))
    (do ((i 0 (+ i 1))) ((= i rounds)) (string-set! text (modulo i 3) #\b))
    (string-set! text 1 #\xe9)
    (string-set! text 2 #\x3bb)
    (test "b\xe9;\x3bb;" text))
  (refuses (string-set! (s i c) ((make-string 2 #\a) 1 #\b) ((make-string 2 #\a) 2 #\b)))
  (refuses (string-set! (s i c) ((make-string 2 #\a) 1 #\b) ("literal" 1 #\b))))

(test-group "vectors and numbers"
  (answers (make-vector (n x) (3 'a) (0 'a) #()))
  (answers (vector-length (v) ((make-vector 3)) ((make-vector 5000 1)) 5000))
  (answers (equal? (x y) ('(1 #(2)) '(1 #(2))) (long (list-copy long)) #t))
  (answers (equal? (x y) (1.5 1.5) (+nan.0 +nan.0) #t))
  (answers (eqv? (x y) (1.5 1.5) ((expt 3 60) (expt 3 60)) #t))
  (answers (integer? (x) (1) (2.0) #t))
  (answers (number? (x) (1) ('a) #f))
  (refuses (make-vector (n x) (3 'a) (-1 'a))))

(define (sum-of-squares z n)
  (do ((i 0 (+ i 1)) (sum 0.0+0.0i (+ sum (* z z)))) ((= i n) sum)))

(test-group "complex numbers"
  (answers (+ (x y) (1.5+2.0i 0.5-1.0i) (1+2i 1/2) 3/2+2i))
  (answers (- (x y) (1.5+2.0i 0.5-1.0i) (1.0 1.0+0.0i) 0.0-0.0i))
  (answers (- (x y) (1.5+2.0i 0.5) (1.0 1.0+0.0i) 0.0-0.0i))
  (answers (* (x y) (1.5+2.0i 2.0) (1e300+1.0i 1e300) +inf.0+1e300i))
  (answers (* (x y) (1.5+2.0i 0.5-1.0i) (1e200+0.0i 1e200+0.0i) +inf.0+0.0i))
  (answers (real-part (x) (1.5+2.0i) (3) 3))
  (answers (imag-part (x) (1.5+2.0i) (3.5) 0))
  (answers (make-rectangular (x y) (1.5 2.0) (1 0) 1))
  (test 6000.0+8000.0i (sum-of-squares 2.0+1.0i 2000))
  (test 3000.0+4000.0i (sum-of-squares 2+1i 1000)))

(define assigned 0)
(define (assign x) (set! assigned (+ assigned x)))
(define (read-assigned) assigned)

(test-group "global variables"
  (do ((i 0 (+ i 1))) ((= i rounds)) (read-assigned))
  (do ((i 0 (+ i 1))) ((= i rounds)) (assign i) (read-assigned))
  (test (* 1/2 rounds (- rounds 1)) (read-assigned)))

(test-finish)
