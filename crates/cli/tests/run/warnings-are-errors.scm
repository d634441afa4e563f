;;; options: -W error
(define (area width height)
  (let ((twice (* 2 width)))
    (* width height)))
(display (area 2 3))
