;;; Too few arguments (line 6).
(define (make-label text width)
  (string-append text (make-string (- width (string-length text)) #\.)))

(define (show-all words)
  (map (lambda (word) (make-label word)) words))

(display (show-all '("one" "two")))
