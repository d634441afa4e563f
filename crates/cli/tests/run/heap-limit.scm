;;; options: --heap-limit 32M
(import (scheme base))
(define (grow list)
  (grow (cons 1 list)))
(grow '())
