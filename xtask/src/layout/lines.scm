;; Reads lines and sums up their lengths, long enough to be compiled.
(import (scheme base) (scheme file) (scheme write))

(define name "lines.txt")

(call-with-output-file name
  (lambda (port)
    (let loop ((i 0))
      (when (< i 30000)
        (write-string "a line of some characters, as there are many\n" port)
        (when (zero? (modulo i 20))
          (write-string "naïve café, Ελληνικά, 5 €\n" port))
        (loop (+ i 1))))))

(define port (open-input-file name))

(define (count sum)
  (let ((line (read-line port)))
    (if (eof-object? line)
        sum
        (count (+ sum (string-length line))))))

(write (count 0))
(newline)
