;;; Procedures that walk sequences: loops of their own for one, two and three sequences do what the
;;; general ones do, errors included.

(import (scheme base) (scheme lazy) (scheme write)
        (prefix (only (srfi 1) any every count list-index filter-map append-map fold-right zip
                      take-while)
                l:)
        (prefix (only (srfi 13) string-index string-index-right string-skip string-skip-right
                      string-count string-filter string-delete string-trim string-trim-both
                      string-pad string-pad-right string-prefix? string-suffix? string-replace
                      string-take string-drop-right string-any string-every string=)
                s:)
        (only (srfi 152) string-split)
        (prefix (only (srfi 133) vector-index vector-skip vector-index-right vector-count
                      vector-any vector-every vector-fold-right reverse-vector->list)
                v:)
        (only (srfi 132) list-sort)
        (only (canny base) condition-who)
        (canny test))

;; The blamed procedure, and what was wrong.
(define-syntax blamed
  (syntax-rules ()
    ((_ expression)
     (guard (e ((error-object? e) (list (condition-who e) (error-object-message e))))
       expression
       'no-error))))

;; Walks with a procedure that the compiler does not know.
(define (opaque procedure)
  (let ((it #f))
    (set! it procedure)
    it))

(test-group "two and three strings"
  (test "bcd" (string-map (opaque (lambda (x y) (if (char<? x y) y x))) "abcz" "bcd"))
  (test "ad" (string-map (lambda (x y z) (if (char=? x y) z x)) "abc" "bb" "xd"))
  (test '(#\c #\b #\a)
        (let ((all '()))
          (string-for-each (lambda (x y z) (set! all (cons x all))) "abcd" "abc" "abcd")
          all))
  (test "c" (string-map (lambda (x) x) "abc" 2))
  (test '(string-map "argument 3 is not a string") (blamed (string-map max "a" #\b)))
  (test '(string-map "argument 4 is not a string") (blamed (string-map max "a" "b" #\b)))
  (test '(string-for-each "argument 2 is not a string") (blamed (string-for-each max 'a "b")))
  (test '(string-map "argument 1 is not a procedure that gives characters")
        (blamed (string-map (lambda (x y) 1) "a" "b"))))

(test-group "two and three vectors and lists"
  (test '#(12 15) (vector-map + '#(1 2) '#(4 5 6) '#(7 8 9)))
  (test '(vector-map "argument 4 is not a vector") (blamed (vector-map + '#() '#() '())))
  (test '(12 15) (map + '(1 2) '(4 5 6) '(7 8 9)))
  (test '(map "argument 4 is not a list") (blamed (map + '(1 2) '(4 5 6) '(7 . 8))))
  (test '() (map + '() 5 5))
  (test 5 (l:any (lambda (x y) (and (< x y) y)) '(3 4) '(1 5 9)))
  (test #f (l:any < '() 5))
  (test '(any "argument 3 is not a list") (blamed (l:any < '(1 2) '(0 . 5))))
  (test 9 (l:every (lambda (x y) (and (< x y) y)) '(3 4) '(5 9 1)))
  (test #t (l:every < '(1) '()))
  (test 1 (l:count < '(1 2 3) '(2 1)))
  (test 1 (l:list-index = '(1 2 3) '(2 2 3)))
  (test '(2 4) (l:filter-map (lambda (x y) (and (< x y) (* 2 x))) '(1 5 2) '(2 3 4)))
  (test '(1 3 2 4) (l:append-map list '(1 2) '(3 4 5)))
  (test '(1 3 (2 4 end)) (l:fold-right list 'end '(1 2) '(3 4 5)))
  (test '((1 3) (2 4)) (l:zip '(1 2) '(3 4 5)))
  (test '((1) (2)) (l:zip '(1 2)))
  (test '(1 2) (l:take-while (lambda (x) (< x 3)) '(1 2 3 1)))
  (test '(3 2 1) (v:reverse-vector->list (vector 1 2 3)))
  (test 1 (v:vector-skip odd? '#(1 2 3)))
  (test 2 (v:vector-index-right odd? '#(1 2 3)))
  (test 1 (v:vector-index < '#(1 2) '#(1 3 4)))
  (test 1 (v:vector-count < '#(1 2) '#(1 3 4)))
  (test #t (v:vector-any < '#(1 2) '#(1 3 4)))
  (test #f (v:vector-every < '#(1 2) '#(1 3 4)))
  (test '(vector-index "argument 3 is not a vector") (blamed (v:vector-index < '#() '())))
  (test '((end 2 3) 1 1) (v:vector-fold-right list 'end '#(1 2) '#(1 3 4))))

(test-group "a continuation that is entered again finds earlier results unchanged"
  (let ((again #f) (entries 0) (kept '()))
    (let ((result (string-map (lambda (x y)
                                (call-with-current-continuation
                                 (lambda (k)
                                   (if (char=? x #\b) (set! again k))
                                   y)))
                              "abc" "xyz")))
      (set! kept (cons result kept))
      (set! entries (+ entries 1))
      (if (< entries 3) (again (if (= entries 1) #\1 #\2)))
      (test '("x2z" "x1z" "xyz") kept))))

(test-group "searches in strings"
  (test 4 (s:string-index "hello" #\o))
  (test #f (s:string-index "hello" #\o 0 4))
  (test 3 (s:string-index-right "hello" #\l))
  (test 2 (s:string-skip "  x " #\space))
  (test 1 (s:string-skip-right "ab  " (lambda (c) (char=? c #\space))))
  (test 2 (s:string-count "hello" #\l))
  (test "heo" (s:string-delete #\l "hello"))
  (test "ll" (s:string-filter (opaque (lambda (c) (char=? c #\l))) "hello"))
  (test "ll" (s:string-filter "hello" #\l))
  (test "x  " (s:string-trim " x  "))
  (test "" (s:string-trim-both "    "))
  (test "llo" (s:string-pad "hello" 3))
  (test "  λ" (s:string-pad "λ" 3))
  (test 70000 (string-length (s:string-pad-right "a" 70000)))
  (test #t (s:string-prefix? "he" "hello"))
  (test #f (s:string-prefix? "hello" "he"))
  (test #t (s:string-prefix? "xhe" "hello" 1))
  (test #t (s:string-suffix? "lo" "hello"))
  (test #t (s:string= "abc" "xabc" 0 3 1))
  (test "Xbc" (s:string-replace "abc" "X" 0 1))
  (test "Ybc" (s:string-replace "abc" "XYZ" 0 1 1 2))
  (test '("" "a" "" "b" "") (string-split ",a,,b," ","))
  (test '() (string-split "" ","))
  (test '(string-index "argument 1 is not a string") (blamed (s:string-index 'a #\a)))
  (test '(string-prefix? "argument 2 is not a string") (blamed (s:string-prefix? "a" 'a)))
  (test '(string-trim "argument 1 is not a string") (blamed (s:string-trim 5)))
  (test '(string-pad "argument 1 is not a string") (blamed (s:string-pad 5 3)))
  (test '(string-take "argument 1 is not a string") (blamed (s:string-take 5 3)))
  (test 'string-take (car (blamed (s:string-take "abc" 4))))
  (test 'string-take (car (blamed (s:string-take "abc" -1))))
  (test 'string-drop-right (car (blamed (s:string-drop-right "abc" 'a)))))

(test-group "short sorts by primitives"
  (test '(1 5/2 3.5) (list-sort < '(3.5 1 5/2)))
  (test '(1 1. 1 2) (list-sort < '(2 1 1. 1)))
  (test '("a" "b" "c") (list-sort string<? '("c" "a" "b")))
  (test '< (car (blamed (list-sort < '(2 a 1))))))

(test-group "promises"
  (define forces 0)
  (define promise
    (delay
     (begin
       (set! forces (+ forces 1))
       (if (< forces 3)
           (force promise)
           forces))))
  (test 3 (force promise))
  (test 3 (force promise))
  (define (chain n)
    (if (= n 0)
        (delay 'done)
        (delay-force (chain (- n 1)))))
  (test 'done (force (chain 100000)))
  (test '(1 2) (call-with-values (lambda () (force (delay (values 1 2)))) list))
  (test 'delay-force (car (blamed (force (delay-force 5)))))
  (let* ((prints 0)
         (inner (delay (begin (set! prints (+ prints 1)) 'value)))
         (outer (delay-force inner)))
    (test 'value (force outer))
    (test 'value (force inner))
    (test 1 prints)))

(test-finish)
