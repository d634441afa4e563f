;;; Without the import, a vector is no procedure.
(import (scheme base))
(define numbers (vector 1 2 3))
(numbers 0)
