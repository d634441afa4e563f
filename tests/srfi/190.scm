;; SRFI 190: coroutine generators.

(import (scheme base) (srfi 190) (canny test))

(define (all generator)
  (let loop ((seen '()))
    (let ((value (generator)))
      (if (eof-object? value) (reverse seen) (loop (cons value seen))))))

(define g (coroutine-generator (define one 1) (yield one) (yield 2) 'end))
(test '(1 2) (all g))
(test-true (eof-object? (g)))
(test '(0 1 2)
      (all (coroutine-generator (let loop ((i 0)) (if (< i 3) (begin (yield i) (loop (+ i 1))))))))
(define-coroutine-generator letters (yield 'a) (for-each (lambda (x) (yield x)) '(b c)))
(test '(a b c) (all letters))
;; As a procedure.
(test '(1 2 3) (all (coroutine-generator (for-each yield '(1 2 3)))))
(define-coroutine-generator (count from . to)
  (do ((i from (+ i 1))) ((> i (car to))) (yield i)))
(test '(2 3 4) (all (count 2 4)))
(test '(5) (all (count 5 5)))
;; An inner generator has its own yield.
(test '((1 2) 3)
  (all (coroutine-generator
        (let ((inner (coroutine-generator (yield 1) (yield 2))))
          (yield (all inner))
          (yield 3)))))

(test-finish)
