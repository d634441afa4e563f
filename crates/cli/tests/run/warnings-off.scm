;;; options: -W no-unused-variable -W no-unbound-variable
(define (area width height)
  (let ((twice (* 2 width)))
    (* width height)))
(define (spare) (undefined-name))
(display (area 2 3))
