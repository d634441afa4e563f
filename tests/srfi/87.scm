;; SRFI 87: => in case clauses.

(import (except (scheme base) case => else) (srfi 87) (canny test))

(test '(1) (case 1 ((1 2) => list) (else 'other)))
(test 'one (case 1 ((1) 'one) (else => list)))
(test '(3) (case 3 ((1) 'one) (else => list)))
(test 4 (case (* 2 2) ((4) => (lambda (x) x))))

(test-finish)
