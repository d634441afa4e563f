;;; (canny generic): classes, generic functions, and the protocol behind them.
;;;
;;; A class is a record type; `define-class` is `define-record-type` with a parent. A generic
;;; function is an ordinary procedure that `define-generic` makes, with code of its own:
;;;
;;;   key of the classes of the arguments → equal to a cached key? → tail call of its procedure
;;;
;;; A class key is a small fixnum (see the primitive %class-key). The keys of up to three arguments
;;; are packed into one, and an argument that no method specializes on does not count. The first
;;; `slots` entries of the cache are variables; the others are in a table. The specializer watches
;;; variables, so that it sees constants in them and copies the methods into the callers.
;;;
;;; A call by name has a cache of its own, two classes in variables that the expander makes for it
;;; (see %define-call-syntax). So a function of many classes costs what a direct call costs where a
;;; call sees one or two of them. Each entry of such a cache is in that of the function too. A call
;;; that has seen too many classes is closed: it calls the function like any other procedure.
;;;
;;; When no entry fits, generic functions decide again, on the `<generic>` object behind the
;;; procedure: compute-applicable-methods, compute-dispatch, cache-dispatch!, no-applicable-method,
;;; no-next-method. A generic function whose object is a plain `<generic>` takes a short cut to
;;; their standard methods, which also ends the circle.
;;;
;;; Classes and caches are in `generic/caches.scm`.
;;;
;;; Invariants:
;;; - An entry of the cache is right for the current methods: a change of the methods clears the
;;;   cache.
;;; - Caches are changed by one thread at a time. A slot's procedure is set before its key; keys of
;;;   free slots and places of the table are -1, those of calls #f.
;;; - Classes do not change; a class that is defined again is another class.

