;; (canny parallel): the same work for many items.

(import (scheme base) (canny parallel) (canny tasks) (canny atomic) (canny test)
        (only (canny base) condition-kind) (only (srfi 1) iota))

(define-syntax failure
  (syntax-rules ()
    ((_ expression)
     (guard (e ((error-object? e) (condition-kind e)))
       expression
       'none))))

(define (square x) (* x x))

(test-group "map"
  (test '() (parallel-map square '()))
  (test '(49) (parallel-map square '(7)))
  (test '(1 4 9) (parallel-map square '(1 2 3)))
  (test '(11 22) (parallel-map + '(1 2 3) '(10 20)))
  (test '(111 222) (parallel-map + '(1 2) '(10 20) '(100 200) #:workers 2))
  (for-each (lambda (workers)
              (for-each (lambda (chunk)
                          (test (map square (iota 1000))
                                (parallel-map square (iota 1000) #:workers workers #:chunk chunk)))
                        '(1 7 1000 5000 #f)))
            '(1 2 3 20 #f)))

(test-group "for-each"
  (define sum (make-atomic-integer 0))
  (parallel-for-each (lambda (x) (atomic-fetch-add! sum x)) (iota 1000) #:workers 4)
  (test 499500 (atomic-integer-ref sum))
  (parallel-for-each (lambda (x y) (atomic-fetch-add! sum (* x y))) '(1 2) '(10 20))
  (test 499550 (atomic-integer-ref sum))
  (parallel-for-each (lambda (x) (raise 'never)) '()))

(test-group "vectors"
  (test #() (parallel-vector-map square #()))
  (test #(1 4 9) (parallel-vector-map square #(1 2 3) #:workers 2))
  (define places (make-vector 500 #f))
  (parallel-vector-for-each (lambda (i) (vector-set! places i i)) (list->vector (iota 500))
                            #:workers 3)
  (test (iota 500) (vector->list places)))

(test-group "fold"
  (test 0 (parallel-fold + 0 '()))
  (test 10 (parallel-fold + 10 '()))
  (test 11 (parallel-fold + 10 '(1)))
  (test 499510 (parallel-fold + 10 (iota 1000) #:workers 3))
  (test 14 (parallel-fold + 0 '(1 2 3) #:map square #:workers 2))
  ;; The order of the items is kept.
  (test (iota 500) (parallel-fold append '() (iota 500) #:map list #:workers 4 #:chunk 3))
  (test (iota 500) (parallel-fold append '() (iota 500) #:map list #:workers 4)))

(test-group "uneven items"
  (define (work n)
    (if (= 0 (modulo n 10)) (yield))
    (let loop ((i 0) (sum 0))
      (if (= i (* n n)) sum (loop (+ i 1) (+ sum 1)))))
  (test (map square (iota 100)) (parallel-map work (iota 100) #:workers 3)))

(test-group "errors"
  (define (bad-at n) (lambda (x) (if (= x n) (raise (list 'bad x)) x)))
  (define-syntax raised
    (syntax-rules () ((_ expression) (guard (e (else e)) expression 'none))))
  (for-each (lambda (n)
              (test (list 'bad n) (raised (parallel-map (bad-at n) (iota 100) #:workers 3)))
              (test (list 'bad n) (raised (parallel-map (bad-at n) (iota 100) #:workers 1)))
              (test (list 'bad n) (raised (parallel-for-each (bad-at n) (iota 100) #:chunk 9)))
              (test (list 'bad n)
                    (raised (parallel-fold + 0 (iota 100) #:map (bad-at n) #:workers 3))))
            '(0 1 50 99))
  ;; Once, though all raise.
  (define count 0)
  (guard (e (else (set! count (+ count 1))))
    (parallel-map (lambda (x) (raise x)) (iota 100) #:workers 5))
  (test 1 count)
  ;; Those that wait are cancelled.
  (test 'bad
        (raised (parallel-map (lambda (x) (if (= x 1) (raise 'bad) (sleep 1000)))
                              '(0 1) #:workers 2)))
  (test #t (> (processor-count) 0))
  (test 'type (failure (parallel-map square '(1 x))))
  (test 'type (failure (parallel-map 1 '())))
  (test 'type (failure (parallel-map square 1)))
  (test 'type (failure (parallel-map square '(1 . 2))))
  (test 'type (failure (parallel-map square '(1) #:workers 0)))
  (test 'type (failure (parallel-map square '(1) #:chunk 'x)))
  (test 'type (failure (parallel-vector-map square '(1))))
  (test 'type (failure (parallel-fold 1 0 '())))
  (test 'type (failure (parallel-fold + 0 '(1) #:map 1))))

(test-group "in tasks, within itself, with parameters"
  (define p (make-parameter 'outer))
  (test '(inner inner inner)
        (parameterize ((p 'inner))
          (parallel-map (lambda (x) (p)) '(1 2 3) #:workers 3)))
  (test '(285 2470 8555)
        (parallel-map (lambda (n) (apply + (parallel-map square (iota n) #:workers 2)))
                      '(10 20 30) #:workers 3))
  (test '((0 1 4) (0 1 4))
        (map await
             (list (start (parallel-map square '(0 1 2) #:workers 2))
                   (start (parallel-map square '(0 1 2) #:workers 2)))))
  ;; Cancelling the caller ends it.
  (define task (start (parallel-map (lambda (x) (sleep 1000)) (iota 10) #:workers 4)))
  (yield)
  (cancel! task)
  (test 'cancelled (failure (await task))))

(test-finish)
