;;; expect: 100000085
;;; A copy of a file of 100 MB, made by the operation for that.
(import (scheme base) (scheme write) (only (canny fs) copy-file file-size))
(copy-file "inputs/server.log" "outputs/server.log")
(display (file-size "outputs/server.log"))
(newline)
