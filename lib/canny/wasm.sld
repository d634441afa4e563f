;;; (canny wasm): guests in WebAssembly.
;;;
;;;     (define module (read-module "filter.wasm"))
;;;     (define filter (instantiate module #:imports `(("env" ("log" . ,display)))))
;;;     (call-export filter "run" 42)
;;;
;;; A guest has nothing but what it is given: its own memory and the procedures that it imports.
;;;
;;; Instances that share something live in one *store*, which one task at a time may call.
;;; Functions, memories, tables, global variables and tags are numbers in a store; a shared memory
;;; has one in each store whose instances import it.
;;;
;;; This file has modules, instances, WASI and errors. It includes `wasm/calls.scm`, with stores and
;;; calls, and files for exceptions, objects of guests, memories and tables. Records whose first
;;; field has a name with a `%` are printed without their fields.

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
          memory-write memory-read!
          make-table table? table-size table-ref table-set! table-grow!
          make-global global? global-ref global-set!
          guest-object? guest-struct? guest-struct-size guest-struct-ref guest-struct-set!
          guest-array? guest-array-length guest-array-ref guest-array-set!
          make-tag tag? tag-types
          guest-exception? guest-exception-tag guest-exception-values raise-guest-exception
          make-wasi wasi? wasi-output wasi-error-output run-command
          compile-component read-component component? component-imports component-exports
          instantiate-component component-instance?
          guest-resource? guest-resource-type drop-guest-resource!
          component-error? component-error-value raise-component-error
          wasm-error? trap? trap-kind trap-backtrace
          ;; For `(canny web components)`.
          %handler-index %call-handler %end-instance!
          (rename wasi-handle %wasi-handle) (rename finish-output %finish-output)
          (rename component-instance-store %component-store)
          (rename default-stack-size %default-stack-size))
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (only (canny data lists) map for-each assoc)
          (only (canny tasks) await make-future future-resolve! %raise-if-interrupted)
          (only (canny files) file->bytevector)
          (only (canny net) listener? %listener-socket)
          (canny machine arguments))
  (include "wasm/calls.scm" "wasm/exceptions.scm" "wasm/objects.scm" "wasm/memories.scm"
           "wasm/tables.scm" "wasm/components.scm")
  (begin

    ;; Modules.

    (define-record-type module
      (new-module %handle)
      module?
      (%handle module-handle))

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

    ;; Instances.

    (define-record-type instance
      (new-instance %module store exports)
      instance?
      (%module instance-module)
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
        (name-tags! store (exports-of instance))
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
            ((tag? item) (tag-store item))
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
              (else (tag-of store number)))))

    ;; The export of that name: a procedure, a memory, a table, a global variable or a tag of
    ;; exceptions. #f if there is none.
    (define (instance-export instance name)
      (if (component-instance? instance)
          (component-export instance name)
          (module-export instance name)))

    (define (module-export instance name)
      (check-instance 'instance-export instance)
      (check-argument 'instance-export 2 string? "string" name)
      (let loop ((rows (exports-of instance)))
        (cond ((null? rows) #f)
              ((string=? (vector-ref (car rows) 0) name)
               (item-of (instance-store instance) (car rows)))
              (else (loop (cdr rows))))))

    ;; All exports: pairs of name and item.
    (define (instance-exports instance)
      (cond ((component-instance? instance) (component-instance-procedures instance))
            (else
             (check-instance 'instance-exports instance)
             (map (lambda (row) (cons (vector-ref row 0) (item-of (instance-store instance) row)))
                  (exports-of instance)))))

    ;; Calls an exported function.
    (define (call-export instance name . arguments)
      (let ((export (instance-export instance name)))
        (if (not (procedure? export))
            (raise (%make-condition 'wasm (string-append "the instance exports no function " name)
                                    (list instance) 'call-export)))
        (apply export arguments)))

    ;; WASI.

    (define-record-type wasi
      (new-wasi %handle)
      wasi?
      (%handle wasi-handle))

    ;; The world of a WASI guest. `#:arguments` are strings, of which the first is the name of the
    ;; program, and `#:environment` pairs of strings. `#:directories` are paths, pairs of path and
    ;; the guest's name for it, or lists of `read-only`, path and name. Streams are #t for those of
    ;; the process, #f for nothing, or ports of files, pipes and terminals. The input may be a
    ;; string or bytevector, an output the symbol `memory`. A module gets `#:listeners` behind the
    ;; directories. A component gets sockets and looks names up if `#:network` says so. `#:http`
    ;; lets it make requests, which `(canny web components)` carries out.
    (define* (make-wasi #:key (arguments '("guest")) (environment '()) (directories '())
                        (input #t) (output #t) (error-output #t) (listeners '()) (network #f)
                        (http #f))
      (check-list 'make-wasi 1 arguments)
      (check-list 'make-wasi 2 environment)
      (check-list 'make-wasi 3 directories)
      (if (not (and (list? listeners) (every-listener? listeners)))
          (raise-bad-option 'make-wasi "#:listeners" "a list of listeners" listeners))
      (flush-if-port output)
      (flush-if-port error-output)
      (new-wasi (%wasi arguments environment (map directory-row directories)
                       (if (string? input) (string->utf8 input) input)
                       output error-output (and network #t) (and http #t)
                       (map %listener-socket listeners))))

    (define (every-listener? objects)
      (or (null? objects)
          (and (listener? (car objects)) (every-listener? (cdr objects)))))

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

    ;; Runs a WASI command, a module or a component; its exit code. The keywords are those of
    ;; `make-store`. Nothing of the guest is left afterwards.
    (define* (run-command module wasi #:key (fuel #f) (memory-limit #f)
                          (stack-size default-stack-size) (imports '()))
      (if (not (component? module))
          (check-argument 'run-command 1 module? "module or component" module))
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
             (if (component? module)
                 (run-component module wasi store imports)
                 (begin
                   (call-export (instantiate module #:wasi wasi #:store store #:imports imports)
                                "_start")
                   0)))))))

    ;; Errors.

    (define (wasm-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'wasm)))

    ;; Whether a guest has done what the standard forbids, or has used up a limit.
    (define (trap? object)
      (and (wasm-error? object)
           (let ((irritants (error-object-irritants object)))
             (and (pair? irritants) (eq? (car irritants) 'trap)))))

    (define (ended-call? object)
      (or (trap? object) (guest-exception? object)))

    ;; The kind of a trap, such as `unreachable` or `out-of-fuel`.
    (define (trap-kind object)
      (check-argument 'trap-kind 1 trap? "trap" object)
      (cadr (error-object-irritants object)))

    ;; The names of the guest's functions whose calls a trap or an exception has ended, the
    ;; innermost first. Of many there are the newest.
    (define (trap-backtrace object)
      (check-argument 'trap-backtrace 1 ended-call? "trap or exception of a guest" object)
      (let ((part (memq 'in (error-object-irritants object))))
        (if part (cadr part) '())))))
