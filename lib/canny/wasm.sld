;;; (canny wasm): guests in WebAssembly.
;;;
;;;     (define module (read-module "filter.wasm"))
;;;     (define filter (instantiate module #:imports `(("env" ("log" . ,display)))))
;;;     (call-export filter "run" 42)
;;;
;;; A guest has nothing but what it is given: its own memory and the procedures that it imports.
;;;
;;; Instances that share something live in one *store*, which one task at a time may call.
;;; Functions, memories, tables and global variables are numbers in a store; a shared memory has one
;;; in each store whose instances import it. A call runs in the
;;; machine until it returns, calls a procedure of Scheme, or has used up its slice. Then `drive`
;;; does what is to be done and continues it. So a call is preempted, parked and cancelled like
;;; everything else in a task. Leaving it by an escape ends it.
;;;
;;; The first two fields of a store are known to the machine. The vectors behind them are changed by
;;; the task that makes instances of the store or calls them.

(define-library (canny wasm)
  (export compile-module read-module module? module-imports module-exports module-section
          make-store store? store-fuel set-store-fuel!
          instantiate instance? instance-module instance-store instance-export instance-exports
          call-export
          make-function function-type
          make-memory memory? memory-shared? memory-pages memory-size memory-grow! memory-notify!
          memory-u8-ref memory-u8-set! memory-s8-ref memory-s8-set!
          memory-u16-ref memory-u16-set! memory-s16-ref memory-s16-set!
          memory-u32-ref memory-u32-set! memory-s32-ref memory-s32-set!
          memory-u64-ref memory-u64-set! memory-s64-ref memory-s64-set!
          memory-f32-ref memory-f32-set! memory-f64-ref memory-f64-set!
          memory-bytes memory-copy! memory-string memory-string-set! memory-c-string
          make-table table? table-size table-ref table-set! table-grow!
          make-global global? global-ref global-set!
          make-wasi wasi? wasi-output wasi-error-output run-command
          wasm-error? trap? trap-kind trap-backtrace)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (only (canny data lists) map for-each assoc)
          (only (canny tasks) sleep %raise-if-interrupted)
          (only (canny files) file->bytevector)
          (canny machine arguments))
  (begin

    ;; Modules.

    (define-record-type module
      (new-module handle)
      module?
      (handle module-handle))

    ;; The module with these bytes, or of a text in the text format. It is validated at once;
    ;; functions are translated when they are called first.
    (define (compile-module source)
      (if (not (or (bytevector? source) (string? source)))
          (%type-error 'compile-module 1 "bytevector or string" source))
      (new-module (%wasm-module (if (string? source) (string->utf8 source) source) #f)))

    ;; The module in a file.
    (define (read-module path)
      (check-argument 'read-module 1 string? "string" path)
      (new-module (%wasm-module (file->bytevector path) path)))

    (define (check-module who object)
      (check-argument who 1 module? "module" object))

    (define items (vector-at 5
                             (guest-item/function 'function)
                             (guest-item/table 'table)
                             (guest-item/memory 'memory)
                             (guest-item/global 'global)
                             (guest-item/tag 'tag)))

    (define (item-name number)
      (vector-ref items number))

    ;; The imports of a module, in order: lists of module, name, kind and type.
    (define (module-imports module)
      (check-module 'module-imports module)
      (map (lambda (row)
             (list (vector-ref row 0) (vector-ref row 1) (item-name (vector-ref row 2))
                   (readable-type (vector-ref row 3))))
           (%wasm-module-imports (module-handle module))))

    ;; The exports of a module, in order: lists of name, kind and type.
    (define (module-exports module)
      (check-module 'module-exports module)
      (map (lambda (row)
             (list (vector-ref row 0) (item-name (vector-ref row 1))
                   (readable-type (vector-ref row 2))))
           (%wasm-module-exports (module-handle module))))

    ;; `((i32 i32) (i64))` for a function, else a list of the type's parts.
    (define (readable-type type)
      (cond ((vector? type) (vector->list type))
            ((symbol? (car type)) (list (car type) (cdr type)))
            (else (list (car type) (cdr type)))))

    ;; The bytes of a custom section, or #f.
    (define (module-section module name)
      (check-module 'module-section module)
      (check-argument 'module-section 2 string? "string" name)
      (%wasm-module-section (module-handle module) name))

    ;; Stores.

    (define-record-type store
      (new-store handle objects procedures count functions)
      store?
      (handle store-handle)
      ;; Objects that guests refer to. The machine changes it.
      (objects store-objects)
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
                 (make-vector 8 #f) 0 (make-vector 8 #f)))

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

    ;; Continues a call that was left, or makes one again that could not begin, when the store is
    ;; free.
    (define (go-on store call)
      (let ((event (%wasm-event store)))
        (if event
            (drive store event)
            (try-again store call 0.0005))))

    (define (try-again store call pause)
      (sleep pause)
      (let ((result (call)))
        (cond ((not (eq? result (store-handle store))) result)
              ((%wasm-event store) => (lambda (event) (drive store event)))
              (else (try-again store call (min 0.02 (* 2 pause)))))))

    ;; Continues a call until it returns. An event is a vector of the call's number, and if a
    ;; procedure is to be called, its number and the arguments. A task is not cancelled in the
    ;; middle of library code, unless that looks itself.
    (define (drive store event)
      (let ((run (vector-ref event 0))
            (handle (store-handle store)))
        (dynamic-wind
         values
         (lambda ()
           (let loop ((event event))
             (let ((result (%wasm-resume store run
                                         (if (= (vector-length event) 1)
                                             (%raise-if-interrupted)
                                             (answer store event)))))
               (if (eq? result handle)
                   (loop (%wasm-event store))
                   result))))
         (lambda () (%wasm-abandon! store run)))))

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

    ;; Instances.

    (define-record-type instance
      (new-instance module store exports)
      instance?
      (module instance-module)
      (store instance-store)
      ;; Vectors of name, kind, number and type.
      (exports exports-of))

    ;; An instance of a module. `#:imports` has what it imports: lists of a module's name and pairs
    ;; of names and procedures, memories, tables or global variables. `#:store` is where it lives:
    ;; that of its imports or a new one, for which the other keywords are limits. `#:wasi` gives it
    ;; the functions of WASI.
    (define* (instantiate module #:key (imports '()) (store #f) (wasi #f) (fuel #f)
                          (memory-limit #f)
                          (stack-size default-stack-size))
      (check-module 'instantiate module)
      (check-list 'instantiate 2 imports)
      (if (not (or (not store) (store? store)))
          (raise-bad-option 'instantiate "#:store" "a store" store))
      (if (not (or (not wasi) (wasi? wasi)))
          (raise-bad-option 'instantiate "#:wasi" "WASI" wasi))
      (let* ((rows (%wasm-module-imports (module-handle module)))
             (items (map (lambda (row) (find-import imports row)) rows))
             (store (or store (store-among items)
                        (make-store #:fuel fuel #:memory-limit memory-limit
                                    #:stack-size stack-size)))
             (numbers (import-numbers store module wasi rows items))
             (made (%wasm-instantiate store (module-handle module) numbers))
             (instance (new-instance module store (%wasm-exports store (car made)))))
        (if wasi
            (%wasi-bind! store (wasi-handle wasi) (car made)))
        (if (cdr made)
            (call-number store (cdr made)))
        instance))

    (define (name=? wanted name)
      (string=? wanted (if (symbol? name) (symbol->string name) name)))

    (define (named wanted pairs)
      (let ((pair (assoc wanted pairs name=?)))
        (and pair (cdr pair))))

    ;; The thing that was given for an import, or #f.
    (define (find-import imports row)
      (let ((from (named (vector-ref row 0) imports)))
        (and from (named (vector-ref row 1) from))))

    ;; A shared memory does not say where an instance lives.
    (define (store-of item)
      (cond ((memory? item) (and (not (memory-shared? item)) (memory-store item)))
            ((table? item) (table-store item))
            ((global? item) (global-store item))
            (else #f)))

    (define (store-among items)
      (and (pair? items)
           (or (store-of (car items))
               (store-among (cdr items)))))

    (define (import-numbers store module wasi rows items)
      (let ((numbers (make-vector (length rows) #f)))
        (let loop ((index 0) (rows rows) (items items))
          (if (pair? rows)
              (begin
                (vector-set! numbers index
                             (cond ((car items)
                                    (import-number store module index (car rows) (car items)))
                                   (wasi (wasi-function store wasi (car rows)))
                                   (else #f)))
                (loop (+ index 1) (cdr rows) (cdr items)))))
        numbers))

    (define (import-number store module index row item)
      (let ((kind (vector-ref row 2)))
        (cond ((= kind guest-item/function)
               (check-import row procedure? item)
               (or (known-number store item)
                   (%wasm-import-function store (module-handle module) index
                                          (add-procedure! store
                                                          (for-guests store (vector-ref row 3)
                                                                      item)))))
              ((= kind guest-item/table)
               (check-import row table? item)
               (number-in store row item (table-store item) (table-number item)))
              ((= kind guest-item/memory)
               (check-import row memory? item)
               (if (memory-shared? item)
                   (%wasm-share-memory (memory-store item) (memory-number item) store)
                   (number-in store row item (memory-store item) (memory-number item))))
              ((= kind guest-item/global)
               (check-import row global? item)
               (number-in store row item (global-store item) (global-number item)))
              (else
               (check-import row tag? item)
               (number-in store row item (tag-store item) (tag-number item))))))

    (define (import-text row)
      (string-append "the import " (vector-ref row 1) " of " (vector-ref row 0)))

    (define (check-import row test? item)
      (if (not (test? item))
          (raise-import row
                        (string-append " is not a " (symbol->string (item-name (vector-ref row 2))))
                        item)))

    (define (number-in store row item own number)
      (if (not (eq? store own))
          (raise-import row " belongs to another store" item))
      number)

    (define (raise-import row text item)
      (raise
       (%make-condition 'wasm (string-append (import-text row) text) (list item) 'instantiate)))

    (define (check-instance who object)
      (check-argument who 1 instance? "instance" object))

    (define (item-of store row)
      (let ((kind (vector-ref row 1))
            (number (vector-ref row 2)))
        (cond ((= kind guest-item/function) (procedure-of store number))
              ((= kind guest-item/table) (new-table store number))
              ((= kind guest-item/memory) (new-memory store number))
              ((= kind guest-item/global) (new-global store number))
              (else (new-tag store number)))))

    ;; A tag names exceptions of guests. It can only be given to another instance.
    (define-record-type tag
      (new-tag store number)
      tag?
      (store tag-store)
      (number tag-number))

    ;; The export of that name: a procedure, a memory, a table, a global variable or a tag of
    ;; exceptions. #f if there is none.
    (define (instance-export instance name)
      (check-instance 'instance-export instance)
      (check-argument 'instance-export 2 string? "string" name)
      (let loop ((rows (exports-of instance)))
        (cond ((null? rows) #f)
              ((string=? (vector-ref (car rows) 0) name)
               (item-of (instance-store instance) (car rows)))
              (else (loop (cdr rows))))))

    ;; All exports: pairs of name and item.
    (define (instance-exports instance)
      (check-instance 'instance-exports instance)
      (map (lambda (row) (cons (vector-ref row 0) (item-of (instance-store instance) row)))
           (exports-of instance)))

    ;; Calls an exported function.
    (define (call-export instance name . arguments)
      (let ((export (instance-export instance name)))
        (if (not (procedure? export))
            (raise (%make-condition 'wasm (string-append "the instance exports no function " name)
                                    (list instance) 'call-export)))
        (apply export arguments)))

    ;; Memories.

    (define-record-type memory
      (new-memory store number)
      memory?
      (store memory-store)
      (number memory-number))

    (define (check-memory who object)
      (check-argument who 1 memory? "memory" object))

    ;; A memory of so many pages of 65,536 bytes. One that is `#:shared` has a maximum, and can be
    ;; imported by instances of all stores.
    (define* (make-memory store pages #:key (maximum #f) (shared #f))
      (check-store 'make-memory store)
      (check-index 'make-memory 2 pages)
      (if (and shared (not (exact-nonnegative-integer? maximum)))
          (raise-bad-option 'make-memory "#:maximum" "a number of pages if the memory is shared"
                            maximum))
      (new-memory store (%wasm-memory store pages maximum #f (if shared #t #f))))

    ;; Whether instances of several stores can have a memory.
    (define (memory-shared? memory)
      (check-memory 'memory-shared? memory)
      (%wasm-memory-shared? (memory-store memory) (memory-number memory)))

    ;; Wakes guests that wait for an address of a shared memory, the longest first: `#:count` at
    ;; most, or all. How many there were.
    (define* (memory-notify! memory address #:key (count #f))
      (check-memory 'memory-notify! memory)
      (check-index 'memory-notify! 2 address)
      (check-limit 'memory-notify! "#:count" count)
      (%wasm-memory-notify (memory-store memory) (memory-number memory) address count))

    (define (memory-pages memory)
      (check-memory 'memory-pages memory)
      (%wasm-memory-pages (memory-store memory) (memory-number memory)))

    ;; Its bytes.
    (define (memory-size memory)
      (check-memory 'memory-size memory)
      (* 65536 (%wasm-memory-pages (memory-store memory) (memory-number memory))))

    ;; Adds pages; how many there were, or #f if so many are not to be had.
    (define (memory-grow! memory pages)
      (check-memory 'memory-grow! memory)
      (check-index 'memory-grow! 2 pages)
      (%wasm-memory-grow! (memory-store memory) (memory-number memory) pages))

    (define-syntax define-accessors
      (syntax-rules ()
        ((_ (reference change kind) ...)
         (begin
           (begin
             (define (reference memory address)
               (check-memory 'reference memory)
               (check-index 'reference 2 address)
               (%wasm-memory-ref (memory-store memory) (memory-number memory) address kind))
             (define (change memory address value)
               (check-memory 'change memory)
               (check-index 'change 2 address)
               (%wasm-memory-set! (memory-store memory) (memory-number memory) address kind value)))
           ...))))

    (define-accessors
      (memory-u8-ref memory-u8-set! guest-number/u8)
      (memory-s8-ref memory-s8-set! guest-number/s8)
      (memory-u16-ref memory-u16-set! guest-number/u16)
      (memory-s16-ref memory-s16-set! guest-number/s16)
      (memory-u32-ref memory-u32-set! guest-number/u32)
      (memory-s32-ref memory-s32-set! guest-number/s32)
      (memory-u64-ref memory-u64-set! guest-number/u64)
      (memory-s64-ref memory-s64-set! guest-number/s64)
      (memory-f32-ref memory-f32-set! guest-number/f32)
      (memory-f64-ref memory-f64-set! guest-number/f64))

    ;; A copy of the bytes from `start` to `end`.
    (define (memory-bytes memory start end)
      (check-memory 'memory-bytes memory)
      (check-range 'memory-bytes start end)
      (%wasm-memory-bytes (memory-store memory) (memory-number memory) start (- end start)))

    (define (check-range who start end)
      (check-index who 2 start)
      (check-index who 3 end)
      (if (< end start)
          (%range-error who 3 "at least the start" end)))

    ;; Copies a bytevector, or a part of it, to an address.
    (define* (memory-copy! memory address bytes #:optional (start 0) (end #f))
      (check-memory 'memory-copy! memory)
      (check-index 'memory-copy! 2 address)
      (check-argument 'memory-copy! 3 bytevector? "bytevector" bytes)
      (%wasm-memory-copy! (memory-store memory) (memory-number memory) address bytes start
                          (or end (bytevector-length bytes))))

    ;; The UTF-8 text from `start` to `end`.
    (define (memory-string memory start end)
      (check-memory 'memory-string memory)
      (check-range 'memory-string start end)
      (utf8->string (memory-bytes memory start end)))

    ;; Writes a text in UTF-8 to an address; the number of bytes.
    (define (memory-string-set! memory address text)
      (check-memory 'memory-string-set! memory)
      (check-argument 'memory-string-set! 3 string? "string" text)
      (let ((bytes (string->utf8 text)))
        (memory-copy! memory address bytes)
        (bytevector-length bytes)))

    ;; The UTF-8 text from an address to the next zero byte.
    (define (memory-c-string memory address)
      (check-memory 'memory-c-string memory)
      (check-index 'memory-c-string 2 address)
      (let ((end (%wasm-memory-find (memory-store memory) (memory-number memory) address 0)))
        (if (not end)
            (%range-error 'memory-c-string 2 "no zero byte follows in the memory" address))
        (memory-string memory address end)))

    ;; Tables.

    (define-record-type table
      (new-table store number)
      table?
      (store table-store)
      (number table-number))

    (define (check-table who object)
      (check-argument who 1 table? "table" object))

    ;; A table of null references of a type, `funcref` or `externref`.
    (define* (make-table store type size #:key (maximum #f))
      (check-store 'make-table store)
      (check-argument 'make-table 2 symbol? "type" type)
      (check-index 'make-table 3 size)
      (new-table store (%wasm-table store type size maximum)))

    (define (table-size table)
      (check-table 'table-size table)
      (%wasm-table-size (table-store table) (table-number table)))

    (define (has-functions? table)
      (eq? (%wasm-table-type (table-store table) (table-number table)) 'funcref))

    (define (element-to-machine table object)
      (if (has-functions? table)
          (function-number (table-store table) object)
          object))

    ;; An element: a function, an object of the program, or #f for the null reference.
    (define (table-ref table index)
      (check-table 'table-ref table)
      (check-index 'table-ref 2 index)
      (let ((element (%wasm-table-ref (table-store table) (table-number table) index)))
        (if (has-functions? table)
            (function-of (table-store table) element)
            element)))

    (define (table-set! table index object)
      (check-table 'table-set! table)
      (check-index 'table-set! 2 index)
      (%wasm-table-set! (table-store table) (table-number table) index
                        (element-to-machine table object)))

    ;; Adds elements; how many there were, or #f if so many are not to be had.
    (define (table-grow! table count object)
      (check-table 'table-grow! table)
      (check-index 'table-grow! 2 count)
      (%wasm-table-grow! (table-store table) (table-number table) count
                         (element-to-machine table object)))

    ;; Global variables.

    (define-record-type global
      (new-global store number)
      global?
      (store global-store)
      (number global-number))

    (define (check-global who object)
      (check-argument who 1 global? "global variable" object))

    ;; A global variable of a type, which guests can assign if `#:mutable` says so.
    (define* (make-global store type value #:key (mutable #f))
      (check-store 'make-global store)
      (check-argument 'make-global 2 symbol? "type" type)
      (new-global store (%wasm-global store type mutable
                                      (if (eq? type 'funcref)
                                          (function-number store value)
                                          value))))

    (define (refers-to-function? global)
      (eq? (car (%wasm-global-type (global-store global) (global-number global))) 'funcref))

    (define (global-ref global)
      (check-global 'global-ref global)
      (let ((value (%wasm-global-value (global-store global) (global-number global))))
        (if (refers-to-function? global)
            (function-of (global-store global) value)
            value)))

    (define (global-set! global value)
      (check-global 'global-set! global)
      (%wasm-set-global-value! (global-store global) (global-number global)
                               (if (refers-to-function? global)
                                   (function-number (global-store global) value)
                                   value)))

    ;; WASI.

    (define-record-type wasi
      (new-wasi handle)
      wasi?
      (handle wasi-handle))

    ;; The world of a WASI guest. `#:arguments` are strings, of which the first is the name of the
    ;; program, and `#:environment` pairs of strings. `#:directories` are paths, pairs of path and
    ;; the guest's name for it, or lists of `read-only`, path and name. Streams are #t for those of
    ;; the process, #f for nothing, or ports of files, pipes and terminals. The input may be a
    ;; string or bytevector, an output the symbol `memory`.
    (define* (make-wasi #:key (arguments '("guest")) (environment '()) (directories '())
                        (input #t) (output #t) (error-output #t))
      (check-list 'make-wasi 1 arguments)
      (check-list 'make-wasi 2 environment)
      (check-list 'make-wasi 3 directories)
      (flush-if-port output)
      (flush-if-port error-output)
      (new-wasi (%wasi arguments environment (map directory-row directories)
                       (if (string? input) (string->utf8 input) input)
                       output error-output)))

    ;; Buffered output comes before that of the guest.
    (define (flush-if-port output)
      (cond ((port? output) (flush-output-port output))
            ((eq? output #t) (flush-output-port (current-output-port)))))

    (define (directory-row directory)
      (cond ((string? directory) (vector directory directory #f))
            ((and (pair? directory) (eq? (car directory) 'read-only))
             (let ((row (directory-row (if (pair? (cddr directory))
                                           (cons (cadr directory) (caddr directory))
                                           (cadr directory)))))
               (vector (vector-ref row 0) (vector-ref row 1) #t)))
            ((and (pair? directory) (string? (car directory)) (string? (cdr directory)))
             (vector (car directory) (cdr directory) #f))
            (else
             (raise-bad-option 'make-wasi "#:directories" "a list of paths" directory))))

    (define (wasi-function store wasi row)
      (and (string=? (vector-ref row 0) "wasi_snapshot_preview1")
           (%wasi-function store (wasi-handle wasi) (vector-ref row 1))))

    (define (check-wasi who object)
      (check-argument who 1 wasi? "WASI" object))

    ;; Takes the bytes that the guest has written since the last time, if its output is `memory`.
    (define (wasi-output wasi)
      (check-wasi 'wasi-output wasi)
      (%wasi-output (wasi-handle wasi)))

    (define (wasi-error-output wasi)
      (check-wasi 'wasi-error-output wasi)
      (%wasi-error-output (wasi-handle wasi)))

    ;; Runs a WASI command; its exit code. The keywords are those of `make-store`. Nothing of the
    ;; guest is left afterwards.
    (define* (run-command module wasi #:key (fuel #f) (memory-limit #f)
                          (stack-size default-stack-size) (imports '()))
      (check-module 'run-command module)
      (check-argument 'run-command 2 wasi? "WASI" wasi)
      (let ((store (make-store #:fuel fuel #:memory-limit memory-limit #:stack-size stack-size)))
        (dynamic-wind
         values
         (lambda () (exit-code-of module wasi store imports))
         (lambda () (%wasm-release! store)))))

    (define (exit-code-of module wasi store imports)
      (call-with-escape-continuation
       (lambda (return)
         (with-exception-handler
           (lambda (object)
             (if (and (trap? object) (eq? (trap-kind object) 'exit))
                 (return (caddr (error-object-irritants object)))
                 (raise-continuable object)))
           (lambda ()
             (call-export (instantiate module #:wasi wasi #:store store #:imports imports)
                          "_start")
             0)))))

    ;; Errors.

    (define (wasm-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'wasm)))

    ;; Whether a guest has done what the standard forbids, or has used up a limit.
    (define (trap? object)
      (and (wasm-error? object)
           (let ((irritants (error-object-irritants object)))
             (and (pair? irritants) (eq? (car irritants) 'trap)))))

    ;; The kind of a trap, such as `unreachable` or `out-of-fuel`.
    (define (trap-kind object)
      (check-argument 'trap-kind 1 trap? "trap" object)
      (cadr (error-object-irritants object)))

    ;; The names of the guest's functions whose calls a trap has ended, the innermost first. Of many
    ;; there are the newest.
    (define (trap-backtrace object)
      (check-argument 'trap-backtrace 1 trap? "trap" object)
      (let ((part (memq 'in (error-object-irritants object))))
        (if part (cadr part) '())))))
