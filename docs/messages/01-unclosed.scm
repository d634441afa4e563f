;;; A parenthesis is not closed (line 2).
(define (square x)
  (* x x)

(define (cube x)
  (* x (square x)))

(display (cube 3))
