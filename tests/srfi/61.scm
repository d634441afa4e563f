;; SRFI 61: a more general cond clause.

(import (except (scheme base) cond) (srfi 61) (canny test))

(test '(#\a #\b #\c)
  (let ((port (open-input-string "abc")))
    (let loop ()
      (cond ((read-char port) char? => (lambda (c) (cons c (loop))))
            (else '())))))
(test 3 (cond ((values 1 2) (lambda (a b) (< a b)) => +) (else 'no)))
(test 'no (cond ((values 2 1) (lambda (a b) (< a b)) => +) (else 'no)))
(test 'none (cond ((values) (lambda () #t) => (lambda () 'none))))
(test 1 (cond (#f 2) ((assv 'a '((a . 1))) => cdr) (else 3)))
(test 5 (cond (#f 1) (5)))
(test 'last (cond (#f 1) ((values 1 2) (lambda (a b) #f) => list) (#t 'first 'last)))
(test 'else (cond (else 'else)))

(test-finish)
