;;; Standard arithmetic that is passed as an argument: compiled code computes in place what is
;;; usual, and leaves the rest to the procedure.

(import (scheme base) (canny test))

(define (count-ordered less? numbers)
  (let loop ((rest (cdr numbers)) (previous (car numbers)) (count 0))
    (cond ((null? rest) count)
          ((less? previous (car rest)) (loop (cdr rest) (car rest) (+ count 1)))
          (else (loop (cdr rest) (car rest) count)))))

(define (total combine start numbers)
  (let loop ((rest numbers) (sum start))
    (if (null? rest)
        sum
        (loop (cdr rest) (combine sum (car rest))))))

(define (in-tail-position procedure a b)
  (procedure a b))

(define (often thunk)
  (do ((i 0 (+ i 1)))
      ((= i 3000) (thunk))
    (thunk)))

(define few '(1 2 3 3 2 5))

(test-group "comparisons"
  (test 3 (often (lambda () (count-ordered < few))))
  (test 4 (often (lambda () (count-ordered <= few))))
  (test 1 (often (lambda () (count-ordered > few))))
  (test 2 (often (lambda () (count-ordered >= few))))
  (test 1 (often (lambda () (count-ordered = few))))
  (test 2 (count-ordered < '(1.5 2 5/2 1)))
  (test 1 (count-ordered < (list 1 (expt 10 30) (- (expt 10 30)))))
  (test 0 (count-ordered < '(1 +nan.0 2)))
  (test #t (often (lambda () (in-tail-position < 1 2))))
  (test #f (often (lambda () (in-tail-position < 2 1))))
  (test-error (count-ordered < '(1 a)))
  (test-error (in-tail-position < 'a 2)))

(test-group "sums"
  (test 16 (often (lambda () (total + 0 few))))
  (test 180 (often (lambda () (total * 1 few))))
  (test -16 (often (lambda () (total - 0 few))))
  (test (expt 2 63) (total + (expt 2 60) (make-list 7 (expt 2 60))))
  (test (expt 2 200) (total * 1 (make-list 100 4)))
  (test 6.5 (total + 0 '(1 2.5 3)))
  (test 13/2 (total + 0 '(1 5/2 3)))
  (test-error (total + 0 '(1 b))))

;; One call that is made with several procedures.
(test-group "several"
  (test '(3 1 16 4)
    (often (lambda ()
             (list (count-ordered < few)
                   (count-ordered > few)
                   (total + 0 few)
                   (total (lambda (sum number) (if (odd? number) (+ sum 1) sum)) 0 few))))))

(test-finish)
