;;; Torture: hundreds of tasks that allocate, sleep, raise, give way, wait for each other, time out
;;; and are cancelled, on all workers at once.

(import (scheme base) (only (canny base) call/ec iota delete) (only (canny net) timeout-error?)
        (canny tasks)
        (canny test))

(define rounds 3)
(define tasks-of-a-round 140)

;; The work of task i, and in `expected` its outcome.
(define (work i)
  (case (modulo i 7)
    ((0) (sleep (/ (modulo i 13) 1000)) i)
    ((1)
     (let loop ((k 0) (kept '()))
       (if (< k 2000)
           (loop (+ k 1) (cons k (if (= 0 (modulo k 100)) '() kept)))
           (+ i (length kept)))))
    ((2) (raise (list 'planned i)))
    ((3) (do ((k 0 (+ k 1))) ((= k 20)) (yield)) i)
    ((4) (await (start (work (+ i 3)))))
    ((5) (apply + (map await (map (lambda (k) (start (* k i))) '(1 2 3)))))
    (else (await (make-future) #:timeout 0.005))))

(define (expected i)
  (case (modulo i 7)
    ((1) (+ i 100))
    ((2) (list 'planned i))
    ((4) (expected (+ i 3)))
    ((5) (* 6 i))
    ((6) 'late)
    (else i)))

(define (outcome task)
  (guard (e ((pair? e) e)
            ((cancelled-error? e) 'cancelled)
            ((timeout-error? e) 'late))
    (await task)))

(define (is-cancelled-in-round? i)
  (= 0 (modulo i 11)))

(test-group "hundreds of tasks"
  (do ((round 0 (+ round 1)))
      ((= round rounds))
    (let* ((numbers (iota tasks-of-a-round))
           (tasks (map (lambda (i) (start (work i))) numbers)))
      (for-each (lambda (task i) (if (is-cancelled-in-round? i) (cancel! task))) tasks numbers)
      (test '()
            (delete #t
                    (map (lambda (task i)
                           (let ((result (outcome task)))
                             (or (equal? result (expected i))
                                 (and (is-cancelled-in-round? i) (eq? result 'cancelled))
                                 (list i result))))
                         tasks
                         numbers))))))

;; An escape procedure whose call is left and entered again on other threads, with collections in
;; between.
(define (escaping n)
  (call/ec
   (lambda (return)
     (let loop ((i 0))
       (yield)
       (if (= i n) (return (list n (make-vector 10 i)))
           (loop (+ i 1)))))))

(test-group "escapes of tasks"
  (test (map (lambda (n) (list n (make-vector 10 n))) (iota 60))
        (map await (map (lambda (n) (start (escaping n))) (iota 60)))))

(test-finish)
