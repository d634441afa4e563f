;; SRFI 5: let with signatures and rest arguments.

(import (except (scheme base) let) (srfi 5) (canny test))

(test 1 (let () 1))
(test 3 (let ((a 1) (b 2)) (+ a b)))
(test 3 (let ((a 1) (b 2)) (define c (+ a b)) c))
(test '(3 2 1) (let loop ((i 1) (l '())) (if (> i 3) l (loop (+ i 1) (cons i l)))))
(test '(3 2 1) (let (loop (i 1) (l '())) (if (> i 3) l (loop (+ i 1) (cons i l)))))
(test 'done (let (thunk) 'done))
(test '(1 (2 3)) (let ((a 1) . (rest 2 3)) (list a rest)))
(test '(1 ()) (let ((a 1) rest) (list a rest)))
(test '((1 2) (1) ())
  (let loop (rest 1 2)
    (if (null? rest) (list rest) (cons rest (apply loop (reverse (cdr (reverse rest))))))))
(test '(4 3 2 1)
  (let loop ((done '()) . (more 1 2 3 4))
    (if (null? more) done (apply loop (cons (car more) done) (cdr more)))))
(test '(4 3 2 1)
  (let (loop (done '()) . (more 1 2 3 4))
    (if (null? more) done (apply loop (cons (car more) done) (cdr more)))))
;; The name is not visible in the expressions.
(test 6 (let ((f (lambda (x) (* 2 x)))) (let (f (x (f 3))) x)))

(test-finish)
