;;; Calls of `apply` in tail position that compiled code takes apart: a procedure that does not take
;;; so many arguments gets the message of its own call, not one of `apply`.

(import (scheme base) (scheme cxr) (canny test))

(define (outcome thunk)
  (call-with-current-continuation
   (lambda (return)
     (with-exception-handler
       (lambda (condition)
         (return (if (error-object? condition)
                     (cons (error-object-message condition)
                           (cdr (error-object-irritants condition)))
                     condition)))
       (lambda () (call-with-values thunk list))))))

(define (repeated count thunk)
  (let loop ((i 1))
    (let ((result (outcome thunk)))
      (if (< i count) (loop (+ i 1)) result))))

(define (apply-all procedure list) (apply procedure list))
(define (apply-first procedure list) (apply procedure (car list) (cdr list)))
(define (apply-doubled procedure list) (apply procedure (* 1.5 (car list)) (cdr list)))

(define (takes-none) 'none)
(define (takes-one x) (list x))
(define (takes-three x y z) (list x y z))
(define (takes-five a b c d e) (list a b c d e))

;; Each with the numbers of arguments that it takes.
(define procedures
  (list (cons takes-none '(0)) (cons takes-one '(1)) (cons takes-three '(3))
        (cons takes-five '(5)) (cons cadr '()) (cons cons '(2)) (cons vector '(0 1 2 3 4 5))))

(define lists '(() (1) (1 2) (1 2 3) (1 2 3 4) (1 2 3 4 5)))

(define (is-right? outcome count numbers arguments)
  (if (memv count numbers)
      (not (and (pair? outcome) (string? (car outcome))))
      (and (pair? outcome)
           (string? (car outcome))
           (or (equal? (cdr outcome) arguments)
               ;; `cadr` takes one argument.
               (= count 1)))))

(let loop ((round 0))
  (when (< round 60)
    (for-each
     (lambda (entry)
       (for-each
        (lambda (arguments)
          (let ((count (length arguments)) (procedure (car entry)) (numbers (cdr entry)))
            (let ((result (repeated 40 (lambda () (apply-all procedure arguments)))))
              (unless (is-right? result count numbers arguments)
                (test (list round procedure arguments) result)))
            (unless (null? arguments)
              (let ((result (repeated 40 (lambda () (apply-first procedure arguments)))))
                (unless (is-right? result count numbers arguments)
                  (test (list 'first round procedure arguments) result)))
              (let ((doubled (cons (* 1.5 (car arguments)) (cdr arguments)))
                    (result (repeated 40 (lambda () (apply-doubled procedure arguments)))))
                (unless (is-right? result count numbers doubled)
                  (test (list 'doubled round procedure arguments) result))))))
        lists))
     procedures)
    (loop (+ round 1))))

(test-finish)
