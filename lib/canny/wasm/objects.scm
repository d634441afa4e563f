;;; Part of (canny wasm): structs, arrays and exceptions of guests that Scheme has.
;;;
;;; The machine makes these records, one for each object as long as there is one. An object of a
;;; guest lives at least as long as its record.

(define-record-type guest-object
  (new-guest-object %store handle number name)
  guest-object?
  (%store guest-object-store)
  ;; It releases the guest's object when it is found dead.
  (handle guest-object-handle)
  (number guest-object-number)
  (name guest-object-name))

(define (guest-struct? object)
  (and (guest-object? object) (eq? (guest-object-name object) 'struct)))

(define (guest-array? object)
  (and (guest-object? object) (eq? (guest-object-name object) 'array)))

(define (check-struct who object)
  (check-argument who 1 guest-struct? "struct of a guest" object))

(define (check-array who object)
  (check-argument who 1 guest-array? "array of a guest" object))

(define (field-count object)
  (%wasm-field-count (guest-object-store object) object))

(define (check-field who object index)
  (check-index who 2 index)
  (let ((count (field-count object)))
    (if (>= index count)
        (%range-error who 2 (string-append "less than " (number->string count)) index))))

(define (field-ref object index)
  (let* ((store (guest-object-store object))
         (value (%wasm-field store object index)))
    (if (eq? (%wasm-field-type store object index) 'funcref)
        (function-of store value)
        value)))

(define (field-set! object index value)
  (let ((store (guest-object-store object)))
    (%wasm-set-field! store object index
                      (if (eq? (%wasm-field-type store object index) 'funcref)
                          (function-number store value)
                          value))))

;; The number of fields.
(define (guest-struct-size object)
  (check-struct 'guest-struct-size object)
  (field-count object))

;; A field, from 0. Small integers of 8 and 16 bits have no sign.
(define (guest-struct-ref object index)
  (check-struct 'guest-struct-ref object)
  (check-field 'guest-struct-ref object index)
  (field-ref object index))

;; Changes a field that may be assigned.
(define (guest-struct-set! object index value)
  (check-struct 'guest-struct-set! object)
  (check-field 'guest-struct-set! object index)
  (field-set! object index value))

;; The number of elements.
(define (guest-array-length object)
  (check-array 'guest-array-length object)
  (field-count object))

;; An element.
(define (guest-array-ref object index)
  (check-array 'guest-array-ref object)
  (check-field 'guest-array-ref object index)
  (field-ref object index))

;; Changes an element, if the array's elements may be assigned.
(define (guest-array-set! object index value)
  (check-array 'guest-array-set! object)
  (check-field 'guest-array-set! object index)
  (field-set! object index value))
