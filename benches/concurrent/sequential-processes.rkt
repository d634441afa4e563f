#lang racket/base
;; As sequential-processes.scm.
(require racket/port racket/file)
(define words (current-command-line-arguments))
(define count (if (zero? (vector-length words)) 1000 (string->number (vector-ref words 0))))
(define echo (find-executable-path "echo"))
(define (status key)
  (string->number
   (cadr (regexp-match (string-append key ":[^0-9]*([0-9]+)") (file->string "/proc/self/status")))))
(define most 0)
(define early #f)
(for ([number (in-range 1 (+ count 1))])
  (define-values (child out in err)
    (subprocess #f #f (current-error-port) echo (number->string number)))
  (define lines (port->lines out))
  (subprocess-wait child)
  (close-input-port out)
  (close-output-port in)
  (unless (equal? lines (list (number->string number)))
    (error "another output than expected"))
  (set! most (max most (status "Threads")))
  (when (= number (min 50 count)) (set! early (status "VmRSS"))))
(printf "processes: ~a\nthreads: ~a\nkilobytes after ~a: ~a\nkilobytes at the end: ~a\n"
        count most (min 50 count) early (status "VmRSS"))
