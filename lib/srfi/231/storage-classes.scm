;;; Part of (srfi 231): how the bodies of specialized arrays are made, read and changed.

(define-record-type <storage-class>
  (make-storage-class getter setter checker maker copier length default data? data->body)
  storage-class?
  (getter storage-class-getter)
  (setter storage-class-setter)
  (checker storage-class-checker)
  (maker storage-class-maker)
  (copier storage-class-copier)
  (length storage-class-length)
  (default storage-class-default)
  (data? storage-class-data?)
  (data->body storage-class-data->body))

(define generic-storage-class
  (make-storage-class vector-ref vector-set! (lambda (object) #t) make-vector vector-copy!
                      vector-length #f vector? values))

(define char-storage-class
  (make-storage-class string-ref string-set! char? make-string string-copy! string-length
                      #\0 string? values))

;; Floats take exact numbers too, but what is stored and read back has to satisfy the checker.
(define-syntax define-storage-classes
  (syntax-rules ()
    ((_ (name ref set! element? make copy! length default vector?) ...)
     (begin
       (define name
         (make-storage-class ref set! element? make copy! length default vector? values))
       ...))))

(define-storage-classes
  (s8-storage-class s8vector-ref s8vector-set! s8? make-s8vector s8vector-copy! s8vector-length
                    0 s8vector?)
  (s16-storage-class s16vector-ref s16vector-set! s16? make-s16vector s16vector-copy!
                     s16vector-length 0 s16vector?)
  (s32-storage-class s32vector-ref s32vector-set! s32? make-s32vector s32vector-copy!
                     s32vector-length 0 s32vector?)
  (s64-storage-class s64vector-ref s64vector-set! s64? make-s64vector s64vector-copy!
                     s64vector-length 0 s64vector?)
  (u8-storage-class u8vector-ref u8vector-set! u8? make-u8vector u8vector-copy! u8vector-length
                    0 u8vector?)
  (u16-storage-class u16vector-ref u16vector-set! u16? make-u16vector u16vector-copy!
                     u16vector-length 0 u16vector?)
  (u32-storage-class u32vector-ref u32vector-set! u32? make-u32vector u32vector-copy!
                     u32vector-length 0 u32vector?)
  (u64-storage-class u64vector-ref u64vector-set! u64? make-u64vector u64vector-copy!
                     u64vector-length 0 u64vector?)
  (f32-storage-class f32vector-ref f32vector-set! f32? make-f32vector f32vector-copy!
                     f32vector-length 0.0 f32vector?)
  (f64-storage-class f64vector-ref f64vector-set! f64? make-f64vector f64vector-copy!
                     f64vector-length 0.0 f64vector?)
  (c64-storage-class c64vector-ref c64vector-set! c64? make-c64vector c64vector-copy!
                     c64vector-length 0.0+0.0i c64vector?)
  (c128-storage-class c128vector-ref c128vector-set! c128? make-c128vector c128vector-copy!
                      c128vector-length 0.0+0.0i c128vector?))

;; Bits are bytes of 0 and 1.
(define (bit? object) (or (eqv? object 0) (eqv? object 1)))

(define (bits? object)
  (and (bytevector? object)
       (let loop ((index (- (bytevector-length object) 1)))
         (or (< index 0)
             (and (bit? (bytevector-u8-ref object index))
                  (loop (- index 1)))))))

(define u1-storage-class
  (make-storage-class bytevector-u8-ref
                      (lambda (body index bit)
                        (if (not (bit? bit))
                            (%type-error 'array-set! 2 "bit" bit))
                        (bytevector-u8-set! body index bit))
                      bit? make-bytevector bytevector-copy! bytevector-length 0 bits? values))

;; There are no vectors of such small floats.
(define f8-storage-class #f)
(define f16-storage-class #f)
