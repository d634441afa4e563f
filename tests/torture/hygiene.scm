;;; Torture: hygiene of syntax-rules.

(import (scheme base) (canny test))

(test-group "binding captures"
  (define-syntax my-or
    (syntax-rules () ((_) #f) ((_ e) e) ((_ e r ...) (let ((t e)) (if t t (my-or r ...))))))
  (test 5 (let ((t 5)) (my-or #f t)))
  (test 5 (let ((t 5) (let list) (if vector)) (my-or #f t)))
  (test '(1 2 3)
        (let ((x 1))
          (let-syntax ((m (syntax-rules ()
                            ((_ y)
                             (let ((x 2))
                               (let-syntax ((n
                                             (syntax-rules () ((_ z) (let ((x 3)) (list y z x))))))
                                 (n x)))))))
            (m x))))
  (define-syntax for
    (syntax-rules ()
      ((_ (v from to) body ...)
       (let loop ((v from)) (if (< v to) (begin body ... (loop (+ v 1))))))))
  (test '(5 4 3 2 1 0) (let ((loop '()) (if 'x)) (for (i 0 6) (set! loop (cons i loop))) loop))
  (define-syntax while (syntax-rules () ((_ c b ...) (let lp () (when c b ... (lp))))))
  (test '(10 0)
        (let ((lp 0) (n 10)) (while (> n 0) (set! lp (+ lp 1)) (set! n (- n 1))) (list lp n)))
  (define-syntax let2 (syntax-rules () ((_ a b body) (let ((x a)) (let ((y b)) body)))))
  (test '(1 2) (let ((x 1) (y 2)) (let2 10 20 (list x y))))
  (define-syntax my-let (syntax-rules () ((_ ((n v) ...) . body) ((lambda (n ...) . body) v ...))))
  (test 3 (let ((lambda list)) (my-let ((a 1) (b 2)) (+ a b)))))

(test-group "referential transparency"
  (define helper (lambda (x) (list 'helper x)))
  (define-syntax call-helper (syntax-rules () ((_ x) (helper x))))
  (test '(helper 1) (let ((helper (lambda (x) 'wrong))) (call-helper 1)))
  (define-syntax inc! (syntax-rules () ((_ v) (set! v (+ v 1)))))
  (test 2 (let ((+ *) (v 1)) (inc! v) v))
  (define global 'global)
  (define-syntax get-global (syntax-rules () ((_) global)))
  (define-syntax set-global (syntax-rules () ((_ v) (set! global v))))
  (test 'new (let ((global 'local)) (set-global 'new) (get-global)))
  (test 'local (let ((global 'local)) (set-global 'other) global))
  (define-syntax quoted (syntax-rules () ((_ x) '(x sym))))
  (test '(a sym) (let ((sym 1)) (quoted a)))
  (test 'x (let-syntax ((m (syntax-rules () ((_) 'x)))) (let ((x 1)) (m)))))

(test-group "macros that make bindings"
  (define-syntax def-getter
    (syntax-rules () ((_ name v) (begin (define secret v) (define (name) secret)))))
  (def-getter get-one 1)
  (def-getter get-two 2)
  (test '(1 2) (list (get-one) (get-two)))
  (test-error (eval-free-secret))
  (test '(3 outer) (let ((secret 'outer)) (def-getter get-three 3) (list (get-three) secret)))
  (define-syntax def-all (syntax-rules () ((_ (n v) ...) (begin (define n v) ...))))
  (def-all (da 1) (db 2) (dc 3))
  (test 6 (+ da db dc))
  (define-syntax def-record-like
    (syntax-rules ()
      ((_ make get field) (begin (define-record-type rec (make field) rec? (field get))))))
  (def-record-like make-a a-value value)
  (def-record-like make-b b-value value)
  (test '(1 2) (list (a-value (make-a 1)) (b-value (make-b 2))))
  (test-error (a-value (make-b 2)))
  (define-syntax temps
    (syntax-rules () ((_ (a b) ...) (let-values (((a b) (values 1 2)) ...) (list a ... b ...)))))
  (test '(1 1 2 2) (temps (w x) (y z)))
  (define-syntax gen-temps
    (syntax-rules ()
      ((_ () ((t e) ...)) (let ((t e) ...) (list t ...)))
      ((_ (e rest ...) (done ...)) (gen-temps (rest ...) (done ... (tmp e))))))
  (test '(1 2 3) (gen-temps (1 2 3) ()))
  (define-syntax my-letrec
    (syntax-rules ()
      ((_ "temps" () ((v i t) ...) body ...)
       (let ((v #f) ...) (let ((t i) ...) (set! v t) ... (let () body ...))))
      ((_ "temps" ((v i) rest ...) (done ...) body ...)
       (my-letrec "temps" (rest ...) (done ... (v i temp)) body ...))
      ((_ ((v i) ...) body ...) (my-letrec "temps" ((v i) ...) () body ...))))
  (test #t (my-letrec
            ((ev? (lambda (n) (or (= n 0) (od? (- n 1)))))
             (od? (lambda (n) (and (> n 0) (ev? (- n 1))))))
            (ev? 100))))

(test-group "macros that make macros"
  (define-syntax def-alias
    (syntax-rules () ((_ new old) (define-syntax new (syntax-rules () ((_ . args) (old . args)))))))
  (def-alias my-if if)
  (test 'yes (my-if #t 'yes (error "evaluated")))
  (def-alias my-define define)
  (my-define via-alias 7)
  (test 7 via-alias)
  (define-syntax def-constant-macro
    (syntax-rules () ((_ n v) (define-syntax n (syntax-rules () ((_) v))))))
  (define x 'outer)
  (def-constant-macro get-x x)
  (test 'outer (let ((x 'inner)) (get-x)))
  (define-syntax def-adder
    (syntax-rules ()
      ((_ n k) (define-syntax n (syntax-rules () ((_ e (... ...)) (list (+ e k) (... ...))))))))
  (def-adder add-ten 10)
  (test '(11 12) (add-ten 1 2))
  (define-syntax nest
    (syntax-rules ()
      ((_ a)
       (let-syntax ((m1 (syntax-rules ()
                          ((_ b)
                           (let-syntax ((m2 (syntax-rules () ((_ c) (list a b c))))) (m2 3))))))
         (m1 2)))))
  (test '(1 2 3) (nest 1))
  (test 'ok (let-syntax ((foo (syntax-rules ()
                                ((_ e) (let-syntax ((bar (syntax-rules () ((_) e)))) (bar))))))
              (let ((bar 'ok)) (foo bar)))))

(test-group "shadowed keywords"
  (test '(1 2) (let ((if list)) (if 1 2)))
  (test 3 (let ((define +)) (define 1 2)))
  (test 6 (let () (define (begin a b c) (+ a b c)) (begin 1 2 3)))
  (test 'shadow (let ((else #f)) (cond (else 'wrong) (#t 'shadow))))
  (test 'fn (let ((let (lambda (x) 'fn))) (let 1)))
  (test '(lambda x) (let ((lambda (lambda (a) (list 'lambda a))) (x 'x)) (lambda x)))
  (test 5 (let-syntax ((let (syntax-rules () ((_ x) x)))) (let 5)))
  (test 'inner (let-syntax ((if (syntax-rules () ((_ a b c) 'inner)))) (if 1 2 3)))
  (define-syntax use-if (syntax-rules () ((_ a b c) (if a b c))))
  (test 'b (let-syntax ((if (syntax-rules () ((_ a b c) 'inner)))) (use-if #t 'b 'c)))
  (define-syntax is-else (syntax-rules (else) ((_ else) #t) ((_ x) #f)))
  (test #t (is-else else))
  (test #f (let ((else 1)) (is-else else)))
  (test #f (let-syntax ((else (syntax-rules ()))) (is-else else))))

(test-group "large expansions"
  (define-syntax repeat16 (syntax-rules () ((_ e) (begin e e e e e e e e e e e e e e e e))))
  (test 4096 (let ((n 0)) (repeat16 (repeat16 (repeat16 (set! n (+ n 1))))) n))
  (define-syntax count-up (syntax-rules () ((_ () n) n) ((_ (x . r) n) (count-up r (+ n 1)))))
  (test 60 (count-up
            (a b c d e f g h i j a b c d e f g h i j a b c d e f g h i j a b c d e f g h i j a b c d
               e f g h i j a b c d e f g h i j)
            0))
  (define-syntax my-quote-list (syntax-rules () ((_ x ...) (list 'x ...))))
  (test 200 (length (apply append (map (lambda (i) (my-quote-list a b c d e f g h i j))
                                       (make-list 20 0))))))

(test-finish)
