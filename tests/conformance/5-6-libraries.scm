;;; R7RS 5.6: libraries.  The libraries are defined in the program itself.

(define-library (conformance stack)
  (export make-stack push! pop! (rename stack-empty? empty?) pushes)
  (import (scheme base))
  (begin
    (define pushes 0)
    (define (make-stack) (list '()))
    (define (stack-empty? s) (null? (car s)))
    (define (push! s x) (set! pushes (+ pushes 1)) (set-car! s (cons x (car s)))))
  (begin
    (define (pop! s) (let ((x (caar s))) (set-car! s (cdar s)) x))))

(define-library (conformance macros)
  (export my-unless hidden-counter kind)
  (import (scheme base))
  (begin
    (define counter 0)
    (define (bump!) (set! counter (+ counter 1)) counter)
    (define-syntax hidden-counter (syntax-rules () ((_) (bump!))))
    (define-syntax my-unless (syntax-rules () ((_ c e ...) (if c #f (begin e ...)))))
    (define-syntax kind (syntax-rules (else) ((_ else) 'keyword) ((_ x) 'other)))))

(define-library (conformance numbered 1)
  (cond-expand
    (r7rs (export version))
    (else (export other)))
  (import (scheme base))
  (cond-expand
    ((library (conformance no such)) (begin (define version 'wrong)))
    ((and r7rs (library (scheme base))) (begin (define version 'right)))
    (else (begin (define version 'wrong)))))

(define-library (conformance reexport)
  (export (rename push! put!) make-stack)
  (import (only (conformance stack) push! make-stack)))

(define-library (conformance including)
  (export included-name included-square)
  (import (scheme base))
  (include "include/definitions.scm"))

(define-library (conformance records)
  (export make-thing thing? thing-size)
  (import (scheme base))
  (begin (define-record-type thing (make-thing size) thing? (size thing-size))))

(import (scheme base)
        (conformance stack)
        (conformance macros)
        (rename (conformance numbered 1) (version number-version))
        (prefix (conformance reexport) re:)
        (conformance including)
        (prefix (except (conformance records) thing?) r-)
        (canny test))

(test-group "5.6 libraries"
  (define s (make-stack))
  (test #t (empty? s))
  (push! s 1)
  (push! s 2)
  (test 2 (pop! s))
  (test #f (empty? s))
  (re:put! s 9)
  (test 9 (pop! s))
  (test 'ok (my-unless #f 'ok))
  (test #f (my-unless #t 'ok))
  (test 'ok (let ((if list)) (my-unless #f 'ok)))
  (test '(1 2) (let* ((a (hidden-counter)) (b (hidden-counter))) (list a b)))
  (test 'keyword (kind else))
  (test 'other (let ((else 1)) (kind else)))
  (test 'right number-version)
  (test 'included included-name)
  (test 16 (included-square 4))
  (test 5 (r-thing-size (r-make-thing 5)))
  (test #t (procedure? re:make-stack)))

(test-finish)
