;;; expect: 25035
;;; How many lines of a log match.
(import (scheme base) (scheme file) (scheme write) (canny regexp))
(define pattern
  (regexp "(\\d+\\.\\d+\\.\\d+\\.\\d+) (ERROR|WARN) \"GET /([a-z]+)/sigma\\?id=(\\d+)"))
(define next (regexp-lines pattern (open-input-file "inputs/server.log")))
(let loop ((count 0))
  (if (eof-object? (next))
      (begin
        (display count)
        (newline))
      (loop (+ count 1))))
