;; SRFI 17: generalized set!.

(import (except (scheme base) set!) (scheme cxr) (srfi 17) (canny test))

(test 5 (let ((x 1)) (set! x 5) x))
(test '(5 . 2) (let ((p (cons 1 2))) (set! (car p) 5) p))
(test '(1 . 5) (let ((p (cons 1 2))) (set! (cdr p) 5) p))
(test '#(1 9) (let ((v (vector 1 2))) (set! (vector-ref v 1) 9) v))
(test "ax" (let ((s (string #\a #\b))) (set! (string-ref s 1) #\x) s))

(define (tree)
  (list (list (list (list 'a 'b) 'c) 'd) (list 'e (list 'x)) (list 'f (list 'g 'h) 'i) 'j 'k))
(define-syntax test-setter
  (syntax-rules ()
    ((_ getter ...)
     (begin (test 'new (let ((t (tree))) (set! (getter t) 'new) (getter t))) ...))))
(test-setter caar cadr cdar cddr caaar caadr cadar caddr cdaar cddar cdddr
             caaaar caaddr cadaar cadddr cdaaar cdaddr cddaar cddddr)
(test '(1 new . 3) (let ((p (cons 1 (cons 2 3)))) (set! (cadr p) 'new) p))

(test #t (eq? (setter car) set-car!))
(define box (make-vector 1 0))
(define (unbox) (vector-ref box 0))
(test-error (setter unbox))
(set! (setter unbox) (lambda (value) (vector-set! box 0 value)))
(set! (unbox) 8)
(test 8 (unbox))
(define first
  (getter-with-setter (lambda (list) (car list)) (lambda (list value) (set-car! list value))))
(test '(3 2) (let ((l (list 1 2))) (set! (first l) 3) l))
(test 1 (first '(1 2)))
(test-error (set! (setter 5) car))
(test-error (getter-with-setter 1 car))

(test-finish)
