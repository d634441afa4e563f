;;; expect: 12581412518
;;; All matches in a log that is one string; the sum of a group's numbers.
(import (scheme base) (scheme write) (canny files) (canny regexp))
(define pattern
  (regexp "(\\d+\\.\\d+\\.\\d+\\.\\d+) (ERROR|WARN) \"GET /([a-z]+)/sigma\\?id=(\\d+)"))
(display (regexp-fold pattern
                      (lambda (start match string sum)
                        (+ sum (string->number (regexp-match-submatch match 4))))
                      0
                      (file->string "inputs/server.log")))
(newline)
