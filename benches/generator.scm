;;; expect: 45000150000
;;; A generator by re-entrant call/cc: every element switches continuations twice.
(import (scheme base) (scheme write))
(define (make-generator walk)
  (define return #f)
  (define (next)
    (walk (lambda (element)
            (call-with-current-continuation
             (lambda (resume)
               (set! next (lambda () (resume #f)))
               (return element)))))
    (return 'done))
  (lambda ()
    (call-with-current-continuation
     (lambda (k)
       (set! return k)
       (next)))))
(define (count-up limit)
  (make-generator
   (lambda (yield)
     (let loop ((i 1))
       (if (<= i limit)
           (begin
             (yield i)
             (loop (+ i 1))))))))
(define (sum generator)
  (let loop ((total 0))
    (let ((element (generator)))
      (if (eq? element 'done)
          total
          (loop (+ total element))))))
(display (sum (count-up 300000)))
(newline)
