(+ 1 2)
; Results have names.
(* $1 $1)
(values 'a "b" #\c)
(list $3 $4 $5)
(values)
(if #f #f)
(define x 5)
x
(display "no end of line")
'done
(iota 60)
(let ((c (list 1 2 3))) (set-cdr! (cddr c) c) c)
(make-vector 5 (make-string 25 #\x))
(define-record-type point (make-point x y) point? (x point-x) (y point-y))
(make-point 1 '(a b))
(make-point (iota 40) (make-point 1 2))
'(define (fact n) (if (= n 0) 1 (* n (fact (- n 1)))) (begin (display "a longer body so that lines are needed")))
,option length 100
(iota 1000)
,pp (iota 50)
,option
,option width 20
'(let loop ((i 0) (j 1)) (loop (+ i 1) (* j 2)))
,option width nonsense
,option colour red
(list (delay 1) (make-promise 2) (delay-force (delay 3)))
(import (srfi 69))
(define table (make-hash-table))
table
(hash-table-set! table 'a '(1 2))
(hash-table-set! table "b" #\c)
(list table)
(hash-table-set! table 'self table)
table
(write table)
(begin (do ((i 0 (+ i 1))) ((= i 30)) (hash-table-set! table i (* i i))) table)
,option length 3000
(hash-table-delete! table 'self)
(hash-table-ref table 3)
(list 'deep table)
(a) b) c
