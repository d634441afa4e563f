(import (scheme base) (scheme case-lambda))
(define nothing (case-lambda))
(define procedures (list nothing))
((car procedures) 1)
