;;; An error that the program raises (line 4).
(define (withdraw balance amount)
  (if (> amount balance)
      (error "not enough money:" balance amount)
      (- balance amount)))

(define (pay-all balance bills)
  (if (null? bills)
      balance
      (pay-all (withdraw balance (car bills)) (cdr bills))))

(display (pay-all 100 '(20 50 60)))
