(import (scheme base) (scheme write))

;; An order of everything.
(define (rank x)
  (cond ((number? x) 0) ((char? x) 1) ((string? x) 2) ((symbol? x) 3) ((pair? x) 4) (else 5)))

(define (before? a b)
  (let ((ra (rank a)) (rb (rank b)))
    (if (= ra rb)
        (case ra
          ((0) (< a b))
          ((1) (char<? a b))
          ((2) (string<? a b))
          ((3) (string<? (symbol->string a) (symbol->string b)))
          ((4) (before? (car a) (car b)))
          (else #f))
        (< ra rb))))

(define (insert x sorted)
  (if (or (null? sorted) (before? x (car sorted)))
      (cons x sorted)
      (cons (car sorted) (insert x (cdr sorted)))))

(define (sort objects)
  (let loop ((objects objects) (sorted '()))
    (if (null? objects)
        sorted
        (loop (cdr objects) (insert (car objects) sorted)))))

(define objects
  (list "b" 1.5 'y '(2) #\b 1 #t "a" 1/2 'x '(1) #\a 3 #f 2.5 'z "c" '("a") (expt 10 30) #\c))

(let loop ((i 0))
  (if (= i 500)
      (begin (write (sort objects)) (newline))
      (begin (sort objects) (loop (+ i 1)))))
