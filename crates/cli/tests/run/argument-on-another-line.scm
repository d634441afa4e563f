(define (first-of table key)
  (vector-ref table
              (+ key
                 1)))
(define (report table)
  (string-append "first: "
                 (first-of table 1)
                 "!"))
(display (report (vector 1 2 3)))
