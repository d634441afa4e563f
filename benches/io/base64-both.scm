;;; expect: 66666924 same
;;; A file of 50 MB to base 64 and back.
(import (scheme base) (scheme write) (canny base64) (canny files))
(define bytes (file->bytevector "inputs/records.json"))
(define text (base64-encode bytes))
(display (string-length text))
(display (if (equal? (base64-decode text) bytes) " same" " other"))
(newline)
