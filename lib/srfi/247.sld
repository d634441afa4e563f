;;; (srfi 247): syntactic monads.
;;;
;;; The state variables are identifiers with the names of the definition and the lexical context of the
;;; keyword in each use.

(define-library (srfi 247)
  (export define-syntactic-monad)
  (import (scheme base) (scheme case-lambda) (canny syntax-case))
  (begin

    (begin-for-syntax

      (define (violation message form part)
        (syntax-violation 'syntactic-monad message form part))

      (define (named id bindings)
        (cond ((null? bindings) #f)
              ((bound-identifier=? id (caar bindings)) (car bindings))
              (else (named id (cdr bindings)))))

      ;; The expression for each state variable: that of its binding, or itself.
      (define (state-expressions states bindings)
        (map (lambda (state)
               (let ((binding (named state bindings)))
                 (if binding (cadr binding) state)))
             states))

      (define (state? id states)
        (named id (map list states)))

      (define (check-bindings form bindings)
        (if (pair? bindings)
            (begin
              (if (not (identifier? (caar bindings)))
                  (violation "an identifier is expected" form (caar bindings)))
              (if (named (caar bindings) (cdr bindings))
                  (violation "a variable is given twice" form (caar bindings)))
              (check-bindings form (cdr bindings)))))

      ;; The bindings of variables that are not state variables.
      (define (other-bindings states bindings)
        (cond ((null? bindings) '())
              ((state? (caar bindings) states) (other-bindings states (cdr bindings)))
              (else (cons (car bindings) (other-bindings states (cdr bindings))))))

      (define (call form states procedure bindings arguments)
        (check-bindings form bindings)
        (let ((others (other-bindings states bindings)))
          (if (pair? others)
              (violation "not a state variable" form (caar others))))
        (append (list procedure) (state-expressions states bindings) arguments))

      (define (pairs form)
        (syntax-case form ()
          (() '())
          (((id expression) . rest) (cons (list #'id #'expression) (pairs #'rest)))))

      (define (elements form)
        (syntax-case form ()
          (() '())
          ((first . rest) (cons #'first (elements #'rest)))))

      (define (expand form names)
        (syntax-case form ()
          ((keyword . use)
           (let ((states (map (lambda (name) (datum->syntax #'keyword name)) names)))
             (with-syntax (((state ...) states))
               (syntax-case #'use (lambda define case-lambda let*-values let)
                 ((lambda formals . body)
                  #'(lambda (state ... . formals) . body))
                 ((define (procedure . formals) . body)
                  #'(define procedure (lambda (state ... . formals) . body)))
                 ((case-lambda (formals . body) ...)
                  (with-syntax (((clause ...)
                                 (map (lambda (formals body)
                                        (with-syntax ((formals formals) (body body))
                                          #'((state ... . formals) . body)))
                                      (elements #'(formals ...))
                                      (elements #'(body ...)))))
                    #'(case-lambda clause ...)))
                 ((let*-values ((formals init) ...) . body)
                  (with-syntax (((binding ...)
                                 (map (lambda (formals init)
                                        (with-syntax ((formals formals) (init init))
                                          #'((state ... . formals) init)))
                                      (elements #'(formals ...))
                                      (elements #'(init ...)))))
                    #'(let*-values (binding ...) . body)))
                 ((let loop ((id init) ...) . body)
                  (identifier? #'loop)
                  (let ((bindings (pairs #'((id init) ...))))
                    (check-bindings form bindings)
                    (with-syntax (((state-init ...) (state-expressions states bindings))
                                  (((other other-init) ...) (other-bindings states bindings)))
                      #'(let loop ((state state-init) ... (other other-init) ...) . body))))
                 ((procedure)
                  (call form states #'procedure '() '()))
                 ((procedure ((id expression) ...) argument ...)
                  (call form
                        states
                        #'procedure
                        (pairs #'((id expression) ...))
                        (elements #'(argument ...))))
                 (other (violation "no use of a syntactic monad" form form)))))))))

    ;; (expand-use (keyword . use) (formal ...)) is what the use of a monad stands for.
    (define-syntax expand-use
      (lambda (form)
        (syntax-case form ()
          ((_ use formals) (expand #'use (syntax->datum #'formals))))))

    (define-syntax define-syntactic-monad
      (syntax-rules ()
        ((_ name formal ...)
         (define-syntax name
           (lambda (form)
             (syntax-case form ()
               ((keyword . use) (syntax (expand-use (keyword . use) (formal ...)))))))))))))
