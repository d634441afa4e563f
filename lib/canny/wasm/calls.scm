;;; Part of (canny wasm): stores, calls of their functions, and procedures as functions.
;;;
;;; A call runs in the machine until it returns, calls a procedure of Scheme, or has used up its
;;; slice. Then `drive` does what is to be done and continues it. So a call is preempted, parked and
;;; cancelled like everything else in a task. Leaving it by an escape ends it.
;;;
;;; The first five fields of a store are known to the machine. The vectors behind them are changed
;;; by the task that makes instances of the store or calls them.

(define-record-type store
  (new-store %handle objects tags references object-type waiters procedures count
             functions)
  store?
  (%handle store-handle)
  ;; Objects that guests refer to. The machine changes it.
  (objects store-objects)
  ;; Tags of exceptions, by their number.
  (tags store-tags set-store-tags!)
  ;; Weak pairs with the objects of guests that Scheme has. The machine changes it.
  (references store-references)
  ;; The type of their records.
  (object-type store-object-type)
  ;; Futures of tasks that wait for the store.
  (waiters store-waiters)
  ;; Procedures that guests may call, by their number, and how many there are.
  (procedures store-procedures set-store-procedures!)
  (count store-count set-store-count!)
  ;; Procedures that call functions, by the number of the function.
  (functions store-functions set-store-functions!))

(define default-stack-size 1048576)

