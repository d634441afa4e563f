(define (f x)
  (let ((y (list x
                 2))
        (z 1))
    (when (pair? y)
      (display y)
    (display x)
    (cons z y)))

(define (g) 2)
