(import (scheme base) (scheme write))
(display
  (with-exception-handler
    (lambda (e) (* e 2))
    (lambda () (+ 1 (raise-continuable 20)))))
(newline)
