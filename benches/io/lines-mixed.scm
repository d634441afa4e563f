;;; expect: 60000000 The sum of the lengths of a million lines of UTF-8, every twentieth with
;;; characters beyond ASCII.
(import (scheme base) (scheme file) (scheme write))
(define port (open-input-file "inputs/mixed.txt"))
(define (count sum)
  (let ((line (read-line port)))
    (if (eof-object? line)
        sum
        (count (+ sum (string-length line))))))
(display (count 0))
(newline)
