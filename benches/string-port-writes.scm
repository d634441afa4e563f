;;; expect: 10888890
;;; A million writes of numbers and strings to one string port.
(import (scheme base) (scheme write))
(define (write-all count)
  (let ((port (open-output-string)))
    (do ((i 0 (+ i 1)))
        ((= i count) (get-output-string port))
      (write i port)
      (write-string "item" port)
      (newline port))))
(display (string-length (write-all 1000000)))
(newline)
