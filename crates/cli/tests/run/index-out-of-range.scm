(import (scheme base))
(define table (make-vector 3 0))
(vector-ref table 3)
