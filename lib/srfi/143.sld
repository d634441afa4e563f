;;; (srfi 143): fixnums.
;;;
;;; A fixnum has 62 bits.  An argument or a result that is no fixnum is an error that names the
;;; procedure.

(define-library (srfi 143)
  (export
   fx-width fx-greatest fx-least
   fixnum? fx=? fx<? fx>? fx<=? fx>=? fxzero? fxpositive? fxnegative? fxodd? fxeven? fxmax fxmin
   fx+ fx- fxneg fx* fxquotient fxremainder fxabs fxsquare fxsqrt
   fx+/carry fx-/carry fx*/carry
   fxnot fxand fxior fxxor fxarithmetic-shift fxarithmetic-shift-left
   fxarithmetic-shift-right fxbit-count fxlength fxif fxbit-set? fxcopy-bit fxfirst-set-bit
   fxbit-field fxbit-field-rotate fxbit-field-reverse)
  (import (canny primitives) (canny syntax)
          (only (srfi 141) balanced/)
          (only (srfi 151) bit-field-rotate bit-field-reverse))
  (begin

    (define fx-width 62)
    (define fx-greatest (- (expt 2 61) 1))
    (define fx-least (- (expt 2 61)))

    (define (check who position object)
      (if (not (fixnum? object))
          (%type-error who position "fixnum" object)))

    (define (check-result who object)
      (if (fixnum? object)
          object
          (%range-error who 1 "an operand whose result is a fixnum; it would be this" object)))

    (define-syntax define-predicates
      (syntax-rules ()
        ((_ (name test) ...)
         (begin
           (define (name i)
             (check 'name 1 i)
             (test i))
           ...))))

    (define-predicates
      (fxzero? zero?) (fxpositive? positive?) (fxnegative? negative?) (fxodd? odd?) (fxeven? even?))

    (define (check-all who arguments)
      (let loop ((rest arguments) (position 1))
        (if (pair? rest)
            (begin
              (check who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    ;; Of any number of fixnums; two are the usual case.
    (define-syntax define-comparisons
      (syntax-rules ()
        ((_ (name operation) ...)
         (begin
           (define name
             (case-lambda
               ((i j)
                (check 'name 1 i)
                (check 'name 2 j)
                (operation i j))
               ((i j k)
                (check 'name 1 i)
                (check 'name 2 j)
                (check 'name 3 k)
                (operation i j k))
               (() #t)
               (arguments
                (check-all 'name arguments)
                (apply operation arguments))))
           ...))))

    (define-comparisons (fx=? =) (fx<? <) (fx>? >) (fx<=? <=) (fx>=? >=))

    (define-syntax define-folds
      (syntax-rules ()
        ((_ (name operation) ...)
         (begin
           (define name
             (case-lambda
               ((i j)
                (check 'name 1 i)
                (check 'name 2 j)
                (operation i j))
               ((i j k)
                (check 'name 1 i)
                (check 'name 2 j)
                (check 'name 3 k)
                (operation (operation i j) k))
               (arguments
                (check-all 'name arguments)
                (apply operation arguments))))
           ...))))

    (define-folds
      (fxmax max) (fxmin min) (fxand bitwise-and) (fxior bitwise-ior) (fxxor bitwise-xor))

    (define-syntax define-unary
      (syntax-rules ()
        ((_ (name operation) ...)
         (begin
           (define (name i)
             (check 'name 1 i)
             (check-result 'name (operation i)))
           ...))))

    (define (negate i) (- i))

    (define-unary
      (fxneg negate) (fxabs abs) (fxsquare square) (fxnot bitwise-not)
      (fxbit-count bit-count) (fxlength integer-length) (fxfirst-set-bit first-set-bit))

    (define-syntax define-binary
      (syntax-rules ()
        ((_ (name operation) ...)
         (begin
           (define (name i j)
             (check 'name 1 i)
             (check 'name 2 j)
             (check-result 'name (operation i j)))
           ...))))

    (define-binary (fx+ +) (fx- -) (fx* *) (fxquotient quotient) (fxremainder remainder))

    (define (fxsqrt i)
      (check 'fxsqrt 1 i)
      (exact-integer-sqrt i))

    ;; The low and the high half of a result that may have twice the width. The usual case is short
    ;; enough to be copied to calls.
    (define-syntax define-carrying
      (syntax-rules ()
        ((_ (name i j k result) ...)
         (begin
           (define (name i j k)
             (if (and (fixnum? i) (fixnum? j) (fixnum? k))
                 (let ((whole result))
                   (if (fixnum? whole)
                       (values whole 0)
                       (halves whole)))
                 (refuse 'name i j k)))
           ...))))

    (define (halves whole)
      (let-values (((high low) (balanced/ whole (expt 2 fx-width))))
        (values low high)))

    (define (refuse who i j k)
      (check who 1 i)
      (check who 2 j)
      (check who 3 k))

    (define-carrying
      (fx+/carry i j k (+ i j k))
      (fx-/carry i j k (- i j k))
      (fx*/carry i j k (+ (* i j) k)))

    (define (check-count who count least)
      (if (not (and (fixnum? count) (<= least count (- fx-width 1))))
          (%range-error who 2 "a number of bits below the width of a fixnum" count)))

    (define (fxarithmetic-shift i count)
      (check 'fxarithmetic-shift 1 i)
      (check-count 'fxarithmetic-shift count (- 1 fx-width))
      (check-result 'fxarithmetic-shift (arithmetic-shift i count)))

    (define (fxarithmetic-shift-left i count)
      (check 'fxarithmetic-shift-left 1 i)
      (check-count 'fxarithmetic-shift-left count 0)
      (check-result 'fxarithmetic-shift-left (arithmetic-shift i count)))

    (define (fxarithmetic-shift-right i count)
      (check 'fxarithmetic-shift-right 1 i)
      (check-count 'fxarithmetic-shift-right count 0)
      (arithmetic-shift i (- count)))

    (define (fxif mask i j)
      (check 'fxif 1 mask)
      (check 'fxif 2 i)
      (check 'fxif 3 j)
      (bitwise-if mask i j))

    (define (check-index who position index limit)
      (if (not (and (fixnum? index) (<= 0 index limit)))
          (%range-error who position "the index of a bit" index)))

    (define (fxbit-set? index i)
      (check-index 'fxbit-set? 1 index fx-greatest)
      (check 'fxbit-set? 2 i)
      (bit-set? index i))

    (define (fxcopy-bit index i bit)
      (if (and (fixnum? index) (fixnum? i) (<= 0 index) (< index (- fx-width 1)))
          (let ((mask (arithmetic-shift 1 index)))
            (if bit
                (bitwise-ior i mask)
                (bitwise-and i (bitwise-not mask))))
          (copy-any-bit index i bit)))

    ;; Of the sign, or of what is refused.
    (define (copy-any-bit index i bit)
      (check-index 'fxcopy-bit 1 index (- fx-width 1))
      (check 'fxcopy-bit 2 i)
      (if (eqv? index (- fx-width 1))
          ;; The sign.
          (if (eq? (if bit #t #f) (negative? i))
              i
              (if bit (+ i fx-least) (- i fx-least)))
          (copy-bit index i bit)))

    (define (check-field who position i start end)
      (check who 1 i)
      (check-index who position start fx-greatest)
      (check-index who (+ position 1) end fx-greatest)
      (if (> start end)
          (%range-error who position "not above the end" start)))

    (define (fxbit-field i start end)
      (check-field 'fxbit-field 2 i start end)
      (check-result 'fxbit-field (bit-field i start end)))

    ;; A field that is not empty, of bits below the sign.
    (define (short-field? i start end)
      (and (fixnum? i) (fixnum? start) (fixnum? end)
           (<= 0 start) (< start end) (< end (- fx-width 1))))

    (define (fxbit-field-rotate i count start end)
      (if (and (short-field? i start end) (fixnum? count))
          (let* ((width (- end start))
                 (count (modulo count width))
                 (mask (- (arithmetic-shift 1 width) 1))
                 (field (bitwise-and (arithmetic-shift i (- start)) mask))
                 ;; The bits that stay in the field.
                 (low (bitwise-and field (arithmetic-shift mask (- count))))
                 (high (arithmetic-shift field (- count width))))
            (bitwise-ior (bitwise-and i (bitwise-not (arithmetic-shift mask start)))
                         (arithmetic-shift
                          (bitwise-ior (arithmetic-shift low count) high)
                          start)))
          (rotate-any-field i count start end)))

    (define (rotate-any-field i count start end)
      (check-field 'fxbit-field-rotate 3 i start end)
      (check-result 'fxbit-field-rotate (bit-field-rotate i count start end)))

    (define (fxbit-field-reverse i start end)
      (check-field 'fxbit-field-reverse 2 i start end)
      (check-result 'fxbit-field-reverse (bit-field-reverse i start end)))))
