;;; Torture: proper tail calls.  Each loop would exhaust any stack if its call were not a tail call.

(import (scheme base) (scheme case-lambda) (scheme lazy) (scheme eval) (scheme repl) (canny test))

(define count 1000000)

(test-group "syntax"
  (test 'if (let loop ((n count)) (if (= n 0) 'if (loop (- n 1)))))
  (test 'cond (let loop ((n count)) (cond ((= n 0) 'cond) (else (loop (- n 1))))))
  (test 'cond-arrow (let loop ((n count)) (cond ((= n 0) 'cond-arrow) ((- n 1) => loop))))
  (test 'case (let loop ((n count)) (case n ((0) 'case) (else (loop (- n 1))))))
  (test 'case-arrow
        (let loop ((n count)) (case n ((0) 'case-arrow) (else => (lambda (m) (loop (- m 1)))))))
  (test 'and (let loop ((n count)) (or (and (= n 0) 'and) (and #t (loop (- n 1))))))
  (test 'or (let loop ((n count)) (or (and (= n 0) 'or) (loop (- n 1)))))
  (test 'when (let loop ((n count)) (if (= n 0) 'when (when #t (loop (- n 1))))))
  (test 'unless (let loop ((n count)) (if (= n 0) 'unless (unless #f (loop (- n 1))))))
  (test 'begin (let loop ((n count)) (begin n (if (= n 0) 'begin (loop (- n 1))))))
  (test 'let (let loop ((n count)) (let ((m (- n 1))) (if (< m 0) 'let (loop m)))))
  (test 'let* (let loop ((n count)) (let* ((a n) (m (- a 1))) (if (< m 0) 'let* (loop m)))))
  (test 'letrec
        (let loop ((n count)) (letrec ((f (lambda () (loop (- n 1))))) (if (= n 0) 'letrec (f)))))
  (test 'let-values
        (let loop ((n count))
          (let-values (((a b) (values n 1))) (if (= a 0) 'let-values (loop (- a b))))))
  (test 'let-syntax
        (let loop ((n count))
          (let-syntax ((go (syntax-rules () ((_ e) (loop e)))))
            (if (= n 0) 'let-syntax (go (- n 1))))))
  (test 'do (let loop ((n count)) (if (= n 0) 'do (do ((i 0 (+ i 1))) ((= i 1) (loop (- n 1)))))))
  (test 'body
        (let loop ((n count)) (define m (- n 1)) (define (go) (loop m)) (if (= n 0) 'body (go))))
  (test 'case-lambda
        (letrec ((f (case-lambda ((n) (if (= n 0) 'case-lambda (f (- n 1) 'x))) ((n x) (f n)))))
          (f count)))
  (test 'guard-clause
        (let loop ((n 100000))
          (if (= n 0) 'guard-clause (guard (e (#t (loop (- n 1)))) (raise n)))))
  (test 'guard-without-else
        (let loop ((n 100000))
          (if (= n 0) 'guard-without-else (guard (e ((number? e) (loop (- n 1)))) (raise n))))))

(test-group "procedures"
  (test 'apply (let loop ((n count)) (if (= n 0) 'apply (apply loop (list (- n 1))))))
  (test 'apply-spread
        (letrec ((f (lambda (n a b) (if (= n 0) 'apply-spread (apply f (- n 1) (list a b))))))
          (f count 1 2)))
  (test 'call-with-values
        (let loop ((n count))
          (if (= n 0) 'call-with-values (call-with-values (lambda () (values (- n 1))) loop))))
  (test 'call/cc (let loop ((n count)) (if (= n 0) 'call/cc (call/cc (lambda (k) (loop (- n 1)))))))
  (test 'call/cc-direct
        (letrec ((f (lambda (n) (if (= n 0) 'call/cc-direct (call/cc (lambda (k) (f (- n 1))))))))
          (f count)))
  (test 'throw (let loop ((n count)) (if (= n 0) 'throw (loop (call/cc (lambda (k) (k (- n 1))))))))
  (test 'mutual (letrec ((a (lambda (n) (if (= n 0) 'mutual (b (- n 1)))))
                         (b (lambda (n) (if (= n 0) 'mutual (c (- n 1)))))
                         (c (lambda (n) (if (= n 0) 'mutual (a (- n 1))))))
                  (a count)))
  (test 'cps (letrec ((f (lambda (n k) (if (= n 0) (k 'cps) (f (- n 1) (lambda (v) (k v)))))))
               (f count (lambda (v) v))))
  (test 'rest
        (letrec ((f (lambda (n . rest) (if (= n 0) 'rest (apply f (- n 1) n rest))))) (f 1000)))
  (test 'arity-up
        (letrec ((f (lambda (n) (if (= n 0) 'arity-up (g n 1 2 3 4 5 6 7 8))))
                 (g (lambda (n a b c d e f2 g2 h) (f (- n 1)))))
          (f count)))
  (test 'promise
        (force (let loop ((n 100000)) (if (= n 0) (delay 'promise) (delay-force (loop (- n 1)))))))
  (test 'stored
        (let ((cell #f)) (set! cell (lambda (n) (if (= n 0) 'stored (cell (- n 1))))) (cell count)))
  (test 'vector (let ((table (vector #f #f)))
                  (vector-set! table 0
                               (lambda (n) (if (= n 0) 'vector ((vector-ref table 1) (- n 1)))))
                  (vector-set! table 1
                               (lambda (n) (if (= n 0) 'vector ((vector-ref table 0) (- n 1)))))
                  ((vector-ref table 0) count)))
  (eval '(define (eval-loop n)
          (if (= n 0) 'eval (eval (list 'eval-loop (- n 1)) (interaction-environment))))
        (interaction-environment))
  (test 'eval (eval '(eval-loop 2000) (interaction-environment))))

(test-group "deep recursion"
  (define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
  (test 1000000 (deep 1000000))
  (define (build n) (if (= n 0) '() (cons n (build (- n 1)))))
  (test 1000000 (length (build 1000000)))
  (define (even-deep? n) (if (= n 0) #t (not (odd-deep? (- n 1)))))
  (define (odd-deep? n) (if (= n 0) #t (not (even-deep? (- n 1)))))
  (test #t (boolean? (even-deep? 300000)))
  (test 500 (let loop ((i 0)) (if (= i 500) i (begin (deep 1000) (loop (+ i 1)))))))

(test-finish)
