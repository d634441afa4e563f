;;; (srfi 42): eager comprehensions.
;;;
;;; Every comprehension is nested loops, named lets, around its last expression. A typed generator
;;; is a macro whose first operand is a continuation (c ...). It becomes (:do (c ...) part ...), and
;;; that becomes (c ... (:do part ...)) with the six parts of the loop:
;;;
;;;     (let (binding ...) command ...)   around the loop
;;;     (loop-binding ...)
;;;     test                              at the start of an iteration
;;;     (let (binding ...) command ...)   in an iteration
;;;     test                              after the payload
;;;     (step ...)                        the new values of the loop bindings
;;;
;;; The symbols `index` and `nested` are matched as symbols that are bound to nothing.

(define-library (srfi 42)
  (export do-ec list-ec append-ec string-ec string-append-ec vector-ec vector-of-length-ec
          sum-ec product-ec min-ec max-ec any?-ec every?-ec first-ec last-ec fold-ec fold3-ec
          : :list :string :vector :integers :range :real-range :char-range :port :dispatched
          :do :let :parallel :while :until
          :generator-proc :-dispatch-ref :-dispatch-set! make-initial-:-dispatch dispatch-union)
  (import (canny syntax) (canny primitives) (only (canny machine control) error))
  (begin

    ;; Loops.

    ;; `stop` is an expression that ends all loops when it is true after an iteration, or #f.
    (define-syntax loops
      (syntax-rules (nested if not and or begin)
        ((loops stop payload)
         payload)
        ((loops stop (nested qualifier ...) rest ... payload)
         (loops stop qualifier ... (loops stop rest ... payload)))
        ((loops stop (if test) rest ... payload)
         (if test (loops stop rest ... payload)))
        ((loops stop (not test) rest ... payload)
         (if test #f (loops stop rest ... payload)))
        ((loops stop (and test ...) rest ... payload)
         (if (and test ...) (loops stop rest ... payload)))
        ((loops stop (or test ...) rest ... payload)
         (if (or test ...) (loops stop rest ... payload)))
        ((loops stop (begin command ...) rest ... payload)
         (begin command ... (loops stop rest ... payload)))
        ((loops stop (generator operand ...) rest ... payload)
         (generator (loop-around stop (loops stop rest ... payload)) operand ...))))

    (define-syntax loop-around
      (syntax-rules ()
        ((_ stop payload
            (do-keyword (outer-let outer-bindings outer-command ...)
                        loop-bindings
                        test
                        (inner-let inner-bindings inner-command ...)
                        more-test
                        (step ...)))
         (let outer-bindings
           outer-command ...
           (let loop loop-bindings
             (if test
                 (let inner-bindings
                   inner-command ...
                   payload
                   (if (if more-test (not stop) #f)
                       (loop step ...)))))))))

    ;; Comprehensions.

    (define-syntax do-ec
      (syntax-rules ()
        ((_ qualifier ... command)
         (loops #f qualifier ... command))))

    (define-syntax fold-ec
      (syntax-rules ()
        ((_ initial qualifier ... expression combine)
         (let ((result initial))
           (do-ec qualifier ... (set! result (combine expression result)))
           result))))

    (define-syntax fold3-ec
      (syntax-rules ()
        ((_ default qualifier ... expression first combine)
         (let ((result #f) (empty? #t))
           (do-ec qualifier ...
                  (let ((value expression))
                    (if empty?
                        (begin
                          (set! result (first value))
                          (set! empty? #f))
                        (set! result (combine value result)))))
           (if empty? default result)))))

    (define-syntax reversed-list-ec
      (syntax-rules ()
        ((_ qualifier ... expression)
         (let ((result '()))
           (do-ec qualifier ... (set! result (cons expression result)))
           result))))

    (define-syntax list-ec
      (syntax-rules ()
        ((_ qualifier ... expression)
         (reverse (reversed-list-ec qualifier ... expression)))))

    (define-syntax append-ec
      (syntax-rules ()
        ((_ qualifier ... expression)
         (%apply append (list-ec qualifier ... expression)))))

    (define-syntax string-ec
      (syntax-rules ()
        ((_ qualifier ... expression)
         (%reverse-list->string (reversed-list-ec qualifier ... expression)))))

    (define-syntax string-append-ec
      (syntax-rules ()
        ((_ qualifier ... expression)
         (string-concatenate (list-ec qualifier ... expression)))))

    (define-syntax vector-ec
      (syntax-rules ()
        ((_ qualifier ... expression)
         (list->vector (list-ec qualifier ... expression)))))

    (define-syntax vector-of-length-ec
      (syntax-rules ()
        ((_ length-expression qualifier ... expression)
         (let* ((length length-expression)
                (result (make-vector length #f))
                (index 0))
           (do-ec qualifier ...
                  (if (< index length)
                      (begin
                        (vector-set! result index expression)
                        (set! index (+ index 1)))
                      (wrong-length length)))
           (if (< index length)
               (wrong-length length))
           result))))

    (define (wrong-length length)
      (error "vector-of-length-ec: the number of values is not the length" length))

    (define-syntax sum-ec
      (syntax-rules ()
        ((_ qualifier ... expression)
         (let ((result 0))
           (do-ec qualifier ... (set! result (+ result expression)))
           result))))

    (define-syntax product-ec
      (syntax-rules ()
        ((_ qualifier ... expression)
         (let ((result 1))
           (do-ec qualifier ... (set! result (* result expression)))
           result))))

    (define-syntax min-ec
      (syntax-rules ()
        ((_ qualifier ... expression)
         (fold3-ec (no-values 'min-ec) qualifier ... expression min min))))

    (define-syntax max-ec
      (syntax-rules ()
        ((_ qualifier ... expression)
         (fold3-ec (no-values 'max-ec) qualifier ... expression max max))))

    (define (no-values who)
      (error (string-append (symbol->string who) ": there are no values")))

    (define-syntax any?-ec
      (syntax-rules ()
        ((_ qualifier ... test)
         (let ((found? #f))
           (loops found? qualifier ... (if test (set! found? #t)))
           found?))))

    (define-syntax every?-ec
      (syntax-rules ()
        ((_ qualifier ... test)
         (let ((failed? #f))
           (loops failed? qualifier ... (if test #f (set! failed? #t)))
           (not failed?)))))

    (define-syntax first-ec
      (syntax-rules ()
        ((_ default qualifier ... expression)
         (let ((result default) (found? #f))
           (loops found? qualifier ...
                  (begin
                    (set! result expression)
                    (set! found? #t)))
           result))))

    (define-syntax last-ec
      (syntax-rules ()
        ((_ default qualifier ... expression)
         (let ((result default))
           (do-ec qualifier ... (set! result expression))
           result))))

    ;; Generators.

    (define-syntax :do
      (syntax-rules ()
        ((_ (continue ...) outer loop-bindings test inner more-test steps)
         (continue ... (:do outer loop-bindings test inner more-test steps)))
        ((_ continuation loop-bindings test steps)
         (:do continuation (let ()) loop-bindings test (let ()) #t steps))))

    (define-syntax :let
      (syntax-rules (index)
        ((_ continuation variable (index i) expression)
         (:do continuation (let ((variable expression) (i 0))) () #t (let ()) #f ()))
        ((_ continuation variable expression)
         (:do continuation (let ((variable expression))) () #t (let ()) #f ()))))

    (define-syntax :list
      (syntax-rules (index)
        ((_ continuation variable (index i) argument ...)
         (:parallel continuation (:list variable argument ...) (:integers i)))
        ((_ continuation variable argument)
         (:do continuation
              (let ())
              ((rest argument))
              (not (null? rest))
              (let ((variable (car rest))))
              #t
              ((cdr rest))))
        ((_ continuation variable argument ...)
         (:list continuation variable (append argument ...)))))

    (define-syntax define-indexed-generator
      (syntax-rules ()
        ((_ name object-length object-ref object-append)
         (define-syntax name
           (syntax-rules (index)
             ((_ continuation variable (index i) argument)
              (:do continuation
                   (let ((object argument)))
                   ((i 0))
                   (< i (object-length object))
                   (let ((variable (object-ref object i))))
                   #t
                   ((+ i 1))))
             ((_ continuation variable (index i) argument (... ...))
              (name continuation variable (index i) (object-append argument (... ...))))
             ((_ continuation variable argument (... ...))
              (name continuation variable (index i) argument (... ...))))))))

    (define-indexed-generator :string string-length string-ref string-append)
    (define-indexed-generator :vector vector-length vector-ref vector-append)

    (define-syntax :integers
      (syntax-rules (index)
        ((_ continuation variable (index i))
         (:do continuation ((variable 0) (i 0)) #t ((+ variable 1) (+ i 1))))
        ((_ continuation variable)
         (:do continuation ((variable 0)) #t ((+ variable 1))))))

    (define-syntax :range
      (syntax-rules (index)
        ((_ continuation variable (index i) argument ...)
         (:parallel continuation (:range variable argument ...) (:integers i)))
        ((_ continuation variable stop)
         (:do continuation
              (let ((end (range-integer 1 stop))))
              ((variable 0))
              (< variable end)
              (let ())
              #t
              ((+ variable 1))))
        ((_ continuation variable start stop)
         (:do continuation
              (let ((first (range-integer 1 start)) (end (range-integer 2 stop))))
              ((variable first))
              (< variable end)
              (let ())
              #t
              ((+ variable 1))))
        ((_ continuation variable start stop step)
         (:do continuation
              (let ((first (range-integer 1 start))
                    (end (range-integer 2 stop))
                    (difference (range-step step))))
              ((variable first))
              (if (< 0 difference) (< variable end) (> variable end))
              (let ())
              #t
              ((+ variable difference))))))

    (define (range-integer position object)
      (if (exact-integer? object)
          object
          (%type-error ':range position "exact integer" object)))

    (define (range-step object)
      (if (eqv? object 0)
          (%range-error ':range 3 "a step that is not zero" object))
      (range-integer 3 object))

    (define-syntax :real-range
      (syntax-rules (index)
        ((_ continuation variable (index i) stop)
         (:real-range continuation variable (index i) 0 stop 1))
        ((_ continuation variable (index i) start stop)
         (:real-range continuation variable (index i) start stop 1))
        ((_ continuation variable (index i) start stop step)
         (:do continuation
              (let ((range (real-range start stop step))))
              ((i 0))
              (< i (vector-ref range 1))
              (let ((variable (+ (vector-ref range 0) (* i (vector-ref range 2))))))
              #t
              ((+ i 1))))
        ((_ continuation variable argument ...)
         (:real-range continuation variable (index i) argument ...))))

    ;; The start, the number of values as a real, and the step; all exact or all inexact.
    (define (real-range start stop step)
      (if (not (real? start)) (%type-error ':real-range 1 "real" start))
      (if (not (real? stop)) (%type-error ':real-range 2 "real" stop))
      (if (not (real? step)) (%type-error ':real-range 3 "real" step))
      (if (eqv? step 0) (%range-error ':real-range 3 "a step that is not zero" step))
      (if (and (exact? start) (exact? stop) (exact? step))
          (vector start (/ (- stop start) step) step)
          (let ((start (inexact start)) (stop (inexact stop)) (step (inexact step)))
            (vector start (/ (- stop start) step) step))))

    (define-syntax :char-range
      (syntax-rules (index)
        ((_ continuation variable (index i) from to)
         (:parallel continuation (:char-range variable from to) (:integers i)))
        ((_ continuation variable from to)
         (:do continuation
              (let ((last (char->integer to))))
              ((code (char->integer from)))
              (<= code last)
              (let ((variable (integer->char code))))
              #t
              ((next-scalar-value code))))))

    (define (next-scalar-value code)
      (if (= code #xD7FF) #xE000 (+ code 1)))

    (define-syntax :port
      (syntax-rules (index)
        ((_ continuation variable (index i) argument ...)
         (:parallel continuation (:port variable argument ...) (:integers i)))
        ((_ continuation variable port-expression)
         (:port continuation variable port-expression read))
        ((_ continuation variable port-expression procedure-expression)
         (:do continuation
              (let ((port port-expression) (read-next procedure-expression)))
              ((variable (read-next port)))
              (not (eof-object? variable))
              (let ())
              #t
              ((read-next port))))))

    ;; Combined generators.

    (define-syntax :parallel
      (syntax-rules ()
        ((_ (continue ...) (generator operand ...))
         (generator (continue ...) operand ...))
        ((_ continuation (generator operand ...) more ...)
         (generator (parallel-next continuation (more ...)) operand ...))))

    (define-syntax parallel-next
      (syntax-rules ()
        ((_ continuation () (do-keyword part ...))
         (:do continuation part ...))
        ((_ continuation ((generator operand ...) more ...) loop)
         (generator (parallel-join continuation (more ...) loop) operand ...))))

    (define-syntax parallel-join
      (syntax-rules ()
        ((_ continuation more
            (do1 (outer-let1 (outer-binding1 ...) outer-command1 ...)
                 (loop-binding1 ...)
                 test1
                 (inner-let1 (inner-binding1 ...) inner-command1 ...)
                 more-test1
                 (step1 ...))
            (do2 (outer-let2 (outer-binding2 ...) outer-command2 ...)
                 (loop-binding2 ...)
                 test2
                 (inner-let2 (inner-binding2 ...) inner-command2 ...)
                 more-test2
                 (step2 ...)))
         (parallel-next continuation more
                        (:do (let (outer-binding1 ... outer-binding2 ...)
                               outer-command1 ... outer-command2 ...)
                             (loop-binding1 ... loop-binding2 ...)
                             (and test1 test2)
                             (let (inner-binding1 ... inner-binding2 ...)
                               inner-command1 ... inner-command2 ...)
                             (and more-test1 more-test2)
                             (step1 ... step2 ...))))))

    (define-syntax :while
      (syntax-rules ()
        ((_ continuation (generator operand ...) test)
         (generator (while-loop continuation test) operand ...))))

    ;; The test needs the variables of an iteration before the payload. It is evaluated with them at
    ;; the start of the iteration, and their values are kept for the payload.
    (define-syntax while-loop
      (syntax-rules ()
        ((_ continuation guard
            (do-keyword outer loop-bindings test (inner-let () inner-command ...) more-test steps))
         (:do continuation
              outer loop-bindings
              (and test (let () inner-command ... guard))
              (let ()) more-test steps))
        ((_ continuation guard
            (do-keyword outer loop-bindings test (inner-let (binding ...) inner-command ...)
                        more-test steps))
         (while-variables continuation guard (binding ...) ()
                          (outer loop-bindings test (inner-command ...) more-test steps)))))

    (define-syntax while-variables
      (syntax-rules ()
        ((_ continuation guard ((variable expression) binding ...) (done ...) parts)
         (while-variables continuation guard (binding ...) (done ... (variable expression kept))
                          parts))
        ((_ continuation guard () ((variable expression kept) ...)
            ((outer-let (outer-binding ...) outer-command ...)
             loop-bindings test (inner-command ...) more-test steps))
         (:do continuation
              (let (outer-binding ... (kept #f) ...) outer-command ...)
              loop-bindings
              (and test
                   (let ((variable expression) ...)
                     inner-command ...
                     (set! kept variable) ...
                     guard))
              (let ((variable kept) ...))
              more-test
              steps))))

    (define-syntax :until
      (syntax-rules ()
        ((_ continuation (generator operand ...) test)
         (generator (until-loop continuation test) operand ...))))

    (define-syntax until-loop
      (syntax-rules ()
        ((_ continuation guard (do-keyword outer loop-bindings test inner more-test steps))
         (:do continuation outer loop-bindings test inner (if more-test (not guard) #f) steps))))

    ;; Generator procedures and dispatch.

    (define-syntax :generator-proc
      (syntax-rules ()
        ((_ (generator operand ...))
         (generator (generator-procedure value) value operand ...))))

    (define-syntax generator-procedure
      (syntax-rules ()
        ((_ value
            (do-keyword outer ((variable initial) ...) test inner more-test (step ...)))
         (with-new-names value outer () ((variable initial step) ...) test inner more-test))))

    (define-syntax with-new-names
      (syntax-rules ()
        ((_ value outer (done ...) ((variable initial step) more ...) test inner more-test)
         (with-new-names value outer (done ... (variable initial step next)) (more ...)
           test inner more-test))
        ((_ value (outer-let outer-bindings outer-command ...)
            ((variable initial step next) ...) ()
            test (inner-let inner-bindings inner-command ...) more-test)
         (let outer-bindings
           outer-command ...
           (let ((variable initial) ... (over? #f))
             (lambda (empty)
               (if (if over? #f test)
                   (let inner-bindings
                     inner-command ...
                     (let ((result value))
                       (if more-test
                           (let ((next step) ...)
                             (set! variable next) ...
                             #f)
                           (set! over? #t))
                       result))
                   (begin
                     (set! over? #t)
                     empty))))))))

    (define-syntax :dispatched
      (syntax-rules (index)
        ((_ continuation variable (index i) dispatch argument ...)
         (:parallel continuation
                    (:dispatched variable dispatch argument ...)
                    (:integers i)))
        ((_ continuation variable dispatch argument ...)
         (:do continuation
              (let ((generate (find-generator dispatch (list argument ...)))
                    (empty (list 'empty))))
              ((variable (generate empty)))
              (not (eq? variable empty))
              (let ())
              #t
              ((generate empty))))))

    (define-syntax :
      (syntax-rules (index)
        ((_ continuation variable (index i) argument ...)
         (:dispatched continuation variable (index i) current-dispatch argument ...))
        ((_ continuation variable argument ...)
         (:dispatched continuation variable current-dispatch argument ...))))

    (define (find-generator dispatch arguments)
      (let ((generator (dispatch arguments)))
        (if (procedure? generator)
            generator
            (error "a dispatched generator does not know these arguments"
                   arguments (dispatch '())))))

    (define (all? satisfies? objects)
      (or (null? objects)
          (and (satisfies? (car objects)) (all? satisfies? (cdr objects)))))

    (define (initial-dispatch arguments)
      (define (range-generator integers)
        (let ((first (car integers)) (rest (cdr integers)))
          (cond ((null? rest) (:generator-proc (:range first)))
                ((null? (cdr rest)) (:generator-proc (:range first (car rest))))
                (else (:generator-proc (:range first (car rest) (cadr rest)))))))
      (define (real-range-generator reals)
        (let ((first (car reals)) (rest (cdr reals)))
          (cond ((null? rest) (:generator-proc (:real-range first)))
                ((null? (cdr rest)) (:generator-proc (:real-range first (car rest))))
                (else (:generator-proc (:real-range first (car rest) (cadr rest)))))))
      (if (null? arguments)
          'srfi-42
          (let ((first (car arguments)) (count (length arguments)))
            (cond ((all? list? arguments)
                   (:generator-proc (:list (%apply append arguments))))
                  ((all? string? arguments)
                   (:generator-proc (:string (string-concatenate arguments))))
                  ((all? vector? arguments)
                   (:generator-proc (:vector (%apply vector-append arguments))))
                  ((and (<= count 3) (all? exact-integer? arguments))
                   (range-generator arguments))
                  ((and (<= count 3) (all? real? arguments))
                   (real-range-generator arguments))
                  ((and (= count 2) (all? char? arguments))
                   (:generator-proc (:char-range first (cadr arguments))))
                  ((and (= count 1) (input-port? first))
                   (:generator-proc (:port first)))
                  ((and (= count 2) (input-port? first) (procedure? (cadr arguments)))
                   (:generator-proc (:port first (cadr arguments))))
                  (else #f)))))

    (define current-dispatch initial-dispatch)

    (define (:-dispatch-ref)
      current-dispatch)

    (define (:-dispatch-set! dispatch)
      (if (not (procedure? dispatch))
          (%type-error ':-dispatch-set! 1 "procedure" dispatch))
      (set! current-dispatch dispatch))

    (define (make-initial-:-dispatch)
      initial-dispatch)

    (define (dispatch-union dispatch1 dispatch2)
      (define (->list object)
        (if (list? object) object (list object)))
      (lambda (arguments)
        (let ((generator1 (dispatch1 arguments)) (generator2 (dispatch2 arguments)))
          (cond ((null? arguments) (append (->list generator1) (->list generator2)))
                ((and generator1 generator2)
                 (error "dispatch-union: both dispatchers know these arguments"
                        arguments (dispatch1 '()) (dispatch2 '())))
                (else (or generator1 generator2))))))))
