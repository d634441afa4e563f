;; (canny atomic): changes that are one step.  The procedures of SRFI 230 are tested there.

(import (scheme base) (canny atomic) (canny tasks) (canny test)
        (only (canny base) condition-kind) (only (srfi 1) iota))

(define-syntax failure
  (syntax-rules ()
    ((_ expression)
     (guard (e ((error-object? e) (condition-kind e)))
       expression
       'none))))

(define (together count thunk)
  (map await (map (lambda (i) (spawn thunk)) (iota count))))

(define (repeat count thunk)
  (do ((i 0 (+ i 1)))
      ((= i count))
    (thunk)))

(test-group "integers"
  (define n (make-atomic-integer 5))
  (test '(#t #f) (list (atomic-integer? n) (atomic-integer? 5)))
  (test 5 (atomic-fetch-add! n 3))
  (test 7 (atomic-add-fetch! n -1 'relaxed))
  (atomic-integer-set! n (expt 10 30))
  (test (+ 1 (expt 10 30)) (atomic-add-fetch! n 1))
  (test (+ 1 (expt 10 30)) (atomic-integer-ref n 'acquire))
  (test 'type (failure (make-atomic-integer 1.5)))
  (test 'type (failure (atomic-fetch-add! n 'x)))
  (test 'type (failure (atomic-fetch-add! 1 1)))
  (test 'type (failure (atomic-fetch-add! n 1 'soon)))
  (define hits (make-atomic-integer 0))
  (define seen (together 8 (lambda () (repeat 500 (lambda () (atomic-fetch-add! hits 1))))))
  (test '(8 4000) (list (length seen) (atomic-integer-ref hits))))

(test-group "updates"
  (define box (make-atomic-box '()))
  (test '(1) (atomic-box-update! box (lambda (l) (cons 1 l))))
  (together 8 (lambda () (repeat 100 (lambda () (atomic-box-update! box (lambda (l) (cons 2 l)))))))
  (test 801 (length (atomic-box-ref box)))
  (define flonum (make-atomic-box 0.))
  (together 4
            (lambda () (repeat 100 (lambda () (atomic-box-update! flonum (lambda (x) (+ x .5)))))))
  (test 200. (atomic-box-ref flonum))
  (test 'oops (guard (e (else e)) (atomic-box-update! box (lambda (l) (raise 'oops)))))
  (test 801 (length (atomic-box-ref box)))
  (test 'type (failure (atomic-box-update! 1 list)))
  (test 'type (failure (atomic-box-update! box 1))))

(test-group "fxboxes"
  (define n (make-atomic-fxbox 0))
  (together 8 (lambda () (repeat 500 (lambda () (atomic-fxbox+/fetch! n 2)))))
  (test 8000 (atomic-fxbox-ref n))
  (test 'type (failure (atomic-fxbox-ref (make-atomic-box 1))))
  (test 'type (failure (atomic-box-ref n))))

(test-group "flags"
  ;; Of those who set it one finds it unset.
  (define flag (make-atomic-flag))
  (define firsts (make-atomic-integer 0))
  (together 20
            (lambda ()
              (yield)
              (if (not (atomic-flag-test-and-set! flag))
                  (atomic-fetch-add! firsts 1))))
  (test 1 (atomic-integer-ref firsts)))

(test-group "pairs"
  ;; Both halves always belong together.
  (define pair (make-atomic-pair 0 0))
  (define torn (make-atomic-integer 0))
  (together 6
            (lambda ()
              (repeat 200
                      (lambda ()
                        (call-with-values (lambda () (atomic-pair-ref pair))
                          (lambda (a b)
                            (if (not (= b (* 2 a)))
                                (atomic-fetch-add! torn 1))
                            (atomic-pair-compare-and-swap! pair a b (+ a 1) (* 2 (+ a 1)))))))))
  (test 0 (atomic-integer-ref torn))
  (test 'type (failure (atomic-pair-ref (cons 1 2)))))

(test-finish)
