;;; expect: 61000000
;;; A file of UTF-8 as one string.
(import (scheme base) (scheme write) (canny files))
(display (string-length (file->string "inputs/mixed.txt")))
(newline)
