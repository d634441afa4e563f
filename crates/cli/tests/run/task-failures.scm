;; Failures of tasks that nobody waits for are reported at the end, others are not.
(import (scheme base) (scheme write) (canny tasks) (srfi 18))

(define (fetch name)
  (if (string=? name "two") (error "cannot fetch" name) name))

(define-syntax quietly
  (syntax-rules () ((_ expression) (guard (e (#t (display "raised\n"))) expression))))

(define (ended task)
  (if (future-done? task) task (begin (yield) (ended task))))

;; These are known to somebody.
(quietly (await (start (fetch "two"))))
(quietly (await (ended (start (fetch "two")))))
(quietly (with-tasks (start (fetch "two"))))
(quietly (await (future-all (list (start 1) (start (fetch "two"))))))
(quietly (await/default (ended (start (fetch "two"))) 1 #f))
(quietly (thread-join! (thread-start! (make-thread (lambda () (fetch "two"))))))
(define sleeper (start (sleep 1000)))
(cancel! sleeper)
(ended sleeper)

;; These are not.
(define first (ended (spawn (lambda () (fetch "two")) #:name 'first)))
(define second (ended (start (raise 'oops))))
(define awaited-too-briefly (make-future))
(define third (start (await awaited-too-briefly) (vector-ref (vector) 0)))
(display (await/default third 0 'later))
(newline)
(future-resolve! awaited-too-briefly #t)
(ended third)
(display (list (future-done? first) (future-done? second)))
