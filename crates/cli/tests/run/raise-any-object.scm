(import (scheme base))
(define (fail)
  (raise (list 'my-condition 42)))
(fail)
