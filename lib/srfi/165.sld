;;; (srfi 165): the environment monad.
;;;
;;; A computation is a procedure of an environment. An environment has a vector of cells for the
;;; variables of its type, of which `default-computation` is always the first. It has an
;;; association list for other variables that it binds. An extended environment shares the cells of
;;; variables that it does not bind with the one that it extends, a copy shares none.

(define-library (srfi 165)
  (export make-computation-environment-variable make-computation-environment
          computation-environment-ref computation-environment-update
          computation-environment-update! computation-environment-copy
          make-computation computation-run computation-ask computation-local
          computation-pure computation-each computation-each-in-list computation-bind
          computation-sequence computation-forked computation-bind/forked
          computation-fn computation-with computation-with!
          default-computation define-computation-type
          %execute %make-variable %new-environment %update-pairs %update-pairs!)
  (import (canny syntax) (canny primitives) (only (canny machine control) error)
          (only (canny data lists) map for-each)
          (only (canny data sequences) vector-map))
  (begin

    ;; The index is that in the vector of an environment, or #f.
    (define-record-type environment-variable
      (%make-variable name default immutable? index)
      variable?
      (name variable-name)
      (default variable-default)
      (immutable? variable-immutable?)
      (index variable-index))

    ;; `cells` is a vector of cells, `locals` an association list from variable to cell. `root` is
    ;; a cell with an association list of the values of all other variables.
    (define-record-type computation-environment
      (make-environment cells locals root)
      computation-environment?
      (cells environment-cells)
      (locals environment-locals)
      (root environment-root))

    (define-record-type cell
      (make-cell content)
      cell?
      (content cell-content set-cell-content!))

    (define (copy-cell cell)
      (make-cell (cell-content cell)))

    (define (make-computation-environment-variable name default immutable?)
      (%make-variable name default immutable? #f))

    (define default-computation
      (%make-variable 'default-computation #f #f 0))

    ;; `defaults` are the values of the variables of the type, without the first.
    (define (%new-environment defaults)
      (make-environment (list->vector (map make-cell (cons #f defaults)))
                        '()
                        (make-cell '())))

    (define (make-computation-environment)
      (%new-environment '()))

    (define (check-variable who position object)
      (if (not (variable? object))
          (%type-error who position "environment variable" object)))

    (define (computation-environment-ref environment variable)
      (check-variable 'computation-environment-ref 2 variable)
      (let ((cell (find-cell environment variable)))
        (if cell
            (cell-content cell)
            (let ((entry (assq variable (cell-content (environment-root environment)))))
              (if entry
                  (cdr entry)
                  (variable-default variable))))))

    (define (find-cell environment variable)
      (let ((index (variable-index variable)))
        (if index
            (vector-ref (environment-cells environment) index)
            (let ((entry (assq variable (environment-locals environment))))
              (and entry (cdr entry))))))

    (define (computation-environment-copy environment)
      (make-environment (vector-map copy-cell (environment-cells environment))
                        (map (lambda (entry) (cons (car entry) (copy-cell (cdr entry))))
                             (environment-locals environment))
                        (copy-cell (environment-root environment))))

    ;; The entries of the root are never changed in place.
    (define (set-variable! environment variable value)
      (let ((cell (find-cell environment variable)))
        (if cell
            (set-cell-content! cell value)
            (let ((root (environment-root environment)))
              (set-cell-content! root
                                 (cons (cons variable value)
                                       (without variable (cell-content root))))))))

    (define (without variable bindings)
      (if (assq variable bindings)
          (let loop ((rest bindings))
            (if (eq? (caar rest) variable)
                (cdr rest)
                (cons (car rest) (loop (cdr rest)))))
          bindings))

    (define (computation-environment-update environment . arguments)
      (let loop ((rest arguments) (pairs '()))
        (cond ((null? rest)
               (%update-pairs environment (reverse pairs)))
              ((null? (cdr rest))
               (%range-error 'computation-environment-update 2 "a value for each variable"
                             arguments))
              (else
               (loop (cddr rest) (cons (cons (car rest) (cadr rest)) pairs))))))

    (define (computation-environment-update! environment variable value)
      (check-variable 'computation-environment-update! 2 variable)
      (if (variable-immutable? variable)
          (%range-error 'computation-environment-update! 2 "a mutable environment variable"
                        (variable-name variable)))
      (set-variable! environment variable value)
      (void))

    ;; `pairs` is a list of pairs of variable and value.  The variables get new cells; the others
    ;; are shared with the environment.
    (define (%update-pairs environment pairs)
      (let loop ((rest pairs)
                 (cells (environment-cells environment))
                 (copied? #f)
                 (locals (environment-locals environment)))
        (if (null? rest)
            (make-environment cells locals (environment-root environment))
            (let* ((variable (caar rest)) (cell (make-cell (cdar rest))))
              (check-variable 'computation-environment-update 2 variable)
              (if (variable-index variable)
                  (let ((cells (if copied? cells (vector-copy cells))))
                    (vector-set! cells (variable-index variable) cell)
                    (loop (cdr rest) cells #t locals))
                  (loop (cdr rest) cells copied? (cons (cons variable cell) locals)))))))

    (define (%update-pairs! environment pairs)
      (for-each (lambda (pair)
                  (computation-environment-update! environment (car pair) (cdr pair)))
                pairs))

    ;; Computations.

    (define (%execute computation environment)
      (if (procedure? computation)
          (computation environment)
          (let ((coerce (cell-content (vector-ref (environment-cells environment) 0))))
            (if (procedure? coerce)
                (%execute (coerce computation) environment)
                (%type-error 'computation-run 1 "computation" computation)))))

    (define (make-computation procedure)
      (if (not (procedure? procedure))
          (%type-error 'make-computation 1 "procedure" procedure))
      (lambda (environment)
        (procedure (lambda (computation) (%execute computation environment)))))

    (define (computation-run computation)
      (%execute computation (make-computation-environment)))

    (define (computation-ask)
      (lambda (environment) environment))

    (define (computation-local updater computation)
      (lambda (environment)
        (%execute computation (updater environment))))

    (define (computation-pure . objects)
      (lambda (environment) (%list->values objects)))

    (define (computation-each first . rest)
      (computation-each-in-list (cons first rest)))

    (define (computation-each-in-list computations)
      (if (not (and (pair? computations) (list? computations)))
          (%type-error 'computation-each-in-list 1 "list, not empty" computations))
      (lambda (environment)
        (let loop ((rest computations))
          (if (null? (cdr rest))
              (%execute (car rest) environment)
              (begin
                (%execute (car rest) environment)
                (loop (cdr rest)))))))

    (define (computation-bind computation . procedures)
      (lambda (environment)
        (let loop ((computation computation) (rest procedures))
          (if (null? rest)
              (%execute computation environment)
              (loop (%apply-values (car rest) (%execute computation environment))
                    (cdr rest))))))

    (define (computation-sequence computations)
      (lambda (environment)
        (map (lambda (computation) (%execute computation environment)) computations)))

    (define (computation-forked first . rest)
      (lambda (environment)
        (let loop ((computation first) (rest rest))
          (if (null? rest)
              (%execute computation environment)
              (begin
                (%execute computation (computation-environment-copy environment))
                (loop (car rest) (cdr rest)))))))

    (define (computation-bind/forked computation . procedures)
      (%apply computation-bind
              (cons (computation-local computation-environment-copy computation)
                    procedures)))

    (define-syntax computation-fn
      (syntax-rules ()
        ((_ (clause ...) body0 body ...)
         (collect-variables (clause ...) () (body0 body ...)))))

    ;; Each clause becomes variable, expression, and a name for its value.
    (define-syntax collect-variables
      (syntax-rules ()
        ((_ () ((variable expression environment-variable) ...) body)
         (let ((environment-variable expression) ...)
           (lambda (environment)
             (%execute (let ((variable
                              (computation-environment-ref environment environment-variable))
                             ...)
                         . body)
                       environment))))
        ((_ ((variable expression) clause ...) (done ...) body)
         (collect-variables (clause ...) (done ... (variable expression new)) body))
        ((_ (variable clause ...) (done ...) body)
         (collect-variables (clause ...) (done ... (variable variable new)) body))))

    (define-syntax computation-with
      (syntax-rules ()
        ((_ ((variable value) ...) expression0 expression ...)
         (let ((pairs (list (cons variable value) ...))
               (computation (computation-each expression0 expression ...)))
           (lambda (environment)
             (%execute computation (%update-pairs environment pairs)))))))

    (define-syntax computation-with!
      (syntax-rules ()
        ((_ (variable value) ...)
         (let ((pairs (list (cons variable value) ...)))
           (lambda (environment)
             (%update-pairs! environment pairs))))))

    (define-syntax define-computation-type
      (syntax-rules ()
        ((_ make-environment run clause ...)
         (number-variables make-environment run 1 () (clause ...)))))

    ;; Each clause becomes variable, default, whether it is immutable, and its index.
    (define-syntax number-variables
      (syntax-rules ()
        ((_ make-environment run next ((variable default immutable? index name) ...) ())
         (begin
           (define name default)
           ...
           (define variable (%make-variable 'variable name immutable? index))
           ...
           (define (make-environment)
             (%new-environment (list name ...)))
           (define (run computation)
             (%execute computation (make-environment)))))
        ((_ make-environment run next (done ...) ((variable default "immutable") clause ...))
         (number-variables make-environment run (+ next 1)
                           (done ... (variable default #t next name)) (clause ...)))
        ((_ make-environment run next (done ...) ((variable default) clause ...))
         (number-variables make-environment run (+ next 1)
                           (done ... (variable default #f next name)) (clause ...)))
        ((_ make-environment run next (done ...) (variable clause ...))
         (number-variables make-environment run (+ next 1)
                           (done ... (variable #f #f next name)) (clause ...)))))))
