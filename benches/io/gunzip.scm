;;; expect: 993194
;;; The lines of a log out of gzip.
(import (scheme base) (scheme file) (scheme write) (canny compression))
(define port
  (open-gzip-input (open-binary-input-file "inputs/server.log.gz") #:text? #t))
(define (count lines)
  (if (eof-object? (read-line port))
      lines
      (count (+ lines 1))))
(display (count 0))
(newline)
