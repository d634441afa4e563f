;;; Torture: generators, loops of the library entered again, deep stacks, handlers and winders
;;; together.

(import (scheme base) (scheme char) (scheme lazy) (scheme write) (canny test))

(define log '())
(define (note x) (set! log (cons x log)))
(define-syntax logged
  (syntax-rules () ((_ body ...) (begin (set! log '()) body ... (reverse log)))))
(define-syntax wound
  (syntax-rules ()
    ((_ name body ...)
     (dynamic-wind (lambda () (note (list 'in 'name))) (lambda () body ...)
                   (lambda () (note (list 'out 'name)))))))

(define (iota n) (let loop ((i (- n 1)) (l '())) (if (< i 0) l (loop (- i 1) (cons i l)))))

;; Generators.  `walk` calls its argument once per element; the generator leaves the walk at each
;; element and enters it again for the next.

(define done (list 'done))
(define (walk->generator walk)
  (define return #f)
  (define (resume ignored)
    (walk (lambda (element)
            (call/cc (lambda (next) (set! resume next) (return element)))))
    (set! resume (lambda (ignored) (return done)))
    (return done))
  (lambda () (call/cc (lambda (k) (set! return k) (resume #f)))))

(define (collect generator)
  (let loop ((elements '()))
    (let ((element (generator)))
      (if (eq? element done) (reverse elements) (loop (cons element elements))))))

;; Two generators taken in turns.
(define (interleave a b)
  (let loop ((elements '()))
    (let* ((x (a)) (y (b)))
      (if (or (eq? x done) (eq? y done)) (reverse elements) (loop (cons y (cons x elements)))))))

(test-group "generators across procedures of the library"
  (test '(1 2 3) (collect (walk->generator (lambda (yield) (for-each yield '(1 2 3))))))
  (test '(1 2 3) (collect (walk->generator (lambda (yield) (map yield '(1 2 3))))))
  (test '(1 2 3) (collect (walk->generator (lambda (yield) (vector-for-each yield #(1 2 3))))))
  (test '(1 2 3) (collect (walk->generator (lambda (yield) (vector-map yield #(1 2 3))))))
  (test '(#\a #\b) (collect (walk->generator (lambda (yield) (string-for-each yield "ab")))))
  (test '(#\a #\b)
        (collect (walk->generator (lambda (yield) (string-map (lambda (c) (yield c) c) "ab")))))
  (test '(1 a 2 b) (interleave (walk->generator (lambda (yield) (vector-map yield #(1 2 3))))
                               (walk->generator (lambda (yield) (map yield '(a b))))))
  (test '(2 1) (collect (walk->generator
                         (lambda (yield)
                           (assoc 3 '((2) (1)) (lambda (key entry) (yield entry) #f))))))
  (test '(2 1) (collect (walk->generator
                         (lambda (yield) (member 3 '(2 1) (lambda (key entry) (yield entry) #f))))))
  (test '(1 2) (collect (walk->generator
                         (lambda (yield) (apply (lambda args (for-each yield args)) 1 '(2))))))
  (test '(1 2) (collect (walk->generator
                         (lambda (yield)
                           (call-with-values (lambda () (yield 1) (values 2 3))
                             (lambda (a b) (yield a)))))))
  (test '(1) (collect (walk->generator (lambda (yield) (force (delay (yield 1)))))))
  (test '(1) (collect (walk->generator
                       (lambda (yield)
                         (call-with-port (open-input-string "") (lambda (port) (yield 1)))))))
  (test '(p) (collect (walk->generator
                       (lambda (yield)
                         (with-exception-handler (lambda (e) (yield e))
                           (lambda () (raise-continuable 'p)))))))
  (test '(1 2 3 4)
        (collect (walk->generator
                  (lambda (yield)
                    (guard (e (#t (yield e) (yield 4))) (yield 1) (yield 2) (raise 3))))))
  (test (iota 20000) (collect (walk->generator (lambda (yield) (for-each yield (iota 20000))))))
  ;; A stack of generators, each taking from the next.
  (test (iota 20)
        (let stack ((depth 50)
                    (source (walk->generator (lambda (yield) (for-each yield (iota 20))))))
          (if (= depth 0)
              (collect source)
              (stack (- depth 1)
                     (walk->generator
                      (lambda (yield)
                        (let loop ()
                          (let ((element (source)))
                            (if (not (eq? element done)) (begin (yield element) (loop)))))))))))
  ;; The generator's own winders and parameters do not leak into the caller.
  (let ((p (make-parameter 'outside)))
    (define generate
      (walk->generator
       (lambda (yield) (parameterize ((p 'inside)) (yield (p)) (p 'changed) (yield (p))))))
    (test '(inside outside changed outside)
          (let* ((a (generate)) (b (p)) (c (generate)) (d (p))) (list a b c d)))))

;; Each element of a mapping is entered again after the mapping has returned.  R7RS 6.10: the
;; results that were returned before must not change.

(define-syntax re-entered
  (syntax-rules ()
    ((_ (visit element) expression)
     (let ((k #f) (results '()))
       (define (visit element) (call/cc (lambda (c) (if (not k) (set! k c)) element)))
       (let ((result expression))
         (set! results (cons result results))
         (if (< (length results) 3)
             (k (length results))
             (reverse results)))))))

(test-group "mappings entered again"
  (test '((0 5 6) (1 5 6) (2 5 6)) (re-entered (visit x) (map visit '(0 5 6))))
  (test '((5 0) (1 0) (2 0))
        (let ((k #f) (results '()))
          (let ((result (map (lambda (x y) (call/cc (lambda (c) (if (= x 5) (set! k c)) x))) '(5 0)
                             '(a b))))
            (set! results (cons result results))
            (if (< (length results) 3) (k (length results)) (reverse results)))))
  (test '((7 0 8) (7 1 8) (7 2 8))
        (let ((k #f) (results '()))
          (let ((result
                 (map (lambda (x) (call/cc (lambda (c) (if (= x 0) (set! k c)) x))) '(7 0 8))))
            (set! results (cons result results))
            (if (< (length results) 3) (k (length results)) (reverse results)))))
  (test '(#(0 5 6) #(1 5 6) #(2 5 6)) (re-entered (visit x) (vector-map visit #(0 5 6))))
  (test '(#(0 5) #(1 5) #(2 5))
        (re-entered (visit x) (vector-map (lambda (x y) (visit x)) #(0 5) #(1 2 3))))
  (test '(#(0 5) #(1 5) #(2 5))
        (re-entered (visit x) (vector-map (lambda (x y z) (visit x)) #(0 5) #(1 2 3) #(1 2))))
  (test '("0xy" "1xy" "2xy")
        (re-entered (visit x)
                    (string-map
                     (lambda (c)
                       (let ((c (if (char-numeric? c) (visit c) c)))
                         (if (number? c) (string-ref (number->string c) 0) c)))
                     "0xy")))
  (test '((0 1) (1 1) (2 1))
        (re-entered (visit x) (call-with-values (lambda () (values (visit 0) 1)) list)))
  (test '(0 1 2) (re-entered (visit x) (parameterize () (visit 0))))
  (test '(0 1 2) (re-entered (visit x) (guard (e (#t e)) (raise (visit 0)))))
  (test '(0 1 2) (re-entered (visit x) (guard (e (#t (visit e))) (raise 0))))
  (test '(0 0 0)
        (let ((promise #f))
          (re-entered (visit x)
                      (begin (if (not promise) (set! promise (delay (visit 0)))) (force promise)))))
  (test '((0 . 0) (1 . 0) (2 . 0))
        (re-entered (visit x) (let-values (((a b) (values (visit 0) 0))) (cons a b))))
  ;; Output to a port stays written.
  (test '("0" "01" "012")
        (re-entered (visit x)
                    (let ((port (open-output-string)))
                      (write (visit 0) port)
                      (get-output-string port))))
  ;; The walks go on behind the element.
  (test '(a b c again b c again b c)
        (let ((k #f) (n 0) (seen '()))
          (vector-for-each
           (lambda (x)
             (if (eq? x 'b) (call/cc (lambda (c) (if (not k) (set! k c)))))
             (set! seen (cons x seen)))
           #(a b c))
          (set! n (+ n 1))
          (if (< n 3)
              (begin (set! seen (cons 'again seen)) (k #f))
              (reverse seen))))
  (test '(#\a #\b #\a #\b)
        (let ((k #f) (seen '()) (n 0))
          (string-for-each
           (lambda (c)
             (if (= n 0) (call/cc (lambda (c) (if (not k) (set! k c)))))
             (set! seen (cons c seen)))
           "ab")
          (set! n (+ n 1))
          (if (< n 2) (k #f) (reverse seen)))))

(test-group "deep stacks"
  (define (deep n base) (if (= n 0) (base) (+ 1 (deep (- n 1) base))))
  ;; A million frames are entered again.
  (test '(1000000 1000001 1000002)
        (let ((k #f) (results '()))
          (let ((value (deep 1000000 (lambda () (call/cc (lambda (c) (set! k c) 0))))))
            (set! results (cons value results))
            (if (< (length results) 3) (k (length results)) (reverse results)))))
  ;; Continuations at several depths of one recursion, entered from shallow to deep and back.
  (test '(100 100 100 100 100)
        (let ((ks '()) (results '()))
          (define (down n)
            (if (= n 0)
                0
                (+ 1 (call/cc (lambda (c)
                                (if (= 0 (modulo n 25)) (set! ks (cons (cons n c) ks)))
                                (down (- n 1)))))))
          (let ((value (down 100)))
            (set! results (cons value results))
            (if (null? ks)
                results
                (let ((next (car ks))) (set! ks (cdr ks)) ((cdr next) (- (car next) 1)))))))
  ;; Escapes through a million frames, with and without winders.
  (test 'out (call/cc (lambda (out) (deep 1000000 (lambda () (out 'out))))))
  (test 'out (guard (e (#t e)) (deep 1000000 (lambda () (raise 'out)))))
  (test 1000 (let ((n 0))
               (define (wind depth k)
                 (if (= depth 0)
                     (k #f)
                     (dynamic-wind (lambda () #f) (lambda () (+ 1 (wind (- depth 1) k)))
                                   (lambda () (set! n (+ n 1))))))
               (call/cc (lambda (k) (wind 1000 k)))
               n))
  (test 100100 (deep 100000 (lambda ()
                              (deep 50 (lambda ()
                                         (guard (e (#t e))
                                           (deep 100000 (lambda () (raise 50)))))))))
  ;; A handler far above runs on top of all the frames.
  (test 200042 (with-exception-handler (lambda (e) (deep 100000 (lambda () e)))
                 (lambda () (deep 100000 (lambda () (raise-continuable 42))))))
  (test 1000 (length (let loop ((i 0))
                       (if (= i 1000)
                           '()
                           (cons (call/cc (lambda (k) (if (even? i) (k i) i))) (loop (+ i 1)))))))
  ;; Nested handlers and guards, thousands deep.
  (test 10000 (let loop ((n 10000))
                (if (= n 0)
                    (raise-continuable 0)
                    (with-exception-handler (lambda (e) (+ 1 (raise-continuable e)))
                      (lambda ()
                        (if (= n 1)
                            (guard (e (#f #f))
                              (with-exception-handler (lambda (e) (+ e 1))
                                (lambda () (raise-continuable 0))))
                            (loop (- n 1))))))
                10000))
  (test 5000 (guard (e ((number? e) e))
               (let loop ((n 5000))
                 (if (= n 0)
                     (raise 0)
                     (guard (e ((string? e) e) ((number? e) (raise (+ e 1)))) (loop (- n 1)))))))
  (test 3000 (guard (e ((number? e) e))
               (let loop ((n 3000))
                 (if (= n 0) (raise 3000) (guard (e ((string? e) e)) (loop (- n 1))))))))

(test-group "handlers and winders"
  ;; The raise in a handler goes to the handler outside; after procedures come after both.
  (test '((in a) (h1 x) (h2 y) (out a) (clause z))
        (logged
         (guard (e (#t (note (list 'clause e))))
           (with-exception-handler
             (lambda (e) (note (list 'h2 e)) (raise 'z))
             (lambda ()
               (wound a
                 (with-exception-handler
                   (lambda (e) (note (list 'h1 e)) (raise 'y))
                   (lambda () (raise 'x)))))))))
  ;; An after procedure raises while a guard unwinds: it runs with the handlers of the call to
  ;; dynamic-wind, which is inside the guard.
  (test '((in a) after (inner second))
        (logged
         (guard (e (#t (note (list 'outer e))))
           (guard (e (#t (note (list 'inner e))))
             (dynamic-wind
              (lambda () (note '(in a)))
              (lambda () (raise 'first))
              (lambda () (note 'after) (raise 'second)))))))
  ;; A handler in an extent, the winders of the handler itself, and an escape out of both.
  (test '((in a) (in h) (out h) (out a) escaped)
        (logged
         (note (call/cc (lambda (k)
                          (with-exception-handler
                            (lambda (e) (wound h (k 'escaped)))
                            (lambda () (wound a (raise 'x)))))))))
  ;; A continuation captured in a handler of raise-continuable is entered again.
  (test '((in a) (got 0) (out a) (in a) (got 1) (out a) (in a) (got 2) (out a))
        (logged
         (let ((k #f) (n 0))
           (with-exception-handler
             (lambda (e) (call/cc (lambda (c) (set! k c) 0)))
             (lambda () (wound a (note (list 'got (raise-continuable 'x))))))
           (set! n (+ n 1))
           (if (< n 3) (k n)))))
  ;; Reraising enters the extent again, finds the outer handler, whose value comes back.
  (test '((in a) (out a) (in a) (outer x) (got 5) (out a))
        (logged
         (with-exception-handler
           (lambda (e) (note (list 'outer e)) 5)
           (lambda ()
             (guard (e (#f 'never)) (wound a (note (list 'got (raise-continuable 'x)))))))))
  ;; A handler that returns from raise: the second exception goes outwards.
  (test '(h1 (h2 #t) end)
        (logged
         (guard (e (#t (note 'end)))
           (with-exception-handler
             (lambda (e) (note (list 'h2 (error-object? e))) 'ignored)
             (lambda ()
               (with-exception-handler (lambda (e) (note 'h1) 'ignored) (lambda () (raise 'x))))))))
  ;; Errors of primitives are taken like raised objects, inside of everything.
  (test '((in a) (in b) (out b) (out a) #t)
        (logged (note (guard (e ((error-object? e) #t))
                        (wound a (vector-map (lambda (x) (wound b (car x))) #(1)))))))
  (test '(1 2 #t) (guard (e (#t (list 1 2 (error-object? e)))) (map car '((1) 2))))
  ;; Parameters in handlers are those of the raise, in guard clauses those of the guard.
  (let ((p (make-parameter 'outer)))
    (test '(inner outer)
          (logged
           (guard (e (#t (note (p))))
             (with-exception-handler
               (lambda (e) (note (p)) (raise e))
               (lambda () (parameterize ((p 'inner)) (raise 'x)))))))
    ;; A converter that raises binds nothing.
    (let ((strict (make-parameter 1 (lambda (x) (if (number? x) x (raise 'not-a-number))))))
      (test '(not-a-number 1)
            (guard (e (#t (list e (strict)))) (parameterize ((p 2) (strict 'x)) 'never)))
      (test 'outer (p)))
    ;; A converter that is left and entered again.
    (test '((1 outer) (2 outer) (3 outer))
          (let* ((k #f)
                 (results '())
                 (q (make-parameter 0 (lambda (x)
                                        (if (eq? x 'capture)
                                            (call/cc (lambda (c) (set! k c) 1))
                                            x)))))
            (let ((value (parameterize ((q 'capture)) (list (q) (p)))))
              (set! results (cons value results))
              (if (< (length results) 3) (k (+ 1 (length results))) (reverse results))))))
  ;; The before procedure captures; entering it again runs the rest of the extent once more.
  (test '(before body after before2 body after)
        (logged
         (let ((k #f) (again #f))
           (dynamic-wind
            (lambda () (note (if (call/cc (lambda (c) (set! k c) #f)) 'before2 'before)))
            (lambda () (note 'body))
            (lambda () (note 'after)))
           (if (not again) (begin (set! again #t) (k #t))))))
  ;; So does the after procedure: the extent has been left already.
  (test '(before body after (got #f) (got #t))
        (logged
         (let ((k #f) (again #f))
           (dynamic-wind
            (lambda () (note 'before))
            (lambda () (note 'body))
            (lambda () (note 'after) (note (list 'got (call/cc (lambda (c) (set! k c) #f))))))
           (if (not again) (begin (set! again #t) (k #t))))))
  ;; Leaving an after procedure by an escape gives up the rest of the unwinding's target only.
  (test '((out inner) (out outer) second)
        (logged
         (note
          (call/cc
           (lambda (second)
             (dynamic-wind
              (lambda () #f)
              (lambda ()
                (call/cc
                 (lambda (first)
                   (dynamic-wind
                    (lambda () #f)
                    (lambda () (first 1))
                    (lambda () (note '(out inner)) (second 'second))))))
              (lambda () (note '(out outer)))))))))
  ;; Several values and none through winders, handlers, parameters and guards.
  (test-values (1 2) (dynamic-wind (lambda () #f) (lambda () (values 1 2)) (lambda () #f)))
  (test-values () (dynamic-wind (lambda () #f) (lambda () (values)) (lambda () #f)))
  (test-values (1 2) (with-exception-handler (lambda (e) e) (lambda () (values 1 2))))
  (test-values (1 2) (with-exception-handler (lambda (e) (values 1 2))
                       (lambda () (raise-continuable 'x))))
  (test-values (1 2) (guard (e (#t e)) (values 1 2)))
  (test-values (1 2) (guard (e (#t (values 1 2))) (raise 'x)))
  (test-values (1 2) (parameterize () (values 1 2)))
  (test-values (1 2) (parameterize (((make-parameter 1) 2)) (values 1 2)))
  (test-values (1 2) (call/cc (lambda (k)
                                (dynamic-wind (lambda () #f) (lambda () (k 1 2)) (lambda () #f))))))

(test-group "guard"
  (test '(1 2) (guard (e ((assq 'a e) => cdr) ((assq 'b e))) (raise '((a 1 2)))))
  (test '(b . 3) (guard (e ((assq 'a e) => cdr) ((assq 'b e))) (raise '((b . 3)))))
  (test 'positive (guard (e ((symbol? e) e)) (guard (e ((string? e) e)) (raise 'positive))))
  (test '(inner-clause outer)
        (guard (e (#t (list e 'outer))) (guard (e (#t (raise 'inner-clause))) (raise 'x))))
  ;; The body of a guard is not a tail position of it, its clauses are outside its handler.
  (test 'ok (guard (e ((eq? e 'b) 'ok))
              (guard (e ((eq? e 'a) (raise 'b)) ((eq? e 'b) 'wrong)) (raise 'a))))
  (test 100000 (let loop ((n 0))
                 (guard (e (#t 0)) (if (= n 100000) n (if (= 0 (modulo n 1000)) (raise 'x) n)))
                 (if (= n 100000) n (loop (+ n 1)))))
  ;; A guard's body is entered again after the guard has returned; the guard still guards.
  (test '(first caught)
        (let ((k #f) (results '()))
          (let ((value (guard (e (#t e))
                         (if (call/cc (lambda (c) (set! k c) #f)) (raise 'caught) 'first))))
            (set! results (cons value results))
            (if (null? (cdr results)) (k #t) (reverse results)))))
  (test '(a b) (guard (e ((pair? e) e)) (raise (guard (e ((symbol? e) (list e 'b))) (raise 'a))))))

(test-finish)
