(import (scheme base) (scheme write) (canny base))

(define* (area width #:optional (height width))
  (* width height))

(let loop ((i 0) (total 0))
  (if (= i 20000)
      (begin (display total) (newline))
      (loop (+ i 1)
            (+ total (area i) (area i 2)))))
