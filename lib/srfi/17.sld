;;; (srfi 17): generalized set!.
;;;
;;; Setters are kept in a table that does not keep procedures alive.

(define-library (srfi 17)
  (export set! setter getter-with-setter)
  (import (rename (canny syntax) (set! set!/r7rs)) (canny primitives))
  (begin

    (define-syntax set!
      (syntax-rules ()
        ((_ (procedure argument ...) value)
         ((setter procedure) argument ... value))
        ((_ variable value)
         (set!/r7rs variable value))))

    (define setters (%make-hash-table 'eq 'ephemeral 64))

    (define (setter procedure)
      (or (%hash-table-ref setters procedure #f)
          (%type-error 'setter 1 "procedure with a setter" procedure)))

    (define (set-setter! procedure setter)
      (if (not (procedure? procedure))
          (%type-error 'set-setter! 1 "procedure" procedure))
      (if (not (procedure? setter))
          (%type-error 'set-setter! 2 "procedure" setter))
      (%hash-table-set! setters procedure setter))

    (define (getter-with-setter getter setter)
      (if (not (procedure? getter))
          (%type-error 'getter-with-setter 1 "procedure" getter))
      (let ((procedure (lambda arguments (%apply getter arguments))))
        (set-setter! procedure setter)
        procedure))

    (define-syntax define-setters
      (syntax-rules ()
        ((_ (getter setter) ...)
         (begin (set-setter! getter setter) ...))))

    (define-syntax define-pair-setters
      (syntax-rules ()
        ((_ (getter set-part! path) ...)
         (begin
           (set-setter! getter (lambda (pair value) (set-part! (path pair) value)))
           ...))))

    (define-setters
      (setter set-setter!)
      (car set-car!)
      (cdr set-cdr!)
      (string-ref string-set!)
      (vector-ref vector-set!)
      (bytevector-u8-ref bytevector-u8-set!)
      (list-ref list-set!))

    (define-pair-setters
      (caar set-car! car) (cadr set-car! cdr) (cdar set-cdr! car) (cddr set-cdr! cdr)
      (caaar set-car! caar) (caadr set-car! cadr) (cadar set-car! cdar) (caddr set-car! cddr)
      (cdaar set-cdr! caar) (cdadr set-cdr! cadr) (cddar set-cdr! cdar) (cdddr set-cdr! cddr)
      (caaaar set-car! caaar) (caaadr set-car! caadr) (caadar set-car! cadar)
      (caaddr set-car! caddr) (cadaar set-car! cdaar) (cadadr set-car! cdadr)
      (caddar set-car! cddar) (cadddr set-car! cdddr)
      (cdaaar set-cdr! caaar) (cdaadr set-cdr! caadr) (cdadar set-cdr! cadar)
      (cdaddr set-cdr! caddr) (cddaar set-cdr! cdaar) (cddadr set-cdr! cdadr)
      (cdddar set-cdr! cddar) (cddddr set-cdr! cdddr))))
