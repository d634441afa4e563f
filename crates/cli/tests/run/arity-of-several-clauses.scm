(import (scheme base) (scheme case-lambda))
(define area
  (case-lambda
    ((side) (* side side))
    ((width height) (* width height))
    ((a b c d . rest) 0)))
(define procedures (list area))
((car procedures) 1 2 3)
