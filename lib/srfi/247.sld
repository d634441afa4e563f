;;; (srfi 247): syntactic monads.
;;;
;;; The state variables are identifiers in the scope of the keyword at its use.  The transformer of a
;;; monad has its procedures inside: the ellipses in them are escaped as a whole.

(define-library (srfi 247)
  (export define-syntactic-monad)
  (import (canny syntax) (canny syntax-case) (canny primitives) (only (canny lists) map))
  (begin

    (define-syntax define-syntactic-monad
      (syntax-rules ()
        ((_ name formal ...)
         (define-syntax name
           (lambda (form)
             (let ((names '(formal ...)))
               (...
                 (let ()

                   ;; The expression for a state variable: that of its binding, or the variable itself.
                   (define (state-expressions variables bindings)
                     (map (lambda (variable)
                            (let loop ((rest bindings))
                              (if (null? rest)
                                  variable
                                  (syntax-case (car rest) ()
                                    ((name expression)
                                     (if (bound-identifier=? #'name variable)
                                         #'expression
                                         (loop (cdr rest))))))))
                          variables))

                   (define (state-variable? identifier variables)
                     (let loop ((rest variables))
                       (and (pair? rest)
                            (or (bound-identifier=? identifier (car rest))
                                (loop (cdr rest))))))

                   ;; The bindings of other variables.
                   (define (other-bindings variables bindings)
                     (let loop ((rest bindings) (others '()))
                       (if (null? rest)
                           (reverse others)
                           (loop (cdr rest)
                                 (syntax-case (car rest) ()
                                   ((name expression)
                                    (if (state-variable? #'name variables)
                                        others
                                        (cons (car rest) others))))))))

                   (define (check-bindings form variables bindings)
                     (let loop ((rest bindings) (seen '()))
                       (if (pair? rest)
                           (syntax-case (car rest) ()
                             ((name expression)
                              (identifier? #'name)
                              (begin
                                (if (not (state-variable? #'name variables))
                                    (syntax-violation 'syntactic-monad "this is no state variable" form #'name))
                                (if (state-variable? #'name seen)
                                    (syntax-violation 'syntactic-monad "a state variable occurs twice" form
                                                      #'name))
                                (loop (cdr rest) (cons #'name seen))))
                             (other
                              (syntax-violation 'syntactic-monad "a binding is (variable expression)" form
                                                #'other))))))

                   (define (expand-monad form names)
                     (syntax-case form (lambda define case-lambda let*-values let)
                       ((monad . use)
                        (let ((variables (map (lambda (name) (datum->syntax #'monad name)) names)))
                          (with-syntax (((state ...) variables))
                            (syntax-case #'use (lambda define case-lambda let*-values let)
                              ((lambda formals body ...)
                               #'(lambda (state ... . formals) body ...))
                              ((define (name . formals) body ...)
                               #'(define (name state ... . formals) body ...))
                              ((case-lambda (formals body ...) ...)
                               (with-syntax (((clause ...)
                                              (map (lambda (formals bodies)
                                                     (with-syntax ((formals formals) ((body ...) bodies))
                                                       #'((state ... . formals) body ...)))
                                                   #'(formals ...)
                                                   #'((body ...) ...))))
                                 #'(case-lambda clause ...)))
                              ((let*-values ((formals init) ...) body ...)
                               (with-syntax (((full ...)
                                              (map (lambda (formals)
                                                     (with-syntax ((formals formals))
                                                       #'(state ... . formals)))
                                                   #'(formals ...))))
                                 #'(let*-values ((full init) ...) body ...)))
                              ((let loop (binding ...) body ...)
                               (identifier? #'loop)
                               (let ((bindings #'(binding ...)))
                                 (with-syntax (((init ...) (state-expressions variables bindings))
                                               ((other ...) (other-bindings variables bindings)))
                                   #'(let loop ((state init) ... other ...) body ...))))
                              ((procedure)
                               #'(procedure state ...))
                              ((procedure (binding ...) argument ...)
                               (let ((bindings #'(binding ...)))
                                 (check-bindings form variables bindings)
                                 (with-syntax (((value ...) (state-expressions variables bindings)))
                                   #'(procedure value ... argument ...))))))))))

                   (expand-monad form names)))))))))))
