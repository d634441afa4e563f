(import (scheme base))
(define (call f) (f 1))
(call 5)
