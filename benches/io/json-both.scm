;;; expect: 143013
;;; A file of JSON to data, and the data to a file.
(import (scheme base) (scheme file) (scheme write) (canny json))
(define records (call-with-input-file "inputs/records.json" json-read))
(call-with-output-file "outputs/records.json"
  (lambda (port) (json-write records port)))
(display (vector-length records))
(newline)
