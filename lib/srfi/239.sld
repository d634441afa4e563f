;;; (srfi 239): list-case, a choice by the kind of a list.

(define-library (srfi 239)
  (export list-case _)
  (import (canny syntax) (canny primitives))
  (begin

    (define-syntax list-case
      (syntax-rules ()
        ((list-case expression clause ...)
         (let ((object expression))
           (sort-clauses object #f #f #f clause ...)))))

    ;; Puts the clauses of a pair, of the empty list and of others at their places.
    (define-syntax sort-clauses
      (syntax-rules ()
        ((sort-clauses object pair null other)
         (cond ((pair? object) (do-pair object pair))
               ((null? object) (do-null object null))
               (else (do-other object other))))
        ((sort-clauses object #f null other ((first . rest) body0 body ...) clause ...)
         (sort-clauses object (first rest body0 body ...) null other clause ...))
        ((sort-clauses object pair #f other (() body0 body ...) clause ...)
         (sort-clauses object pair (body0 body ...) other clause ...))
        ((sort-clauses object pair null #f (variable body0 body ...) clause ...)
         (sort-clauses object pair null (variable body0 body ...) clause ...))))

    (define-syntax do-pair
      (syntax-rules (_)
        ((do-pair object #f) (no-clause object))
        ((do-pair object (_ _ . body)) (let () . body))
        ((do-pair object (first _ . body)) (let ((first (car object))) . body))
        ((do-pair object (_ rest . body)) (let ((rest (cdr object))) . body))
        ((do-pair object (first rest . body))
         (let ((first (car object)) (rest (cdr object))) . body))))

    (define-syntax do-null
      (syntax-rules ()
        ((do-null object #f) (no-clause object))
        ((do-null object body) (let () . body))))

    (define-syntax do-other
      (syntax-rules (_)
        ((do-other object #f) (no-clause object))
        ((do-other object (_ . body)) (let () . body))
        ((do-other object (variable . body)) (let ((variable object)) . body))))

    (define (no-clause object)
      (%type-error 'list-case 1 "object that a clause takes" object))))
