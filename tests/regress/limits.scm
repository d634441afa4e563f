;;; Procedures with more variables, operands, values or captures than a frame has registers.

(import (scheme base) (scheme eval) (canny test))

(define size 300)

(define (name i) (string->symbol (string-append "v" (number->string i))))

(define (tabulate make)
  (let loop ((i (- size 1)) (items '()))
    (if (< i 0) items (loop (- i 1) (cons (make i) items)))))

(define names (tabulate name))
(define numbers (tabulate (lambda (i) i)))
(define total (apply + numbers))

(define (run expression)
  (eval expression (environment '(scheme base) '(scheme case-lambda))))

(test-group "variables"
  (test total (run `(let ,(map list names numbers) (set! v7 (+ v7 0)) (+ ,@names))))
  (test total (run `((let* ,(map (lambda (name i) `(,name (string->number ,(number->string i))))
                                 names numbers)
                       (lambda () (set! v7 (+ v7 0)) (+ ,@names))))))
  (test (+ total (* 10 size))
        (run `(let loop ((i 10) ,@(map list names numbers))
                (if (= i 0)
                    (+ ,@names)
                    (loop (- i 1) ,@(map (lambda (name) `(+ ,name 1)) names)))))))

(test-group "operands and parameters"
  (test size (run `(length (list ,@numbers))))
  (test total (run `((lambda ,names (+ ,@names)) ,@numbers)))
  (test '(0 299 (1 2)) (run `((lambda (,@names . rest) (list v0 v299 rest)) ,@numbers 1 2)))
  (test '(2 300 more)
        (run `(let ((f (case-lambda ((a b) 2) (,names ,size) ((,@names . rest) 'more))))
                (list (f 1 2) (f ,@numbers) (f ,@numbers 1)))))
  (test-error (run `((lambda ,names v0) ,@(cdr numbers)))))

(define (first count items)
  (if (= count 0) '() (cons (car items) (first (- count 1) (cdr items)))))

;; Nothing sees through the procedure, since it is an element of a vector that is assigned.
(define (clauses . arguments)
  (run
   `(let ((procedures (make-vector 1 #f)))
      (vector-set! procedures 0
                   (case-lambda
                     ((a) (list 'one a))
                     (,(first 90 names) (list 'ninety v89))
                     (,(first 80 names) (list 'eighty v79))
                     ((,@(first 40 names) . rest) (list 'forty v39 (length rest)))
                     (,names 'never)))
      (apply (vector-ref procedures 0) ',arguments))))

(test-group "clauses with many parameters"
  (test '(one x) (clauses 'x))
  (test-error (clauses 1 2))
  (test '(forty 39 0) (apply clauses (first 40 numbers)))
  (test '(forty 39 39) (apply clauses (first 79 numbers)))
  (test '(eighty 79) (apply clauses (first 80 numbers)))
  (test '(forty 39 41) (apply clauses (first 81 numbers)))
  (test '(ninety 89) (apply clauses (first 90 numbers)))
  (test '(forty 39 260) (apply clauses numbers)))

(test-group "values"
  (test total (run `(call-with-values (lambda () (values ,@numbers)) (lambda ,names (+ ,@names)))))
  (test '(299 (1 2))
        (run `(let-values (((,@names . rest) (values ,@numbers 1 2))) (list v299 rest))))
  (test-error (run `(let-values ((,names (values ,@(cdr numbers)))) v0))))

;; Each procedure calls the next one.
(define (ring-definition i)
  `(define (,(name i) n) (if (= n 0) (list x ,i) (,(name (modulo (+ i 1) size)) (- n 1)))))

(test-group "procedures that call each other"
  (test '(a 100) (run `((lambda (x) ,@(tabulate ring-definition) (v0 1000)) 'a)))
  (test '(a 107)
        (run
         `((lambda (x) ,@(tabulate ring-definition) ((vector-ref (vector ,@names) 7) 1000)) 'a)))
  (test '(#t (a 100))
        (run `((lambda (x)
                 ,@(tabulate ring-definition)
                 (define cycle (vector v0 (lambda () cycle) ,@names))
                 (list (eq? cycle ((vector-ref cycle 1))) (v0 1000)))
               'a))))

(test-group "fields"
  (test 299 (run `(let ()
                    (define-record-type thing (make ,@names) thing?
                      ,@(map (lambda (name)
                               (list name (string->symbol
                                           (string-append "thing-" (symbol->string name)))))
                             names))
                    (thing-v299 (make ,@numbers))))))

(test-finish)
