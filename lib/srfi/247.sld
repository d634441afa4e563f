;;; (srfi 247): syntactic monads.
;;;
;;; The state variables are identifiers with the names of the definition and the lexical context of
;;; the keyword in each use. The transformer of a monad is in the template below, with all that it
;;; needs. Libraries of the image have no procedures of expansion time.

(define-library (srfi 247)
  (export define-syntactic-monad)
  (import (scheme base) (scheme case-lambda) (srfi 211))
  (begin

    (define-syntax define-syntactic-monad
      (syntax-rules ()
        ((_ name formal ...)
         (define-syntax name
           (lambda (form)

             (define (violation message part)
               (syntax-violation 'name message form part))

             ;; The same symbol with the same meaning.
             (define (same? left right)
               (and (eq? (syntax->datum left) (syntax->datum right))
                    (free-identifier=? left right)))

             (define (binding-of id bindings)
               (cond ((null? bindings) #f)
                     ((same? id (caar bindings)) (car bindings))
                     (else (binding-of id (cdr bindings)))))

             (define (check bindings)
               (if (pair? bindings)
                   (begin
                     (if (not (identifier? (caar bindings)))
                         (violation "an identifier is expected" (caar bindings)))
                     (if (binding-of (caar bindings) (cdr bindings))
                         (violation "a variable is given twice" (caar bindings)))
                     (check (cdr bindings)))))

             ;; The expression for each state variable: that of its binding, or itself.
             (define (state-expressions states bindings)
               (map (lambda (state)
                      (let ((binding (binding-of state bindings)))
                        (if binding (cadr binding) state)))
                    states))

             ;; The bindings of variables that are not state variables.
             (define (others states bindings)
               (cond ((null? bindings) '())
                     ((binding-of (caar bindings) (map list states))
                      (others states (cdr bindings)))
                     (else (cons (car bindings) (others states (cdr bindings))))))

             (define (call states procedure bindings arguments)
               (check bindings)
               (let ((wrong (others states bindings)))
                 (if (pair? wrong)
                     (violation "not a state variable" (caar wrong))))
               (cons procedure (append (state-expressions states bindings) arguments)))

             (define (elements parts)
               (syntax-case parts ()
                 (() '())
                 ((part . rest) (cons (syntax part) (elements (syntax rest))))))

             (define (pairs parts)
               (map (lambda (part)
                      (syntax-case part ()
                        ((id expression) (list (syntax id) (syntax expression)))))
                    (elements parts)))

             ;; (formals . rest) with the state variables before the formals.
             (define (with-states states clause)
               (syntax-case clause ()
                 ((formals . rest)
                  (cons (append states (syntax formals)) (syntax rest)))))

             (syntax-case form ()
               ((keyword . use)
                (let ((states (map (lambda (symbol) (datum->syntax (syntax keyword) symbol))
                                   '(formal ...))))
                  (syntax-case (syntax use) (lambda define case-lambda let*-values let)
                    ((lambda . clause)
                     (cons (syntax lambda) (with-states states (syntax clause))))
                    ((define (procedure . formals) . body)
                     (list (syntax define)
                           (syntax procedure)
                           (cons (syntax lambda)
                                 (with-states states (syntax (formals . body))))))
                    ((case-lambda . clauses)
                     (cons (syntax case-lambda)
                           (map (lambda (clause) (with-states states clause))
                                (elements (syntax clauses)))))
                    ((let*-values bindings . body)
                     (cons (syntax let*-values)
                           (cons (map (lambda (binding) (with-states states binding))
                                      (elements (syntax bindings)))
                                 (syntax body))))
                    ((let loop bindings . body)
                     (identifier? (syntax loop))
                     (let ((bindings (pairs (syntax bindings))))
                       (check bindings)
                       (cons (syntax let)
                             (cons (syntax loop)
                                   (cons (append (map list
                                                      states
                                                      (state-expressions states bindings))
                                                 (others states bindings))
                                         (syntax body))))))
                    ((procedure)
                     (call states (syntax procedure) '() '()))
                    ((procedure bindings . arguments)
                     (call states
                           (syntax procedure)
                           (pairs (syntax bindings))
                           (elements (syntax arguments))))
                    (other (violation "no use of a syntactic monad" form)))))))))))))
