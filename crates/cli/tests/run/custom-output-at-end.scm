;;; The buffer of a port of procedures is written at the end of a program, though an error ends it.
(import (scheme base) (scheme write) (canny io))
(define port
  (make-textual-output "port"
                       (lambda (text start count)
                         (write-string text (current-output-port) start (+ start count))
                         count)))
(write-string "text" port)
(car 5)
