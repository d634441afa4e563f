; Tests of one place are made once, and the failure of a group continues with the next one.
(import (canny syntax) (canny primitives))
(define (simplify expression)
  (match expression
    (('+ 0 x) x)
    (('+ x 0) x)
    (('* 1 x) x)
    ((? symbol? s) s)
    (#(x y ...) (list x y))
    (((a . b) ...) a)
    (_ expression)))
(match-define (first . rest) '(1 2))
; The second clause is never reached.
(match 1 (x x) ((a b) a))
