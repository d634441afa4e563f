;; SRFI 38: writing and reading shared structure.

(import (scheme base) (only (srfi 1) cons*) (srfi 38) (canny test))

(define (written object . more)
  (let ((port (open-output-string)))
    (apply write-with-shared-structure object port more)
    (get-output-string port)))
(define (reread object)
  (read-with-shared-structure (open-input-string (written object))))

(test "#0=(val1 . #0#)" (let ((a (cons 'val1 'val2))) (set-cdr! a a) (written a)))
(test "(#0=(1) #0#)" (let ((x (list 1))) (written (list x x))))
(test "(1 #\\a \"b\\\"\" sym #(1))" (written '(1 #\a "b\"" sym #(1)) 'option))
(test-true (let* ((x (list 1)) (y (reread (list x x)))) (eq? (car y) (cadr y))))
(test-true
 (let* ((x (vector 1 2)) (y (begin (vector-set! x 0 x) (reread x)))) (eq? y (vector-ref y 0))))
(test-true (let* ((s (string #\a)) (y (reread (list s s)))) (eq? (car y) (cadr y))))
(test "(#0=\"a\" #0# \"\" \"\" #1=#u8(1) #1# . #2=#(1 #2#))"
  (let ((s (string #\a)) (e (string)) (b (bytevector 1)) (v (vector 1 2)))
    (vector-set! v 1 v)
    (written (cons* s s e e b b v))))
(test-true (eof-object? (read-with-shared-structure (open-input-string " "))))
(test-error (read-with-shared-structure (open-input-string "(1 #0=")))
(test '(1 (2)) (parameterize ((current-input-port (open-input-string "(1 (2))"))) (read/ss)))
(test-output "#0=(#0#)" (let ((x (list 1))) (set-car! x x) (write/ss x)))

(test-finish)
