;;; expect: 524287 33274816
;;; Collector: binary trees of depth 18 made and dropped while one lives on.
(import (scheme base) (scheme write))
(define (make-tree depth)
  (if (= depth 0)
      (cons '() '())
      (cons (make-tree (- depth 1)) (make-tree (- depth 1)))))
(define (count-nodes tree)
  (if (null? (car tree))
      1
      (+ 1 (count-nodes (car tree)) (count-nodes (cdr tree)))))
(define long-lived (make-tree 18))
(define (churn depth times total)
  (if (= times 0)
      total
      (churn depth (- times 1) (+ total (count-nodes (make-tree depth))))))
(define (stretch depth total)
  (if (> depth 18)
      total
      (stretch (+ depth 4) (+ total (churn depth (expt 2 (- 22 depth)) 0)))))
(define total (stretch 4 0))
(display (count-nodes long-lived))
(display " ")
(display total)
(newline)
