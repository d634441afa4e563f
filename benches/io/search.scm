;;; expect: 12581412518
;;; A search in each line of a log; of those that match, the sum of a group's numbers.
(import (scheme base) (scheme file) (scheme write) (canny regexp))
(define pattern
  (regexp "(\\d+\\.\\d+\\.\\d+\\.\\d+) (ERROR|WARN) \"GET /([a-z]+)/sigma\\?id=(\\d+)"))
(define port (open-input-file "inputs/server.log"))
(define (sum-of-ids sum)
  (let ((line (read-line port)))
    (if (eof-object? line)
        sum
        (let ((match (regexp-search pattern line)))
          (sum-of-ids (if match
                          (+ sum (string->number (regexp-match-submatch match 4)))
                          sum))))))
(display (sum-of-ids 0))
(newline)
