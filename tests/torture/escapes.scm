;;; Torture: escape procedures, and what captures and unwinding do to the frames that they name.

(import (scheme base) (only (canny base) call/ec let/ec collect-garbage condition-kind)
        (canny test))

(define (kind-of thunk)
  (guard (e ((error-object? e) (condition-kind e)))
    (thunk)
    'nothing))

(define (sum-down n) (if (= n 0) 0 (+ n (sum-down (- n 1)))))

(test-group "escapes"
  (test 42 (call/ec (lambda (k) (+ 1 (k 42)))))
  (test 42 (call/ec (lambda (k) 42)))
  (test 43 (+ 1 (call/ec (lambda (k) (let loop ((i 0)) (if (= i 1000) (k 42) (loop (+ i 1))))))))
  (test-values (1 2 3) (call/ec (lambda (k) (k 1 2 3))))
  (test-values () (call/ec (lambda (k) (k))))
  (test '(1 2 3) (let/ec outer (list 1 (let/ec inner (outer (list 1 (inner 2)) 'never)) 3)))
  (test '(inner outer)
        (let/ec outer
          (list (let/ec inner (inner 'inner)) (let/ec inner 'outer))))
  ;; From another procedure's handler of elements.
  (test 3 (let/ec return (for-each (lambda (x) (if (odd? x) (return x))) '(2 4 3 5)) 'none))
  ;; Each escape leaves its own activation of the same call.
  (test '(-1 0 1 2 done)
        (let nest ((n 0) (outer #f))
          (let ((r (let/ec k (if (= n 4) (outer '(done)) (nest (+ n 1) k)))))
            (cons (- n 1) r)))))

(test-group "escapes out of deep recursion"
  (define (search n k) (if (= n 0) (k 'found) (+ 1 (search (- n 1) k))))
  (test 'found (let/ec k (search 100000 k)))
  (test 'found (let/ec k (search 1000000 k)))
  (test 5050 (begin (let/ec k (search 100000 k)) (sum-down 100)))
  ;; With a collection below, which puts a barrier on the stack.
  (define (search-collecting n k)
    (if (= n 0)
        (begin (collect-garbage) (k (list 'found n)))
        (+ 1 (search-collecting (- n 1) k))))
  (test '(found 0) (let/ec k (search-collecting 100000 k)))
  (define (search-in-part n k)
    (if (= n 0)
        (begin
          (collect-garbage)
          (let/ec inner (+ 1 (search-in-part-again 3000 inner)))
          (k 'found))
        (+ 1 (search-in-part (- n 1) k))))
  (define (search-in-part-again n k)
    (if (= n 0) (k 1) (+ 1 (search-in-part-again (- n 1) k))))
  (test 'found (let/ec k (search-in-part 3000 k)))
  (define (collect-below n)
    (if (= n 0)
        (let/ec k (collect-garbage) (k 0))
        (+ 1 (collect-below (- n 1)))))
  (test 3001 (let/ec k (+ 1 (collect-below 3000)))))

(test-group "a stale escape is an error"
  (define kept #f)
  (test 1 (let/ec k (set! kept k) 1))
  (test 'escape (kind-of (lambda () (kept 2))))
  ;; From the very place where the call was, and with a later call of it under way.
  (test 'escape (kind-of (lambda () (let/ec k (set! kept k)) (let/ec other (kept 2)))))
  (test 'escape (kind-of (lambda ()
                           (define (again n)
                             (let/ec k
                               (if (= n 0)
                                   (set! kept k)
                                   (kept n))))
                           (again 0)
                           (again 1))))
  (test 'escape (kind-of (lambda () ((call/ec (lambda (k) k)) 1))))
  (test 'escape (kind-of (lambda () (let ((k (call/ec (lambda (k) k)))) (list k k (k 1))))))
  ;; It has run no winder and changed nothing.
  (test '(in error out)
        (let ((log '()))
          (define (note x) (set! log (cons x log)))
          (let/ec k (set! kept k))
          (guard (e ((error-object? e) (note 'late)))
            (dynamic-wind
             (lambda () (note 'in))
             (lambda () (guard (e ((error-object? e) (note 'error))) (kept 1)))
             (lambda () (note 'out))))
          (reverse log)))
  (test 'escape (kind-of (lambda () (sum-down 1000) (call/cc (lambda (c) (kept 1)))))))

(test-group "escapes after the frames were sealed"
  (test '(1 . escaped)
        (cons 1 (let/ec k (call/cc (lambda (c) (k 'escaped))))))
  (test 'escaped
        (let/ec k (+ 1 (call/cc (lambda (c) (+ 1 (call/cc (lambda (d) (+ 1 (k 'escaped))))))))))
  (test 'escaped
        (let/ec k
          (define (down n) (if (= n 0) (k 'escaped) (+ 1 (call/cc (lambda (c) (down (- n 1)))))))
          (down 10000)))
  (test 'escaped
        (let/ec k
          (define (down n)
            (if (= n 0) (call/cc (lambda (c) (collect-garbage) (k 'escaped))) (+ 1 (down (- n 1)))))
          (+ 1 (down 100000))))
  ;; Sealed, and partly brought back again.
  (test '(escaped 7)
        (let ((result
               (let/ec k
                 (define (down n)
                   (cond ((= n 0) (call/cc (lambda (c) 0)))
                         ((= n 500) (k (list 'escaped (begin (down (- n 1)) 7))))
                         (else (+ 1 (down (- n 1))))))
                 (down 1000))))
          result))
  (test 'escape
        (let ((kept #f))
          (let/ec k (set! kept k) (call/cc (lambda (c) c)))
          (kind-of (lambda () (sum-down 10) (kept 1))))))

(test-group "escapes and continuations"
  ;; A continuation captured in the extent of an escape brings the extent back.
  (test '(2 1 0)
        (let ((again #f) (count 0) (seen '()))
          (let ((x (let/ec k
                     (let ((n (call/cc (lambda (c) (set! again c) 0))))
                       (k n)))))
            (set! seen (cons x seen))
            (set! count (+ count 1))
            (if (< count 3) (again count) seen))))
  ;; An escape whose call has returned, called from such a continuation, works; from outside it does
  ;; not.
  (test '(escape inside)
        (let ((again #f) (kept #f) (count 0) (seen '()))
          (let ((x (let/ec k
                     (set! kept k)
                     (if (call/cc (lambda (c) (set! again c) #f))
                         (kept 'inside)
                         'first))))
            (if (eq? x 'first)
                (begin
                  (set! seen (list (kind-of (lambda () (kept 'outside)))))
                  (again #t))
                (append seen (list x))))))
  ;; Generators: the consumer is left by an escape while the producer is suspended.
  (test '(0 1 2 3 4 5)
        (let ((resume #f) (return #f))
          (define (produce)
            (let loop ((i 0)) (call/cc (lambda (k) (set! resume k) (return i))) (loop (+ i 1))))
          (define (next)
            (call/cc (lambda (k) (set! return k) (if resume (resume #f) (produce)))))
          (let/ec stop
            (let loop ((all '()))
              (let ((x (next)))
                (if (> x 5) (stop (reverse all)) (loop (cons x all)))))))))

(test-group "escapes and dynamic-wind"
  (define log '())
  (define (note x) (set! log (cons x log)))
  (define-syntax logged
    (syntax-rules () ((_ e) (begin (set! log '()) (let ((value e)) (list value (reverse log)))))))
  (test '(1 (in out))
        (logged (let/ec k
                  (dynamic-wind (lambda () (note 'in)) (lambda () (k 1)) (lambda () (note 'out))))))
  (test '(1 (in1 in2 out2 out1))
        (logged
         (let/ec k
           (dynamic-wind
            (lambda () (note 'in1))
            (lambda ()
              (dynamic-wind (lambda () (note 'in2)) (lambda () (sum-down 10) (k 1))
                            (lambda () (note 'out2))))
            (lambda () (note 'out1))))))
  ;; Escaping from an after thunk.
  (test '(2 (in out))
        (logged
         (let/ec k
           (let/ec j
             (dynamic-wind (lambda () (note 'in)) (lambda () (j 1))
                           (lambda () (note 'out) (k 2)))))))
  ;; The after thunks capture and return; the frame escaped to is sealed then.
  (test '(1 (in captured))
        (logged
         (let/ec k
           (dynamic-wind
            (lambda () (note 'in))
            (lambda () (k 1))
            (lambda () (call/cc (lambda (c) (note 'captured) (c #f))))))))
  ;; An escape inside the extent runs nothing.
  (test '(1 (in body out))
        (logged
         (dynamic-wind
          (lambda () (note 'in))
          (lambda () (let/ec k (note 'body) (k 1)))
          (lambda () (note 'out)))))
  ;; Parameters and handlers are those of the call.
  (test '(0 1 0)
        (let ((p (make-parameter 0)))
          (list (let/ec k (parameterize ((p 1)) (k (p))) 'never)
                1 (p))
          (let* ((a (p)) (b (let/ec k (parameterize ((p 1)) (k (p))))) (c (p))) (list a b c))))
  (test '(outer caught)
        (let ((k2 #f))
          (guard (e (#t (list 'outer e)))
            (let/ec k
              (guard (e (#f 'never))
                (k 1)))
            (raise 'caught)))))

(test-group "escapes and exceptions"
  (test 'handled
        (let/ec k (with-exception-handler (lambda (e) (k 'handled)) (lambda () (car 1)))))
  (test 'handled
        (let/ec k (with-exception-handler (lambda (e) (k 'handled)) (lambda () (+ 1 (raise 'x))))))
  (test '(handled 7)
        (let/ec k
          (with-exception-handler
            (lambda (e) (k (list 'handled (call/cc (lambda (c) (c e))))))
            (lambda () (+ 1 (raise-continuable 7))))))
  ;; From within the handler of a guard's body, past the guard.
  (test 'far
        (let/ec k
          (guard (e (#t 'near))
            (with-exception-handler (lambda (e) (k 'far)) (lambda () (raise 'x))))))
  (test '(1 2 3)
        (let/ec k
          (guard (e ((string? e) 'never))
            (guard (e ((pair? e) (k e)))
              (guard (e ((symbol? e) (raise (list 1 2 3))))
                (raise 'x))))))
  ;; Guards without else look at the clauses outside and raise again inside.
  (test '(42 (in out in out))
        (let ((log '()))
          (define (note x) (set! log (cons x log)))
          (let ((value
                 (with-exception-handler
                   (lambda (e) 42)
                   (lambda ()
                     (guard (e ((string? e) 'never))
                       (dynamic-wind
                        (lambda () (note 'in))
                        (lambda () (raise-continuable 'x))
                        (lambda () (note 'out))))))))
            (list value (reverse log)))))
  ;; A continuation enters the body of a guard again after the guard has returned.
  (test '(caught (0 1 2))
        (let ((again #f) (seen '()))
          (let ((value
                 (guard (e ((eq? e 'enough) 'caught))
                   (let ((n (call/cc (lambda (c) (set! again c) 0))))
                     (if (= n 3) (raise 'enough))
                     n))))
            (if (number? value)
                (begin (set! seen (cons value seen)) (again (+ value 1)))
                (list value (reverse seen))))))
  (test 1000
        (let loop ((i 0) (caught 0))
          (if (= i 1000)
              caught
              (loop (+ i 1) (+ caught (guard (e (#t e)) (let/ec k (raise 1)))))))))

(test-group "generators"
  (define (tree->generator tree)
    (define return #f)
    (define (walk tree)
      (if (pair? tree)
          (begin (walk (car tree)) (walk (cdr tree)))
          (call/cc (lambda (rest) (set! resume (lambda () (rest #f))) (return tree)))))
    (define (resume) (walk tree) (return 'end))
    (lambda () (call/cc (lambda (k) (set! return k) (resume)))))
  (define (make-tree depth) (if (= depth 0) depth (cons (make-tree (- depth 1)) depth)))
  (define (drain generator)
    (let loop ((n 0)) (if (eq? (generator) 'end) n (loop (+ n 1)))))
  (test 10001 (drain (tree->generator (make-tree 10000))))
  ;; The same point of a generator is entered twice.
  (test '((a b c end) (b c end) (b c end))
        (let ((points '()) (return #f))
          (define (produce list)
            (for-each (lambda (x) (call/cc (lambda (k) (set! points (cons k points)) (return x))))
                      list)
            (return 'end))
          (define (start) (call/cc (lambda (k) (set! return k) (produce '(a b c)))))
          (define (from point) (call/cc (lambda (k) (set! return k) (point #f))))
          (define (rest)
            (let loop () (let ((x (from (car points)))) (if (eq? x 'end) '(end) (cons x (loop))))))
          (let* ((first (start)) (point (car points)) (whole (cons first (rest))))
            (set! points (list point))
            (let ((second (rest)))
              (set! points (list point))
              (collect-garbage)
              (list whole second (rest))))))
  ;; A capture of 1e5 frames, entered twice.
  (test '(100000 100001 100002)
        (let ((k #f) (results '()))
          (define (deep d) (if (= d 0) (call/cc (lambda (c) (set! k c) 0)) (+ 1 (deep (- d 1)))))
          (let ((v (deep 100000)))
            (set! results (cons v results))
            (collect-garbage)
            (if (< (length results) 3) (k (length results)) (reverse results)))))
  ;; A loop that captures keeps nothing of what it captured before.
  (test 300000
        (let loop ((i 0))
          (if (= i 300000) i (begin (+ 1 (call/cc (lambda (k) (k 1)))) (loop (+ i 1))))))
  (test 300000
        (let loop ((i 0))
          (if (= i 300000) i (call/cc (lambda (k) (loop (+ i 1))))))))

(test-finish)
