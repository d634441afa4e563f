;; Where the clauses of guard are evaluated, and what they see.
(import (scheme base) (scheme write))

(define trace '())
(define (note! what) (set! trace (cons what trace)) #t)
(define (show name value)
  (write (list name value (reverse trace)))
  (newline)
  (set! trace '()))
(define colour (make-parameter 'red))

;; Parameters of the guard, not of the raise, with and without winders in between.
(show 'parameters
      (parameterize ((colour 'green))
        (guard (e ((eq? (colour) 'green) (list e (colour))))
          (parameterize ((colour 'blue)) (raise (colour))))))
(show 'winders
      (guard (e ((note! (list 'test e)) (list 'taken (colour))))
        (dynamic-wind (lambda () (note! 'before))
                      (lambda () (parameterize ((colour 'blue)) (raise 'x)))
                      (lambda () (note! 'after)))))

;; No clause takes it: the raise is entered again, with its own parameters.
(define (passed-on wrap)
  (with-exception-handler
   (lambda (e) (list 'outer e (colour)))
   (lambda ()
     (guard (e ((begin (note! 'test) (string? e)) 'string))
       (parameterize ((colour 'blue))
         (wrap (lambda () (list (raise-continuable 'x) (colour)))))))))
(show 'passed-on (passed-on (lambda (thunk) (thunk))))
(show 'passed-on-through-winders
      (passed-on (lambda (thunk)
                   (dynamic-wind (lambda () (note! 'in)) thunk (lambda () (note! 'out))))))

;; Forms of clauses.
(define (clauses object)
  (guard (e ((assq 'a e) => cdr)
            ((assq 'b e))
            ((assq 'c e) (note! 'c) 'c)
            ((null? e) => (lambda (it) (list it e))))
    (raise object)))
(for-each (lambda (object) (show 'clause (clauses object)))
          '(((a . 1)) ((b . 2)) ((c . 3)) ()))
(show 'nested
      (guard (e (#t => (lambda (it) (list it e))))
        (guard (e ((string? e) 'inner)) (raise 'y))))

;; A test that raises reaches the handlers around the guard; so does one of a body of a clause.
(show 'test-raises (guard (o (else (list 'outer o))) (guard (e ((raise 'test) 1)) (raise 'body))))
(show 'clause-raises (guard (o (else (list 'outer o))) (guard (e (#t (raise 'clause))) (raise 'body))))

;; A body of a clause is a tail call of the guard's place, however deep the raise was.
(define (deep n) (if (= n 0) (raise 'bottom) (+ 1 (deep (- n 1)))))
(define (loop n)
  (if (= n 0)
      'done
      (guard (e ((symbol? e) (loop (- n 1)))) (deep 100))))
(show 'tail (loop 20000))

;; A continuation of a test is entered again after the guard has returned.
(define again #f)
(define count 0)
(let ((result (guard (e ((call/cc (lambda (k) (set! again k) #f)) => (lambda (x) (list 'taken x)))
                        (else 'else))
                (raise 'z))))
  (show 'again result)
  (set! count (+ count 1))
  (if (< count 3) (again count)))
