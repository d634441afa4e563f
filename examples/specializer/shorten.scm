(import (scheme base) (scheme write))

(define (shorten text limit)
  (if (> (string-length text) limit)
      (string-append (substring text 0 limit) "...")
      text))

(define text (make-string 50 #\x))

(let loop ((i 0) (total 0))
  (if (= i 20000)
      (begin (display total) (newline))
      (loop (+ i 1) (+ total (string-length (shorten text 42))))))
