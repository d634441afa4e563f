;;; SRFI 45: primitives for expressing iterative lazy algorithms.

(import (scheme base) (srfi 45) (canny test))

(test 3 (force (delay (+ 1 2))))
(test 3 (force (eager 3)))
(test 3 (force (lazy (delay 3))))
(test 3 (force (force (eager (delay 3)))))
(let* ((count 0) (promise (delay (begin (set! count (+ count 1)) count))))
  (force promise)
  (test 1 (force promise)))
;; A long chain of lazy promises is forced in constant space.
(define (loop n) (if (= n 0) (lazy (eager 'done)) (lazy (loop (- n 1)))))
(test 'done (force (loop 100000)))
;; A promise that is forced while it is being forced keeps its first value.
(let ((first? #t))
  (define promise
    (delay (if first?
               (begin (set! first? #f) (force promise))
               'second)))
  (test 'second (force promise)))
;; Sharing.
(let* ((count 0)
       (inner (delay (begin (set! count (+ count 1)) 'x)))
       (one (lazy inner))
       (two (lazy inner)))
  (test '(x x) (list (force one) (force two)))
  (test 1 count))
(test-error (force (delay (error "no"))))

(test-finish)
