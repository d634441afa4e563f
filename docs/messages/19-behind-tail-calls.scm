;;; A mistake behind tail calls (line 15).
(define (parse tokens)
  (display "parsing ")
  (for-each display tokens)
  (check tokens))

(define (check tokens)
  (for-each display (list " checking " (length tokens)))
  (if (null? tokens)
      'nothing
      (evaluate tokens)))

(define (evaluate tokens)
  (for-each display '(" evaluating "))
  (vector-ref (list->vector tokens) (length tokens)))

(define (run tokens)
  (list 'result (parse tokens)))

(display (run '(1 + 2)))
