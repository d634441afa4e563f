;;; Included by the tests of 4.1.7.
(define one 1)
(+ one 2)