(define-library (canny generic)
  (export define-class define-generic define-method next-method
          class-of class-name class-parent class-precedence-list class? subclass? is-a?
          generic? generic-object generic-name generic-methods generic-cache generic-cache-limit
          set-generic-cache-limit! clear-generic-cache! add-generic-cache-entry!
          generic-call-sites call-site? call-site-generic call-site-entries call-site-changes
          call-site-open? add-call-site-entry! clear-call-site! close-call-site!
          make-method method? method-specializers method-procedure
          add-method! remove-method!
          <generic> compute-applicable-methods compute-dispatch cache-dispatch!
          cache-at-call-site! no-applicable-method no-next-method
          <object> <number> <complex> <real> <rational> <integer> <fixnum> <bignum> <flonum>
          <list> <pair> <null> <symbol> <keyword> <char> <boolean> <string> <vector> <bytevector>
          <procedure> <hash-table> <port> <eof-object> <condition> <class> <record>
          %make-generic %register-generic! %cache-lookup %miss %empty-table
          %call-syntax %learn-at-call-site)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine classes))
  (include "generic/caches.scm")
  (begin

    ;; Calls by name.

    ;; The cache of a call has nothing for the classes of its arguments. It only gets entries that
    ;; the function's cache has. An error that no method is applicable is raised here. The call
    ;; itself may be the last one of a procedure, whose place in the program would be lost.
    (define (%learn-at-call-site procedure state update! . arguments)
      (let ((object (%hash-table-ref objects procedure #f)))
        (cond ((not object)
               (update! #f #f #t))
              ((takes? object arguments)
               (let* ((before version)
                      (classes (classes-of object arguments))
                      (site (or state (add-call-site! object update!)))
                      (entry (entry-for object classes)))
                 (cond ((not site) #f)
                       ((not (is-plain? object))
                        (if entry
                            (cache-at-call-site! object site classes (vector-ref entry 2))
                            (miss-at-call-site! site)))
                       (entry
                        (standard-cache-at-call-site! site classes (vector-ref entry 2)))
                       (else
                        (let ((procedure (procedure-for object classes)))
                          (if procedure
                              (begin
                                (cache-since! object classes procedure before)
                                (if (entry-for object classes)
                                    (standard-cache-at-call-site! site classes procedure)
                                    (miss-at-call-site! site)))
                              (standard-no-applicable-method object arguments))))))))))

    (define (miss-at-call-site! site)
      (if (< (call-site-misses site) misses-max)
          (set-call-site-misses! site (+ (call-site-misses site) 1))
          (close-call-site! site)))

    (define (takes? object arguments)
      (let ((count (length (object-parameters object))))
        (or (= (length arguments) count)
            (and (object-rest? object) (> (length arguments) count)))))

    ;; Calls that no entry of the cache fits.

    ;; Generic functions call it last, so that errors have the position of their callers. It has to
    ;; be too large for the optimizer to copy it into all of them.
    (define (%miss object . arguments)
      (let* ((before version)
             (classes (classes-of object arguments))
             (procedure (procedure-for object classes)))
        (cond ((not procedure)
               (no-applicable-method object arguments))
              ((is-plain? object)
               (cache-since! object classes procedure before)
               (%apply procedure arguments))
              (else
               (cache-dispatch! object classes procedure)
               (%apply procedure arguments)))))

    ;; The procedure to cache for arguments of these classes, or #f if there is no method.
    (define (procedure-for object classes)
      (if (looks-behind-key? object)
          (dispatch-on-all-classes object)
          (effective-procedure object classes)))

    ;; The classes of the arguments that methods may specialize on.
    (define (classes-of object arguments)
      (let loop ((parameters (object-parameters object)) (arguments arguments))
        (if (null? parameters)
            '()
            (cons (class-of (car arguments))
                  (loop (cdr parameters) (cdr arguments))))))

    ;; The procedure for arguments of these classes, or #f if there is no method.
    (define (effective-procedure object classes)
      (if (is-plain? object)
          (let ((methods (standard-methods object classes)))
            (and (pair? methods) (chain object methods)))
          (let ((methods (compute-applicable-methods object classes)))
            (and (pair? methods) (compute-dispatch object classes methods)))))

    (define (chain object methods)
      (if (null? methods)
          (lambda arguments (no-next-method object arguments))
          ((method-procedure (car methods)) (chain object (cdr methods)))))

    ;; Whether a method looks at an argument whose class is not part of keys.
    (define (looks-behind-key? object)
      (let ((count (length (object-parameters object))))
        (let loop ((position positions-of-key))
          (and (< position count)
               (or (specializes? object position)
                   (loop (+ position 1)))))))

    ;; Then what is cached looks at all of them.
    (define (dispatch-on-all-classes object)
      (let ((known '()))
        (lambda arguments
          (let* ((classes (classes-of object arguments))
                 (entry (assoc classes known same-classes?)))
            (if entry
                (%apply (cdr entry) arguments)
                (let ((procedure (effective-procedure object classes)))
                  (if procedure
                      (begin
                        (set! known (cons (cons classes procedure) known))
                        (%apply procedure arguments))
                      (no-applicable-method object arguments))))))))

    (define (same-classes? left right)
      (or (null? left)
          (and (eq? (car left) (car right))
               (same-classes? (cdr left) (cdr right)))))

    ;; The standard methods of the protocol.

    (define (standard-methods object classes)
      (let ((lists (map class-precedence-list classes)))
        (let loop ((methods (object-methods object)) (ranked '()))
          (if (null? methods)
              (map cdr ranked)
              (let ((ranks (ranks-of (method-specializers (car methods)) lists)))
                (loop (cdr methods)
                      (if ranks
                          (insert-by-rank (cons ranks (car methods)) ranked)
                          ranked)))))))

    ;; How far up each specializer is from the class of its argument, or #f if one is not there.
    (define (ranks-of specializers lists)
      (if (null? specializers)
          '()
          (let ((rank (position-of (car specializers) (car lists)))
                (rest (ranks-of (cdr specializers) (cdr lists))))
            (and rank rest (cons rank rest)))))

    (define (position-of object list)
      (let loop ((rest list) (position 0))
        (cond ((null? rest) #f)
              ((eq? (car rest) object) position)
              (else (loop (cdr rest) (+ position 1))))))

    (define (insert-by-rank new ranked)
      (if (or (null? ranked) (before? (car new) (caar ranked)))
          (cons new ranked)
          (cons (car ranked) (insert-by-rank new (cdr ranked)))))

    ;; The leftmost argument decides where two methods differ.
    (define (before? left right)
      (and (pair? left)
           (or (< (car left) (car right))
               (and (= (car left) (car right))
                    (before? (cdr left) (cdr right))))))

    ;; A full cache is cleared.
    (define (standard-cache! object classes procedure)
      (cache-since! object classes procedure version))

    (define (cache-since! object classes procedure before)
      (let ((limit (object-limit object)))
        (if (and (> limit 0) (eq? before version))
            (if (>= (object-count object) limit)
                (begin
                  (clear-generic-cache! object)
                  (add-since! object classes procedure version))
                (add-since! object classes procedure before)))))

    (define (standard-no-applicable-method object arguments)
      (raise (%make-condition 'no-applicable-method
                              (string-append "no method is applicable to arguments of the classes "
                                             (class-names (classes-of object arguments)))
                              arguments
                              (object-name object))))

    (define (standard-no-next-method object arguments)
      (raise (%make-condition 'no-next-method
                              (string-append "no next method for arguments of the classes "
                                             (class-names (classes-of object arguments)))
                              arguments
                              (object-name object))))

    (define (class-names classes)
      (let loop ((classes classes) (text "("))
        (let ((text (string-append text "<" (symbol->string (class-name (car classes))) ">")))
          (if (null? (cdr classes))
              (string-append text ")")
              (loop (cdr classes) (string-append text " "))))))

    ;; Adding and removing methods.

    (define (add-method! generic method)
      (let* ((object (object-of generic 'add-method!))
             (specializers (method-specializers method)))
        (if (not (= (length specializers) (length (object-parameters object))))
            (raise (%make-condition
                    'arity
                    (string-append "a method takes as many arguments as its generic function, "
                                   (number->string (length (object-parameters object))))
                    (list method)
                    (object-name object))))
        (change-surely
         (lambda ()
           (set-object-methods! object
                                (cons method (methods-without object specializers)))
           (clear-cache! object)))
        generic))

    (define (remove-method! generic method)
      (let ((object (object-of generic 'remove-method!)))
        (change-surely
         (lambda ()
           (set-object-methods! object (delq method (object-methods object)))
           (clear-cache! object)))
        generic))

    (define (methods-without object specializers)
      (let loop ((methods (object-methods object)))
        (cond ((null? methods) '())
              ((same-classes? (method-specializers (car methods)) specializers) (cdr methods))
              (else (cons (car methods) (loop (cdr methods)))))))

    (define-syntax next-method
      (syntax-rules ()
        ((_ . rest)
         (syntax-error "next-method has a meaning in the body of a method only"))))

    (define-syntax define-method
      (syntax-rules ()
        ((_ (name . parameters) body0 body ...)
         (collect-specializers name () () parameters body0 body ...))))

    (define-syntax collect-specializers
      (syntax-rules ()
        ((_ name (parameter ...) (class ...) ((variable specializer) . more) . body)
         (collect-specializers name (parameter ... variable) (class ... specializer) more . body))
        ((_ name (parameter ...) (class ...) (variable . more) . body)
         (collect-specializers name (parameter ... variable) (class ... <object>) more . body))
        ((_ name (parameter ...) (class ...) () . body)
         (define added
           (add-method! name
                        (make-method
                         (list class ...)
                         (lambda (next)
                           (named-lambda (name parameter ...)
                             (let ((next-procedure
                                    (case-lambda
                                      (() (next parameter ...))
                                      (arguments (%apply next arguments)))))
                               (syntax-parameterize ((next-method next-procedure)) . body))))))))
        ((_ name (parameter ...) (class ...) rest . body)
         (define added
           (add-method! name
                        (make-method
                         (list class ...)
                         (lambda (next)
                           (named-lambda (name parameter ... . rest)
                             (let ((next-procedure
                                    (case-lambda
                                      (() (apply next parameter ... rest))
                                      (arguments (%apply next arguments)))))
                               (syntax-parameterize ((next-method next-procedure)) . body))))))))))

    ;; Generic functions.

    (define-syntax define-generic
      (syntax-rules ()
        ((_ (name parameter ...) option ...)
         (name-variables name (parameter ...) #f (option ...) parameter ...))
        ((_ (name parameter ... . rest) option ...)
         (name-variables name (parameter ...) rest (option ...) parameter ...))))

    ;; Names for the class keys of the first arguments, and for the variables of the slots, which
    ;; have the procedure and the keys of each. Where there are several, also whether any method
    ;; looks at an argument's class.
    (define-syntax name-variables
      (syntax-rules ()
        ((_ name parameters rest options)
         (syntax-error "define-generic: there is no argument to dispatch on" name))
        ((_ name parameters rest options a)
         (generic-definition
          name parameters rest options
          ((a-key (%class-key a))) (a-key)
          ((m0 i0) (m1 i1) (m2 i2) (m3 i3)) ()))
        ((_ name parameters rest options a b)
         (generic-definition
          name parameters rest options
          ((a-key (if use-a (%class-key a) 0)) (b-key (if use-b (%class-key b) 0))) (a-key b-key)
          ((m0 i0 j0) (m1 i1 j1) (m2 i2 j2) (m3 i3 j3)) (use-a use-b)))
        ((_ name parameters rest options a b c more ...)
         (generic-definition
          name parameters rest options
          ((a-key (if use-a (%class-key a) 0))
           (b-key (if use-b (%class-key b) 0))
           (c-key (if use-c (%class-key c) 0)))
          (a-key b-key c-key)
          ((m0 i0 j0 k0) (m1 i1 j1 k1) (m2 i2 j2 k2) (m3 i3 j3 k3)) (use-a use-b use-c)))))

    (define-syntax generic-definition
      (syntax-rules ()
        ((_ name parameters #f options bindings keys ((m k ...) ...) uses)
         (begin
           (define-variables name parameters #f options ((m k ...) ...) uses table object)
           (define name
             (named-lambda (name . parameters)
               (let bindings
                 (cond ((keys-fit? keys (k ...)) (m . parameters))
                       ...
                       (else
                        (let ((procedure (%cache-lookup table (one-key . keys))))
                          (if procedure
                              (procedure . parameters)
                              (%miss object . parameters))))))))
           (register name object table uses (m k ...) ...)
           (attach-call-syntax name bindings)))
        ((_ name (parameter ...) rest options bindings keys ((m k ...) slot ...) uses)
         (begin
           (define-variables name (parameter ...) #t options ((m k ...) slot ...) uses table object)
           (define (find . keys)
             (find-in keys table slot ...))
           (define (apply-to parameter ... rest)
             (let* bindings
               (let ((procedure (if (keys-fit? keys (k ...)) m (find . keys))))
                 (if procedure
                     (apply procedure parameter ... rest)
                     (apply %miss object parameter ... rest)))))
           (define name
             (case-lambda
               ((parameter ...)
                (let bindings
                  (dispatch keys (k ...) m find object parameter ...)))
               ((parameter ... x)
                (let bindings
                  (dispatch keys (k ...) m find object parameter ... x)))
               ((parameter ... x y)
                (let bindings
                  (dispatch keys (k ...) m find object parameter ... x y)))
               ((parameter ... . rest)
                (apply-to parameter ... rest))))
           (register name object table uses (m k ...) slot ...)
           (attach-call-syntax name bindings)))))

    (define-syntax define-variables
      (syntax-rules ()
        ((_ name parameters rest? (option ...) ((m k ...) ...) (use ...) table object)
         (begin
           (begin (define m #f) (define k -1) ...)
           ...
           (define use #f) ...
           (define table %empty-table)
           (define object (%make-generic 'name 'parameters rest? option ...))))))

    (define-syntax register
      (syntax-rules ()
        ((_ name object table uses slot0 slot1 slot2 slot3)
         (define registered
           (%register-generic!
            object name
            (lambda (what which value)
              (case what
                ((0) (set-slot! slot0 which value))
                ((1) (set-slot! slot1 which value))
                ((2) (set-slot! slot2 which value))
                ((3) (set-slot! slot3 which value))
                ((table) (set! table value))
                (else (set-use! uses which value)))))))))

    ;; Calls by name look into their own cache first. The bindings compute the keys.
    (define-syntax attach-call-syntax
      (syntax-rules ()
        ((_ name bindings)
         (%define-call-syntax name
           (syntax-rules ()
             ((_ variables operator . operands)
              (%call-syntax bindings variables operator () operands)))))))

    (define-syntax %call-syntax
      (syntax-rules ()
        ((_ bindings variables operator (bound ...) (operand . operands))
         (%call-syntax bindings variables operator (bound ... (argument operand)) operands))
        ((_ bindings variables operator ((argument operand) ...) ())
         (let ((argument operand) ...)
           (cached-call bindings variables operator argument ...)))))

    (define-syntax cached-call
      (syntax-rules (if)
        ((_ ((key (class-key parameter)))
            (state k0 m0 k1 m1 . _) operator a . more)
         (let ((key (%class-key a)))
           (cached-call-with-keys (key) ((k0 m0) (k1 m1)) state operator a . more)))
        ((_ ((key1 (if use1 . _1)) (key2 (if use2 . _2)))
            (state j0 k0 m0 j1 k1 m1 . _) operator a b . more)
         (let ((key1 (if use1 (%class-key a) 0)) (key2 (if use2 (%class-key b) 0)))
           (cached-call-with-keys (key1 key2) ((j0 k0 m0) (j1 k1 m1)) state operator a b . more)))
        ((_ ((key1 (if use1 . _1)) (key2 (if use2 . _2)) (key3 (if use3 . _3)))
            (state i0 j0 k0 m0 i1 j1 k1 m1) operator a b c . more)
         (let ((key1 (if use1 (%class-key a) 0))
               (key2 (if use2 (%class-key b) 0))
               (key3 (if use3 (%class-key c) 0)))
           (cached-call-with-keys (key1 key2 key3) ((i0 j0 k0 m0) (i1 j1 k1 m1))
                                  state operator a b c . more)))
        ((_ bindings variables operator . arguments)
         ((begin operator) . arguments))))

    (define-syntax cached-call-with-keys
      (syntax-rules ()
        ((_ keys (place0 place1) state operator . arguments)
         (cond ((keys-of-place-fit? keys place0) (call-of-place place0 . arguments))
               ((keys-of-place-fit? keys place1) (call-of-place place1 . arguments))
               (else
                (if (not (eq? state #t))
                    (%learn-at-call-site
                     (begin operator) state
                     (lambda (place new-keys procedure)
                       (cond ((eq? place 0) (set-place! place0 new-keys procedure))
                             ((eq? place 1) (set-place! place1 new-keys procedure))
                             (else (set! state procedure))))
                     . arguments))
                ((begin operator) . arguments))))))

    (define-syntax keys-of-place-fit?
      (syntax-rules ()
        ((_ (key) (k m)) (eq? key k))
        ((_ (key . keys) (k . place)) (and (eq? key k) (keys-of-place-fit? keys place)))))

    (define-syntax call-of-place
      (syntax-rules ()
        ((_ (m) . arguments) (m . arguments))
        ((_ (k . place) . arguments) (call-of-place place . arguments))))

    (define-syntax set-place!
      (syntax-rules ()
        ((_ (k m) keys procedure)
         (set-slot! (m k) keys procedure))
        ((_ (j k m) keys procedure)
         (set-slot! (m j k) keys procedure))
        ((_ (i j k m) keys procedure)
         (set-slot! (m i j k) keys procedure))))

    (define-syntax set-slot!
      (syntax-rules ()
        ((_ (m k) keys procedure)
         (begin (set! m procedure)
                (set! k (car keys))))
        ((_ (m k more ...) keys procedure)
         (begin (set-slot! (m more ...) (cdr keys) procedure)
                (set! k (car keys))))))

    (define-syntax set-use!
      (syntax-rules ()
        ((_ () position value) #f)
        ((_ (use more ...) position value)
         (if (eq? position 0)
             (set! use value)
             (set-use! (more ...) (- position 1) value)))))

    (define-syntax keys-fit?
      (syntax-rules ()
        ((_ (key) (k)) (eq? key k))
        ((_ (key ...) (k ...)) (and (eq? key k) ...))))

    (define-syntax one-key
      (syntax-rules ()
        ((_ a) a)
        ((_ a b) (+ (* a key-factor) b))
        ((_ a b c) (+ (* (+ (* a key-factor) b) key-factor) c))))

    (define-syntax find-in
      (syntax-rules ()
        ((_ keys table (m k ...) ...)
         (cond ((keys-fit? keys (k ...)) m)
               ...
               (else (%cache-lookup table (one-key . keys)))))))

    ;; One number of arguments of a procedure that takes any number.
    (define-syntax dispatch
      (syntax-rules ()
        ((_ keys (k ...) m find object argument ...)
         (if (keys-fit? keys (k ...))
             (m argument ...)
             (let ((procedure (find . keys)))
               (if procedure
                   (procedure argument ...)
                   (%miss object argument ...)))))))

    ;; The protocol.

    (define-generic (compute-applicable-methods generic classes))
    (define-generic (compute-dispatch generic classes methods))
    (define-generic (cache-dispatch! generic classes procedure))
    (define-generic (cache-at-call-site! generic site classes procedure))
    (define-generic (no-applicable-method generic arguments))
    (define-generic (no-next-method generic arguments))

    (define-method (compute-applicable-methods (generic <generic>) classes)
      (standard-methods generic classes))
    (define-method (compute-dispatch (generic <generic>) classes methods)
      (chain generic methods))
    (define-method (cache-dispatch! (generic <generic>) classes procedure)
      (standard-cache! generic classes procedure))
    (define-method (cache-at-call-site! (generic <generic>) site classes procedure)
      (standard-cache-at-call-site! site classes procedure))
    (define-method (no-applicable-method (generic <generic>) arguments)
      (standard-no-applicable-method generic arguments))
    (define-method (no-next-method (generic <generic>) arguments)
      (standard-no-next-method generic arguments))))
