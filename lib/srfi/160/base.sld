;;; (srfi 160 base): the basic procedures of all types of homogeneous numeric vectors.
;;;
;;; A u8vector is a bytevector.

(define-library (srfi 160 base)
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
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (rename (only (canny primitives) bytevector? bytevector-length bytevector-u8-ref
                        bytevector-u8-set!)
                  (bytevector? u8vector?) (bytevector-length u8vector-length)
                  (bytevector-u8-ref u8vector-ref) (bytevector-u8-set! u8vector-set!))
          (only (canny primitives)
                s8vector? s8vector-length s8vector-ref s8vector-set! u16vector? u16vector-length
                u16vector-ref u16vector-set! s16vector? s16vector-length s16vector-ref
                s16vector-set! u32vector? u32vector-length u32vector-ref u32vector-set! s32vector?
                s32vector-length s32vector-ref s32vector-set! u64vector? u64vector-length
                u64vector-ref u64vector-set! s64vector? s64vector-length s64vector-ref
                s64vector-set! f32vector? f32vector-length f32vector-ref f32vector-set! f64vector?
                f64vector-length f64vector-ref f64vector-set! c64vector? c64vector-length
                c64vector-ref c64vector-set! c128vector? c128vector-length c128vector-ref
                c128vector-set!))
  (begin
    (define-numeric-procedures element-type/u8
      (make-u8vector numeric:make) (u8vector numeric:vector) (u8? numeric:element?)
      (u8vector->list numeric:->list) (list->u8vector numeric:list->))
    (define-numeric-procedures element-type/s8
      (make-s8vector numeric:make) (s8vector numeric:vector) (s8? numeric:element?)
      (s8vector->list numeric:->list) (list->s8vector numeric:list->))
    (define-numeric-procedures element-type/u16
      (make-u16vector numeric:make) (u16vector numeric:vector) (u16? numeric:element?)
      (u16vector->list numeric:->list) (list->u16vector numeric:list->))
    (define-numeric-procedures element-type/s16
      (make-s16vector numeric:make) (s16vector numeric:vector) (s16? numeric:element?)
      (s16vector->list numeric:->list) (list->s16vector numeric:list->))
    (define-numeric-procedures element-type/u32
      (make-u32vector numeric:make) (u32vector numeric:vector) (u32? numeric:element?)
      (u32vector->list numeric:->list) (list->u32vector numeric:list->))
    (define-numeric-procedures element-type/s32
      (make-s32vector numeric:make) (s32vector numeric:vector) (s32? numeric:element?)
      (s32vector->list numeric:->list) (list->s32vector numeric:list->))
    (define-numeric-procedures element-type/u64
      (make-u64vector numeric:make) (u64vector numeric:vector) (u64? numeric:element?)
      (u64vector->list numeric:->list) (list->u64vector numeric:list->))
    (define-numeric-procedures element-type/s64
      (make-s64vector numeric:make) (s64vector numeric:vector) (s64? numeric:element?)
      (s64vector->list numeric:->list) (list->s64vector numeric:list->))
    (define-numeric-procedures element-type/f32
      (make-f32vector numeric:make) (f32vector numeric:vector) (f32? numeric:element?)
      (f32vector->list numeric:->list) (list->f32vector numeric:list->))
    (define-numeric-procedures element-type/f64
      (make-f64vector numeric:make) (f64vector numeric:vector) (f64? numeric:element?)
      (f64vector->list numeric:->list) (list->f64vector numeric:list->))
    (define-numeric-procedures element-type/c64
      (make-c64vector numeric:make) (c64vector numeric:vector) (c64? numeric:element?)
      (c64vector->list numeric:->list) (list->c64vector numeric:list->))
    (define-numeric-procedures element-type/c128
      (make-c128vector numeric:make) (c128vector numeric:vector) (c128? numeric:element?)
      (c128vector->list numeric:->list) (list->c128vector numeric:list->))))
