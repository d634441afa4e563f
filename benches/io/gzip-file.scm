;;; expect: done
;;; A file of 50 MB to one of gzip.
(import (scheme base) (scheme file) (scheme write) (canny compression) (canny files))
(define output
  (open-gzip-output (open-binary-output-file "outputs/records.json.gz") #:level 6))
(write-bytevector (file->bytevector "inputs/records.json") output)
(close-port output)
(display "done")
(newline)
