;;; (canny contract): contracts on the arguments and results of procedures, light enough to leave
;;; on.
;;;
;;; (define/contract (name parameter ... [. rest]) (-> contract ... [#:rest contract] contract) body
;;; ...) (define/contract name contract expression) (lambda/contract (parameter ... [. rest]) (->
;;; ...) body ...) (check-contract contract expression)
;;;
;;; A contract is any predicate, or made by and/c, or/c, not/c, list-of, vector-of, one-of/c,
;;; between/c. It may also be any/c, #t or #f, or (-> contract ... contract) for a procedure.  All
;;; of them but the last are expanded where they stand, to the tests that a person would write. A
;;; procedure is wrapped in one that checks.
;;;
;;; The blamed side: the caller for an argument, and for what a procedure that it passed returns. It
;;; is the procedure itself for its result, and for how it calls a procedure that was passed to it.
;;; The position of the condition, whose kind is `contract`, is that of the call when the caller is
;;; blamed.
;;;
;;; A role says what a value is: (argument x), (result), (argument-of role n), (result-of role).

(define-library (canny contract)
  (export define/contract lambda/contract check-contract
          -> and/c or/c not/c list-of vector-of one-of/c between/c any/c)
  (import (canny primitives) (canny syntax) (canny machine control))
  (begin

    (define (%every? test list)
      (and (list? list)
           (let loop ((rest list))
             (or (null? rest)
                 (and (test (car rest)) (loop (cdr rest)))))))

    (define (%vector-every? test vector)
      (and (vector? vector)
           (let ((end (vector-length vector)))
             (let loop ((index 0))
               (or (= index end)
                   (and (test (vector-ref vector index)) (loop (+ index 1))))))))

    ;; Whether a procedure takes so many arguments.
    (define (%accepts? value count)
      (and (procedure? value)
           (let ((arity (procedure-arity value)))
             (and (<= (car arity) count)
                  (or (not (cdr arity)) (<= count (cdr arity)))))))

    ;; Names of contracts, which `%test` and `%project` look for; as expressions they are
    ;; predicates.

    (define-syntax define-combinators
      (syntax-rules ()
        ((_ name ...)
         (begin
           (define-syntax name
             (syntax-rules ()
               ((_ . arguments) (lambda (value) (%test (name . arguments) value)))))
           ...))))

    (define-combinators -> and/c or/c not/c list-of vector-of one-of/c between/c)

    (define (any/c value) #t)

    ;; Whether a variable's value satisfies a contract.
    (define-syntax %test
      (syntax-rules (-> and/c or/c not/c list-of vector-of one-of/c between/c any/c)
        ((_ any/c value) #t)
        ((_ (and/c contract ...) value) (and (%test contract value) ...))
        ((_ (or/c contract ...) value) (or (%test contract value) ...))
        ((_ (not/c contract) value) (not (%test contract value)))
        ((_ (list-of contract) value)
         (%every? (lambda (element) (%test contract element)) value))
        ((_ (vector-of contract) value)
         (%vector-every? (lambda (element) (%test contract element)) value))
        ((_ (one-of/c datum ...) value) (or (equal? value datum) ...))
        ((_ (between/c least greatest) value)
         (and (real? value) (<= least value greatest)))
        ((_ (-> contract ...) value) (procedure? value))
        ((_ #t value) (eq? value #t))
        ((_ #f value) (not value))
        ((_ contract value) (contract value))))

    ;; The value itself, or a procedure that checks, or a violation.
    (define-syntax %project
      (syntax-rules (-> any/c)
        ((_ any/c value who role caller?) value)
        ((_ (-> . contracts) value who role caller?)
         (%wrap contracts () value who role caller? (a b c d e f g h)))
        ((_ contract value who role caller?)
         (if (%test contract value)
             value
             (%violation 'who 'contract value 'role caller?)))))

    (define-syntax %wrap
      (syntax-rules ()
        ((_ (result) ((contract name number) ...) value who role caller? unused)
         (if (%accepts? value (length '(name ...)))
             (lambda (name ...)
               (let ((name (%project contract name who (argument-of role number) (not caller?)))
                     ...)
                 (let ((outcome (value name ...)))
                   (%project result outcome who (result-of role) caller?))))
             (%violation 'who '(-> contract ... result) value 'role caller?)))
        ((_ (contract . contracts) (done ...) value who role caller? (name . names))
         (%wrap contracts (done ... (contract name name)) value who role caller? names))
        ((_ contracts done value who role caller? ())
         (syntax-error "a contract for a procedure has at most seven arguments" contracts))))

    ;; (%clauses make name formals contracts done body)
    (define-syntax %clauses
      (syntax-rules (any/c)
        ((_ who () (any/c) ((parameter contract) ...) all body)
         (named-lambda (who . all)
           (let ((parameter (%project contract parameter who (argument parameter) #t)) ...)
             . body)))
        ((_ who () (final) ((parameter contract) ...) all body)
         (named-lambda (who . all)
           (let ((parameter (%project contract parameter who (argument parameter) #t)) ...)
             (let ((outcome (let () . body)))
               (%project final outcome who (result) #f)))))
        ((_ who () (#:rest contract final) done all body)
         (syntax-error "there is no rest parameter for #:rest" contract))
        ((_ who (parameter . parameters) (#:rest . more) done all body)
         (syntax-error "there is no contract for the parameter" parameter))
        ((_ who (parameter . parameters) (final) done all body)
         (syntax-error "there is no contract for the parameter" parameter))
        ((_ who (parameter . parameters) (contract . contracts) (done ...) all body)
         (%clauses who parameters contracts (done ... (parameter contract)) all body))
        ((_ who () contracts done all body)
         (syntax-error "there are more contracts than parameters" contracts))
        ((_ who rest (#:rest contract final) (done ...) all body)
         (%clauses who () (final) (done ... (rest contract)) all body))
        ((_ who rest contracts done all body)
         (syntax-error "the rest parameter needs #:rest and a contract for the list" rest))))

    (define-syntax lambda/contract
      (syntax-rules (->)
        ((_ formals (-> contract ...) body0 body ...)
         (%clauses procedure formals (contract ...) () formals (body0 body ...)))))

    (define-syntax define/contract
      (syntax-rules (->)
        ((_ (name . formals) (-> contract ...) body0 body ...)
         (define name
           (%clauses name formals (contract ...) () formals (body0 body ...))))
        ((_ (name . formals) contract . body)
         (syntax-error "the contract of a procedure is (-> contract ... contract)" contract))
        ((_ name contract expression)
         (define name
           (let ((value expression))
             (%project contract value name (value) #f))))))

    (define-syntax check-contract
      (syntax-rules ()
        ((_ contract expression)
         (let ((value expression))
           (%project contract value check-contract (value) #f)))))

    (define (role->string role)
      (case (car role)
        ((argument) (string-append "the argument " (symbol->string (cadr role))))
        ((result) "the result")
        ((value) "the value")
        ((argument-of)
         (string-append "an argument in a call of " (role->string (cadr role))))
        (else (string-append "the result of " (role->string (cadr role))))))

    (define (written datum)
      (let ((port (open-output-string)))
        (write datum port)
        (get-output-string port)))

    (define (%violation who contract value role caller?)
      (%contract-violation who
                           (string-append (role->string role) " is not " (written contract)
                                          (if caller? "; the caller is to blame" ""))
                           (list value)
                           caller?))))
