;;; (srfi 237): R6RS records, refined.
;;;
;;; The external representation of records, `#r(...)`, is not there.

(define-library (srfi 237)
  (export define-record-type define-record-name record-type-descriptor
          record-constructor-descriptor
          fields mutable immutable parent protocol sealed opaque nongenerative generative
          parent-rtd
          make-record-type-descriptor record-type-descriptor?
          make-record-descriptor make-record-constructor-descriptor
          record-descriptor-rtd record-descriptor-parent
          record-descriptor? record-constructor-descriptor?
          record-constructor record-predicate record-accessor record-mutator
          record? record-rtd record-type-name record-type-parent record-type-uid
          record-type-generative? record-type-sealed? record-type-opaque?
          record-type-field-names record-field-mutable? record-uid->rtd)
  (import (srfi 237 syntactic) (srfi 237 procedural) (srfi 237 inspection)))
