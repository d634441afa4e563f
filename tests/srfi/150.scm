;; SRFI 150: hygienic ERR5RS record syntax.

(import (except (scheme base) define-record-type) (srfi 150) (canny test))

(define-record-type <pare> (kons x y) pare? (x kar set-kar!) (y kdr))
(test '(1 2 #t #f) (let ((p (kons 1 2))) (list (kar p) (kdr p) (pare? p) (pare? 5))))
(test 3 (let ((p (kons 1 2))) (set-kar! p 3) (kar p)))
(define-record-type (<triple> <pare>) (make-triple z y x) triple? (z third))
(test '(3 2 1 #t #t #f)
      (let ((t (make-triple 1 2 3)))
        (list (kar t) (kdr t) (third t) (pare? t) (triple? t) (triple? (kons 1 2)))))
(define-record-type (<quad> <triple>) make-quad #f (w fourth))
(test '(1 2 3 4) (let ((q (make-quad 1 2 3 4))) (list (kar q) (kdr q) (third q) (fourth q))))
;; Accessors name fields, own and inherited ones; own names come first.
(define-record-type <r> (make-r x y get-z) r? (x get-x) (y x) (z get-z))
(test '(1 2 3) (let ((r (make-r 1 2 3))) (list (get-x r) (x r) (get-z r))))
(define-record-type (<s> <r>) (make-s get-x mine) #f (mine s-mine))
(test '(1 2) (let ((s (make-s 1 2))) (list (get-x s) (s-mine s))))
;; Constants as names.
(define-record-type <c> (make-c 1 "two" #\3) #f (1 c-1) ("two" c-2) (#\3 c-3))
(test '(a b c) (let ((c (make-c 'a 'b 'c))) (list (c-1 c) (c-2 c) (c-3 c))))
(define-record-type (<d> <c>) (make-d "two" own) #f (own d-own))
(test '(a b) (let ((d (make-d 'a 'b))) (list (c-2 d) (d-own d))))
;; A field of a child hides its parent's.
(define-record-type (<shadow> <pare>) (make-shadow x) shadow? (x shadow-x))
(test 5 (shadow-x (make-shadow 5)))
(define-record-type (#f #f) (make-anonymous v) anonymous? (v anonymous-v))
(test '(1 #t) (let ((a (make-anonymous 1))) (list (anonymous-v a) (anonymous? a))))
;; Names that a macro inserts are other names.
(define-syntax define-two
  (syntax-rules ()
    ((_ b make get-a get-b)
     (define-record-type <two> (make a b) two? (a get-a) (b get-b)))))
(define-two a make-two two-a two-b)
(test '(1 2) (let ((t (make-two 1 2))) (list (two-a t) (two-b t))))
(define a #f)
(define-two a make-two* two-a* two-b*)
(test '(1 2) (let ((t (make-two* 1 2))) (list (two-a* t) (two-b* t))))
(test-error (kar 5))
(test-error (kons 1))

(test-finish)
