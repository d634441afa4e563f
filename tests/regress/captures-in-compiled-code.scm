;;; Compiled code makes the continuation of its own frame, where that is alone on the stack. A frame
;;; that is entered again has its old values, whatever was captured in between.

(import (canny base) (canny test))

(define (repeat times thunk)
  (let loop ((i 1) (result (thunk)))
    (if (< i times)
        (loop (+ i 1) (thunk))
        result)))

(define (count-up n)
  (let* ((again #f)
         (double (* 2 n))
         (half (/ n 2.0))
         (cell (list n))
         (times (call/cc (lambda (k) (set! again k) 0)))
         (seen (vector double half cell times)))
    (if (< times 3)
        (again (+ times 1))
        seen)))

(test-group "a frame that is entered again has its values"
  (do ((i 0 (+ i 1))) ((= i 2000))
    (test (vector (* 2 i) (/ i 2.0) (list i) 3) (count-up i))))

(define (two-places a b)
  (let* ((continuations '())
         (x (call/cc (lambda (k) (set! continuations (cons k continuations)) a)))
         (y (call/cc (lambda (k) (set! continuations (cons k continuations)) b))))
    (list x y continuations)))

(define (all-entered a b)
  (let* ((visits 0)
         (result (two-places a b)))
    (set! visits (+ visits 1))
    (case visits
      ((1) ((cadr (list-ref result 2)) 'x))
      ((2) ((car (list-ref result 2)) 'y))
      ((3) ((car (list-ref result 2)) 'z))
      (else (list (car result) (cadr result) visits)))))

(test-group "each of two captures of a frame is entered, several times"
  (test (list 'x 'z 4)
        (repeat 2000 (lambda () (all-entered 1 2)))))

(define (leave-early? k) (odd? k))

(define (sum-of-captures n)
  (let loop ((k 0) (sum 0) (scale 1.0))
    (if (< k n)
        (loop (+ k 1)
              (+ sum (call/cc (lambda (return)
                                (if (leave-early? k) (return 1) k))))
              (+ scale 0.5))
        (list sum scale))))

(define (in-a-frame n)
  (let ((result (sum-of-captures n)))
    (cons 'frame result)))

(test-group "a loop captures in each iteration, below other frames"
  (test '(frame 24997500 5001.0)
        (let ((result (in-a-frame 10000)))
          (list (car result) (- (cadr result) 2500) (caddr result)))))

(define (ctak x y z)
  (call/cc (lambda (k) (ctak-aux k x y z))))

(define (ctak-aux k x y z)
  (if (not (< y x))
      (k z)
      (call/cc
       (lambda (k)
         (ctak-aux k
                   (call/cc (lambda (k) (ctak-aux k (- x 1) y z)))
                   (call/cc (lambda (k) (ctak-aux k (- y 1) z x)))
                   (call/cc (lambda (k) (ctak-aux k (- z 1) x y))))))))

(test-group "captures in arguments"
  (test 7 (ctak 12 8 6))
  (test 7 (repeat 20 (lambda () (ctak 12 8 6)))))

(define parameter (make-parameter 1))

(define (left-by-return n)
  (let* ((trace '())
         (note (lambda (what) (set! trace (cons what trace))))
         (value (call/cc
                 (lambda (return)
                   (dynamic-wind
                    (lambda () (note 'in))
                    (lambda ()
                      (parameterize ((parameter n))
                        (return (parameter))))
                    (lambda () (note 'out)))))))
    (list value (parameter) (reverse trace))))

(test-group "winders and parameters are restored"
  (test '(5 1 (in out)) (repeat 2000 (lambda () (left-by-return 5)))))

(define (several n)
  (call-with-values
    (lambda () (call/cc (lambda (return) (if (odd? n) (return n 2) (values n 3)))))
    list))

(test-group "several values"
  (test '(7 2) (repeat 2000 (lambda () (several 7))))
  (test '(8 3) (repeat 2000 (lambda () (several 8)))))

(define (deep n)
  (if (= n 0)
      0
      (+ 1 (call/cc (lambda (k) (if (even? n) (k (deep (- n 1))) (deep (- n 1))))))))

(test-group "a recursion that captures at each step"
  (test 5000 (deep 5000))
  (test 100 (repeat 100 (lambda () (deep 100)))))
