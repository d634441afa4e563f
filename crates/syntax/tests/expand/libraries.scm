(import (canny syntax) (canny primitives) (prefix (deep thing) d:))
(define helper 2)
(d:with-thing helper)
(d:thing)
d:public-thing
(define (car x) x)
(car 1)
