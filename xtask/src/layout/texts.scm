;; Strings, numbers, lists, tables, handlers and output, long enough to be compiled.
(import (scheme base) (scheme char) (scheme write) (srfi 69))

(define table (make-hash-table))

(define (fill i)
  (when (< i 3000)
    (let ((key (string-append "key" (number->string (modulo (* i 7919) 64)))))
      (hash-table-set! table key (cons i (hash-table-ref/default table key '())))
      (fill (+ i 1)))))

(define (put i)
  (when (< i 10000)
    (write-string "line ")
    (write i)
    (write-char #\space)
    (display (* i 1.5))
    (newline)
    (put (+ i 1))))

(define (fib n)
  (if (< n 2)
      n
      (+ (fib (- n 1)) (fib (- n 2)))))

(define (words text)
  (let loop ((characters (string->list text)) (word '()) (found '()))
    (cond ((null? characters)
           (reverse (cons (list->string (reverse word)) found)))
          ((char-whitespace? (car characters))
           (loop (cdr characters) '() (cons (list->string (reverse word)) found)))
          (else
           (loop (cdr characters) (cons (char-upcase (car characters)) word) found)))))

(fill 0)
(put 0)
(display (fib 20))
(display (apply + (map length (hash-table-values table))))
(write (vector-map string-length (list->vector (words "the words of a text"))))
(write (guard (e ((symbol? e) e))
         (raise 'over)))
(newline)
