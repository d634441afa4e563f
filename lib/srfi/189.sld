;;; (srfi 189): Maybe and Either, optional container types.
;;;
;;; A Just, a Left or a Right has a list of its values, which is never changed. There is one
;;; Nothing. In what follows the success of a container is being a Just or a Right.

(define-library (srfi 189)
  (export just nothing right left list->just list->left list->right
          maybe->either either->maybe either-swap
          just? nothing? right? left? maybe? either? maybe= either=
          maybe-ref either-ref maybe-ref/default either-ref/default
          maybe-join either-join maybe-compose either-compose maybe-bind either-bind
          maybe-length either-length maybe-filter maybe-remove either-filter either-remove
          maybe-sequence either-sequence
          maybe->list either->list list->maybe list->either
          maybe->truth either->truth truth->maybe truth->either
          maybe->list-truth either->list-truth list-truth->maybe list-truth->either
          maybe->generation either->generation generation->maybe generation->either
          maybe->values either->values values->maybe values->either
          maybe->two-values two-values->maybe exception->either
          maybe-map either-map maybe-for-each either-for-each maybe-fold either-fold
          maybe-unfold either-unfold
          maybe-if maybe-and either-and maybe-or either-or maybe-let* either-let*
          maybe-let*-values either-let*-values either-guard
          tri-not tri=? tri-and tri-or tri-merge)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments))
  (begin

    (define-record-type <just>
      (make-just values)
      just?
      (values just-values))

    (define-record-type <nothing>
      (make-nothing)
      nothing?)

    (define-record-type <left>
      (make-left values)
      left?
      (values left-values))

    (define-record-type <right>
      (make-right values)
      right?
      (values right-values))

    (define the-nothing (make-nothing))

    (define (nothing) the-nothing)
    (define (just . objects) (make-just objects))
    (define (left . objects) (make-left objects))
    (define (right . objects) (make-right objects))

    (define (maybe? object)
      (or (just? object) (nothing? object)))

    (define (either? object)
      (or (right? object) (left? object)))

    (define (check-maybe who position object)
      (check-argument who position maybe? "Maybe" object))

    (define (check-either who position object)
      (check-argument who position either? "Either" object))

    ;; The values of a container of either kind.
    (define (payload container)
      (cond ((just? container) (just-values container))
            ((right? container) (right-values container))
            ((left? container) (left-values container))
            (else '())))

    (define (single who container)
      (let ((objects (payload container)))
        (if (not (and (pair? objects) (null? (cdr objects))))
            (error "the container does not hold exactly one value" who container))
        (car objects)))

    (define (list->just list)
      (check-argument 'list->just 1 list? "list" list)
      (make-just (list-copy list)))

    (define (list->left list)
      (check-argument 'list->left 1 list? "list" list)
      (make-left (list-copy list)))

    (define (list->right list)
      (check-argument 'list->right 1 list? "list" list)
      (make-right (list-copy list)))

    (define (maybe->either maybe . objects)
      (check-maybe 'maybe->either 1 maybe)
      (if (just? maybe)
          (make-right (just-values maybe))
          (make-left objects)))

    (define (either->maybe either)
      (check-either 'either->maybe 1 either)
      (if (right? either)
          (make-just (right-values either))
          the-nothing))

    (define (either-swap either)
      (check-either 'either-swap 1 either)
      (if (right? either)
          (make-left (right-values either))
          (make-right (left-values either))))

    ;; Equality.

    (define (same-values? same? left right)
      (cond ((null? left) (null? right))
            ((null? right) #f)
            ((same? (car left) (car right)) (same-values? same? (cdr left) (cdr right)))
            (else #f)))

    (define (all-same? who check same? containers same-kind?)
      (check-procedure who 1 same?)
      (for-each (lambda (container) (check who 2 container)) containers)
      (let loop ((first (car containers)) (rest (cdr containers)))
        (or (null? rest)
            (and (same-kind? first (car rest))
                 (same-values? same? (payload first) (payload (car rest)))
                 (loop (car rest) (cdr rest))))))

    (define (maybe= same? maybe . maybes)
      (all-same? 'maybe= check-maybe same? (cons maybe maybes)
                 (lambda (left right) (eq? (just? left) (just? right)))))

    (define (either= same? either . eithers)
      (all-same? 'either= check-either same? (cons either eithers)
                 (lambda (left right) (eq? (right? left) (right? right)))))

    ;; Access.

    (define maybe-ref
      (case-lambda
        ((maybe failure) (maybe-ref maybe failure values))
        ((maybe failure success)
         (check-maybe 'maybe-ref 1 maybe)
         (if (just? maybe)
             (%apply success (just-values maybe))
             (failure)))))

    (define either-ref
      (case-lambda
        ((either failure) (either-ref either failure values))
        ((either failure success)
         (check-either 'either-ref 1 either)
         (if (right? either)
             (%apply success (right-values either))
             (%apply failure (left-values either))))))

    (define (maybe-ref/default maybe . defaults)
      (check-maybe 'maybe-ref/default 1 maybe)
      (%list->values (if (just? maybe) (just-values maybe) defaults)))

    (define (either-ref/default either . defaults)
      (check-either 'either-ref/default 1 either)
      (%list->values (if (right? either) (right-values either) defaults)))

    ;; Join and bind.

    (define (maybe-join maybe)
      (check-maybe 'maybe-join 1 maybe)
      (if (just? maybe)
          (let ((inner (single 'maybe-join maybe)))
            (check-maybe 'maybe-join 1 inner)
            inner)
          maybe))

    (define (either-join either)
      (check-either 'either-join 1 either)
      (if (right? either)
          (let ((inner (single 'either-join either)))
            (check-either 'either-join 1 inner)
            inner)
          either))

    ;; Applies the procedures in turn, each to the values of the last result, while that is a
    ;; success.
    (define (chain who check success? container procedures)
      (let loop ((container container) (rest procedures))
        (if (or (null? rest) (not (success? container)))
            container
            (let ((next (%apply (car rest) (payload container))))
              (check who 1 next)
              (loop next (cdr rest))))))

    (define (maybe-compose procedure . procedures)
      (check-procedure 'maybe-compose 1 procedure)
      (lambda objects
        (chain 'maybe-compose check-maybe just? (make-just objects) (cons procedure procedures))))

    (define (either-compose procedure . procedures)
      (check-procedure 'either-compose 1 procedure)
      (lambda objects
        (chain 'either-compose check-either right? (make-right objects)
               (cons procedure procedures))))

    (define (maybe-bind maybe procedure . procedures)
      (check-maybe 'maybe-bind 1 maybe)
      (chain 'maybe-bind check-maybe just? maybe (cons procedure procedures)))

    (define (either-bind either procedure . procedures)
      (check-either 'either-bind 1 either)
      (chain 'either-bind check-either right? either (cons procedure procedures)))

    ;; Containers as sequences of one or no element.

    (define (maybe-length maybe)
      (check-maybe 'maybe-length 1 maybe)
      (if (just? maybe) 1 0))

    (define (either-length either)
      (check-either 'either-length 1 either)
      (if (right? either) 1 0))

    (define (maybe-filter wanted? maybe)
      (check-procedure 'maybe-filter 1 wanted?)
      (check-maybe 'maybe-filter 2 maybe)
      (if (and (just? maybe) (%apply wanted? (just-values maybe))) maybe the-nothing))

    (define (maybe-remove unwanted? maybe)
      (check-procedure 'maybe-remove 1 unwanted?)
      (check-maybe 'maybe-remove 2 maybe)
      (if (and (just? maybe) (not (%apply unwanted? (just-values maybe)))) maybe the-nothing))

    (define (either-filter wanted? either . objects)
      (check-procedure 'either-filter 1 wanted?)
      (check-either 'either-filter 2 either)
      (if (and (right? either) (%apply wanted? (right-values either)))
          either
          (make-left objects)))

    (define (either-remove unwanted? either . objects)
      (check-procedure 'either-remove 1 unwanted?)
      (check-either 'either-remove 2 either)
      (if (and (right? either) (not (%apply unwanted? (right-values either))))
          either
          (make-left objects)))

    (define (sequence who check success? wrap collection map aggregator)
      (check-procedure who 2 map)
      (check-procedure who 3 aggregator)
      (call-with-current-continuation
       (lambda (return)
         (wrap (map (lambda (container)
                      (check who 1 container)
                      (if (success? container)
                          (%apply aggregator (payload container))
                          (return container)))
                    collection)))))

    (define maybe-sequence
      (case-lambda
        ((collection map) (maybe-sequence collection map list))
        ((collection map aggregator)
         (sequence 'maybe-sequence check-maybe just? just collection map aggregator))))

    (define either-sequence
      (case-lambda
        ((collection map) (either-sequence collection map list))
        ((collection map aggregator)
         (sequence 'either-sequence check-either right? right collection map aggregator))))

    ;; Other protocols.

    (define (maybe->list maybe)
      (check-maybe 'maybe->list 1 maybe)
      (payload maybe))

    (define (either->list either)
      (check-either 'either->list 1 either)
      (if (right? either) (right-values either) '()))

    (define (list->maybe list)
      (if (null? list) the-nothing (list->just list)))

    (define (list->either list . objects)
      (if (null? list) (make-left objects) (list->right list)))

    (define (maybe->truth maybe)
      (check-maybe 'maybe->truth 1 maybe)
      (and (just? maybe) (single 'maybe->truth maybe)))

    (define (either->truth either)
      (check-either 'either->truth 1 either)
      (and (right? either) (single 'either->truth either)))

    (define (truth->maybe object)
      (if object (just object) the-nothing))

    (define (truth->either object . failures)
      (if object (right object) (make-left failures)))

    (define (maybe->list-truth maybe)
      (check-maybe 'maybe->list-truth 1 maybe)
      (and (just? maybe) (just-values maybe)))

    (define (either->list-truth either)
      (check-either 'either->list-truth 1 either)
      (and (right? either) (right-values either)))

    (define (list-truth->maybe list)
      (if list (list->just list) the-nothing))

    (define (list-truth->either list . objects)
      (if list (list->right list) (make-left objects)))

    (define (maybe->generation maybe)
      (check-maybe 'maybe->generation 1 maybe)
      (if (just? maybe) (single 'maybe->generation maybe) (eof-object)))

    (define (either->generation either)
      (check-either 'either->generation 1 either)
      (if (right? either) (single 'either->generation either) (eof-object)))

    (define (generation->maybe object)
      (if (eof-object? object) the-nothing (just object)))

    (define (generation->either object . failures)
      (if (eof-object? object) (make-left failures) (right object)))

    (define (maybe->values maybe)
      (check-maybe 'maybe->values 1 maybe)
      (%list->values (payload maybe)))

    (define (either->values either)
      (check-either 'either->values 1 either)
      (%list->values (if (right? either) (right-values either) '())))

    (define (values->maybe producer)
      (check-procedure 'values->maybe 1 producer)
      (list->maybe (call-with-values producer list)))

    (define (values->either producer . failures)
      (check-procedure 'values->either 1 producer)
      (let ((objects (call-with-values producer list)))
        (if (null? objects)
            (make-left failures)
            (make-right objects))))

    (define (maybe->two-values maybe)
      (check-maybe 'maybe->two-values 1 maybe)
      (if (just? maybe)
          (values (single 'maybe->two-values maybe) #t)
          (values #f #f)))

    (define (two-values->maybe producer)
      (check-procedure 'two-values->maybe 1 producer)
      (call-with-values producer
        (lambda (object success?)
          (if success? (just object) the-nothing))))

    (define (exception->either wanted? thunk)
      (check-procedure 'exception->either 1 wanted?)
      (check-procedure 'exception->either 2 thunk)
      (guard (object ((wanted? object) (left object)))
        (make-right (call-with-values thunk list))))

    ;; Map, fold and unfold.

    (define (maybe-map procedure maybe)
      (check-procedure 'maybe-map 1 procedure)
      (check-maybe 'maybe-map 2 maybe)
      (if (just? maybe)
          (make-just (call-with-values (lambda () (%apply procedure (just-values maybe))) list))
          maybe))

    (define (either-map procedure either)
      (check-procedure 'either-map 1 procedure)
      (check-either 'either-map 2 either)
      (if (right? either)
          (make-right (call-with-values (lambda () (%apply procedure (right-values either))) list))
          either))

    (define (maybe-for-each procedure maybe)
      (check-procedure 'maybe-for-each 1 procedure)
      (check-maybe 'maybe-for-each 2 maybe)
      (if (just? maybe)
          (%apply procedure (just-values maybe)))
      (void))

    (define (either-for-each procedure either)
      (check-procedure 'either-for-each 1 procedure)
      (check-either 'either-for-each 2 either)
      (if (right? either)
          (%apply procedure (right-values either)))
      (void))

    (define (maybe-fold kons nil maybe)
      (check-procedure 'maybe-fold 1 kons)
      (check-maybe 'maybe-fold 3 maybe)
      (if (just? maybe)
          (%apply kons (append (just-values maybe) (list nil)))
          nil))

    (define (either-fold kons nil either)
      (check-procedure 'either-fold 1 kons)
      (check-either 'either-fold 3 either)
      (if (right? either)
          (%apply kons (append (right-values either) (list nil)))
          nil))

    (define (unfold-once who stop? mapper successor seeds wrap failure)
      (check-procedure who 1 stop?)
      (check-procedure who 2 mapper)
      (check-procedure who 3 successor)
      (if (%apply stop? seeds)
          failure
          (begin
            (if (not (call-with-values (lambda () (%apply successor seeds)) stop?))
                (error "the sequence has more than one element" who))
            (wrap (call-with-values (lambda () (%apply mapper seeds)) list)))))

    (define (maybe-unfold stop? mapper successor . seeds)
      (unfold-once 'maybe-unfold stop? mapper successor seeds make-just the-nothing))

    (define (either-unfold stop? mapper successor . seeds)
      (unfold-once 'either-unfold stop? mapper successor seeds make-right (make-left seeds)))

    ;; Syntax.

    (define-syntax maybe-if
      (syntax-rules ()
        ((_ maybe just-branch nothing-branch)
         (let ((object maybe))
           (check-maybe 'maybe-if 1 object)
           (if (just? object) just-branch nothing-branch)))))

    ;; (define-connective name continue? check empty) continues with the next expression while the
    ;; container satisfies `continue?`.
    (define-syntax define-connective
      (syntax-rules ()
        ((_ name continue? check empty)
         (define-syntax name
           (syntax-rules ()
             ((_1) empty)
             ((_1 expression)
              (let ((object expression))
                (check 'name 1 object)
                object))
             ((_1 expression rest (... ...))
              (let ((object expression))
                (check 'name 1 object)
                (if (continue? object)
                    (name rest (... ...))
                    object))))))))

    (define-connective maybe-and just? check-maybe (just #t))
    (define-connective either-and right? check-either (right #t))
    (define-connective maybe-or nothing? check-maybe (nothing))
    (define-connective either-or left? check-either (left #f))

    (define-syntax define-binding-form
      (syntax-rules ()
        ((_ name success? check wrap)
         (define-syntax name
           (syntax-rules ()
             ((_1 () . body)
              (wrap (call-with-values (lambda () (let () #t . body)) list)))
             ((_1 ((variable expression) . claws) . body)
              (let ((object expression))
                (check 'name 1 object)
                (if (success? object)
                    (let ((variable (single 'name object)))
                      (name claws . body))
                    object)))
             ((_1 ((expression) . claws) . body)
              (let ((object expression))
                (check 'name 1 object)
                (if (success? object)
                    (begin
                      (single 'name object)
                      (name claws . body))
                    object)))
             ((_1 (variable . claws) . body)
              (name ((variable) . claws) . body)))))))

    (define-binding-form maybe-let* just? check-maybe make-just)
    (define-binding-form either-let* right? check-either make-right)

    (define-syntax define-values-form
      (syntax-rules ()
        ((_ name success? check wrap)
         (define-syntax name
           (syntax-rules ()
             ((_1 () . body)
              (wrap (call-with-values (lambda () (let () #t . body)) list)))
             ((_1 ((formals expression) . claws) . body)
              (let ((object expression))
                (check 'name 1 object)
                (if (success? object)
                    (%apply (lambda formals (name claws . body)) (payload object))
                    object)))
             ((_1 ((expression) . claws) . body)
              (let ((object expression))
                (check 'name 1 object)
                (if (success? object)
                    (name claws . body)
                    object)))
             ((_1 (variable . claws) . body)
              (name ((variable) . claws) . body)))))))

    (define-values-form maybe-let*-values just? check-maybe make-just)
    (define-values-form either-let*-values right? check-either make-right)

    (define-syntax either-guard
      (syntax-rules ()
        ((_ wanted? . body)
         (exception->either wanted? (lambda () . body)))))

    ;; Trivalent logic.

    (define (truth who maybe)
      (check-maybe who 1 maybe)
      (cond ((nothing? maybe) 'nothing)
            ((single who maybe) 'true)
            (else 'false)))

    (define (tri-not maybe)
      (case (truth 'tri-not maybe)
        ((true) (just #f))
        ((false) (just #t))
        (else maybe)))

    (define (tri=? maybe . maybes)
      (let ((truths (%map1 (lambda (maybe) (truth 'tri=? maybe)) (cons maybe maybes))))
        (just (and (not (memq 'nothing truths))
                   (not (and (memq 'true truths) (memq 'false truths)))))))

    (define (tri-and . maybes)
      (let loop ((rest maybes))
        (cond ((null? rest) (just #t))
              ((eq? (truth 'tri-and (car rest)) 'true) (loop (cdr rest)))
              (else (car rest)))))

    (define (tri-or . maybes)
      (let loop ((rest maybes))
        (cond ((null? rest) (just #f))
              ((eq? (truth 'tri-or (car rest)) 'false) (loop (cdr rest)))
              (else (car rest)))))

    (define (tri-merge . maybes)
      (let loop ((rest maybes))
        (cond ((null? rest) the-nothing)
              ((eq? (truth 'tri-merge (car rest)) 'nothing) (loop (cdr rest)))
              (else (car rest)))))))
