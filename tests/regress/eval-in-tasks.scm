;;; A task on any worker evaluates code that is nested as deeply as the main task does: its native
;;; stack was small.

(import (scheme base) (scheme eval) (canny tasks) (canny test))

(define (nested levels)
  (let loop ((levels levels) (form 1))
    (if (= levels 0)
        form
        (loop (- levels 1) (list '+ 1 form)))))

(define bindings (environment '(scheme base)))
(define form (nested 4000))

;; Long enough for others to take up tasks.
(define (compute)
  (let loop ((count 0))
    (if (< count 300000) (loop (+ count 1)) count)))

(test-group "evaluation of nested code in tasks"
  (test '(4001 4001 4001 4001 4001 4001)
        (map await
             (map (lambda (number)
                    (spawn (lambda ()
                             (compute)
                             (eval form bindings))))
                  '(1 2 3 4 5 6)))))

(test-finish)
