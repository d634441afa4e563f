;;; Buffers of ports of procedures are written when the program ends without closing the ports.
(import (scheme base) (scheme char) (scheme process-context) (scheme write) (canny io))
(define (output name)
  (make-textual-output name
                       (lambda (text start count)
                         (display (string-append "<" name ":" (substring text start (+ start count))
                                                 ">"))
                         count)))
(define inner (output "inner"))
(define outer
  (make-textual-output "outer"
                       (lambda (text start count)
                         (write-string (string-upcase text) inner start (+ start count))
                         count)))
(define failing
  (make-binary-output "failing" (lambda (bytes start count) (error "no room left"))))
(define closed (output "closed"))
(write-string "one " inner)
(write-string "two" outer)
(write-u8 1 failing)
(write-string "shut" closed)
(close-port closed)
(dynamic-wind
 (lambda () #f)
 (lambda () (exit 3))
 (lambda () (write-string "last " inner)))
