(import (scheme base) (scheme write) (only (canny base) define*))
;; A procedure that only calls one with keywords is named in backtraces, though both were copied.
(define* (tree depth #:key (value 1) (step 2))
  (if (= depth 0) (+ value 'x) (tree (- depth 1) #:value value #:step step)))
(define (wrap depth) (tree depth #:step 3))
(define (go x) (list (wrap x)))
(go 2)
