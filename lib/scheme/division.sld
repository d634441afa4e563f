;;; (scheme division): SRFI 141, as R7RS-large names it.

(define-library (scheme division)
  (export floor/ floor-quotient floor-remainder
          ceiling/ ceiling-quotient ceiling-remainder
          truncate/ truncate-quotient truncate-remainder
          round/ round-quotient round-remainder
          euclidean/ euclidean-quotient euclidean-remainder
          balanced/ balanced-quotient balanced-remainder)
  (import (srfi 141)))
