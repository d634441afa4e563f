;;; Operations that take minutes and have no safepoint of their own end when their task is cancelled
;;; or its time is over, and block nobody meanwhile.

(import (canny base) (canny tasks) (canny compression) (canny crypto) (canny test))

(define large (- (expt 2 40000000) 1))
(define long-text (make-string 30000000 #\7))
(define random-numbers (expt 3 6000000))

(define operations
  (list (cons 'expt (lambda () (expt 7 40000000)))
        (cons '* (lambda () (let loop ((n large)) (loop (* n 3 large)))))
        (cons 'square (lambda () (exact-integer-sqrt (* large large large large))))
        (cons 'quotient (lambda () (let loop () (quotient (* large large) (- large 12345)) (loop))))
        (cons 'floor/ (lambda () (let loop () (floor/ (* large large) (- large 12345)) (loop))))
        (cons 'gcd (lambda () (gcd (+ (* large 10) 1) random-numbers)))
        (cons 'number->string (lambda () (let loop () (number->string large) (loop))))
        (cons 'write
              (lambda () (call-with-output-string (lambda (port) (write (* large large) port)))))
        (cons 'string->number (lambda () (let loop () (string->number long-text) (loop))))
        (cons 'pbkdf2 (lambda () (pbkdf2 'sha-256 "password" (bytevector 1 2 3) 4000000000 32)))))

(define (outcome thunk)
  (guard (object ((cancelled-error? object) 'cancelled)
                 ((timeout-error? object) 'timeout)
                 ((error-object? object) (error-object-message object)))
    (thunk)
    'ended))

(test-group "cancelled"
  (for-each
   (lambda (operation)
     (let ((task (spawn (cdr operation))))
       (sleep 0.1)
       (cancel! task)
       (test (list (car operation) 'cancelled)
             (list (car operation) (outcome (lambda () (await task)))))))
   operations))

;; An abandoned result is not taken for another operation on the same bytes.
(test-group "one algorithm, then another"
  (let* ((bytes (make-bytevector 30000000 7))
         (expected (digest 'sha-256 bytes)))
    (test expected
          (await (spawn (lambda ()
                          (outcome (lambda ()
                                     (call-with-timeout 0.001 (lambda () (digest 'sha-1 bytes)))))
                          (digest 'sha-256 bytes)))))))

(test-group "out of time"
  (for-each
   (lambda (operation)
     (test (list (car operation) 'timeout)
           (list (car operation)
                 (outcome (lambda () (call-with-timeout 0.1 (cdr operation)))))))
   (list (car operations) (list-ref operations 6))))

(test-group "others go on, and collect"
  (let ((task (spawn (cdr (car operations)))))
    (sleep 0.05)
    (let loop ((n 0))
      (if (< n 20)
          (begin
            (collect-garbage)
            (yield)
            (loop (+ n 1)))))
    (test #f (future-done? task))
    (cancel! task)
    (test 'cancelled (outcome (lambda () (await task))))))

(test-group "results are what they were"
  (let* ((n (- (expt 3 1500000) 1))
         (m (+ (expt 7 700000) 2))
         (text (number->string n)))
    (test #t (= n (string->number text)))
    (test text (call-with-output-string (lambda (port) (write n port))))
    (test #t (= n (+ (* (quotient n m) m) (remainder n m))))
    (let-values (((q r) (floor/ n m)))
      (test #t (= n (+ (* q m) r))))
    (let-values (((root rest) (exact-integer-sqrt n)))
      (test #t (= n (+ (* root root) rest))))
    (test #t (= (* n n n) (expt n 3)))
    (test 1 (numerator (/ n n)))
    (test-error (quotient n 0))
    (test-error (* n 'a))))

(test-finish)
