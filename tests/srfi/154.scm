;; SRFI 154: first-class dynamic extents.

(import (scheme base) (srfi 154) (canny test))

(define p (make-parameter 1))

(define extent (parameterize ((p 2)) (current-dynamic-extent)))
(test-true (dynamic-extent? extent))
(test-false (dynamic-extent? 5))
(test '(2 1) (let* ((inside (with-dynamic-extent extent p)) (outside (p))) (list inside outside)))
(test-values (2 3) (with-dynamic-extent extent (lambda () (values (p) 3))))
(test-error (with-dynamic-extent 5 p))

(define f (parameterize ((p 3)) (dynamic-lambda (a . b) (list (p) a b))))
(test '(3 1 (2)) (parameterize ((p 4)) (f 1 2)))
(test '(4 (3 1 ())) (parameterize ((p 4)) (let ((inner (f 1))) (list (p) inner))))

;; Winders are run on the way there and back.
(test '(in out in thunk out)
  (let* ((seen '()) (note (lambda (what) (set! seen (cons what seen)))))
    (let ((extent
           (dynamic-wind (lambda () (note 'in)) current-dynamic-extent (lambda () (note 'out)))))
      (with-dynamic-extent extent (lambda () (note 'thunk))))
    (reverse seen)))
(test '(out in out in)
  (let* ((seen '())
         (note (lambda (what) (set! seen (cons what seen))))
         (outside (current-dynamic-extent)))
    (dynamic-wind (lambda () (note 'in))
                  (lambda () (with-dynamic-extent outside (lambda () #f)))
                  (lambda () (note 'out)))
    seen))
;; Handlers are those of the extent.
(test 'outer
  (call-with-current-continuation
   (lambda (k)
     (with-exception-handler
       (lambda (object) (k 'outer))
       (lambda ()
         (let ((outside (current-dynamic-extent)))
           (guard (object (#t 'inner))
             (with-dynamic-extent outside (lambda () (raise 'oops))))))))))
;; Leaving by a continuation.
(test '(1 left)
      (let ((x (call-with-current-continuation
                (lambda (k) (with-dynamic-extent extent (lambda () (k 'left)))))))
        (list (p) x)))

(test-finish)
