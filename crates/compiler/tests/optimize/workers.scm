;; Procedures with optional or keyword parameters are split; calls with literal keywords go to the
;; worker.
(define* (tree #:key depth (value 1) (step (* 2 value)))
  (if (= depth 0) value (+ (tree #:depth (- depth 1) #:value (+ value step)) (tree #:step 3 #:depth (- depth 1)))))
(define* (area #:key width (height 1)) (* width height))
(define* (walk x #:optional (y x) #:key (by 1) . more)
  (set! y (+ y by))
  (if (> y 10) (list x y more) (walk x y #:by 2)))
(display (tree #:depth 3))
(display (area #:height 2 #:width (read)))
(display (area #:height 2 (read) 3))
(display (area #:width 1 #:width 2))
(display (walk 1))
