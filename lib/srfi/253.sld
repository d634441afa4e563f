;;; (srfi 253): checked arguments and values.
;;;
;;; Every check is made; one that fails is an error that names its caller.

(define-library (srfi 253)
  (export check-arg values-checked check-case lambda-checked case-lambda-checked define-checked
          define-record-type-checked
          %check-argument %check-results %no-case)
  (import (rename (canny syntax) (define-record-type define-record-type/r7rs))
          (canny primitives) (only (canny machine control) raise)
          (only (canny data lists) for-each))
  (begin

    (define (fail message who object)
      (raise (%make-condition 'assertion message (list object) who)))

    (define (%check-argument satisfies? object what who)
      (if (not (satisfies? object))
          (fail (string-append what " does not satisfy "
                               (let ((name (and (procedure? satisfies?)
                                                (procedure-name satisfies?))))
                                 (if name (symbol->string name) "its predicate")))
                who object))
      object)

    (define (%no-case object)
      (fail "no case is for the value" 'check-case object))

    (define (%check-results predicates results)
      (if (not (= (length predicates) (length results)))
          (fail "the number of values is not that of their predicates" 'values-checked results))
      (for-each (lambda (satisfies? result)
                  (%check-argument satisfies? result "the value" 'values-checked))
                predicates results)
      (%list->values results))

    (define-syntax check-arg
      (syntax-rules ()
        ((_ predicate argument)
         (check-arg predicate argument 'check-arg))
        ((_ predicate argument caller)
         (begin
           (%check-argument predicate argument "the argument" (who-name caller))
           (void)))))

    (define (who-name object)
      (cond ((symbol? object) object)
            ((string? object) (string->symbol object))
            ((procedure? object) (procedure-name object))
            (else #f)))

    (define-syntax values-checked
      (syntax-rules ()
        ((_ (predicate ...) value ...)
         (check-values () (predicate ...) (value ...)))))

    (define-syntax check-values
      (syntax-rules ()
        ((_ (checked ...) () ())
         (values checked ...))
        ((_ (checked ...) (predicate . predicates) (value . more))
         (check-values (checked ... (%check-argument predicate value "the value" 'values-checked))
                       predicates more))))

    (define-syntax check-case
      (syntax-rules ()
        ((_ expression clause ...)
         (let ((object expression))
           (check-clauses object clause ...)))))

    (define-syntax check-clauses
      (syntax-rules (else)
        ((_ object)
         (%no-case object))
        ((_ object (else body0 body ...))
         (let () body0 body ...))
        ((_ object (predicate body ...) clause ...)
         (if (predicate object)
             (let () (void) body ...)
             (check-clauses object clause ...)))))

    ;; Collects the parameters without their predicates, and the checks.
    (define-syntax collect-checks
      (syntax-rules ()
        ((_ continue who () (parameter ...) checks body)
         (finish-clause continue who (parameter ...) checks body))
        ((_ continue who ((parameter predicate) . rest) (done ...) (check ...) body)
         (collect-checks continue who rest (done ... parameter)
                         (check ... (%check-argument predicate parameter "the argument" 'who))
                         body))
        ((_ continue who (parameter . rest) (done ...) checks body)
         (collect-checks continue who rest (done ... parameter) checks body))
        ((_ continue who rest (parameter ...) checks body)
         (finish-clause continue who (parameter ... . rest) checks body))))

    ;; `continue` is () for a lambda, or what a case-lambda has done and has yet to do.
    (define-syntax finish-clause
      (syntax-rules ()
        ((_ () who formals (check ...) body)
         (lambda formals check ... (checked-body . body)))
        ((_ ((done ...) clauses) who formals (check ...) body)
         (case-clauses who (done ... (formals check ... (checked-body . body))) clauses))))

    ;; A body may start with => and a list of predicates for its values.
    (define-syntax checked-body
      (syntax-rules (=>)
        ((_ => (predicate ...) body0 body ...)
         (%check-results (list predicate ...) (%values->list (let () body0 body ...))))
        ((_ body ...)
         (let () body ...))))

    (define-syntax case-clauses
      (syntax-rules ()
        ((_ who (done ...) ())
         (case-lambda done ...))
        ((_ who done ((formals body0 body ...) . clauses))
         (collect-checks (done clauses) who formals () () (body0 body ...)))))

    (define-syntax lambda-checked
      (syntax-rules ()
        ((_ formals body0 body ...)
         (collect-checks () lambda-checked formals () () (body0 body ...)))))

    (define-syntax case-lambda-checked
      (syntax-rules ()
        ((_ clause ...)
         (case-clauses case-lambda-checked () (clause ...)))))

    (define-syntax define-checked
      (syntax-rules ()
        ((_ (name . formals) body0 body ...)
         (define name (collect-checks () name formals () () (body0 body ...))))
        ((_ name predicate value)
         (define name (%check-argument predicate value "the value" 'name)))))

    ;; The procedures of an ordinary record type, with checks around them.
    (define-syntax define-record-type-checked
      (syntax-rules ()
        ((_ type (constructor argument ...) predicate field ...)
         (collect-fields type constructor (argument ...) predicate () field ...))
        ((_ type #f predicate field ...)
         (collect-fields type #f () predicate () field ...))))

    ;; Each field gets names for its unchecked procedures.
    (define-syntax collect-fields
      (syntax-rules ()
        ((_ type constructor arguments predicate (done ...) (name check accessor) field ...)
         (collect-fields type constructor arguments predicate
                         (done ... (name check accessor #f get set)) field ...))
        ((_ type constructor arguments predicate (done ...) (name check accessor modifier)
            field ...)
         (collect-fields type constructor arguments predicate
                         (done ... (name check accessor modifier get set)) field ...))
        ((_ type constructor (argument ...) predicate
            ((name check accessor modifier get set) ...))
         (begin
           (define-record-type/r7rs type
             (make argument ...)
             predicate
             (name get set)
             ...)
           (define-accessor accessor check get) ...
           (define-modifier modifier check set) ...
           (define-constructor constructor make (argument ...) ((name check) ...))))))

    (define-syntax define-accessor
      (syntax-rules ()
        ((_ accessor check get)
         (define (accessor record)
           (%check-argument check (get record) "the field" 'accessor)))))

    (define-syntax define-modifier
      (syntax-rules ()
        ((_ #f check set)
         (begin))
        ((_ modifier check set)
         (define (modifier record value)
           (set record (%check-argument check value "the value" 'modifier))))))

    ;; The check of an argument is that of the field with its name: a local macro for which the
    ;; argument is a literal finds it.
    (define-syntax define-constructor
      (syntax-rules ()
        ((_ #f make arguments fields)
         (begin))
        ((_ constructor make (argument ...) fields)
         (define (constructor argument ...)
           (check-field constructor argument fields) ...
           (make argument ...)))))

    (define-syntax check-field
      (syntax-rules ()
        ((_ constructor argument fields)
         (letrec-syntax
             ((find (syntax-rules ::: (argument)
                      ((find ((argument check) field :::))
                       (%check-argument check argument "the argument" 'constructor))
                      ((find (other field :::))
                       (find (field :::)))
                      ((find ())
                       (void)))))
           (find fields)))))))
