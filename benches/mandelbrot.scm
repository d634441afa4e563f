;;; expect: 60847
;;; Floating-point arithmetic in nested loops.
(import (scheme base) (scheme write))
(define (escapes cr ci limit)
  (let loop ((zr 0.0) (zi 0.0) (i 0))
    (if (= i limit)
        i
        (let ((zr2 (* zr zr)) (zi2 (* zi zi)))
          (if (> (+ zr2 zi2) 4.0)
              i
              (loop (+ (- zr2 zi2) cr)
                    (+ (* 2.0 zr zi) ci)
                    (+ i 1)))))))
(define (inside size limit)
  (let ((step (/ 3.0 (inexact size))))
    (let rows ((y 0) (ci -1.5) (count 0))
      (if (= y size)
          count
          (let columns ((x 0) (cr -2.25) (count count))
            (if (= x size)
                (rows (+ y 1) (+ ci step) count)
                (columns (+ x 1)
                         (+ cr step)
                         (if (= (escapes cr ci limit) limit) (+ count 1) count))))))))
(display (inside 600 256))
(newline)
