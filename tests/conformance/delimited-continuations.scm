;;; (canny prompts): prompts, composable continuations and the operators made of them.

(import (scheme base) (scheme char) (scheme write) (canny prompts) (canny base) (canny test))

(define tag (make-prompt-tag 'test))
(define other (make-prompt-tag 'other))

(define (raises-kind? kind)
  (lambda (object) (and (error-object? object) (eq? (condition-kind object) kind))))

(test-group "prompts"
  (test 3 (call-with-prompt tag (lambda () 3) list))
  (test-values (1 2) (call-with-prompt tag (lambda () (values 1 2)) list))
  (test '(1 2)
        (call-with-prompt tag
          (lambda () (+ 1 (abort-to-prompt tag 1 2)))
          (lambda (k . values) values)))
  (test 11
        (call-with-prompt tag
          (lambda () (+ 1 (abort-to-prompt tag)))
          (lambda (k) (k 10))))
  (test '(11 21 12)
        (call-with-prompt tag
          (lambda () (+ 1 (abort-to-prompt tag)))
          (lambda (k) (list (k 10) (k 20) (k (k 10))))))
  (test '(2 3)
        (call-with-prompt tag
          (lambda () (call-with-values (lambda () (abort-to-prompt tag)) list))
          (lambda (k) (k 2 3))))
  (test 'outer
        (call-with-prompt tag
          (lambda ()
            (call-with-prompt other
              (lambda () (abort-to-prompt tag 'outer))
              (lambda (k v) 'inner)))
          (lambda (k v) v)))
  (test '(outer inner)
        (call-with-prompt tag
          (lambda ()
            (list 'outer
                  (call-with-prompt tag
                    (lambda () (abort-to-prompt tag 'inner))
                    (lambda (k v) v))))
          (lambda (k v) (list 'wrong v))))
  (test #f (prompt-available? tag))
  (test #t (call-with-prompt tag (lambda () (prompt-available? tag)) list))
  (test #t (prompt-tag? (default-prompt-tag)))
  (test #t (eq? (default-prompt-tag) (default-prompt-tag)))
  (test-error (raises-kind? 'prompt) (abort-to-prompt tag 1))
  (test-error (raises-kind? 'prompt) (shift k 1))
  (test-error (raises-kind? 'prompt)
              (call-with-prompt tag (lambda () (abort-to-prompt other 1)) list))
  (test-error (raises-kind? 'prompt)
              (call-with-prompt tag
                (lambda () (abort-to-prompt tag) (abort-to-prompt tag))
                (lambda (k) (k 1))))
  (test-error (raises-kind? 'type) (call-with-prompt tag (lambda () 1) 'handler)))

(test-group "composable continuations that do not abort"
  (test '(1 (2 3))
        (call-with-prompt tag
          (lambda ()
            (cons 1 (call-with-composable-continuation
                      (lambda (k) (if (procedure? k) '((2 3)) k))
                      tag)))
          list))
  (test 14
        (call-with-prompt tag
          (lambda ()
            (+ 1 (call-with-composable-continuation
                   (lambda (k) (k (+ 1 (k 10))))
                   tag)))
          list))
  (test 6
        (call-with-continuation-prompt
          (lambda () (+ 1 (call-with-composable-continuation (lambda (k) (+ 1 (k 3))))))))
  (test '(a b)
        (call-with-continuation-prompt
          (lambda () (abort-current-continuation tag 'a 'b))
          tag
          list))
  (test 'again
        (call-with-continuation-prompt
          (lambda ()
            (abort-current-continuation (default-prompt-tag) (lambda () 'again))))))

(test-group "shift and reset"
  (test 5 (reset 5))
  (test '(1 2) (reset (cons 1 (shift k (k '(2))))))
  (test 117 (+ 10 (reset (+ 2 (shift k (+ 100 (k (+ 2 3))))))))
  (test 60 (* 10 (reset (* 2 (shift g (reset (* 5 (shift f (+ (f 1) 1)))))))))
  (test 121 (let ((f (lambda (x) (shift k (k (k x)))))) (+ 1 (reset (+ 10 (f 100))))))
  (test '(a 1 b b c)
        (cons 'a (reset (cons 'b (shift f (cons 1 (f (f (cons 'c '())))))))))
  (test '(1 2 3 4)
        (let ()
          (define (each list) (shift k (for-each k list) '()))
          (define result '())
          (reset (set! result (cons (each '(1 2 3 4)) result)) '())
          (reverse result)))
  (test '((1 a) (1 b) (2 a) (2 b))
        (let ()
          (define (choose list) (shift k (apply append (map k list))))
          (reset (let* ((n (choose '(1 2))) (s (choose '(a b)))) (list (list n s))))))
  (test '(inner outer)
        (reset-at tag
          (cons 'x (reset-at other
                     (cons 'y (shift-at tag k '(inner outer))))))))

(test-group "what the four pairs differ in"
  ;; A list is copied from its first element on, or reversed, depending on where the prompt is.
  (define-syntax traverse
    (syntax-rules ()
      ((_ delimit capture list)
       (letrec ((visit (lambda (rest)
                         (if (null? rest)
                             '()
                             (visit (capture k (cons (car rest) (k (cdr rest)))))))))
         (delimit (visit list))))))
  (test '(1 2 3) (traverse reset shift '(1 2 3)))
  (test '(3 2 1) (traverse prompt control '(1 2 3)))
  (test '(1 2 3) (traverse reset0 shift0 '(1 2 3)))
  (test-error (raises-kind? 'prompt) (traverse prompt0 control0 '(1 2 3)))
  (test '(3 2 1) (prompt0 (prompt0 (prompt0 (traverse prompt0 control0 '(1 2 3))))))
  ;; How many prompts a capture removes.
  (test '(1 2)
        (reset (cons 1 (reset (shift f (shift g '(2)))))))
  (test '(2)
        (reset (cons 1 (reset0 (shift0 f (shift0 g '(2)))))))
  (test '(1 2)
        (prompt (cons 1 (prompt (control f (control g '(2)))))))
  (test '(2)
        (prompt (cons 1 (prompt0 (control0 f (control0 g '(2)))))))
  ;; The operators meet at one prompt.
  (test '(a b c)
        (reset (cons 'a (control k (k (shift l (l '(b c)))))))))

(test-group "tail calls"
  ;; A generator that is resumed in tail position takes no space.
  (define (count-to n)
    (define (body)
      (let loop ((i 0))
        (if (< i n)
            (begin (abort-to-prompt tag i) (loop (+ i 1)))
            'done)))
    (let run ((thunk body) (sum 0))
      (call-with-prompt tag
        thunk
        (lambda (k i)
          (if (= i (- n 1))
              (list (k #f) sum)
              (run (lambda () (k #f)) (+ sum i)))))))
  (test '(done 4999850001) (count-to 100000))
  (test 100000
        (let loop ((i 0))
          (if (< i 100000)
              (loop (reset (+ 1 (shift k (k i)))))
              i))))

(test-group "winders"
  (define trace '())
  (define (note item) (set! trace (cons item trace)))
  (define-syntax traced
    (syntax-rules ()
      ((_ body ...)
       (begin
         (set! trace '())
         (let ((result (let () body ...)))
           (list result (reverse trace)))))))
  (define (wound name thunk)
    (dynamic-wind (lambda () (note (list 'in name))) thunk (lambda () (note (list 'out name)))))
  (test '(aborted ((in a) (in b) (out b) (out a)))
        (traced (call-with-prompt tag
                  (lambda () (wound 'a (lambda () (wound 'b (lambda () (abort-to-prompt tag))))))
                  (lambda (k) 'aborted))))
  (test '((1 2) ((in a) (out a) (in a) (out a) (in a) (out a)))
        (traced (call-with-prompt tag
                  (lambda () (wound 'a (lambda () (abort-to-prompt tag))))
                  (lambda (k) (let* ((x (k 1)) (y (k 2))) (list x y))))))
  (test '(1 ((in outer) (in a) (out a) (in b) (in a) (out a) (out b) (out outer)))
        (traced (wound 'outer
                       (lambda ()
                         (call-with-prompt tag
                           (lambda () (wound 'a (lambda () (abort-to-prompt tag))))
                           (lambda (k) (wound 'b (lambda () (k 1)))))))))
  (test '(left ((in a) (out a) (in a) (out a)))
        (traced
         (call-with-escape-continuation
          (lambda (leave)
            (call-with-prompt tag
              (lambda () (wound 'a (lambda () (abort-to-prompt tag) (leave 'left))))
              (lambda (k) (k 1)))))))
  ;; The argument is there before the part is entered again.
  (test '((x x end) ((in a) (out a) (in a) (out a) (in a) (out a)))
        (traced (call-with-prompt tag
                  (lambda () (wound 'a (lambda () (cons 'x (abort-to-prompt tag)))))
                  (lambda (k) (k (k '(end))))))))

(test-group "parameters"
  (define p (make-parameter 'p0))
  (define q (make-parameter 'q0))
  ;; Inside of the part its own bindings, outside of it those of the call.
  (test '((p1 q2) (p1 q0))
        (let ((k (call-with-prompt tag
                   (lambda ()
                     (parameterize ((p 'p1))
                       (abort-to-prompt tag)
                       (list (p) (q))))
                   (lambda (k) k))))
          (list (parameterize ((p 'p2) (q 'q2)) (k #f))
                (k #f))))
  (test '(p2 p1 p2)
        (let ((k (call-with-prompt tag
                   (lambda ()
                     (let ((inside (parameterize ((p 'p1)) (abort-to-prompt tag) (p))))
                       (list inside (p))))
                   (lambda (k) k))))
          (parameterize ((p 'p2))
            (let ((seen (k #f)))
              (cons (p) seen)))))
  (test '(p0 p0)
        (parameterize ((q 'q1))
          (call-with-prompt tag
            (lambda () (parameterize ((p 'p1)) (abort-to-prompt tag)))
            (lambda (k) (list (p) (p))))))
  (test "inner"
        (let ((port (open-output-string)))
          (let ((k (call-with-prompt tag
                     (lambda ()
                       (parameterize ((current-output-port port))
                         (abort-to-prompt tag)
                         (display "inner")))
                     (lambda (k) k))))
            (k #f)
            (get-output-string port))))
  ;; Procedures of dynamic-wind see the parameters of the new place.
  (test '(before a1 after a1)
        (let* ((a (make-parameter 'a0))
               (trace '())
               (k (call-with-prompt tag
                    (lambda ()
                      (dynamic-wind
                       (lambda () (set! trace (cons* (a) 'before trace)))
                       (lambda () (parameterize ((a 'inside)) (abort-to-prompt tag)))
                       (lambda () (set! trace (cons* (a) 'after trace)))))
                    (lambda (k) k))))
          (set! trace '())
          (parameterize ((a 'a1)) (k #f))
          (reverse trace))))

(test-group "handlers"
  (define (fail-with value) (raise value))
  (test '(caught 1)
        (call-with-prompt tag
          (lambda () (guard (e (#t (list 'caught e))) (abort-to-prompt tag) (raise 1)))
          (lambda (k) (k #f))))
  (test '((caught 1) (caught 1))
        (call-with-prompt tag
          (lambda () (guard (e (#t (list 'caught e))) (abort-to-prompt tag) (raise 1)))
          (lambda (k) (list (k #f) (k #f)))))
  (test '(outer (inner 1) 2)
        (guard (e (#t (list 'outer e)))
          (let ((k (call-with-prompt tag
                     (lambda ()
                       (guard (e ((eqv? e 1) (list 'inner e)))
                         (raise (abort-to-prompt tag))))
                     (lambda (k) k))))
            (let* ((x (k 1))
                   (y (guard (e (#t e)) (k 2))))
              (list 'outer x y)))))
  ;; The rest of the new place sees the value of a guard that was put there.
  (test '(new (caught boom))
        (let ((k (call-with-prompt tag
                   (lambda ()
                     (guard (e (#t (list 'caught e)))
                       (raise (abort-to-prompt tag))))
                   (lambda (k) k))))
          (let loop ((i 3))
            (if (= i 0)
                (list 'new (k 'boom))
                (let ((r (loop (- i 1)))) r)))))
  ;; An object that no handler of the part takes goes to the handlers of the new place.
  (test '(new 5)
        (let ((k (guard (e (#t 'old))
                   (call-with-prompt tag
                     (lambda () (raise (abort-to-prompt tag)))
                     (lambda (k) k)))))
          (guard (e (#t (list 'new e))) (k 5))))
  (test '(continued 15)
        (let ((k (call-with-prompt tag
                   (lambda ()
                     (with-exception-handler
                       (lambda (e) (* e 5))
                       (lambda ()
                         (abort-to-prompt tag)
                         (list 'continued (raise-continuable 3)))))
                   (lambda (k) k))))
          (k #f)))
  ;; A handler that captures up to a prompt around it.
  (test '(result 43)
        (call-with-prompt tag
          (lambda ()
            (with-exception-handler
              (lambda (e) (abort-to-prompt tag e))
              (lambda () (list 'result (+ 1 (raise-continuable 'ask))))))
          (lambda (k e) (k 42))))
  (test '(1 2 3)
        (call-with-prompt tag
          (lambda ()
            (with-exception-handler
              (lambda (e) (abort-to-prompt tag e))
              (lambda ()
                (let* ((a (raise-continuable 'a))
                       (b (raise-continuable 'b))
                       (c (raise-continuable 'c)))
                  (list a b c)))))
          (let ((n 0))
            (define (handle k e)
              (set! n (+ n 1))
              (call-with-prompt tag (lambda () (k n)) handle))
            handle)))
  (test 'after-all
        (guard (e (#t e))
          (call-with-prompt tag
            (lambda () (raise 'after-all))
            (lambda (k) 'wrong))))
  (test 'machine
        (call-with-prompt tag
          (lambda ()
            (guard (e ((error-object? e) 'machine))
              (abort-to-prompt tag)
              (vector-ref (vector) 1)))
          (lambda (k) (k 1)))))

(test-group "escapes"
  (test '(1 out)
        (call-with-prompt tag
          (lambda ()
            (call-with-escape-continuation
             (lambda (leave)
               (abort-to-prompt tag)
               (leave '(1 out))
               'wrong)))
          (lambda (k) (k #f))))
  (test '((a out) (b out))
        (call-with-prompt tag
          (lambda ()
            (let ((value #f))
              (call-with-escape-continuation
               (lambda (leave)
                 (set! value (abort-to-prompt tag))
                 (leave (list value 'out))))))
          (lambda (k) (list (k 'a) (k 'b)))))
  (test-error (raises-kind? 'escape)
              (let ((leave (call-with-prompt tag
                             (lambda ()
                               (call-with-escape-continuation
                                (lambda (leave) (abort-to-prompt tag leave))))
                             (lambda (k leave) leave))))
                (leave 1)))
  (test '(x y)
        (let* ((p (make-parameter 'x))
               (k (call-with-prompt tag
                    (lambda ()
                      (call-with-escape-continuation
                       (lambda (leave)
                         (parameterize ((p 'inner))
                           (abort-to-prompt tag)
                           (leave #f))))
                      (p))
                    (lambda (k) k))))
          (list (k #f) (parameterize ((p 'y)) (k #f))))))

(test-group "full continuations"
  (test '(3 2 1 0)
        (let ((again #f) (count 3) (trace '()))
          (call-with-prompt tag
            (lambda ()
              (call/cc (lambda (k) (set! again k)))
              (set! trace (cons count trace)))
            list)
          (if (> count 0)
              (begin (set! count (- count 1)) (again #f)))
          (reverse trace)))
  (test 'jumped
        (call/cc
         (lambda (leave)
           (call-with-prompt tag (lambda () (leave 'jumped)) list))))
  (test 11
        (reset (+ 1 (shift k (+ 1 (call/cc (lambda (c) (c (k 9)))))))))
  (test '(5 6)
        (let ((results '()) (saved #f))
          (let ((value (reset (+ 1 (shift k (k (call/cc (lambda (c) (set! saved c) 4))))))))
            (set! results (append results (list value)))
            (if (= (length results) 1) (saved 5))
            results))))

(test-group "generators"
  (define (generate producer)
    (define (resume thunk)
      (call-with-prompt tag
        thunk
        (lambda (k value)
          (set! next (lambda () (resume (lambda () (k #f)))))
          value)))
    (define next
      (lambda ()
        (resume (lambda ()
                  (producer (lambda (value) (abort-to-prompt tag value)))
                  (eof-object)))))
    (lambda () (next)))
  (define (generator->list g)
    (let loop ((value (g)) (result '()))
      (if (eof-object? value) (reverse result) (loop (g) (cons value result)))))
  (define (walk tree yield)
    (cond ((pair? tree) (walk (car tree) yield) (walk (cdr tree) yield))
          ((null? tree) 'nothing)
          (else (yield tree))))
  (test '(1 2 3 4) (generator->list (generate (lambda (yield) (walk '((1 (2)) (3 . 4)) yield)))))
  (test '((1 a) (2 b))
        (let ((g (generate (lambda (yield) (for-each yield '(1 2)))))
              (h (generate (lambda (yield) (for-each yield '(a b))))))
          (let loop ((result '()))
            (let ((x (g)))
              (if (eof-object? x)
                  (reverse result)
                  (loop (cons (list x (h)) result)))))))
  ;; A generator inside of a generator.
  (test '(0 1 1 2 2 2)
        (generator->list
         (generate
          (lambda (yield)
            (let ((inner (generate (lambda (inner-yield) (for-each inner-yield '(1 2 3))))))
              (let loop ((i 0))
                (let ((n (inner)))
                  (if (not (eof-object? n))
                      (begin
                        (do ((j 0 (+ j 1))) ((= j n)) (yield i))
                        (loop (+ i 1)))))))))))
  (test 5000
        (length (generator->list
                 (generate (lambda (yield)
                             (let deep ((n 5000))
                               (if (> n 0) (begin (deep (- n 1)) (yield n)))))))))
  (test 300
        (length (generator->list
                 (generate (lambda (yield)
                             (let deep ((n 300))
                               (if (> n 0)
                                   (begin (yield n) (+ 1 (deep (- n 1))))
                                   0))))))))

(test-group "effects"
  (define (with-state initial thunk)
    ((call-with-prompt tag
       (lambda () (let ((value (thunk))) (lambda (state) (list value state))))
       (letrec ((handle
                 (lambda (k operation . arguments)
                   (lambda (state)
                     ((call-with-prompt
                        tag
                        (lambda ()
                          (case operation
                            ((get) (k state))
                            (else (k #f))))
                        handle)
                      (if (eq? operation 'put) (car arguments) state))))))
         handle))
     initial))
  (define (get) (abort-to-prompt tag 'get))
  (define (put value) (abort-to-prompt tag 'put value))
  (test '(done 1000)
        (with-state 0
          (lambda ()
            (do ((i 0 (+ i 1))) ((= i 1000) 'done)
              (put (+ 1 (get))))))))

(test-group "too deep"
  (test-error (raises-kind? 'stack)
              (let ((k (reset (cons 1 (shift k k)))))
                (let loop ((n 0)) (cons n (k (loop (+ n 1))))))))

(test-finish)
