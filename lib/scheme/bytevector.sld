;;; (scheme bytevector): the bytevectors of R6RS, as R7RS-large names them.
;;;
;;; Numbers of 8, 16, 32 and 64 bits and floats are primitives; integers of other sizes are put
;;; together of bytes. `bytevector-copy!` and `bytevector-fill!` are those of R6RS, with source
;;; before target.

(define-library (scheme bytevector)
  (export
   endianness native-endianness
   bytevector? make-bytevector bytevector-length bytevector=? bytevector-fill!
   (rename copy-bytes! bytevector-copy!) bytevector-copy
   bytevector-u8-ref bytevector-s8-ref bytevector-u8-set! bytevector-s8-set!
   bytevector->u8-list u8-list->bytevector
   bytevector-uint-ref bytevector-sint-ref bytevector-uint-set! bytevector-sint-set!
   bytevector->uint-list bytevector->sint-list uint-list->bytevector sint-list->bytevector
   bytevector-u16-ref bytevector-s16-ref bytevector-u16-native-ref bytevector-s16-native-ref
   bytevector-u16-set! bytevector-s16-set! bytevector-u16-native-set! bytevector-s16-native-set!
   bytevector-u32-ref bytevector-s32-ref bytevector-u32-native-ref bytevector-s32-native-ref
   bytevector-u32-set! bytevector-s32-set! bytevector-u32-native-set! bytevector-s32-native-set!
   bytevector-u64-ref bytevector-s64-ref bytevector-u64-native-ref bytevector-s64-native-ref
   bytevector-u64-set! bytevector-s64-set! bytevector-u64-native-set! bytevector-s64-native-set!
   bytevector-ieee-single-ref bytevector-ieee-single-native-ref
   bytevector-ieee-single-set! bytevector-ieee-single-native-set!
   bytevector-ieee-double-ref bytevector-ieee-double-native-ref
   bytevector-ieee-double-set! bytevector-ieee-double-native-set!
   string->utf8 string->utf16 string->utf32 utf8->string utf16->string utf32->string)
  (import (canny machine protocols) (canny primitives) (canny syntax))
  (begin

    (define-syntax endianness
      (syntax-rules (big little)
        ((_ big) 'big)
        ((_ little) 'little)))

    (define (native-endianness)
      (if (eqv? 1 (%bytevector-element-ref #u8(1 0) 0 element-type/u16 #f)) 'little 'big))

    ;; Checks.

    (define (check-bytevector who position object)
      (if (not (bytevector? object))
          (%type-error who position "bytevector" object)))

    (define (big? who position endianness)
      (cond ((eq? endianness 'big) #t)
            ((eq? endianness 'little) #f)
            (else (%range-error who position "big or little" endianness))))

    (define (check-room who bytevector index size)
      (check-bytevector who 1 bytevector)
      (if (not (and (exact-nonnegative-integer? index)
                    (<= (+ index size) (bytevector-length bytevector))))
          (%range-error who 2 "an index with so many bytes behind it" index)))

    (define (check-aligned who index size)
      (if (not (eqv? 0 (remainder index size)))
          (%range-error who 2 "a multiple of the size" index)))

    (define (check-size who position size)
      (if (not (and (exact-integer? size) (positive? size)))
          (%type-error who position "positive exact integer" size)))

    ;; General operations.

    (define (bytevector=? left right)
      (check-bytevector 'bytevector=? 1 left)
      (check-bytevector 'bytevector=? 2 right)
      (equal? left right))

    (define (copy-bytes! source source-start target target-start count)
      (check-bytevector 'bytevector-copy! 1 source)
      (check-bytevector 'bytevector-copy! 3 target)
      (if (not (exact-nonnegative-integer? count))
          (%type-error 'bytevector-copy! 5 "index" count))
      (if (not (and (exact-nonnegative-integer? source-start)
                    (<= (+ source-start count) (bytevector-length source))))
          (%range-error 'bytevector-copy! 2 "an index with so many bytes behind it" source-start))
      (if (not (and (exact-nonnegative-integer? target-start)
                    (<= (+ target-start count) (bytevector-length target))))
          (%range-error 'bytevector-copy! 4 "an index with room for the bytes" target-start))
      (bytevector-copy! target target-start source source-start (+ source-start count)))

    (define (bytevector->u8-list bytevector)
      (bytevector->list bytevector))

    (define (u8-list->bytevector list)
      (list->bytevector list))

    ;; Numbers of the sizes of the machine, by the codes of their element types.  A native procedure
    ;; wants an index that is a multiple of the size.

    (define native-big? (eq? (native-endianness) 'big))

    (define-syntax define-accessors
      (syntax-rules ()
        ((_ (code size ref set! native-ref native-set!) ...)
         (begin
           (define (ref bytevector index endianness)
             (check-room 'ref bytevector index size)
             (%bytevector-element-ref bytevector index code (big? 'ref 3 endianness)))
           ...
           (define (set! bytevector index number endianness)
             (check-room 'set! bytevector index size)
             (check-element 'set! code number)
             (%bytevector-element-set! bytevector index number code (big? 'set! 4 endianness)))
           ...
           (define (native-ref bytevector index)
             (check-room 'native-ref bytevector index size)
             (check-aligned 'native-ref index size)
             (%bytevector-element-ref bytevector index code native-big?))
           ...
           (define (native-set! bytevector index number)
             (check-room 'native-set! bytevector index size)
             (check-aligned 'native-set! index size)
             (check-element 'native-set! code number)
             (%bytevector-element-set! bytevector index number code native-big?))
           ...))))

    (define (check-element who code number)
      (if (not (%numeric-element? code number))
          (%type-error who 3 (%numeric-element-description code) number)))

    (define-accessors
      (element-type/u16 2 bytevector-u16-ref bytevector-u16-set!
                        bytevector-u16-native-ref bytevector-u16-native-set!)
      (element-type/s16 2 bytevector-s16-ref bytevector-s16-set!
                        bytevector-s16-native-ref bytevector-s16-native-set!)
      (element-type/u32 4 bytevector-u32-ref bytevector-u32-set!
                        bytevector-u32-native-ref bytevector-u32-native-set!)
      (element-type/s32 4 bytevector-s32-ref bytevector-s32-set!
                        bytevector-s32-native-ref bytevector-s32-native-set!)
      (element-type/u64 8 bytevector-u64-ref bytevector-u64-set!
                        bytevector-u64-native-ref bytevector-u64-native-set!)
      (element-type/s64 8 bytevector-s64-ref bytevector-s64-set!
                        bytevector-s64-native-ref bytevector-s64-native-set!)
      (element-type/f32 4 bytevector-ieee-single-ref bytevector-ieee-single-set!
                        bytevector-ieee-single-native-ref bytevector-ieee-single-native-set!)
      (element-type/f64 8 bytevector-ieee-double-ref bytevector-ieee-double-set!
                        bytevector-ieee-double-native-ref bytevector-ieee-double-native-set!))

    (define (bytevector-s8-ref bytevector index)
      (check-room 'bytevector-s8-ref bytevector index 1)
      (%bytevector-element-ref bytevector index element-type/s8 #f))

    (define (bytevector-s8-set! bytevector index number)
      (check-room 'bytevector-s8-set! bytevector index 1)
      (check-element 'bytevector-s8-set! element-type/s8 number)
      (%bytevector-element-set! bytevector index number element-type/s8 #f))

    ;; Integers of any size.

    (define (uint-ref bytevector index big? size)
      (let loop ((count 0) (number 0))
        (if (< count size)
            (loop (+ count 1)
                  (+ (* 256 number)
                     (bytevector-u8-ref bytevector
                                        (+ index (if big? count (- size count 1))))))
            number)))

    (define (uint-set! bytevector index number big? size)
      (let loop ((count 0) (number number))
        (if (< count size)
            (begin
              (bytevector-u8-set! bytevector
                                  (+ index (if big? (- size count 1) count))
                                  (bitwise-and 255 number))
              (loop (+ count 1) (arithmetic-shift number -8))))))

    (define (signed number size)
      (if (bit-set? (- (* 8 size) 1) number)
          (- number (arithmetic-shift 1 (* 8 size)))
          number))

    (define (check-integer who position number least size)
      (if (not (and (exact-integer? number)
                    (<= least number)
                    (< number (+ least (arithmetic-shift 1 (* 8 size))))))
          (%range-error who position "an exact integer of that size" number)))

    (define (least-signed size)
      (- (arithmetic-shift 1 (- (* 8 size) 1))))

    (define (bytevector-uint-ref bytevector index endianness size)
      (check-size 'bytevector-uint-ref 4 size)
      (check-room 'bytevector-uint-ref bytevector index size)
      (uint-ref bytevector index (big? 'bytevector-uint-ref 3 endianness) size))

    (define (bytevector-sint-ref bytevector index endianness size)
      (check-size 'bytevector-sint-ref 4 size)
      (check-room 'bytevector-sint-ref bytevector index size)
      (signed (uint-ref bytevector index (big? 'bytevector-sint-ref 3 endianness) size) size))

    (define (bytevector-uint-set! bytevector index number endianness size)
      (check-size 'bytevector-uint-set! 5 size)
      (check-room 'bytevector-uint-set! bytevector index size)
      (check-integer 'bytevector-uint-set! 3 number 0 size)
      (uint-set! bytevector index number (big? 'bytevector-uint-set! 4 endianness) size))

    (define (bytevector-sint-set! bytevector index number endianness size)
      (check-size 'bytevector-sint-set! 5 size)
      (check-room 'bytevector-sint-set! bytevector index size)
      (check-integer 'bytevector-sint-set! 3 number (least-signed size) size)
      (uint-set! bytevector index number (big? 'bytevector-sint-set! 4 endianness) size))

    (define (->integers who bytevector endianness size convert)
      (check-bytevector who 1 bytevector)
      (check-size who 3 size)
      (let ((big? (big? who 2 endianness)) (length (bytevector-length bytevector)))
        (if (not (eqv? 0 (remainder length size)))
            (%range-error who 3 "a divisor of the length" size))
        (let loop ((index (- length size)) (numbers '()))
          (if (< index 0)
              numbers
              (loop (- index size)
                    (cons (convert (uint-ref bytevector index big? size)) numbers))))))

    (define (bytevector->uint-list bytevector endianness size)
      (->integers 'bytevector->uint-list bytevector endianness size (lambda (number) number)))

    (define (bytevector->sint-list bytevector endianness size)
      (->integers 'bytevector->sint-list bytevector endianness size
                  (lambda (number) (signed number size))))

    (define (integers-> who numbers endianness size least)
      (if (not (list? numbers))
          (%type-error who 1 "list" numbers))
      (check-size who 3 size)
      (let ((big? (big? who 2 endianness))
            (bytevector (make-bytevector (* size (length numbers)))))
        (let loop ((index 0) (rest numbers))
          (if (pair? rest)
              (begin
                (check-integer who 1 (car rest) least size)
                (uint-set! bytevector index (car rest) big? size)
                (loop (+ index size) (cdr rest)))
              bytevector))))

    (define (uint-list->bytevector numbers endianness size)
      (integers-> 'uint-list->bytevector numbers endianness size 0))

    (define (sint-list->bytevector numbers endianness size)
      (check-size 'sint-list->bytevector 3 size)
      (integers-> 'sint-list->bytevector numbers endianness size (least-signed size)))

    ;; Text. Encoders write no byte order mark and are big-endian by default. Decoders look at the
    ;; mark unless an option says to take it for a character.

    (define (check-string who object)
      (if (not (string? object))
          (%type-error who 1 "string" object)))

    (define string->utf16
      (case-lambda
        ((string) (string->utf16 string 'big))
        ((string endianness)
         (check-string 'string->utf16 string)
         (uint-list->bytevector
          (let loop ((index (- (string-length string) 1)) (units '()))
            (if (< index 0)
                units
                (let ((code (char->integer (string-ref string index))))
                  (loop (- index 1)
                        (if (< code #x10000)
                            (cons code units)
                            (let ((rest (- code #x10000)))
                              (cons* (+ #xD800 (quotient rest 1024))
                                     (+ #xDC00 (remainder rest 1024))
                                     units)))))))
          endianness
          2))))

    (define string->utf32
      (case-lambda
        ((string) (string->utf32 string 'big))
        ((string endianness)
         (check-string 'string->utf32 string)
         (uint-list->bytevector
          (let loop ((index (- (string-length string) 1)) (codes '()))
            (if (< index 0)
                codes
                (loop (- index 1) (cons (char->integer (string-ref string index)) codes))))
          endianness
          4))))

    ;; The units behind a mark, if there is one and it counts.
    (define (units who bytevector endianness mandatory? size)
      (check-bytevector who 1 bytevector)
      (let ((length (bytevector-length bytevector)))
        (if (not (eqv? 0 (remainder length size)))
            (%range-error who 1 "whole units" bytevector))
        (let* ((marked? (lambda (endianness)
                          (and (not mandatory?)
                               (>= length size)
                               (eqv? #xFEFF (bytevector-uint-ref bytevector 0 endianness size)))))
               (marked (cond ((marked? 'big) 'big)
                             ((marked? 'little) 'little)
                             (else #f))))
          (bytevector->uint-list (if marked (bytevector-copy bytevector size) bytevector)
                                 (or marked endianness)
                                 size))))

    ;; Bytes that are no character become the replacement character.
    (define (code->char code)
      (if (or (> code #x10FFFF) (<= #xD800 code #xDFFF))
          #\xFFFD
          (integer->char code)))

    (define utf16->string
      (case-lambda
        ((bytevector endianness) (utf16->string bytevector endianness #f))
        ((bytevector endianness mandatory?)
         (let loop ((units (units 'utf16->string bytevector endianness mandatory? 2)) (chars '()))
           (cond ((null? units) (%reverse-list->string chars))
                 ((and (<= #xD800 (car units) #xDBFF)
                       (pair? (cdr units))
                       (<= #xDC00 (cadr units) #xDFFF))
                  (loop (cddr units)
                        (cons (integer->char (+ #x10000
                                                (* 1024 (- (car units) #xD800))
                                                (- (cadr units) #xDC00)))
                              chars)))
                 (else (loop (cdr units) (cons (code->char (car units)) chars))))))))

    (define utf32->string
      (case-lambda
        ((bytevector endianness) (utf32->string bytevector endianness #f))
        ((bytevector endianness mandatory?)
         (let loop ((units (units 'utf32->string bytevector endianness mandatory? 4)) (chars '()))
           (if (null? units)
               (%reverse-list->string chars)
               (loop (cdr units) (cons (code->char (car units)) chars)))))))))
