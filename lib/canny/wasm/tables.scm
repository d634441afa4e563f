;;; Part of (canny wasm): tables and global variables.

(define-record-type table
  (new-table %store number)
  table?
  (%store table-store)
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
  (new-global %store number)
  global?
  (%store global-store)
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
