(define Î» 1)
(define y "ÿ")
