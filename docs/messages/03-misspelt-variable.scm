;;; A misspelt variable (line 3).
(define (area width height)
  (* width heigth))

(define (volume width height depth)
  (* depth (area width height)))

(display (volume 2 3 4))
