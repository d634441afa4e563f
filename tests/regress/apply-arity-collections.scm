;;; `apply` with a wrong number of arguments while the heap is collected: the error names the
;;; arguments, which the collector has to find although the instruction does not name them.

(import (canny base) (scheme base) (scheme write) (canny test))

(define (outcome procedure arguments)
  (call-with-current-continuation
   (lambda (return)
     (with-exception-handler
       (lambda (condition) (return (cdr (error-object-irritants condition))))
       (lambda () (apply procedure arguments))))))

(define (apply-in-tail-position procedure arguments) (apply procedure arguments))
(define (outcome-behind procedure arguments)
  (call-with-current-continuation
   (lambda (return)
     (with-exception-handler
       (lambda (condition) (return (cdr (error-object-irritants condition))))
       (lambda () (car (list (apply-in-tail-position procedure arguments))))))))

(define (fresh i)
  (let ((garbage (make-vector 20 i)))
    (list (vector i 1) (vector (vector-ref garbage 3) 2) (vector i 3))))

(define (wrong i)
  (let ((first (outcome eq? (fresh i))) (second (outcome-behind null? (fresh i))))
    (not (and (equal? first (fresh i)) (equal? second (fresh i))))))

(test-group "arguments of apply survive collections"
  (test 0
        (let loop ((i 0) (count 0))
          (if (= i 60000) count (loop (+ i 1) (if (wrong i) (+ count 1) count))))))
