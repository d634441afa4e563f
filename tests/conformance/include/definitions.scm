;;; Included by the tests of 4.1.7.
(define included-name 'included)
(define (included-square x) (* x x))
