;; (canny concurrent): queues, hash tables, task-local variables.

(import (scheme base) (canny concurrent) (canny tasks) (canny test)
        (only (canny base) condition-kind) (only (srfi 1) iota) (only (srfi 132) list-sort))

(define-syntax failure
  (syntax-rules ()
    ((_ expression)
     (guard (e ((error-object? e) (condition-kind e)))
       expression
       'none))))

(define (sorted numbers) (list-sort < numbers))

(test-group "queues"
  (define q (make-concurrent-queue))
  (test '(#t #f #t 0)
        (list (concurrent-queue? q) (concurrent-queue? '()) (concurrent-queue-empty? q)
              (concurrent-queue-size q)))
  (test #f (concurrent-queue-remove! q))
  (test 'none (concurrent-queue-remove! q 'none))
  (for-each (lambda (x) (concurrent-queue-add! q x)) '(1 2 3))
  (test '(3 #f 1 2 3 #f #t)
        (let* ((size (concurrent-queue-size q)) (empty? (concurrent-queue-empty? q))
               (a (concurrent-queue-remove! q)) (b (concurrent-queue-remove! q))
               (c (concurrent-queue-remove! q)) (d (concurrent-queue-remove! q)))
          (list size empty? a b c d (concurrent-queue-empty? q))))
  ;; Producers and consumers.
  (define producers
    (map (lambda (i)
           (start (for-each (lambda (x) (concurrent-queue-add! q (+ x (* i 100)))) (iota 100))))
         (iota 6)))
  (define consumers
    (map (lambda (i)
           (start (let loop ((got '()))
                    (if (= (length got) 100)
                        (reverse got)
                        (let ((x (concurrent-queue-remove! q)))
                          (if (not x) (yield))
                          (loop (if x (cons x got) got)))))))
         (iota 6)))
  (for-each await producers)
  (define got (map await consumers))
  (test (iota 600) (sorted (apply append got)))
  ;; Each consumer sees the items of a producer in order.
  (define (of-producer i items)
    (let loop ((items items) (of '()))
      (cond ((null? items) (reverse of))
            ((= i (quotient (car items) 100)) (loop (cdr items) (cons (car items) of)))
            (else (loop (cdr items) of)))))
  (test #t
        (let loop ((i 0) (ordered? #t))
          (if (= i 6)
              ordered?
              (loop (+ i 1)
                    (let each ((got got) (ordered? ordered?))
                      (if (null? got)
                          ordered?
                          (let ((of (of-producer i (car got))))
                            (each (cdr got) (and ordered? (equal? of (sorted of))))))))))))

(test-group "hash tables"
  (define t (make-concurrent-hash-table))
  (test '(#t #f) (list (concurrent-hash-table? t) (concurrent-hash-table? 1)))
  (concurrent-hash-table-set! t '(a "b") 1)
  (test 1 (concurrent-hash-table-ref t (list 'a "b")))
  (test 'key (failure (concurrent-hash-table-ref t 'x)))
  (test 0 (concurrent-hash-table-ref t 'x (lambda () 0)))
  (test 0 (concurrent-hash-table-ref/default t 'x 0))
  (test '(#t #f)
        (list (concurrent-hash-table-contains? t '(a "b")) (concurrent-hash-table-contains? t 1)))
  (test '(#t #f) (let ((first (concurrent-hash-table-delete! t '(a "b"))))
                   (list first (concurrent-hash-table-delete! t '(a "b")))))
  (test 'new (concurrent-hash-table-intern! t 'k (lambda () 'new)))
  (test 'new (concurrent-hash-table-intern! t 'k (lambda () 'newer)))
  (test 2 (concurrent-hash-table-update! t 'n (lambda (x) (+ x 1)) (lambda () 1)))
  (test 3 (concurrent-hash-table-update!/default t 'n (lambda (x) (+ x 1)) 0))
  (test 'key (failure (concurrent-hash-table-update! t 'none list)))
  (test 'oops (guard (e (else e)) (concurrent-hash-table-update! t 'n (lambda (x) (raise 'oops)))))
  (test 3 (concurrent-hash-table-ref t 'n))
  (test 2 (concurrent-hash-table-size t))
  (concurrent-hash-table-clear! t)
  (test '(0 ()) (list (concurrent-hash-table-size t) (concurrent-hash-table->alist t)))
  ;; Other equivalences.
  (define strings (make-concurrent-hash-table string=? #:shards 1))
  (concurrent-hash-table-set! strings "a" 1)
  (test 1 (concurrent-hash-table-ref strings (string #\a)))
  (test 'type (failure (concurrent-hash-table-set! strings 'a 1)))
  (define objects (make-concurrent-hash-table eq?))
  (define key (list 'key))
  (concurrent-hash-table-set! objects key 1)
  (test '(1 #f)
        (list (concurrent-hash-table-ref/default objects key #f)
              (concurrent-hash-table-ref/default objects (list 'key) #f)))
  (define numbers (make-concurrent-hash-table eqv?))
  (concurrent-hash-table-set! numbers (expt 10 20) 'big)
  (test 'big (concurrent-hash-table-ref numbers (expt 10 20))))

(test-group "hash tables and many tasks"
  (define t (make-concurrent-hash-table eqv?))
  (define (count key)
    (concurrent-hash-table-update!/default t key (lambda (n) (+ n 1)) 0))
  (for-each await
            (map (lambda (i) (start (for-each (lambda (x) (count (modulo (+ i x) 13))) (iota 260))))
                 (iota 8)))
  (test (map (lambda (i) 160) (iota 13))
        (map (lambda (i) (concurrent-hash-table-ref t i)) (iota 13)))
  (test (iota 13) (sorted (concurrent-hash-table-keys t)))
  (test 2080 (apply + (concurrent-hash-table-values t)))
  ;; A value is made by one, and all get it.
  (define made
    (map await (map (lambda (i) (start (concurrent-hash-table-intern! t 'key (lambda () (list i)))))
                    (iota 20))))
  (test #t (let loop ((rest made))
             (or (null? rest) (and (eq? (car rest) (car made)) (loop (cdr rest))))))
  ;; The procedure may change the table.
  (concurrent-hash-table-for-each (lambda (key value) (concurrent-hash-table-delete! t key)) t)
  (test 0 (concurrent-hash-table-size t)))

(test-group "task-local variables"
  (define calls (make-concurrent-queue))
  (define v (make-task-local (lambda () (concurrent-queue-add! calls 1) (list 'fresh))))
  (test '(#t #f) (list (task-local? v) (task-local? 1)))
  (test #t (eq? (task-local-ref v) (task-local-ref v)))
  (task-local-set! v 'mine)
  (test (map (lambda (i) (list '(fresh) i)) (iota 10))
        (map await
             (map (lambda (i)
                    (start (let ((before (task-local-ref v)))
                             (task-local-set! v i)
                             (yield)
                             (list before (task-local-ref v)))))
                  (iota 10))))
  (test 'mine (task-local-ref v))
  (test 11 (concurrent-queue-size calls))
  (task-local-clear! v)
  (test '(fresh) (task-local-ref v))
  (test #f (task-local-ref (make-task-local))))

(test-group "bad input"
  (test 'type (failure (concurrent-queue-add! 1 2)))
  (test 'type (failure (concurrent-queue-remove! 1)))
  (test 'type (failure (make-concurrent-hash-table list)))
  (test 'type (failure (make-concurrent-hash-table eq? #:shards 0)))
  (test 'type (failure (concurrent-hash-table-set! 1 2 3)))
  (test 'type (failure (concurrent-hash-table-update! (make-concurrent-hash-table) 1 2)))
  (test 'type (failure (concurrent-hash-table-for-each 1 (make-concurrent-hash-table))))
  (test 'type (failure (concurrent-hash-table-for-each list 1)))
  (test 'type (failure (make-task-local 1)))
  (test 'type (failure (task-local-ref 1))))

(test-finish)
