;;; Torture: first-class continuations.

(import (scheme base) (canny test))

;; Generators over trees, by re-entry.

(define (tree->generator tree)
  (define caller #f)
  (define (loop tree)
    (cond ((null? tree) 'skip)
          ((pair? tree) (loop (car tree)) (loop (cdr tree)))
          (else (call/cc (lambda (rest-of-tree)
                           (set! resume (lambda () (rest-of-tree 'resume)))
                           (caller tree))))))
  (define (resume) (loop tree) (caller '*eof*))
  (lambda () (call/cc (lambda (k) (set! caller k) (resume)))))

(define (same-fringe? a b)
  (let ((next-a (tree->generator a)) (next-b (tree->generator b)))
    (let loop ()
      (let ((x (next-a)) (y (next-b)))
        (cond ((not (eqv? x y)) #f)
              ((eq? x '*eof*) #t)
              (else (loop)))))))

(test-group "generators"
  (test #t (same-fringe? '(1 (2 3)) '((1 2) 3)))
  (test #f (same-fringe? '(1 2 3) '(1 3 2)))
  (test #t (same-fringe? '() '(())))
  (define (left-comb n) (let loop ((i 1) (t '())) (if (> i n) t (loop (+ i 1) (list t i)))))
  (define (flat n) (let loop ((i n) (t '())) (if (= i 0) t (loop (- i 1) (cons i t)))))
  (test #t (same-fringe? (left-comb 2000) (flat 2000)))
  (test #f (same-fringe? (left-comb 2000) (flat 2001))))

;; Backtracking: a continuation is entered many times.

(define fail-stack '())
(define (fail)
  (if (null? fail-stack)
      (error "no more choices")
      (let ((back (car fail-stack)))
        (set! fail-stack (cdr fail-stack))
        (back back))))
(define (choose choices)
  (let ((k (call/cc (lambda (k) k))))
    (if (null? choices)
        (fail)
        (let ((choice (car choices)))
          (set! choices (cdr choices))
          (set! fail-stack (cons k fail-stack))
          choice))))

(define (pythagorean limit)
  (set! fail-stack '())
  (let* ((range (let loop ((i limit) (l '())) (if (= i 0) l (loop (- i 1) (cons i l)))))
         (a (choose range)) (b (choose range)) (c (choose range)))
    (if (not (and (< a b) (= (* c c) (+ (* a a) (* b b))))) (fail))
    (list a b c)))

(define (queens size)
  (set! fail-stack '())
  (let loop ((row 0) (placed '()))
    (if (= row size)
        (reverse placed)
        (let ((column (choose (let up ((i 0)) (if (= i size) '() (cons i (up (+ i 1))))))))
          (let check ((rest placed) (distance 1))
            (cond ((null? rest) #t)
                  ((or (= (car rest) column) (= (abs (- (car rest) column)) distance)) (fail))
                  (else (check (cdr rest) (+ distance 1)))))
          (loop (+ row 1) (cons column placed))))))

(test-group "backtracking"
  (test '(3 4 5) (pythagorean 12))
  (test '(0 4 7 5 2 6 1 3) (queens 8))
  (test-error (begin (set! fail-stack '()) (choose '()))))

;; Coroutines with a queue.

(define (run-threads makers)
  (define queue '())
  (define log '())
  (define (enqueue! thunk) (set! queue (append queue (list thunk))))
  (define (note x) (set! log (cons x log)))
  (call/cc
   (lambda (done)
     (define (dispatch)
       (if (null? queue)
           (done 'done)
           (let ((next (car queue))) (set! queue (cdr queue)) (next))))
     (define (yield) (call/cc (lambda (k) (enqueue! (lambda () (k #f))) (dispatch))))
     (for-each (lambda (make) (enqueue! (lambda () (make yield note) (dispatch)))) makers)
     (dispatch)))
  (reverse log))

(define (counter name n)
  (lambda (yield note) (do ((i 0 (+ i 1))) ((= i n)) (note (cons name i)) (yield))))

(test-group "threads"
  (test '((a . 0) (b . 0) (c . 0) (a . 1) (b . 1) (c . 1) (b . 2))
        (run-threads (list (counter 'a 2) (counter 'b 3) (counter 'c 2))))
  (test 3000 (length (run-threads (list (counter 'a 1000) (counter 'b 1000) (counter 'c 1000))))))

(test-group "re-entry"
  ;; One frame is entered again while other copies of it are live.
  (test '((0 . 1) (1 . 1) (2 . 1) (3 . 1))
        (let ((k #f) (seen '()) (n 0))
          (let ((local (let ((x 1)) (cons (call/cc (lambda (c) (set! k c) 0)) x))))
            (set! seen (cons local seen))
            (set! n (+ n 1))
            (if (< n 4) (k n) (reverse seen)))))
  ;; Assigned variables are shared between entries, others are not.
  (test '(10 1) (let ((k #f) (first? #t))
                  (let ((assigned 0) (kept 1))
                    (call/cc (lambda (c) (set! k c)))
                    (set! assigned (+ assigned 1))
                    (if (< assigned 10) (k #f) (list assigned kept)))))
  ;; A continuation outlives the call deep below it.
  (test 1001 (let ((k #f) (n 0))
               (define (deep d)
                 (if (= d 0) (call/cc (lambda (c) (set! k c) 0)) (+ 1 (deep (- d 1)))))
               (let ((v (deep 1000)))
                 (set! n (+ n 1))
                 (if (< n 2) (k 1) v))))
  (test '(100000 100001 100002)
        (let ((k #f) (results '()))
          (define (deep d) (if (= d 0) (call/cc (lambda (c) (set! k c) 0)) (+ 1 (deep (- d 1)))))
          (let ((v (deep 100000)))
            (set! results (cons v results))
            (if (< (length results) 3) (k (length results)) (reverse results)))))
  ;; Many continuations of the same frames.
  (test 499500 (let ((ks '()) (sum 0))
                 (let ((v (call/cc (lambda (return)
                                     (let loop ((i 0))
                                       (if (= i 1000)
                                           (return 'start)
                                           (let ((x
                                                  (call/cc (lambda (k) (set! ks (cons k ks)) #f))))
                                             (if x (return x) (loop (+ i 1))))))))))
                   (if (number? v) (set! sum (+ sum v)))
                   (if (null? ks)
                       sum
                       (let ((k (car ks))) (set! ks (cdr ks)) (k (length ks)))))))
  ;; Capture in a loop keeps the stack small.
  (test 100000 (let loop ((i 0)) (if (= i 100000) i (loop (call/cc (lambda (k) (+ i 1)))))))
  (test 'escaped
        (call/cc (lambda (out)
                   (let loop ((n 100000)) (if (= n 0) (out 'escaped) (begin (loop (- n 1)) 'x))))))
  ;; The puzzle: (call/cc call/cc).
  (test #t (procedure? (call/cc call/cc)))
  (test 3 (let* ((count 0) (k (call/cc call/cc)))
            (set! count (+ count 1))
            (if (< count 3) (k k) count)))
  (test '(1 2)
        (call-with-values (lambda () ((call/cc (lambda (k) (lambda () (values 1 2)))))) list)))

(test-group "arguments and operators"
  (test '(1 2 3) (let ((k #f) (n 0))
                   (let ((l (list 1 (call/cc (lambda (c) (set! k c) 0)) 3)))
                     (set! n (+ n 1))
                     (if (< n 2) (k 2) l))))
  (test 30 (let ((k #f) (n 0))
             (let ((v ((call/cc (lambda (c) (set! k c) +)) 5 6)))
               (set! n (+ n 1))
               (if (< n 2) (k *) v))))
  (test '(a . b) (let ((kar #f) (kdr #f) (step 0))
                   (let ((p (cons (call/cc (lambda (c) (set! kar c) 0))
                                  (call/cc (lambda (c) (set! kdr c) 0)))))
                     (set! step (+ step 1))
                     (case step
                       ((1) (kar 'a))
                       ((2) (kdr 'b))
                       (else p)))))
  (test '((1 . x) (2 . y)) (let ((results '()) (k #f))
                             (let ((v (vector-map
                                       (lambda (x)
                                         (call/cc (lambda (c) (if (= x 1) (set! k c)) (cons x 'x))))
                                       #(1))))
                               (set! results (append results (vector->list v)))
                               (if (< (length results) 2) (k '(2 . y)) results)))))

(test-finish)
