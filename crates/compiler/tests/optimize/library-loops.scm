;; for-each and map of a library with an explicit procedure become loops.
(import (scheme base) (scheme write))
(define (show-all l) (for-each (lambda (x) (display x) (newline)) l))
(define (doubles l) (map (lambda (x) (* 2 x)) l))
(show-all (doubles '(1 2 3)))
