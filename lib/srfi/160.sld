;;; (srfi 160): homogeneous numeric vectors.
;;;
;;; This name has the basic procedures of all types; `(srfi 160 f64)` and its like have everything
;;; of one.

(define-library (srfi 160)
  (export
   make-u8vector u8vector u8vector? u8vector-length u8vector-ref u8vector-set! u8vector->list
   list->u8vector u8?
   make-s8vector s8vector s8vector? s8vector-length s8vector-ref s8vector-set! s8vector->list
   list->s8vector s8?
   make-u16vector u16vector u16vector? u16vector-length u16vector-ref u16vector-set!
   u16vector->list list->u16vector u16?
   make-s16vector s16vector s16vector? s16vector-length s16vector-ref s16vector-set!
   s16vector->list list->s16vector s16?
   make-u32vector u32vector u32vector? u32vector-length u32vector-ref u32vector-set!
   u32vector->list list->u32vector u32?
   make-s32vector s32vector s32vector? s32vector-length s32vector-ref s32vector-set!
   s32vector->list list->s32vector s32?
   make-u64vector u64vector u64vector? u64vector-length u64vector-ref u64vector-set!
   u64vector->list list->u64vector u64?
   make-s64vector s64vector s64vector? s64vector-length s64vector-ref s64vector-set!
   s64vector->list list->s64vector s64?
   make-f32vector f32vector f32vector? f32vector-length f32vector-ref f32vector-set!
   f32vector->list list->f32vector f32?
   make-f64vector f64vector f64vector? f64vector-length f64vector-ref f64vector-set!
   f64vector->list list->f64vector f64?
   make-c64vector c64vector c64vector? c64vector-length c64vector-ref c64vector-set!
   c64vector->list list->c64vector c64?
   make-c128vector c128vector c128vector? c128vector-length c128vector-ref c128vector-set!
   c128vector->list list->c128vector c128?)
  (import (srfi 160 base)))
