;; SRFI 165: the environment monad.

(import (scheme base) (srfi 165) (canny test))

(define x (make-computation-environment-variable 'x 10 #f))
(define y (make-computation-environment-variable 'y #f #t))

(test-group "environments"
  (define e (make-computation-environment))
  (test '(10 #f) (list (computation-environment-ref e x) (computation-environment-ref e y)))
  (define e2 (computation-environment-update e x 1 y 2))
  (test '(1 2 10 #f) (list (computation-environment-ref e2 x) (computation-environment-ref e2 y)
                           (computation-environment-ref e x) (computation-environment-ref e y)))
  (define e3 (computation-environment-copy e2))
  (computation-environment-update! e3 x 5)
  (test '(5 1) (list (computation-environment-ref e3 x) (computation-environment-ref e2 x)))
  (test-error (computation-environment-update! e3 y 5))
  (test-error (computation-environment-update e x))
  (test-error (computation-environment-ref e 'x)))

(test-group "computations"
  (test 5 (computation-run (computation-pure 5)))
  (test-values (1 2) (computation-run (computation-pure 1 2)))
  (test 7 (computation-run
           (make-computation (lambda (compute) (+ 2 (compute (computation-pure 5)))))))
  (test 10 (computation-environment-ref (computation-run (computation-ask)) x))
  (test 20 (computation-run
            (computation-local (lambda (e) (computation-environment-update e x 20))
                               (computation-fn (x) (computation-pure x)))))
  (test '(3 (2 1))
    (let* ((seen '())
           (note (lambda (n) (make-computation (lambda (compute) (set! seen (cons n seen)) n))))
           (result (computation-run (computation-each (note 1) (note 2) (computation-pure 3)))))
      (list result seen)))
  (test 2 (computation-run
           (computation-each-in-list (list (computation-pure 1) (computation-pure 2)))))
  (test-error (computation-each-in-list '()))
  (test 12 (computation-run (computation-bind (computation-pure 5)
                                              (lambda (n) (computation-pure n (+ n 2)))
                                              (lambda (a b) (computation-pure (+ a b))))))
  (test 5 (computation-run (computation-bind (computation-pure 5))))
  (test '(1 2)
        (computation-run (computation-sequence (list (computation-pure 1) (computation-pure 2)))))
  (test '() (computation-run (computation-sequence '())))
  (test-error (computation-run 5))
  (test-error (make-computation 5)))

(test-group "variables"
  (test '(10 7) (computation-run
                 (computation-with ((y 7))
                                   (computation-fn ((a x) y) (computation-pure (list a y))))))
  (test 3 (computation-run
           (computation-each (computation-with! (x 3)) (computation-fn (x) (computation-pure x)))))
  (test 10 (computation-run (computation-each (computation-with ((x 3)) (computation-with! (x 4)))
                                              (computation-fn (x) (computation-pure x)))))
  (test-error (computation-run (computation-with! (y 3))))
  (test 10 (computation-run
            (computation-forked (computation-with! (x 3))
                                (computation-fn (x) (computation-pure x)))))
  (test 3 (computation-run
           (computation-forked (computation-pure 1)
                               (computation-each (computation-with! (x 3))
                                                 (computation-fn (x) (computation-pure x))))))
  (test '(3 10)
    (computation-run
     (computation-bind/forked
      (computation-each (computation-with! (x 3)) (computation-fn (x) (computation-pure x)))
      (lambda (inner) (computation-fn (x) (computation-pure (list inner x)))))))
  (test '(5 5)
    (computation-run
     (computation-with ((default-computation (lambda (n) (computation-pure (list n n))))) 5))))

(test-group "types"
  (define-computation-type make-env run a (b 2) (c 3 "immutable"))
  (test '(#f 2 3 10) (run (computation-fn (a b c x) (computation-pure (list a b c x)))))
  (test '(1 5) (run (computation-each (computation-with! (a 1) (b 5))
                                      (computation-fn (a b) (computation-pure (list a b))))))
  (test '(7 3) (run (computation-with ((c 7)) (computation-fn (c) (computation-pure (list c 3))))))
  (test-error (run (computation-with! (c 7))))
  (let ((e (make-env)))
    (computation-environment-update! e b 9)
    (test '(9 2)
          (list (computation-environment-ref e b) (computation-environment-ref (make-env) b)))))

;; A loop of computations takes no space.
(test 'done
  (computation-run
   (let loop ((n 100000))
     (computation-bind (computation-pure n)
                       (lambda (n) (if (= n 0) (computation-pure 'done) (loop (- n 1))))))))

(test-finish)
