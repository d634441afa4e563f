;;; expect: 143013
;;; A file of JSON to data.
(import (scheme base) (scheme file) (scheme write) (canny json))
(define records (call-with-input-file "inputs/records.json" json-read))
(display (vector-length records))
(newline)
