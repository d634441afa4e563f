(import (scheme base) (scheme write) (my missing library))
(define (second-part x) (* x (from-missing 2)))
(display (second-part (first-part 1)))
