;;; Torture: dynamic-wind with continuations, exceptions and parameters.

(import (scheme base) (scheme lazy) (canny test))

(define log '())
(define (note x) (set! log (cons x log)))
(define-syntax logged
  (syntax-rules () ((_ body ...) (begin (set! log '()) body ... (reverse log)))))
(define-syntax wound
  (syntax-rules ()
    ((_ name body ...)
     (dynamic-wind (lambda () (note (list 'in 'name))) (lambda () body ...)
                   (lambda () (note (list 'out 'name)))))))

(test-group "nesting"
  (test '((in a) (in b) (in c) (out c) (out b) (out a)) (logged (wound a (wound b (wound c 1)))))
  (test '((in a) (in b) (in c) (out c) (out b) (out a))
        (logged (call/cc (lambda (k) (wound a (wound b (wound c (k 1))))))))
  (test '((in a) (in b) (in c) (out c) (out b) here (out a))
        (logged (wound a (call/cc (lambda (k) (wound b (wound c (k 1))))) (note 'here)))))

(test-group "coroutines across extents"
  ;; The second extent starts inside the first: each switch leaves or enters the inner one only.
  (test '((in a) a1 (in b) b1 (out b) a2 (in b) b2 (out b) (out a))
        (logged
         (let ((other #f))
           (define (switch)
             (call/cc (lambda (k) (let ((next other)) (set! other (lambda () (k #f))) (next)))))
           (set! other (lambda () (wound b (note 'b1) (switch) (note 'b2) (switch) (note 'never))))
           (wound a (note 'a1) (switch) (note 'a2) (switch)))))
  ;; A generator inside an extent enters and leaves it at each step.
  (test '((in g) (out g) got1 (in g) (out g) got2 (in g) (out g) end)
        (logged
         (let ((return #f) (resume #f))
           (define (step)
             (call/cc (lambda (k)
                        (set! return k)
                        (if resume
                            (resume #f)
                            (begin (wound g
                                     (call/cc (lambda (r) (set! resume r) (return 'got1)))
                                     (call/cc (lambda (r) (set! resume r) (return 'got2))))
                                   (return 'end))))))
           (note (step))
           (note (step))
           (note (step))))))

(test-group "re-entry"
  (test '((in a) (out a) (in a) (out a) (in a) (out a))
        (logged (let ((k #f) (n 0))
                  (wound a (call/cc (lambda (c) (set! k c))))
                  (set! n (+ n 1))
                  (if (< n 3) (k #f)))))
  (test '((in a) (in b) (out b) (out a) (in a) (in b) (out b) (out a))
        (logged (let ((k #f) (n 0))
                  (wound a (wound b (call/cc (lambda (c) (set! k c)))))
                  (set! n (+ n 1))
                  (if (< n 2) (k #f)))))
  ;; A shared outer extent is neither left nor entered.
  (test '((in a) (in b) (out b) (in b) (out b) (out a))
        (logged (wound a (let ((k #f) (n 0))
                           (wound b (call/cc (lambda (c) (set! k c))))
                           (set! n (+ n 1))
                           (if (< n 2) (k #f))))))
  (test '((in a) (in b) (out b) (in c) (out c) (in b) again (out b) (out a))
        (logged (wound a
                  (let ((k #f) (again #f))
                    (wound b (if (call/cc (lambda (c) (set! k c) #f)) (note 'again)))
                    (if (not again) (wound c (set! again #t) (k #t))))))))

(test-group "exceptions"
  (test '((in a) handler (out a) clause)
        (logged (guard (e (#t (note 'clause)))
                  (wound a (with-exception-handler (lambda (e) (note 'handler) (raise e))
                             (lambda () (raise 'x)))))))
  (test '((in a) (out a) (in a) (out a) caught)
        (logged (guard (e (#t (note 'caught))) (guard (e (#f 'never)) (wound a (raise 'x))))))
  (test '((in a) (in b) (out b) (in b) (out b) (out a) outer)
        (logged (guard (e ((eq? e 'x) (note 'outer)))
                  (wound a (guard (e ((eq? e 'y) 'never)) (guard (e ((eq? e 'z) 'never)) 1))
                         (guard (e ((eq? e 'y) 'never)) (wound b (raise 'x)))))))
  ;; An error in an after procedure replaces the exit.
  (test '(in after second)
        (logged (guard (e (#t (note e)))
                  (dynamic-wind (lambda () (note 'in)) (lambda () (raise 'first))
                                (lambda () (note 'after) (raise 'second))))))
  ;; An error in a before procedure enters nothing.
  (test '(before caught)
        (logged (guard (e (#t (note 'caught)))
                  (dynamic-wind (lambda () (note 'before) (raise 'x)) (lambda () (note 'never))
                                (lambda () (note 'never-either)))))))

(test-group "parameters and handlers"
  (define p (make-parameter 0))
  (test '(0 1 0)
        (logged (dynamic-wind (lambda () (note (p))) (lambda () (parameterize ((p 1)) (note (p))))
                              (lambda () (note (p))))))
  (test '(1 (out 0) 1)
        (logged
         (let ((k #f) (n 0))
           (dynamic-wind
            (lambda () #f)
            (lambda () (parameterize ((p 1)) (call/cc (lambda (c) (set! k c))) (note (p))))
            (lambda () (set! n (+ n 1)) (if (= n 1) (note (list 'out (p))))))
           (if (< n 2) (k #f)))))
  ;; before and after run with the handlers of the call to dynamic-wind.
  (test '(outer-in outer-out)
        (logged
         (with-exception-handler
           (lambda (e) (note e))
           (lambda ()
             (call/cc
              (lambda (k)
                (dynamic-wind
                 (lambda () (raise-continuable 'outer-in))
                 (lambda () (with-exception-handler (lambda (e) (note 'inner)) (lambda () (k 1))))
                 (lambda () (raise-continuable 'outer-out)))))))))
  (test '(inner inner)
        (let ((k #f) (results '()))
          (let ((value (parameterize ((p 'inner)) (call/cc (lambda (c) (set! k c))) (p))))
            (set! results (cons value results))
            (if (< (length results) 2) (k #f) results))))
  (test '(0 1 2 1 0)
        (logged (note (p))
                (parameterize ((p 1)) (note (p)) (parameterize ((p 2)) (note (p))) (note (p)))
                (note (p))))
  (test 'pure (force (parameterize ((p 'at-delay)) (delay (if (eqv? (p) 0) 'pure 'captured))))))

(test-group "many winders"
  (test 1000 (let ((n 0))
               (let loop ((i 0))
                 (if (< i 1000)
                     (dynamic-wind (lambda () #f) (lambda () (loop (+ i 1)))
                                   (lambda () (set! n (+ n 1))))))
               n))
  (test 2000 (let ((n 0))
               (call/cc (lambda (k)
                          (let loop ((i 0))
                            (if (< i 1000)
                                (dynamic-wind (lambda () (set! n (+ n 1)))
                                              (lambda () (loop (+ i 1)))
                                              (lambda () (set! n (+ n 1))))
                                (k 1)))))
               n))
  (test 10000 (let ((n 0))
                (do ((i 0 (+ i 1))) ((= i 10000))
                  (call/cc (lambda (k)
                             (dynamic-wind (lambda () #f) (lambda () (k 1))
                                           (lambda () (set! n (+ n 1)))))))
                n)))

(test-finish)
