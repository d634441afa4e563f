;;; Part of (canny wasm): components, whose functions take and give objects of Scheme.
;;;
;;; The first three fields of an instance are known to the machine. A call begins in the machine,
;;; which writes the arguments into the guest's memory, and is continued like one of a module's
;;; function. The irritants of a failure are the symbol `component` and what it holds.

(define-record-type component
  (new-component %handle)
  component?
  (%handle component-handle))

(define-record-type component-instance
  (new-component-instance %handle store objects procedures)
  component-instance?
  (%handle component-instance-handle set-component-instance-handle!)
  (store component-instance-store)
  ;; Objects that guests have as resources. The machine changes it.
  (objects component-instance-objects)
  ;; Pairs of names and procedures.
  (procedures component-instance-procedures set-component-instance-procedures!))

(define (check-component who object)
  (check-argument who 1 component? "component" object))

;; The component with these bytes, or of a text in the text format. It is validated at once.
(define (compile-component source)
  (if (not (or (bytevector? source) (string? source)))
      (%type-error 'compile-component 1 "bytevector or string" source))
  (new-component (%component (if (string? source) (string->utf8 source) source))))

;; The component in a file.
(define (read-component path)
  (check-argument 'read-component 1 string? "string" path)
  (new-component (%component (file->bytevector path))))

;; The imports of a component: lists of interface, name and type, as strings. The interface is ""
;; for what stands alone.
(define (component-imports component)
  (check-component 'component-imports component)
  (map vector->list (%component-imports (component-handle component))))

;; Its exports.
(define (component-exports component)
  (check-component 'component-exports component)
  (map vector->list (%component-exports (component-handle component))))

;; An instance of a component. An element of `#:imports` is a list of an interface's name and
;; pairs of names and procedures. For an import that stands alone it is a pair of its name and a
;; procedure. The symbol `resource` in place of a procedure says that resources of that type are
;; objects of Scheme. `#:store` is where the instance lives, or a new one, for which the other
;; keywords are limits.
(define* (instantiate-component component #:key (imports '()) (store #f) (wasi #f) (fuel #f)
                                (memory-limit #f)
                                (stack-size default-stack-size))
  (check-component 'instantiate-component component)
  (check-list 'instantiate-component 2 imports)
  (if (not (or (not store) (store? store)))
      (raise-bad-option 'instantiate-component "#:store" "a store" store))
  (if (not (or (not wasi) (wasi? wasi)))
      (raise-bad-option 'instantiate-component "#:wasi" "WASI" wasi))
  (let* ((store (or store
                    (make-store #:fuel fuel #:memory-limit memory-limit
                                #:stack-size stack-size)))
         (rows (import-rows imports))
         (handle (%component-instantiate store (component-handle component)
                                         (and wasi (wasi-handle wasi))
                                         (map import-row-names rows) (store-count store)))
         (instance (new-component-instance handle store '#() '())))
    (for-each (lambda (site)
                (add-procedure! store
                                (site-procedure instance site (store-count store)
                                                (site-target rows site))))
              (%component-sites instance))
    (set-component-instance-procedures! instance (exported-procedures instance))
    instance))

;; Vectors of interface, name, and a procedure or `resource`.
(define (import-rows imports)
  (apply append (map import-rows-of imports)))

(define (import-rows-of import)
  (cond ((not (and (pair? import) (string? (car import))))
         (raise-bad-import import))
        ((import-target? (cdr import))
         (list (vector "" (car import) (cdr import))))
        ((list? (cdr import))
         (map (lambda (pair)
                (if (not (and (pair? pair) (string? (car pair)) (import-target? (cdr pair))))
                    (raise-bad-import pair))
                (vector (car import) (car pair) (cdr pair)))
              (cdr import)))
        (else (raise-bad-import import))))

(define (import-target? object)
  (or (procedure? object) (eq? object 'resource)))

(define (raise-bad-import object)
  (raise-bad-option 'instantiate-component "an element of #:imports"
                    "a list of a name and pairs of names and procedures" object))

(define (import-row-names row)
  (vector (vector-ref row 0) (vector-ref row 1) (eq? (vector-ref row 2) 'resource)))

(define (site-target rows site)
  (let loop ((rows rows))
    (let ((row (car rows)))
      (if (and (procedure? (vector-ref row 2))
               (string=? (vector-ref row 0) (vector-ref site 0))
               (string=? (vector-ref row 1) (vector-ref site 1)))
          (vector-ref row 2)
          (loop (cdr rows))))))

;; The procedure that is called with numbers of a guest, and calls one of the program.
(define (site-procedure instance site number target)
  (let ((success (vector-ref site 2)))
    (lambda words
      (let ((arguments (%component-lift instance number words)))
        (%component-lower instance number words
                          (if success
                              (outcome target arguments (= success 1))
                              (apply target arguments)))))))

;; The symbol `ok` or `error`, or a pair of it and a value.
(define (outcome target arguments has-value?)
  (call-with-escape-continuation
   (lambda (return)
     (with-exception-handler
       (lambda (object)
         (if (component-error? object)
             (return (failure-case (raw-failure object)))
             (raise-continuable object)))
       (lambda ()
         (let ((result (apply target arguments)))
           (if has-value? (cons 'ok result) 'ok)))))))

(define (failure-case value)
  (if (eq? value nothing) 'error (cons 'error value)))

(define nothing (list 'nothing))

;; Calls.

(define (exported-procedures instance)
  (let loop ((index 0) (rows (%component-functions instance)) (pairs '()))
    (if (null? rows)
        (reverse pairs)
        (loop (+ index 1) (cdr rows)
              (cons (cons (vector-ref (car rows) 0)
                          (component-procedure instance index (car rows)))
                    pairs)))))

(define (component-procedure instance index row)
  (let* ((name (string->symbol (vector-ref row 0)))
         (success (vector-ref row 3))
         (procedure (lambda arguments
                      (let ((result (call-component instance index arguments)))
                        (if success
                            (success-value name result)
                            result)))))
    (%set-procedure-name! procedure name)
    procedure))

(define (call-component instance index arguments)
  (let* ((store (component-instance-store instance))
         (number (apply %component-begin instance index arguments)))
    (if number
        (%component-finish instance index number (drive store (%wasm-event store)))
        (begin (wait-until-free store)
               (call-component instance index arguments)))))

;; For `(canny web components)`.

;; The number of the function that serves requests of HTTP, or #f.
(define (%handler-index instance)
  (let loop ((index 0) (rows (%component-functions instance)))
    (cond ((null? rows) #f)
          ((handler-name? (vector-ref (car rows) 0)) index)
          (else (loop (+ index 1) (cdr rows))))))

(define (handler-name? name)
  (and (string-prefix? "wasi:http/incoming-handler@0.2." name)
       (string-suffix? "#handle" name)))

;; Calls that function with a request of `%wasi-receive`.
(define (%call-handler instance index exchange)
  (let* ((store (component-instance-store instance))
         (number (%component-begin-request instance index exchange)))
    (if number
        (%component-finish instance index number (drive store (%wasm-event store)))
        (begin (wait-until-free store)
               (%call-handler instance index exchange)))))

;; Frees all that an instance has. Nothing of it may run.
(define (%end-instance! instance wasi)
  (%wasm-release! (component-instance-store instance))
  (%wasi-release! (wasi-handle wasi)))

(define (success-value who result)
  (cond ((eq? result 'ok) (if #f #f))
        ((eq? result 'error) (raise-failure who nothing))
        ((eq? (car result) 'ok) (cdr result))
        (else (raise-failure who (cdr result)))))

(define (component-export instance name)
  (check-argument 'instance-export 2 string? "string" name)
  (named-export (component-instance-procedures instance) name))

(define (named-export pairs name)
  (let ((pair (assoc name pairs string=?)))
    (and pair (cdr pair))))

;; Runs a component that is a command; its exit code.
(define (run-component component wasi store imports)
  (let* ((instance (instantiate-component component #:wasi wasi #:store store
                                          #:imports imports))
         (run (run-procedure (component-instance-procedures instance))))
    (dynamic-wind
     values
     (lambda ()
       (call-with-escape-continuation
        (lambda (return)
          (with-exception-handler
            (lambda (object)
              (if (component-error? object)
                  (return 1)
                  (raise-continuable object)))
            (lambda () (run) 0)))))
     (lambda () (finish-output wasi)))))

(define (run-procedure pairs)
  (cond ((null? pairs)
         (raise (%make-condition 'wasm "the component is no WASI command" '() 'run-command)))
        ((and (string-prefix? "wasi:cli/run@" (caar pairs)) (string-suffix? "#run" (caar pairs)))
         (cdar pairs))
        (else (run-procedure (cdr pairs)))))

;; Sends what a component has written and what was not taken yet.
(define (finish-output wasi)
  (if (not (%wasi-finish (wasi-handle wasi)))
      (begin (%raise-if-interrupted)
             (finish-output wasi))))

;; Failures.

(define (raise-failure who value)
  (raise (%make-condition 'wasm "a function of a component has failed" (list 'component value)
                          who)))

;; Whether an object is the failure of a component's function, or one that
;; `raise-component-error` has raised.
(define (component-error? object)
  (and (wasm-error? object)
       (let ((irritants (error-object-irritants object)))
         (and (pair? irritants) (eq? (car irritants) 'component)))))

;; The value of the failure; #f if there is none.
(define (component-error-value object)
  (check-argument 'component-error-value 1 component-error? "failure of a component" object)
  (let ((value (raw-failure object)))
    (if (eq? value nothing) #f value)))

(define (raw-failure object)
  (cadr (error-object-irritants object)))

;; Ends a procedure that a component has called with the case `error` of its result.
(define* (raise-component-error #:optional (value nothing))
  (raise-failure 'raise-component-error value))

;; Resources.

;; Whether an object is a resource of a component or of WASI.
(define (guest-resource? object)
  (and (%component-resource-type object) #t))

;; The name of its type.
(define (guest-resource-type object)
  (check-argument 'guest-resource-type 1 guest-resource? "resource of a guest" object)
  (%component-resource-type object))

;; Drops a resource that the program owns; whether it did. One that it has forgotten is dropped
;; some time later.
(define (drop-guest-resource! instance resource)
  (check-argument 'drop-guest-resource! 1 component-instance? "instance of a component" instance)
  (check-argument 'drop-guest-resource! 2 guest-resource? "resource of a guest" resource)
  (%component-drop-resource! instance resource))
