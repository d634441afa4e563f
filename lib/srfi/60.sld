;;; (srfi 60): integers as bits.
;;;
;;; Other names, and for fields other orders of arguments, of what SRFI 151 has.

(define-library (srfi 60)
  (export
   (rename bitwise-and logand) bitwise-and (rename bitwise-ior logior) bitwise-ior
   (rename bitwise-xor logxor) bitwise-xor (rename bitwise-not lognot) bitwise-not
   bitwise-if (rename bitwise-if bitwise-merge)
   (rename any-bit-set? logtest) (rename any-bit-set? any-bits-set?)
   (rename bit-count logcount) bit-count
   integer-length (rename first-set-bit log2-binary-factors) first-set-bit
   (rename bit-set? logbit?) bit-set? copy-bit bit-field copy-bit-field
   (rename arithmetic-shift ash) arithmetic-shift
   (rename bit-field-rotate rotate-bit-field) (rename bit-field-reverse reverse-bit-field)
   integer->list list->integer (rename high-first booleans->integer))
  (import (canny primitives) (canny syntax)
          (only (srfi 151) any-bit-set? bit-field-replace bit-field-rotate bit-field-reverse
                bits->list list->bits))
  (begin

    (define (copy-bit-field to from start end)
      (bit-field-replace to from start end))

    (define integer->list
      (case-lambda
        ((integer) (reverse! (bits->list integer)))
        ((integer length)
         (reverse! (bits->list (bit-field integer 0 length) length)))))

    (define (list->integer list)
      (list->bits (reverse list)))

    ;; The first boolean is the highest bit.
    (define (high-first . booleans)
      (list->bits (reverse! booleans)))))
