;; The same with Guile's fibers: guile -L FIBERS ping-pong.guile.scm [TIMES]
(use-modules (fibers) (fibers channels))
(define times
  (let ((words (cdr (command-line))))
    (if (null? words) 500000 (string->number (car words)))))
(define (play)
  (let ((ping (make-channel)) (pong (make-channel)))
    (spawn-fiber
     (lambda ()
       (do ((i 0 (+ i 1))) ((= i times))
         (put-message pong (+ 1 (get-message ping))))))
    (let loop ((i 0) (number 0))
      (if (< i times)
          (begin
            (put-message ping number)
            (loop (+ i 1) (get-message pong)))
          number))))
(define began (get-internal-real-time))
(define result (run-fibers play))
(define elapsed (/ (- (get-internal-real-time) began) internal-time-units-per-second))
(unless (= result times) (error "wrong count" result))
(display (inexact->exact (round (/ (* 1000000000 elapsed) (* 2 times)))))
(newline)
