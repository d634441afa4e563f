;;; R7RS 6.11: exceptions.

(import (scheme base) (scheme read) (scheme file) (canny test))

(define-syntax condition-of
  (syntax-rules () ((_ e) (guard (c (#t c)) e 'no-exception))))

(test-group "6.11 with-exception-handler and raise"
  (test '(symbol boom)
        (call/cc (lambda (k)
                   (with-exception-handler (lambda (e) (k (list 'symbol e)))
                     (lambda () (+ 1 (raise 'boom)))))))
  (test 65 (with-exception-handler (lambda (con) (if (string? con) 42 0))
             (lambda () (+ (raise-continuable "should be a number") 23))))
  (test 'thunk (with-exception-handler (lambda (e) 'handled) (lambda () 'thunk)))
  (test-values (1 2) (with-exception-handler (lambda (e) 'handled) (lambda () (values 1 2))))
  (test '(1 2) (call-with-values
                 (lambda ()
                   (with-exception-handler (lambda (e) (values 1 2))
                     (lambda () (raise-continuable 'x))))
                 list))
  ;; The handler runs with the outer handler.
  (test '(outer inner x)
        (call/cc (lambda (k)
                   (with-exception-handler
                     (lambda (e) (k (cons 'outer e)))
                     (lambda ()
                       (with-exception-handler (lambda (e) (raise (list 'inner e)))
                         (lambda () (raise 'x))))))))
  (test '(1 2) (with-exception-handler
                 (lambda (e) (list e 2))
                 (lambda ()
                   (with-exception-handler (lambda (e) (raise-continuable e))
                     (lambda () (raise-continuable 1))))))
  ;; After raise-continuable the handler is in place again.
  (test '(10 20) (with-exception-handler
                   (lambda (e) (* e 10))
                   (lambda ()
                     (let* ((a (raise-continuable 1)) (b (raise-continuable 2))) (list a b)))))
  ;; Returning from the handler of raise is an exception in the outer handler.
  (test #t (call/cc (lambda (k)
                      (with-exception-handler
                        (lambda (e) (k (error-object? e)))
                        (lambda ()
                          (with-exception-handler (lambda (e) 'returns) (lambda () (raise 'x))))))))
  (test '(returned secondary)
        (let ((log '()))
          (guard (e (#t (set! log (cons 'secondary log)) (reverse log)))
            (with-exception-handler (lambda (e) (set! log (cons 'returned log)))
              (lambda () (raise 'x) (set! log (cons 'never log)))))))
  (test-error (with-exception-handler (lambda (e) 'ignored) (lambda () (error "not continuable"))))
  (test-error (with-exception-handler (lambda (e) 'ignored) (lambda () (car 5))))
  (test-error (with-exception-handler 5 (lambda () 1)))
  (test 'normal (guard (e (#t e)) (with-exception-handler (lambda (e) 1) (lambda () 'normal))))
  (test '(a (b c)) (guard (e (#t e)) (raise '(a (b c)))))
  (test 5 (guard (e ((number? e) e)) (raise 5)))
  (test #f (guard (e (#t e)) (raise #f)))
  (test 'handled
        (guard (e ((eq? e 'inner) 'handled)) (guard (e ((eq? e 'other) 'wrong)) (raise 'inner)))))

(test-group "6.11 error objects"
  (test #t (error-object? (condition-of (error "message" 1 2))))
  (test "message" (error-object-message (condition-of (error "message" 1 2))))
  (test '(1 2) (error-object-irritants (condition-of (error "message" 1 2))))
  (test '() (error-object-irritants (condition-of (error "message"))))
  (test '((a) #(b) "c") (error-object-irritants (condition-of (error "m" '(a) #(b) "c"))))
  (test #f (error-object? 'symbol))
  (test #f (error-object? "string"))
  (test #f (error-object? (condition-of (raise 'x))))
  (test #t (error-object? (condition-of (car 5))))
  (test #t (error-object? (condition-of (vector-ref #(1) 5))))
  (test #t (error-object? (condition-of (undefined-variable-of-this-test))))
  (test #t (error-object? (condition-of ((lambda (x) x)))))
  (test #t (error-object? (condition-of (5 5))))
  (test #t (error-object? (condition-of (/ 1 0))))
  (test #t (string? (error-object-message (condition-of (car 5)))))
  (test #t (list? (error-object-irritants (condition-of (car 5)))))
  (test #t (string? (error-object-message (condition-of (undefined-variable-of-this-test)))))
  (test-error (error-object-message 'x))
  (test-error (error-object-irritants 5))
  (test #t (read-error? (condition-of (read (open-input-string "(1 2")))))
  (test #t (read-error? (condition-of (read (open-input-string ")")))))
  (test #t (read-error? (condition-of (read (open-input-string "#<foo>")))))
  (test #f (read-error? (condition-of (car 5))))
  (test #f (read-error? 'x))
  (test #t (file-error? (condition-of (open-input-file "no/such/file/anywhere"))))
  (test #t (file-error? (condition-of (delete-file "no/such/file/anywhere"))))
  (test #f (file-error? (condition-of (error "x"))))
  (test #f (file-error? 'x)))

(test-group "6.11 guard and the dynamic environment"
  (define log '())
  (define (note x) (set! log (cons x log)))
  (define-syntax logged
    (syntax-rules () ((_ body ...) (begin (set! log '()) body ... (reverse log)))))
  ;; Clauses run outside, a re-raise goes back inside.
  (test '(in out clause)
        (logged (guard (e ((begin (note 'clause) #t) 'x))
                  (dynamic-wind (lambda () (note 'in)) (lambda () (raise 'x))
                                (lambda () (note 'out))))))
  (test '(in out tested in out outer)
        (logged (guard (e (#t (note 'outer)))
                  (guard (e ((begin (note 'tested) #f) 'x))
                    (dynamic-wind (lambda () (note 'in)) (lambda () (raise 'x))
                                  (lambda () (note 'out)))))))
  (define p (make-parameter 'outer))
  (test 'outer (guard (e (#t (p))) (parameterize ((p 'inner)) (raise 'x))))
  (test 'inner (with-exception-handler
                 (lambda (e) (p))
                 (lambda ()
                   (guard (e (#f 'never)) (parameterize ((p 'inner)) (raise-continuable 'x))))))
  ;; A continuable exception that no clause takes resumes where it was raised.
  (test '(in out in 42 out)
        (logged (with-exception-handler
                  (lambda (e) 42)
                  (lambda ()
                    (guard (e (#f 'never))
                      (dynamic-wind (lambda () (note 'in)) (lambda () (note (raise-continuable 'x)))
                                    (lambda () (note 'out))))))))
  (test '(1 2 3) (let loop ((i 1) (acc '()))
                   (if (> i 3)
                       (reverse acc)
                       (loop (+ i 1) (cons (guard (e (#t e)) (raise i)) acc)))))
  (test 100000
        (let loop ((i 0)) (if (= i 100000) i (begin (guard (e (#t e)) (raise i)) (loop (+ i 1))))))
  (test 'k (call/cc (lambda (k) (guard (e (#t 'guard)) (k 'k)))))
  ;; A guarded body entered again after it has returned is guarded still.
  (test '(first second)
        (let ((k #f) (results '()))
          (let ((r (guard (e (#t e)) (raise (call/cc (lambda (c) (set! k c) 'first))))))
            (set! results (cons r results))
            (if (= (length results) 1) (k 'second) (reverse results)))))
  (test 'ok (guard (e (#t 'ok)) (guard (e2 ((assq 'x e2) 'no)) (raise 'not-a-list)))))

(test-finish)
