;;; SRFI 247: syntactic monads.

(import (scheme base) (scheme case-lambda) (srfi 247) (canny test))

(define-syntactic-monad $ a b)

(test '(1 2 3) (($ lambda (c) (list a b c)) 1 2 3))
(test '(1 2 (3 4)) (($ lambda c (list a b c)) 1 2 3 4))
($ define (f c d) (list a b c d))
(test '(1 2 3 4) (f 1 2 3 4))
(test '(1 2) (($ case-lambda (() (list a b)) ((c) 'three)) 1 2))
(test 'three (($ case-lambda (() (list a b)) ((c) 'three)) 1 2 3))
(test '(1 5) ($ let*-values (((c) (values 1 2 3)) (() (values a (+ b c)))) (list a b)))
(test '(1 2 4) (let ((a 1)) ($ list ((b 2)) 4)))
(test '(1 6) (let ((a 1) (b 6)) ($ list)))
(test '(6 1) (let ((a 1) (b 6)) ($ list ((b a) (a b)))))
(test '(2 8 10)
      (let ((a 1))
        ($ let loop ((c 3) (b 2))
          (if (= a 2)
              (list a b c)
              (loop 2 (+ b 6) (+ c 7))))))

;; A state machine: the states of the loop are where they are not named.
(define (factors n)
  (define-syntactic-monad % n i)
  (let f ((n n) (i 2))
    (cond ((>= i n) (list n))
          ((integer? (/ n i)) (cons i (% f ((n (/ n i))))))
          (else (% f ((i (+ i 1))))))))
(test '(2 2 3 5) (factors 60))

(test-finish)
