;;; expect: 5736 1000
;;; Long integers: factorials by small factors, and digits of pi by a spigot.
(import (scheme base) (scheme write))
(define (factorial n)
  (let loop ((i 2) (product 1))
    (if (> i n)
        product
        (loop (+ i 1) (* product i)))))
(define (pi-digits count)
  (let loop ((q 1) (r 0) (t 1) (k 1) (n 3) (l 3) (found 0))
    (cond ((= found count) found)
          ((< (- (+ (* 4 q) r) t) (* n t))
           (loop (* q 10)
                 (* 10 (- r (* n t)))
                 t
                 k
                 (- (quotient (* 10 (+ (* 3 q) r)) t) (* 10 n))
                 l
                 (+ found 1)))
          (else
           (loop (* q k)
                 (* (+ (* 2 q) r) l)
                 (* t l)
                 (+ k 1)
                 (quotient (+ (* q (+ (* 7 k) 2)) (* r l)) (* t l))
                 (+ l 2)
                 found)))))
(define (repeat times)
  (if (= times 1)
      (factorial 2000)
      (begin
        (factorial 2000)
        (repeat (- times 1)))))
(display (string-length (number->string (repeat 100))))
(display " ")
(display (pi-digits 1000))
(newline)
