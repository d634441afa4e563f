;;; A parameter hides a procedure (line 3).
(define (pair-up list)
  (map (lambda (x) (list x x)) list))

(display (pair-up '(1 2 3)))
