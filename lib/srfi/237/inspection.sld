;;; (srfi 237 inspection): asking records and record types.
;;;
;;; A record of an opaque type is no record here.

(define-library (srfi 237 inspection)
  (export record? record-rtd record-type-name record-type-parent record-type-uid
          record-type-generative? record-type-sealed? record-type-opaque?
          record-type-field-names record-field-mutable? record-uid->rtd)
  (import (canny syntax)
          (rename (canny primitives)
                  (record? record?*)
                  (record-type-name record-type-name*)
                  (record-type-parent record-type-parent*)
                  (record-type-field-names all-field-names))
          (canny machine record-types) (srfi 237 procedural))
  (begin

    (define (record? object)
      (and (record?* object)
           (not (%facts-opaque? (record-type-descriptor object)))))

    (define (record-rtd record)
      (if (not (record? record))
          (%type-error 'record-rtd 1 "record of a type that is not opaque" record))
      (record-type-descriptor record))

    (define (record-type-name type)
      (record-type-name* (%type-of 'record-type-name 1 type)))

    (define (record-type-parent type)
      (record-type-parent* (%type-of 'record-type-parent 1 type)))

    (define (record-type-uid type)
      (%facts-uid (%type-of 'record-type-uid 1 type)))

    (define (record-type-generative? type)
      (%facts-generative? (%type-of 'record-type-generative? 1 type)))

    (define (record-type-sealed? type)
      (%facts-sealed? (%type-of 'record-type-sealed? 1 type)))

    (define (record-type-opaque? type)
      (%facts-opaque? (%type-of 'record-type-opaque? 1 type)))

    (define (record-type-field-names type)
      (list->vector (own-field-names (%type-of 'record-type-field-names 1 type))))

    (define (record-field-mutable? type index)
      (let ((type (%type-of 'record-field-mutable? 1 type)))
        (if (not (and (exact-nonnegative-integer? index) (< index (own-field-count type))))
            (%range-error 'record-field-mutable? 2 "the index of a field of the type itself"
                          index))
        (own-field-mutable? type index)))

    (define (record-uid->rtd uid)
      (if (not (symbol? uid))
          (%type-error 'record-uid->rtd 1 "symbol" uid))
      (%type-with-uid uid))))
