;;; (srfi 235): combinators.

(define-library (srfi 235)
  (export constantly complement flip swap on-left on-right conjoin disjoin each-of all-of any-of
          on left-section right-section apply-chain arguments-drop arguments-drop-right
          arguments-take arguments-take-right group-by
          begin-procedure if-procedure when-procedure unless-procedure value-procedure
          case-procedure and-procedure eager-and-procedure or-procedure eager-or-procedure
          funcall-procedure loop-procedure while-procedure until-procedure
          always never boolean)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data hash-tables))
  (begin

    (define (check-procedures who procedures)
      (let loop ((rest procedures) (position 1))
        (if (pair? rest)
            (begin
              (check-procedure who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    ;; Combinators.

    (define (constantly . objects)
      (lambda ignored (%list->values objects)))

    (define (complement procedure)
      (check-procedure 'complement 1 procedure)
      (lambda (object) (not (procedure object))))

    (define (flip procedure)
      (check-procedure 'flip 1 procedure)
      (lambda objects (%apply procedure (reverse objects))))

    (define (swap procedure)
      (check-procedure 'swap 1 procedure)
      (lambda (first second . objects)
        (%apply procedure (cons* second first objects))))

    (define (on-left procedure)
      (check-procedure 'on-left 1 procedure)
      (lambda (left right) (procedure left)))

    (define (on-right procedure)
      (check-procedure 'on-right 1 procedure)
      (lambda (left right) (procedure right)))

    ;; As in the SRFI's own implementation, a predicate takes one argument: all arguments must
    ;; satisfy all predicates, or each of them one. The result is that for the last argument.
    (define (conjoin . predicates)
      (check-procedures 'conjoin predicates)
      (lambda objects
        (for-all-objects objects
                         (lambda (object)
                           (let loop ((rest predicates) (last #t))
                             (if (null? rest)
                                 last
                                 (let ((result ((car rest) object)))
                                   (and result (loop (cdr rest) result)))))))))

    (define (disjoin . predicates)
      (check-procedures 'disjoin predicates)
      (lambda objects
        (for-all-objects objects
                         (lambda (object)
                           (let loop ((rest predicates))
                             (and (pair? rest)
                                  (or ((car rest) object)
                                      (loop (cdr rest)))))))))

    (define (for-all-objects objects holds?)
      (let loop ((rest objects) (last #t))
        (if (null? rest)
            last
            (let ((result (holds? (car rest))))
              (and result (loop (cdr rest) result))))))

    (define (each-of . procedures)
      (check-procedures 'each-of procedures)
      (lambda objects
        (for-each (lambda (procedure) (%apply procedure objects)) procedures)))

    (define (all-of wanted?)
      (check-procedure 'all-of 1 wanted?)
      (lambda (list)
        (let loop ((rest list) (last #t))
          (if (null? rest)
              last
              (let ((result (wanted? (car rest))))
                (and result (loop (cdr rest) result)))))))

    (define (any-of wanted?)
      (check-procedure 'any-of 1 wanted?)
      (lambda (list)
        (let loop ((rest list))
          (and (pair? rest)
               (or (wanted? (car rest))
                   (loop (cdr rest)))))))

    (define (on reducer mapper)
      (check-procedure 'on 1 reducer)
      (check-procedure 'on 2 mapper)
      (lambda objects (%apply reducer (map mapper objects))))

    (define (left-section procedure . arguments)
      (check-procedure 'left-section 1 procedure)
      (lambda objects (%apply procedure (append arguments objects))))

    (define (right-section procedure . arguments)
      (check-procedure 'right-section 1 procedure)
      (let ((arguments (reverse arguments)))
        (lambda objects (%apply procedure (append objects arguments)))))

    (define (apply-chain procedure . procedures)
      (check-procedures 'apply-chain (cons procedure procedures))
      (let ((procedures (reverse (cons procedure procedures))))
        (lambda objects
          (let loop ((objects objects) (rest procedures))
            (if (null? (cdr rest))
                (%apply (car rest) objects)
                (loop (call-with-values (lambda () (%apply (car rest) objects)) list)
                      (cdr rest)))))))

    (define-syntax define-selection
      (syntax-rules ()
        ((_ name select)
         (define (name procedure count)
           (check-procedure 'name 1 procedure)
           (check-index 'name 2 count)
           (lambda objects (%apply procedure (select objects count)))))))

    (define-selection arguments-drop drop)
    (define-selection arguments-drop-right drop-right)
    (define-selection arguments-take take)
    (define-selection arguments-take-right take-right)

    ;; The groups are in a list, last first, of pairs of a key and its elements, last first.
    (define group-by
      (case-lambda
        ((key-of) (group-by key-of equal?))
        ((key-of same?)
         (check-procedure 'group-by 1 key-of)
         (check-procedure 'group-by 2 same?)
         (let ((known (memq same? (list eq? eqv? equal? string=?))))
           (lambda (list)
             (let ((table (and known (make-hash-table same?))))
               (define (find groups key)
                 (if table
                     (hash-table-ref/default table key #f)
                     (let loop ((rest groups))
                       (cond ((null? rest) #f)
                             ((same? (caar rest) key) (car rest))
                             (else (loop (cdr rest)))))))
               (let loop ((rest list) (groups '()))
                 (if (null? rest)
                     (reverse! (%map1 (lambda (group) (reverse (cdr group))) groups))
                     (let* ((key (key-of (car rest))) (group (find groups key)))
                       (if group
                           (begin
                             (set-cdr! group (cons (car rest) (cdr group)))
                             (loop (cdr rest) groups))
                           (let ((group (cons key (cons (car rest) '()))))
                             (if table (hash-table-set! table key group))
                             (loop (cdr rest) (cons group groups)))))))))))))

    ;; Procedures like syntax.

    (define (begin-procedure . thunks)
      (check-procedures 'begin-procedure thunks)
      (if (null? thunks)
          (void)
          (let loop ((rest thunks))
            (if (null? (cdr rest))
                ((car rest))
                (begin
                  ((car rest))
                  (loop (cdr rest)))))))

    (define (if-procedure value then-thunk else-thunk)
      (if value (then-thunk) (else-thunk)))

    (define (call-all thunks)
      (for-each (lambda (thunk) (thunk)) thunks))

    (define (when-procedure value . thunks)
      (if value (call-all thunks) (void)))

    (define (unless-procedure value . thunks)
      (if value (void) (call-all thunks)))

    (define (value-procedure value then-procedure else-thunk)
      (if value (then-procedure value) (else-thunk)))

    (define case-procedure
      (case-lambda
        ((value thunks) (case-procedure value thunks void))
        ((value thunks else-thunk)
         (let ((entry (assv value thunks)))
           (if entry
               ((cdr entry))
               (else-thunk))))))

    (define (and-procedure . thunks)
      (if (null? thunks)
          #t
          (let loop ((rest thunks))
            (if (null? (cdr rest))
                ((car rest))
                (and ((car rest)) (loop (cdr rest)))))))

    (define (or-procedure . thunks)
      (if (null? thunks)
          #f
          (let loop ((rest thunks))
            (if (null? (cdr rest))
                ((car rest))
                (or ((car rest)) (loop (cdr rest)))))))

    (define (eager-and-procedure . thunks)
      (let loop ((rest thunks) (result #t))
        (if (null? rest)
            result
            (let ((value ((car rest))))
              (loop (cdr rest) (and result value))))))

    (define (eager-or-procedure . thunks)
      (let loop ((rest thunks) (result #f))
        (if (null? rest)
            result
            (let ((value ((car rest))))
              (loop (cdr rest) (or result value))))))

    (define (funcall-procedure thunk)
      (thunk))

    (define (loop-procedure thunk)
      (thunk)
      (loop-procedure thunk))

    (define (while-procedure thunk)
      (if (thunk) (while-procedure thunk) (void)))

    (define (until-procedure thunk)
      (if (thunk) (void) (until-procedure thunk)))

    (define (always . ignored) #t)
    (define (never . ignored) #f)
    (define (boolean object) (if object #t #f))))
