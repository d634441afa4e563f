;;; Division by zero (line 3).
(define (mean numbers)
  (/ (apply + numbers) (length numbers)))

(define (means lists)
  (map mean lists))

(display (means '((1 2 3) () (4 5))))
