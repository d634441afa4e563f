;;; (srfi 47): arrays, as before SRFI 63.
;;;
;;; The procedures of SRFI 63; only the prototypes have other names.

(define-library (srfi 47)
  (export
   array? equal? array-rank array-dimensions make-array make-shared-array array-in-bounds?
   array-ref array-set!
   (rename A:floC64b ac64) (rename A:floC32b ac32) (rename A:floR64b ar64)
   (rename A:floR32b ar32) (rename A:fixZ64b as64) (rename A:fixZ32b as32)
   (rename A:fixZ16b as16) (rename A:fixZ8b as8) (rename A:fixN64b au64) (rename A:fixN32b au32)
   (rename A:fixN16b au16) (rename A:fixN8b au8) (rename A:bool at1))
  (import (srfi 63)))
