;;; expect: 11888890
;;; A million short lines to a file: a string, a number, the end.
(import (scheme base) (scheme file) (scheme write) (only (canny fs) file-size))
(define (write-lines port count)
  (do ((i 0 (+ i 1)))
      ((= i count))
    (write-string "line " port)
    (write i port)
    (newline port)))
(call-with-output-file "outputs/lines.txt"
  (lambda (port) (write-lines port 1000000)))
(display (file-size "outputs/lines.txt"))
(newline)
