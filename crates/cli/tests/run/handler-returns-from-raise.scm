(import (scheme base) (scheme write))
(with-exception-handler
  (lambda (e) (display "handled ") 10)
  (lambda () (+ 1 (raise 'oops))))
