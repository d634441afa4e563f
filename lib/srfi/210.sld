;;; (srfi 210): procedures and syntax for multiple values.

(define-library (srfi 210)
  (export apply/mv call/mv list/mv vector/mv box/mv value/mv coarity set!-values with-values
          case-receive bind/mv
          list-values vector-values box-values value identity compose-left compose-right
          map-values bind/list bind/box bind)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data boxes))
  (begin

    ;; The values of an expression as a list.
    (define-syntax values-list
      (syntax-rules ()
        ((_ producer) (call-with-values (lambda () producer) list))))

    (define-syntax apply/mv
      (syntax-rules ()
        ((_ operator operand ... producer)
         (%apply operator (cons* operand ... (values-list producer))))))

    (define-syntax call/mv
      (syntax-rules ()
        ((_ consumer producer ...)
         (%apply consumer (append (values-list producer) ...)))))

    (define-syntax list/mv
      (syntax-rules ()
        ((_ element ... producer) (cons* element ... (values-list producer)))))

    (define-syntax vector/mv
      (syntax-rules ()
        ((_ element ... producer) (list->vector (list/mv element ... producer)))))

    (define-syntax box/mv
      (syntax-rules ()
        ((_ element ... producer) (apply/mv box element ... producer))))

    (define-syntax value/mv
      (syntax-rules ()
        ((_ index operand ... producer) (apply/mv value index operand ... producer))))

    (define-syntax coarity
      (syntax-rules ()
        ((_ producer) (length (values-list producer)))))

    ;; Each variable takes its value from the list of what is left.
    (define-syntax set!-values
      (syntax-rules ()
        ((_ formals producer)
         (let ((objects (values-list producer)))
           (check-formals formals objects)
           (set-formals! formals objects)))))

    (define (wrong-number objects)
      (error "set!-values: the number of values does not fit" objects))

    (define-syntax check-formals
      (syntax-rules ()
        ((_ () objects) (if (not (null? objects)) (wrong-number objects)))
        ((_ (variable . formals) objects)
         (if (pair? objects)
             (let ((rest (cdr objects)))
               (check-formals formals rest))
             (wrong-number objects)))
        ((_ variable objects) (void))))

    (define-syntax set-formals!
      (syntax-rules ()
        ((_ () objects) (void))
        ((_ (variable . formals) objects)
         (let ((rest (cdr objects)))
           (set! variable (car objects))
           (set-formals! formals rest)))
        ((_ variable objects) (set! variable objects))))

    (define-syntax with-values
      (syntax-rules ()
        ((_ producer consumer) (apply/mv consumer producer))))

    (define-syntax case-receive
      (syntax-rules ()
        ((_ producer clause ...) (apply/mv (case-lambda clause ...) producer))))

    (define-syntax bind/mv
      (syntax-rules ()
        ((_ producer transducer ...) (bind/list (values-list producer) transducer ...))))

    ;; Procedures.

    (define (list-values list)
      (check-argument 'list-values 1 list? "list" list)
      (%list->values list))

    (define (vector-values vector)
      (check-argument 'vector-values 1 vector? "vector" vector)
      (%list->values (vector->list vector)))

    (define (box-values box)
      (check-argument 'box-values 1 box? "box" box)
      (unbox box))

    (define (value index . objects)
      (check-index 'value 1 index)
      (if (>= index (length objects))
          (%range-error 'value 1 "there are fewer values" index))
      (list-ref objects index))

    (define (identity . objects)
      (%list->values objects))

    (define (check-transducers who transducers)
      (let loop ((rest transducers) (position 1))
        (if (pair? rest)
            (begin
              (check-procedure who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    (define (compose-left . transducers)
      (check-transducers 'compose-left transducers)
      (lambda objects (chain objects transducers)))

    (define (compose-right . transducers)
      (check-transducers 'compose-right transducers)
      (let ((transducers (reverse transducers)))
        (lambda objects (chain objects transducers))))

    (define (chain objects transducers)
      (cond ((null? transducers) (%list->values objects))
            ((null? (cdr transducers)) (%apply (car transducers) objects))
            (else (chain (values-list (%apply (car transducers) objects)) (cdr transducers)))))

    (define (map-values procedure)
      (check-procedure 'map-values 1 procedure)
      (lambda objects (%list->values (map procedure objects))))

    (define (bind/list list . transducers)
      (check-argument 'bind/list 1 list? "list" list)
      (check-transducers 'bind/list transducers)
      (chain list transducers))

    (define (bind/box box . transducers)
      (check-argument 'bind/box 1 box? "box" box)
      (check-transducers 'bind/box transducers)
      (chain (values-list (unbox box)) transducers))

    (define (bind object . transducers)
      (check-transducers 'bind transducers)
      (chain (list object) transducers))))
