;;; A file that is not there (line 3).
(define (first-line name)
  (call-with-input-file name read-char))

(define (load-settings)
  (list 'first (first-line "settings.txt")))

(display (load-settings))
