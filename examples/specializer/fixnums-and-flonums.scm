;; A procedure that is called with fixnums half of the time, and with flonums otherwise.
;; docs/guide/specializer-examples.md reads what the specializer makes of it.
(import (scheme base) (scheme write))

(define (walk x y steps)
  (let loop ((i 0) (a x) (b y))
    (if (= i steps)
        (+ a b)
        (loop (+ i 1)
              (if (> a 1000) (- a (* x 300)) (+ a (* x x)))
              (if (< b a) (+ b (* y 2)) (- b (* 3 (- y x))))))))

(define (total rounds)
  (let loop ((i 0) (sum 0))
    (if (= i rounds)
        sum
        (loop (+ i 1)
              (+ sum
                 (if (even? i)
                     (walk 1 2 20)
                     (exact (floor (walk 1.5 2.5 20)))))))))

(write (total 5000))
(newline)
