#!/usr/bin/env canny
;;; A small interpreter: a Scheme in Scheme, compiled to closures.
;;;
;;;     canny examples/interpreter.scm
;;;
;;; Each expression is analysed once and becomes a procedure that takes a run-time environment.
;;; Environments are chains of vectors; the analysis turns every local variable into a pair of
;;; numbers, so that running the program never looks a name up.

(import (scheme base)
        (scheme cxr)
        (scheme write))

;;; Global variables: an association list in a box.

(define globals (list 'globals))

(define (define-global! name value)
  (let ((entry (assq name (cdr globals))))
    (if entry
        (set-cdr! entry value)
        (set-cdr! globals (cons (cons name value) (cdr globals))))))

;; The entry of a global; one that is not defined yet is made, so that code can refer forward.
(define unbound (list 'unbound))
(define (global-entry name)
  (or (assq name (cdr globals))
      (begin
        (define-global! name unbound)
        (assq name (cdr globals)))))

;;; Scopes: at analysis time a list of lists of names, innermost first.

(define (locate name scope)
  (let next-frame ((scope scope) (depth 0))
    (if (null? scope)
        #f
        (let next-name ((names (car scope)) (index 0))
          (cond ((null? names) (next-frame (cdr scope) (+ depth 1)))
                ((eq? (car names) name) (cons depth index))
                (else (next-name (cdr names) (+ index 1))))))))

;;; Environments: a vector of values whose element 0 is the environment outside.

(define (frame-at environment depth)
  (if (= depth 0)
      environment
      (frame-at (vector-ref environment 0) (- depth 1))))

;;; Analysis.

(define (analyse expression scope)
  (cond ((symbol? expression) (analyse-reference expression scope))
        ((not (pair? expression)) (lambda (environment) expression))
        ((and (symbol? (car expression))
              (not (locate (car expression) scope))
              (assq (car expression) special-forms))
         => (lambda (form) ((cdr form) expression scope)))
        (else (analyse-call expression scope))))

(define (analyse-reference name scope)
  (let ((place (locate name scope)))
    (if place
        (let ((depth (car place)) (index (+ (cdr place) 1)))
          (case depth
            ((0) (lambda (environment) (vector-ref environment index)))
            ((1) (lambda (environment) (vector-ref (vector-ref environment 0) index)))
            (else (lambda (environment) (vector-ref (frame-at environment depth) index)))))
        (let ((entry (global-entry name)))
          (lambda (environment)
            (let ((value (cdr entry)))
              (if (eq? value unbound)
                  (error "unbound variable" name)
                  value)))))))

(define (analyse-body expressions scope)
  (let ((first (analyse (car expressions) scope)))
    (if (null? (cdr expressions))
        first
        (let ((rest (analyse-body (cdr expressions) scope)))
          (lambda (environment)
            (first environment)
            (rest environment))))))

(define (analyse-if expression scope)
  (let ((test (analyse (cadr expression) scope))
        (consequent (analyse (list-ref expression 2) scope))
        (alternative (if (pair? (list-tail expression 3))
                         (analyse (list-ref expression 3) scope)
                         (lambda (environment) #f))))
    (lambda (environment)
      (if (test environment)
          (consequent environment)
          (alternative environment)))))

(define (analyse-lambda expression scope)
  (let* ((parameters (cadr expression))
         (count (length parameters))
         (body (analyse-body (cddr expression) (cons parameters scope))))
    (lambda (environment)
      (lambda arguments
        (if (= (length arguments) count)
            (body (list->vector (cons environment arguments)))
            (error "wrong number of arguments" (cons 'lambda parameters) arguments))))))

(define (analyse-define expression scope)
  (if (pair? (cadr expression))
      (analyse-define `(define ,(caadr expression)
                         (lambda ,(cdadr expression) ,@(cddr expression)))
                      scope)
      (let ((name (cadr expression))
            (value (analyse (list-ref expression 2) scope)))
        (lambda (environment)
          (define-global! name (value environment))
          name))))

(define (analyse-set expression scope)
  (let ((place (locate (cadr expression) scope))
        (value (analyse (list-ref expression 2) scope)))
    (if place
        (lambda (environment)
          (vector-set! (frame-at environment (car place)) (+ (cdr place) 1) (value environment)))
        (let ((entry (global-entry (cadr expression))))
          (lambda (environment)
            (set-cdr! entry (value environment)))))))

;; `let` and `cond` are rewritten into simpler forms.

(define (analyse-let expression scope)
  (let ((bindings (cadr expression)))
    (analyse `((lambda ,(map car bindings) ,@(cddr expression)) ,@(map cadr bindings)) scope)))

(define (analyse-cond expression scope)
  (let rewrite ((clauses (cdr expression)))
    (cond ((null? clauses) (lambda (environment) #f))
          ((eq? (caar clauses) 'else) (analyse-body (cdar clauses) scope))
          (else
           (let ((test (analyse (caar clauses) scope))
                 (body (analyse-body (cdar clauses) scope))
                 (rest (rewrite (cdr clauses))))
             (lambda (environment)
               (if (test environment)
                   (body environment)
                   (rest environment))))))))

(define (analyse-call expression scope)
  (let ((operator (analyse (car expression) scope))
        (operands (map (lambda (operand) (analyse operand scope)) (cdr expression))))
    (lambda (environment)
      (apply (operator environment)
             (map (lambda (operand) (operand environment)) operands)))))

(define special-forms
  (list (cons 'quote (lambda (expression scope)
                       (let ((datum (cadr expression)))
                         (lambda (environment) datum))))
        (cons 'if analyse-if)
        (cons 'lambda analyse-lambda)
        (cons 'define analyse-define)
        (cons 'set! analyse-set)
        (cons 'let analyse-let)
        (cons 'cond analyse-cond)
        (cons 'begin (lambda (expression scope) (analyse-body (cdr expression) scope)))))

;;; The initial global environment.

(for-each (lambda (entry) (define-global! (car entry) (cdr entry)))
          (list (cons '+ +) (cons '- -) (cons '* *) (cons '= =) (cons '< <)
                (cons 'remainder remainder) (cons 'not not) (cons 'eq? eq?)
                (cons 'car car) (cons 'cdr cdr) (cons 'cons cons) (cons 'list list)
                (cons 'null? null?) (cons 'pair? pair?) (cons 'call/cc call/cc)
                (cons 'display display) (cons 'newline newline)))

(define (interpret expression)
  ((analyse expression '()) #f))

;;; Programs to run.

(define programs
  '((define (factorial n) (if (= n 0) 1 (* n (factorial (- n 1)))))
    (factorial 30)
    (define (map f items)
      (if (null? items) (list) (cons (f (car items)) (map f (cdr items)))))
    (define (range from to)
      (if (< from to) (cons from (range (+ from 1) to)) (list)))
    (map (lambda (n) (* n n)) (range 0 10))
    (define (make-account balance)
      (lambda (amount) (set! balance (+ balance amount)) balance))
    (define account (make-account 100))
    (begin (account 50) (account -30))
    (define (loop n sum) (cond ((= n 0) sum) (else (loop (- n 1) (+ sum n)))))
    (loop 100000 0)
    (define (prime? n)
      (let ((try #f))
        (set! try (lambda (d)
                    (cond ((< n (* d d)) #t)
                          ((= 0 (remainder n d)) #f)
                          (else (try (+ d 1))))))
        (try 2)))
    (map prime? (list 2 9 97 1001 7919))
    ((lambda (y) ((y (lambda (fib) (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))))
                  20))
     (lambda (f) ((lambda (x) (x x)) (lambda (x) (f (lambda (n) ((x x) n)))))))
    (+ 1 (call/cc (lambda (k) (* 10 (k 1)))))
    (undefined-variable)
    (factorial 1 2)
    (car (list))))

(for-each
 (lambda (program)
   (write program)
   (newline)
   (display "=> ")
   (guard (condition
           ((error-object? condition) (display "an error")))
     (write (interpret program)))
   (newline))
 programs)
