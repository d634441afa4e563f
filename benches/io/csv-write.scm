;;; expect: 34518516
;;; A million rows of five fields to a file, every second with a field that has to be quoted.
(import (scheme base) (scheme file) (scheme write) (canny csv) (only (canny fs) file-size))
(define (write-rows port count)
  (do ((i 0 (+ i 1)))
      ((= i count))
    (csv-write (list i "name" (if (even? i) "plain text" "one, two") (* i 3) "end") port)))
(call-with-output-file "outputs/rows.csv"
  (lambda (port) (write-rows port 1000000)))
(display (file-size "outputs/rows.csv"))
(newline)
