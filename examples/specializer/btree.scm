(import (scheme base) (scheme write))

(define-record-type btree
  (make-btree element left right)
  btree?
  (element btree-element)
  (left btree-left)
  (right btree-right))

(define (btree-cons head tail)
  (if (btree? tail)
      (let ((element (btree-element tail)))
        (if (< element head)
            (make-btree element (btree-left tail) (btree-cons head (btree-right tail)))
            (make-btree element (btree-cons head (btree-left tail)) (btree-right tail))))
      (make-btree head #f #f)))

(define (explode btree)
  (unless (btree? btree)
    (error "not a btree" btree))
  (list (btree-element btree) (btree-left btree) (btree-right btree)))

(define (fill count tree seed)
  (if (= count 0)
      tree
      (fill (- count 1) (btree-cons seed tree) (modulo (+ (* seed 137) 29) 1009))))

(let loop ((i 0) (all '()))
  (if (= i 2000)
      (begin (write (car all)) (newline))
      (loop (+ i 1) (explode (fill 20 #f i)))))
