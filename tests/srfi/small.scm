;;; The small SRFIs: 0, 2, 6, 8, 9, 11, 16, 23, 26, 30, 34, 39, 62, 87, 124, 139.

(import
 (only (scheme base) list cons car cdr + - * = < even? odd? define lambda let let* quote if begin
       not number? equal? string? vector null? map define-syntax syntax-rules syntax-error cond eq?
       set!
       error-object? error-object-message error-object-irritants call-with-current-continuation
       apply)
 (srfi 0) (srfi 2) (srfi 6) (srfi 8) (srfi 9) (srfi 11) (srfi 16) (srfi 23) (srfi 26)
 (srfi 30) (srfi 34) (srfi 39) (srfi 62) (srfi 87) (srfi 124) (srfi 139)
 (only (scheme read) read) (only (scheme write) write)
 (canny test))

(define (split . items)
  (call-with-current-continuation (lambda (k) (apply k items))))

(test-group "srfi 0"
  (test 'yes (cond-expand (srfi-0 'yes) (else 'no)))
  (test 'yes (cond-expand
               ((and srfi-1
                     srfi-6
                     srfi-9
                     srfi-11
                     srfi-16
                     srfi-23
                     srfi-30
                     srfi-34
                     srfi-39
                     srfi-62
                     srfi-69
                     srfi-87)
                'yes)
               (else 'no))))

(test-group "srfi 2"
  (test #t (and-let* ()))
  (test 1 (and-let* ((x 1))))
  (test 3 (and-let* ((x 1) (y (+ x 1))) (+ x y)))
  (test #f (and-let* ((x #f) (y (car x))) y))
  (test 2 (and-let* ((x 2) ((even? x))) x))
  (test #f (and-let* ((x 3) ((even? x))) x))
  (test 5 (let ((z 5)) (and-let* (z) z))))

(test-group "srfi 6"
  (test '(a b) (read (open-input-string "(a b)")))
  (test "(1)" (let ((p (open-output-string))) (write '(1) p) (get-output-string p))))

(test-group "srfi 8"
  (test '(1 (2 3)) (receive (a . b) (split 1 2 3) (list a b)))
  (test '(1 2) (receive all (split 1 2) all)))

(test-group "srfi 9"
  (define-record-type pare (kons x y) pare? (x kar set-kar!) (y kdr))
  (test '(1 2) (let ((k (kons 1 2))) (list (kar k) (kdr k))))
  (test 9 (let ((k (kons 1 2))) (set-kar! k 9) (kar k))))

(test-group "srfi 11"
  (test '(1 2 3) (let-values (((a b) (split 1 2)) ((c) 3)) (list a b c)))
  (test 3 (let*-values (((a b) (split 1 2)) ((c) (+ a b))) c)))

(test-group "srfi 16"
  (test '(0 1 2) (let ((f (case-lambda (() 0) ((a) 1) (r 2)))) (list (f) (f 1) (f 1 2)))))

(test-group "srfi 23"
  (test '("msg" (1 2))
        (guard (e (#t (list (error-object-message e) (error-object-irritants e))))
          (error "msg" 1 2))))

(test-group "srfi 26"
  (test '(1 2) ((cut list 1 <>) 2))
  (test '(1 2 3 4) ((cut list 1 <> 3 <>) 2 4))
  (test '(1 2 3) ((cut list 1 <...>) 2 3))
  (test '(1) ((cut list 1)))
  (test 3 ((cut <> 1 2) +))
  (test '(1 2) ((cute list <> (+ 1 1)) 1))
  (test 1 (let ((n 0)) (let ((f (cute + <> (begin (set! n (+ n 1)) 0)))) (f 1) (f 2) n)))
  (test '(2 3) (map (cut + 1 <>) '(1 2))))

(test-group "srfi 30 and 62"
  (test '(1 3) '(1 #| two #| nested |# |# 3))
  (test '(1 3) '(1 #;(two) 3)))

(test-group "srfi 34"
  (test 'positive (call-with-current-continuation
                   (lambda (k)
                     (with-exception-handler (lambda (e) (k 'positive)) (lambda () (raise 1))))))
  (test 'x (guard (e (#t e)) (raise 'x))))

(test-group "srfi 39"
  (define p (make-parameter 1 (lambda (x) (* x 2))))
  (test '(2 10 2) (let* ((a (p)) (b (parameterize ((p 5)) (p))) (c (p))) (list a b c))))

(test-group "srfi 87"
  (test '(found b) (case 'b ((a b) => (lambda (x) (list 'found x))) (else 'none)))
  (test '(else 3) (case 3 ((1) 1) (else => (lambda (x) (list 'else x))))))

(test-group "srfi 124"
  (define key (list 'key))
  (define e (make-ephemeron key 'datum))
  (test #t (ephemeron? e))
  (test #f (ephemeron? key))
  (test #f (ephemeron-broken? e))
  (test #t (eq? key (ephemeron-key e)))
  (test 'datum (ephemeron-datum e))
  (reference-barrier key))

;; The keyword is not hygienic on purpose, but nothing else is captured.
(define-syntax-parameter it
  (syntax-rules () ((_ . rest) (syntax-error "it: outside of an anaphoric if"))))
(define-syntax aif
  (syntax-rules ()
    ((_ test then else)
     (let ((value test))
       (syntax-parameterize ((it (syntax-rules () ((_) value))))
         (if value then else))))))
(define-syntax twice
  (syntax-rules ()
    ((_) (* 2 (it)))))

(test-group "srfi 139"
  (test 6 (aif 3 (twice) 'none))
  (test '(1 2) (aif 1 (list (it) (aif 2 (it) 'none)) 'none))
  (test 'none (aif #f (it) 'none))
  (test '(5 1) (let ((value 5)) (aif 1 (list value (it)) 'none)))
  (test 7 (let ((variable 7)) (syntax-parameterize ((it variable)) it)))
  (test '(a b) (let ((procedure list))
                 (syntax-parameterize ((it procedure)) (define x 'a) (it x 'b)))))

(test-finish)
