;; SRFI 131: records with inheritance.

(import (except (scheme base) define-record-type) (srfi 131) (canny test))

(define-record-type pare (kons x y) pare? (x kar set-kar!) (y kdr))
(test '(1 2) (let ((p (kons 1 2))) (list (kar p) (kdr p))))
(test '(3 #t #f) (let ((p (kons 1 2))) (set-kar! p 3) (list (kar p) (pare? p) (pare? 5))))
(define-record-type (triple pare) (make-triple y z x) triple? (z third set-third!))
(define t (make-triple 2 3 1))
(test '(1 2 3 #t #t #f) (list (kar t) (kdr t) (third t) (pare? t) (triple? t) (triple? (kons 1 2))))
(set-kar! t 10)
(set-third! t 30)
(test '(10 30) (list (kar t) (third t)))
;; A bare constructor takes all fields, the parent's first.
(define-record-type (quad triple) make-quad #f (w fourth))
(test '(1 2 3 4) (let ((q (make-quad 1 2 3 4))) (list (kar q) (kdr q) (third q) (fourth q))))
(define-record-type base #f base? (tag tag))
(define-record-type (derived base) (make-derived tag) derived?)
(test '(#t t) (let ((d (make-derived 't))) (list (base? d) (tag d))))
;; A field of a child has its own slot.
(define-record-type (shadow pare) (make-shadow x) shadow? (x shadow-x))
(test 5 (shadow-x (make-shadow 5)))
(test-error (third (kons 1 2)))
(test-error (kar 5))

(test-finish)
