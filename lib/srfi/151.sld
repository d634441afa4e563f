;;; (srfi 151): bitwise operations.
;;;
;;; Integers are two's complement without end.  A long list of bits becomes an integer by way of its
;;; binary digits, in time proportional to their number.

(define-library (srfi 151)
  (export
   bitwise-not bitwise-and bitwise-ior bitwise-xor bitwise-eqv
   bitwise-nand bitwise-nor bitwise-andc1 bitwise-andc2 bitwise-orc1 bitwise-orc2
   arithmetic-shift bit-count integer-length bitwise-if
   bit-set? copy-bit bit-swap any-bit-set? every-bit-set? first-set-bit
   bit-field bit-field-any? bit-field-every? bit-field-clear bit-field-set
   bit-field-replace bit-field-replace-same bit-field-rotate bit-field-reverse
   bits->list list->bits bits->vector vector->bits bits
   bitwise-fold bitwise-for-each bitwise-unfold make-bitwise-generator)
  (import (canny primitives) (canny syntax))
  (begin

    (define (check-integer who position object)
      (if (not (exact-integer? object))
          (%type-error who position "exact integer" object)))

    (define (check-field who position start end)
      (if (not (exact-nonnegative-integer? start))
          (%type-error who position "index" start))
      (if (not (and (exact-nonnegative-integer? end) (<= start end)))
          (%range-error who (+ position 1) "an index not below the start" end)))

    ;; Logic.

    (define bitwise-eqv
      (case-lambda
        ((i j) (bitwise-not (bitwise-xor i j)))
        (integers
         (let loop ((rest integers) (result -1))
           (if (null? rest)
               result
               (loop (cdr rest) (bitwise-not (bitwise-xor result (car rest)))))))))

    (define (bitwise-nand i j) (bitwise-not (bitwise-and i j)))
    (define (bitwise-nor i j) (bitwise-not (bitwise-ior i j)))
    (define (bitwise-andc1 i j) (bitwise-and (bitwise-not i) j))
    (define (bitwise-andc2 i j) (bitwise-and i (bitwise-not j)))
    (define (bitwise-orc1 i j) (bitwise-ior (bitwise-not i) j))
    (define (bitwise-orc2 i j) (bitwise-ior i (bitwise-not j)))

    ;; Single bits.

    (define (bit-swap index1 index2 integer)
      (let ((bit1 (bit-set? index1 integer))
            (bit2 (bit-set? index2 integer)))
        (copy-bit index1 (copy-bit index2 integer bit1) bit2)))

    (define (any-bit-set? mask integer)
      (not (eqv? 0 (bitwise-and mask integer))))

    (define (every-bit-set? mask integer)
      (= mask (bitwise-and mask integer)))

    ;; Fields.

    (define (mask size)
      (- (arithmetic-shift 1 size) 1))

    (define (bit-field-any? integer start end)
      (not (eqv? 0 (bit-field integer start end))))

    (define (bit-field-every? integer start end)
      (= (bit-field integer start end) (mask (- end start))))

    (define (bit-field-clear integer start end)
      (bit-field-replace integer 0 start end))

    (define (bit-field-set integer start end)
      (bit-field-replace integer -1 start end))

    (define (bit-field-replace target source start end)
      (check-integer 'bit-field-replace 1 target)
      (check-integer 'bit-field-replace 2 source)
      (check-field 'bit-field-replace 3 start end)
      (with-field target (bit-field source 0 (- end start)) start end))

    ;; The target with other bits in a field that is as wide as they are.
    (define (with-field target field start end)
      (bitwise-if (arithmetic-shift (mask (- end start)) start)
                  (arithmetic-shift field start)
                  target))

    (define (bit-field-replace-same target source start end)
      (check-integer 'bit-field-replace-same 1 target)
      (check-integer 'bit-field-replace-same 2 source)
      (check-field 'bit-field-replace-same 3 start end)
      (bitwise-if (arithmetic-shift (mask (- end start)) start) source target))

    (define (bit-field-rotate integer count start end)
      (check-integer 'bit-field-rotate 1 integer)
      (check-integer 'bit-field-rotate 2 count)
      (check-field 'bit-field-rotate 3 start end)
      (let ((width (- end start)))
        (if (eqv? width 0)
            integer
            ;; The bits from here on come first.
            (let* ((count (modulo count width))
                   (middle (- end count)))
              (with-field integer
                (bitwise-ior (arithmetic-shift (bit-field integer start middle) count)
                             (bit-field integer middle end))
                start
                end)))))

    (define (bit-field-reverse integer start end)
      (check-integer 'bit-field-reverse 1 integer)
      (check-field 'bit-field-reverse 2 start end)
      (with-field integer
        (if (<= (- end start) short-bits)
            (let loop ((index (- end start))
                       (rest (bit-field integer start end))
                       (result 0))
              (if (eqv? index 0)
                  result
                  (loop (- index 1)
                        (arithmetic-shift rest -1)
                        (bitwise-ior (arithmetic-shift result 1)
                                     (bitwise-and rest 1)))))
            (booleans->integer
             (let loop ((index start) (bits '()))
               (if (< index end)
                   (loop (+ index 1) (cons (bit-set? index integer) bits))
                   bits))))
        start
        end))

    ;; Conversion.

    ;; So many bits are a fixnum.
    (define short-bits 60)

    ;; The first boolean is the lowest bit.
    (define (booleans->integer booleans)
      (let loop ((rest booleans) (index 0) (result 0))
        (cond ((not (pair? rest)) result)
              ((< index short-bits)
               (loop (cdr rest)
                     (+ index 1)
                     (if (car rest)
                         (bitwise-ior result (arithmetic-shift 1 index))
                         result)))
              (else
               (string->number
                (%reverse-list->string
                 (let digits ((rest booleans) (chars '()))
                   (if (pair? rest)
                       (digits (cdr rest) (cons (if (car rest) #\1 #\0) chars))
                       (reverse chars))))
                2)))))

    (define bits->list
      (case-lambda
        ((integer)
         (check-integer 'bits->list 1 integer)
         (bits->list integer (integer-length integer)))
        ((integer length)
         (check-integer 'bits->list 1 integer)
         (if (negative? integer)
             (%range-error 'bits->list 1 "not negative" integer))
         (if (not (exact-nonnegative-integer? length))
             (%type-error 'bits->list 2 "index" length))
         (let loop ((index (- length 1)) (bits '()))
           (if (>= index 0)
               (loop (- index 1) (cons (bit-set? index integer) bits))
               bits)))))

    (define (bits->vector integer . length)
      (list->vector (apply bits->list integer length)))

    (define (list->bits list)
      (if (not (list? list))
          (%type-error 'list->bits 1 "list" list))
      (booleans->integer list))

    (define (vector->bits vector)
      (booleans->integer (vector->list vector)))

    (define (bits . booleans)
      (booleans->integer booleans))

    ;; Iteration.

    (define (bitwise-fold procedure seed integer)
      (check-integer 'bitwise-fold 3 integer)
      (let ((end (integer-length integer)))
        (let loop ((index 0) (state seed))
          (if (< index end)
              (loop (+ index 1) (procedure (bit-set? index integer) state))
              state))))

    (define (bitwise-for-each procedure integer)
      (check-integer 'bitwise-for-each 2 integer)
      (let ((end (integer-length integer)))
        (let loop ((index 0))
          (if (< index end)
              (begin
                (procedure (bit-set? index integer))
                (loop (+ index 1)))))))

    (define (bitwise-unfold stop? mapper successor seed)
      (let loop ((seed seed) (bits '()))
        (if (stop? seed)
            (booleans->integer (reverse bits))
            (loop (successor seed) (cons (mapper seed) bits)))))

    (define (make-bitwise-generator integer)
      (check-integer 'make-bitwise-generator 1 integer)
      (let ((index -1))
        (lambda ()
          (set! index (+ index 1))
          (bit-set? index integer))))))
