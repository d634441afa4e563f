(define x "abc
(display x)