;; A place for instances that share something. All calls in it may do `#:fuel` jumps and calls.
;; Memories, tables, structs and arrays have `#:memory-limit` bytes together, and the frames of
;; a call `#:stack-size`.
(define* (make-store #:key (fuel #f) (memory-limit #f) (stack-size default-stack-size))
  (check-limit 'make-store "#:fuel" fuel)
  (check-limit 'make-store "#:memory-limit" memory-limit)
  (if (not (and (exact-nonnegative-integer? stack-size) (<= 4096 stack-size 1073741824)))
      (raise-bad-option 'make-store "#:stack-size" "a number of bytes from 4096 to 2^30"
                        stack-size))
  (new-store (%wasm-store fuel memory-limit stack-size) (make-vector 16 #f)
             '#() '#() guest-object '() (make-vector 8 #f) 0 (make-vector 8 #f)))

(define (check-limit who keyword limit)
  (if (not (or (not limit) (exact-nonnegative-integer? limit)))
      (raise-bad-option who keyword "a natural number or #f" limit)))

(define (check-store who object)
  (check-argument who 1 store? "store" object))

;; The jumps and calls that are left, or #f if there is no limit.
(define (store-fuel store)
  (check-store 'store-fuel store)
  (%wasm-fuel store))

(define (set-store-fuel! store fuel)
  (check-store 'set-store-fuel! store)
  (%wasm-set-fuel! store fuel))

;; A vector with room for an index.
(define (with-room vector index)
  (let ((length (vector-length vector)))
    (if (< index length)
        vector
        (let ((longer (make-vector (max (+ index 1) (* 2 length)) #f)))
          (vector-copy! longer 0 vector)
          longer))))

;; Gives a procedure a number.
(define (add-procedure! store procedure)
  (let ((number (store-count store)))
    (set-store-procedures! store (with-room (store-procedures store) number))
    (vector-set! (store-procedures store) number procedure)
    (set-store-count! store (+ number 1))
    number))

;; Calls.

;; Continues a call that was left, or makes one again that could not begin, when the store is free.
(define (go-on store call)
  (let ((event (%wasm-event store)))
    (if event
        (drive store event)
        (call-when-free store call))))

(define (call-when-free store call)
  (wait-until-free store)
  (let ((result (call)))
    (cond ((not (eq? result (store-handle store))) result)
          ((%wasm-event store) => (lambda (event) (drive store event)))
          (else (call-when-free store call)))))

;; Waits until no call of another task is in progress. A call that ends in one primitive wakes no
;; task; to ask whether one runs takes the store's lock, and so waits for that. The question comes
;; after the future is in the list, so that no end of a call is missed.
(define (wait-until-free store)
  (let ((free (make-future)))
    (let again ((waiters (store-waiters store)))
      (let ((found (%compare-and-swap! store waiters-field waiters (cons free waiters))))
        (if (not (eq? found waiters))
            (again found))))
    (if (eq? (%wasm-runner store) 'other)
        (await free)
        (wake-waiters! store))))

;; The place of the field `waiters`.
(define waiters-field 5)

;; Lets all tasks try that wait for the store.
(define (wake-waiters! store)
  (let again ((waiters (store-waiters store)))
    (if (pair? waiters)
        (let ((found (%compare-and-swap! store waiters-field waiters '())))
          (if (eq? found waiters)
              (for-each (lambda (free) (future-resolve! free #t)) waiters)
              (again found))))))

;; Ends a call, if it has not ended.
(define (leave store run)
  (%wasm-abandon! store run)
  (wake-if-free store))

(define (wake-if-free store)
  (if (and (pair? (store-waiters store)) (not (%wasm-runner store)))
      (wake-waiters! store)))

;; Continues a call until it returns. An event is a vector of the call's number, and if a
;; procedure is to be called, its number and the arguments. A task is not cancelled in the
;; middle of library code, unless that looks itself.
(define (drive store event)
  (let ((run (vector-ref event 0))
        (has-returned #f))
    (dynamic-wind
     values
     (lambda ()
       (let ((result (if (= (vector-length (store-tags store)) 0)
                         (continue store run event)
                         (continue-catching store run event))))
         (set! has-returned #t)
         result))
     (lambda ()
       (if has-returned
           (wake-if-free store)
           (leave store run))))))

(define (continue store run event)
  (let ((handle (store-handle store)))
    (let loop ((event event))
      (let ((result (%wasm-resume store run
                                  (if (= (vector-length event) 1)
                                      (%raise-if-interrupted)
                                      (answer store event)))))
        (if (eq? result handle)
            (loop (%wasm-event store))
            result)))))

;; The same in a store with tags. An exception with one of them that a called procedure raises
;; becomes one of the guest. There is one handler as long as nothing is raised.
(define (continue-catching store run event)
  (let ((result (continue-until-raise store run event)))
    (if (raised? result)
        (let ((result (raise-in-guest store run (raised-condition result))))
          (if (eq? result (store-handle store))
              (continue-catching store run (%wasm-event store))
              result))
        result)))

(define-record-type raised
  (new-raised condition)
  raised?
  (condition raised-condition))

(define (continue-until-raise store run event)
  (call-with-escape-continuation
   (lambda (return)
     (with-exception-handler
       (lambda (object)
         (if (and (guest-exception? object)
                  (eq? (tag-store (guest-exception-tag object)) store)
                  ;; Not an exception with which this call itself has ended.
                  (%wasm-outside? store run))
             (return (new-raised object))
             (raise-continuable object)))
       (lambda () (continue store run event))))))

(define (raise-in-guest store run condition)
  (let ((tag (guest-exception-tag condition)))
    (%wasm-raise store run (tag-number tag)
                 (to-machine store (tag-types tag) (raw-values condition)))))

(define (answer store event)
  (call-with-values
    (lambda ()
      (apply (vector-ref (store-procedures store) (vector-ref event 1)) (vector-ref event 2)))
    values))

;; Calls the function with a number.
(define (call-number store number . arguments)
  (let* ((call (lambda () (apply %wasm-call store number arguments)))
         (result (call)))
    (if (eq? result (store-handle store))
        (go-on store call)
        result)))

(define (mentions-functions? types)
  (memq 'funcref types))

;; The procedure that calls a function. There is one for each.
(define (procedure-of store number)
  (set-store-functions! store (with-room (store-functions store) number))
  (or (vector-ref (store-functions store) number)
      (let ((procedure (make-procedure store number (%wasm-function-type store number))))
        (%set-procedure-name! procedure
                              (string->symbol
                               (or (%wasm-function-name store number) "function")))
        (vector-set! (store-functions store) number procedure)
        procedure)))

(define (make-procedure store number type)
  (let ((handle (store-handle store))
        (parameters (car type))
        (results (cdr type)))
    (if (or (mentions-functions? parameters) (mentions-functions? results))
        (procedure-of-functions store number parameters results)
        (case (length parameters)
          ((0) (lambda ()
                 (let ((result (%wasm-call store number)))
                   (if (eq? result handle)
                       (go-on store (lambda () (%wasm-call store number)))
                       result))))
          ((1) (lambda (a)
                 (let ((result (%wasm-call store number a)))
                   (if (eq? result handle)
                       (go-on store (lambda () (%wasm-call store number a)))
                       result))))
          ((2) (lambda (a b)
                 (let ((result (%wasm-call store number a b)))
                   (if (eq? result handle)
                       (go-on store (lambda () (%wasm-call store number a b)))
                       result))))
          ((3) (lambda (a b c)
                 (let ((result (%wasm-call store number a b c)))
                   (if (eq? result handle)
                       (go-on store (lambda () (%wasm-call store number a b c)))
                       result))))
          ((4) (lambda (a b c d)
                 (let ((result (%wasm-call store number a b c d)))
                   (if (eq? result handle)
                       (go-on store (lambda () (%wasm-call store number a b c d)))
                       result))))
          (else (lambda arguments
                  (apply call-number store number arguments)))))))

;; Functions are numbers for the machine.
(define (procedure-of-functions store number parameters results)
  (lambda arguments
    (to-scheme store results
               (apply call-number store number
                      (to-machine store parameters arguments)))))

;; Numbers in the place of procedures.
(define (to-machine store types objects)
  (if (or (null? types) (null? objects))
      objects
      (cons (if (eq? (car types) 'funcref)
                (function-number store (car objects))
                (car objects))
            (to-machine store (cdr types) (cdr objects)))))

;; Procedures in the place of numbers, in the results of a function.
(define (to-scheme store types result)
  (cond ((not (mentions-functions? types)) result)
        ((null? (cdr types)) (function-of store result))
        (else (%list->values (to-procedures store types (%values->list result))))))

(define (to-procedures store types objects)
  (map (lambda (type object)
         (if (eq? type 'funcref) (function-of store object) object))
       types objects))

(define (function-of store number)
  (and number (procedure-of store number)))

;; The number of the function that a procedure calls. Others stay, so that the machine raises.
(define (function-number store object)
  (or (and (procedure? object) (known-number store object))
      object))

(define (known-number store procedure)
  (let ((functions (store-functions store)))
    (let loop ((number 0))
      (and (< number (vector-length functions))
           (if (eq? (vector-ref functions number) procedure)
               number
               (loop (+ number 1)))))))

;; The procedure as guests call it: it gets and gives procedures.
(define (for-guests store type procedure)
  (let ((parameters (car type))
        (results (cdr type)))
    (if (or (mentions-functions? parameters) (mentions-functions? results))
        (lambda arguments
          (let ((given (%values->list
                        (call-with-values
                          (lambda ()
                            (apply procedure (to-procedures store parameters arguments)))
                          values))))
            (%list->values (to-machine store results given))))
        procedure)))

;; A function of this type that guests can be given in tables and as an argument; it calls a
;; procedure.
(define (make-function store parameters results procedure)
  (check-store 'make-function store)
  (check-argument 'make-function 2 list? "list of types" parameters)
  (check-argument 'make-function 3 list? "list of types" results)
  (check-procedure 'make-function 4 procedure)
  (let ((number (%wasm-make-function
                 store parameters results
                 (add-procedure! store
                                 (for-guests store (cons parameters results) procedure)))))
    (procedure-of store number)))

;; Lists of the types of parameters and results of an instance's function.
(define (function-type store procedure)
  (check-store 'function-type store)
  (let ((number (known-number store procedure)))
    (if (not number)
        (%type-error 'function-type 2 "function of the store" procedure))
    (let ((type (%wasm-function-type store number)))
      (values (car type) (cdr type)))))
