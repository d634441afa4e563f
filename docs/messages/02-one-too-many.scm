;;; One parenthesis too many (line 4).
(define (mean numbers)
  (let ((count (length numbers)))
    (/ (apply + numbers) count))))

(display (mean '(1 2 3)))
