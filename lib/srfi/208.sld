;;; (srfi 208): NaN procedures.
;;;
;;; A NaN has a sign, a bit that is set in a quiet one, and a payload of 51 bits.

(define-library (srfi 208)
  (export make-nan nan-negative? nan-quiet? nan-payload nan=?)
  (import (canny primitives) (canny syntax))
  (begin

    (define (bits who position object)
      (if (not (and (flonum? object) (nan? object)))
          (%type-error who position "real NaN" object))
      (%flonum->bits object))

    (define payload-limit (expt 2 51))

    ;; A signaling NaN has a payload, else it would be an infinity.
    (define make-nan
      (case-lambda
        ((negative? quiet? payload)
         (if (not (and (exact-nonnegative-integer? payload) (< payload payload-limit)))
             (%range-error 'make-nan 3 "an exact integer of at most 51 bits" payload))
         (if (and (not quiet?) (eqv? payload 0))
             (%range-error 'make-nan 3 "positive in a signaling NaN" payload))
         (%bits->flonum (bitwise-ior (if negative? (arithmetic-shift 1 63) 0)
                                     (arithmetic-shift #x7ff 52)
                                     (if quiet? payload-limit 0)
                                     payload)))
        ((negative? quiet? payload like)
         (if (not (flonum? like))
             (%type-error 'make-nan 4 "flonum" like))
         (make-nan negative? quiet? payload))))

    (define (nan-negative? nan)
      (bit-set? 63 (bits 'nan-negative? 1 nan)))

    (define (nan-quiet? nan)
      (bit-set? 51 (bits 'nan-quiet? 1 nan)))

    (define (nan-payload nan)
      (bit-field (bits 'nan-payload 1 nan) 0 51))

    (define (nan=? left right)
      (= (bits 'nan=? 1 left) (bits 'nan=? 2 right)))))
