;;; (srfi 178): bitvectors.
;;;
;;; A bitvector is a record around a bytevector of zeros and ones: an element is reached without
;;; shifting, and copies are the machine's.  A bit is given as 0, 1, #f or #t.

(define-library (srfi 178)
  (export
   bit->integer bit->boolean
   make-bitvector bitvector bitvector-unfold bitvector-unfold-right bitvector-copy
   bitvector-reverse-copy bitvector-append bitvector-concatenate bitvector-append-subbitvectors
   bitvector? bitvector-empty? bitvector=?
   bitvector-ref/int bitvector-ref/bool bitvector-length
   bitvector-take bitvector-take-right bitvector-drop bitvector-drop-right bitvector-segment
   bitvector-fold/int bitvector-fold/bool bitvector-fold-right/int bitvector-fold-right/bool
   bitvector-map/int bitvector-map/bool bitvector-map!/int bitvector-map!/bool
   bitvector-map->list/int bitvector-map->list/bool
   bitvector-for-each/int bitvector-for-each/bool
   bitvector-prefix-length bitvector-suffix-length bitvector-prefix? bitvector-suffix?
   bitvector-pad bitvector-pad-right bitvector-trim bitvector-trim-right bitvector-trim-both
   bitvector-set! bitvector-swap! bitvector-reverse! bitvector-copy! bitvector-reverse-copy!
   bitvector->list/int bitvector->list/bool
   reverse-bitvector->list/int reverse-bitvector->list/bool
   list->bitvector reverse-list->bitvector
   bitvector->vector/int bitvector->vector/bool
   reverse-bitvector->vector/int reverse-bitvector->vector/bool
   vector->bitvector reverse-vector->bitvector
   bitvector->string string->bitvector bitvector->integer integer->bitvector
   make-bitvector/int-generator make-bitvector/bool-generator make-bitvector-accumulator
   bitvector-not bitvector-not!
   bitvector-and bitvector-and! bitvector-ior bitvector-ior! bitvector-xor bitvector-xor!
   bitvector-eqv bitvector-eqv! bitvector-nand bitvector-nand! bitvector-nor bitvector-nor!
   bitvector-andc1 bitvector-andc1! bitvector-andc2 bitvector-andc2!
   bitvector-orc1 bitvector-orc1! bitvector-orc2 bitvector-orc2!
   bitvector-logical-shift bitvector-count bitvector-count-run bitvector-if bitvector-first-bit
   bitvector-field-any? bitvector-field-every? bitvector-field-clear bitvector-field-clear!
   bitvector-field-set bitvector-field-set! bitvector-field-replace bitvector-field-replace!
   bitvector-field-replace-same bitvector-field-replace-same! bitvector-field-rotate
   bitvector-field-flip bitvector-field-flip!)
  (import (canny primitives) (canny syntax)
          (only (srfi 151) list->bits))
  (begin

    (define-record-type <bitvector>
      (wrap bytes)
      bitvector?
      (bytes bytes-of))

    ;; Checks.

    (define (check who position object)
      (if (not (bitvector? object))
          (%type-error who position "bitvector" object)))

    (define (check-procedure who position object)
      (if (not (procedure? object))
          (%type-error who position "procedure" object)))

    (define (size vector)
      (bytevector-length (bytes-of vector)))

    (define (check-index who position index limit)
      (if (not (and (exact-nonnegative-integer? index) (< index limit)))
          (%range-error who position "an index of the bitvector" index)))

    (define (check-count who position count limit)
      (if (not (and (exact-nonnegative-integer? count) (<= count limit)))
          (%range-error who position "at most the length of the bitvector" count)))

    (define (check-range who position start end length)
      (if (not (and (exact-nonnegative-integer? end) (<= end length)))
          (%range-error who (+ position 1) "an index of the bitvector" end))
      (if (not (and (exact-nonnegative-integer? start) (<= start end)))
          (%range-error who position "an index not above the end" start)))

    ;; Calls `work` with start and end, of which `range` lists the given ones.
    (define (with-range who position length range work)
      (let* ((start (if (pair? range) (car range) 0))
             (end (if (and (pair? range) (pair? (cdr range))) (cadr range) length)))
        (check-range who position start end length)
        (work start end)))

    (define (to-bit who position object)
      (cond ((or (eqv? object 0) (eq? object #f)) 0)
            ((or (eqv? object 1) (eq? object #t)) 1)
            (else (%type-error who position "bit" object))))

    (define (bit->integer bit) (to-bit 'bit->integer 1 bit))
    (define (bit->boolean bit) (eqv? 1 (to-bit 'bit->boolean 1 bit)))

    ;; All vectors of one length; gives it.
    (define (same-length who position vectors)
      (check who position (car vectors))
      (let ((length (size (car vectors))))
        (let loop ((rest (cdr vectors)) (position (+ position 1)))
          (if (pair? rest)
              (begin
                (check who position (car rest))
                (if (not (= length (size (car rest))))
                    (%range-error who position "a bitvector as long as the others" (car rest)))
                (loop (cdr rest) (+ position 1)))))
        length))

    ;; How bits are shown to procedures: as integers or booleans.
    (define (as-integer byte) byte)
    (define (as-boolean byte) (eqv? byte 1))

    (define (bits-at shown vectors index)
      (if (pair? vectors)
          (cons (shown (bytevector-u8-ref (bytes-of (car vectors)) index))
                (bits-at shown (cdr vectors) index))
          '()))

    ;; Defines two procedures, which differ in how they show bits.
    (define-syntax define-shown
      (syntax-rules ()
        ((_ (integer-name boolean-name) (maker argument ...))
         (begin
           (define integer-name (maker 'integer-name as-integer argument ...))
           (define boolean-name (maker 'boolean-name as-boolean argument ...))))))

    ;; Constructors.

    (define make-bitvector
      (case-lambda
        ((length) (make-bitvector length 0))
        ((length bit)
         (if (not (exact-nonnegative-integer? length))
             (%type-error 'make-bitvector 1 "index" length))
         (wrap (make-bytevector length (to-bit 'make-bitvector 2 bit))))))

    (define (bits->bitvector who bits)
      (let loop ((rest bits) (bytes '()))
        (if (pair? rest)
            (loop (cdr rest) (cons (to-bit who 1 (car rest)) bytes))
            (wrap (list->bytevector (reverse! bytes))))))

    (define (bitvector . bits)
      (bits->bitvector 'bitvector bits))

    (define (list->bitvector bits)
      (if (not (list? bits))
          (%type-error 'list->bitvector 1 "list" bits))
      (bits->bitvector 'list->bitvector bits))

    (define (reverse-list->bitvector bits)
      (if (not (list? bits))
          (%type-error 'reverse-list->bitvector 1 "list" bits))
      (bits->bitvector 'reverse-list->bitvector (reverse bits)))

    (define (bitvector-unfold step length . seeds)
      (check-procedure 'bitvector-unfold 1 step)
      (make-bitvector length)
      (let loop ((index 0) (seeds seeds) (bits '()))
        (if (< index length)
            (let-values (((bit . seeds) (apply step index seeds)))
              (loop (+ index 1) seeds (cons (to-bit 'bitvector-unfold 1 bit) bits)))
            (wrap (list->bytevector (reverse bits))))))

    (define (bitvector-unfold-right step length . seeds)
      (check-procedure 'bitvector-unfold-right 1 step)
      (make-bitvector length)
      (let loop ((index (- length 1)) (seeds seeds) (bits '()))
        (if (>= index 0)
            (let-values (((bit . seeds) (apply step index seeds)))
              (loop (- index 1) seeds (cons (to-bit 'bitvector-unfold-right 1 bit) bits)))
            (wrap (list->bytevector bits)))))

    (define (sub vector start end)
      (wrap (bytevector-copy (bytes-of vector) start end)))

    (define (bitvector-copy vector . range)
      (check 'bitvector-copy 1 vector)
      (with-range 'bitvector-copy 2 (size vector) range
        (lambda (start end) (sub vector start end))))

    (define (reverse-bytes! bytes start end)
      (let loop ((low start) (high (- end 1)))
        (if (< low high)
            (let ((byte (bytevector-u8-ref bytes low)))
              (bytevector-u8-set! bytes low (bytevector-u8-ref bytes high))
              (bytevector-u8-set! bytes high byte)
              (loop (+ low 1) (- high 1))))))

    (define (bitvector-reverse-copy vector . range)
      (check 'bitvector-reverse-copy 1 vector)
      (with-range 'bitvector-reverse-copy 2 (size vector) range
        (lambda (start end)
          (let ((copy (sub vector start end)))
            (reverse-bytes! (bytes-of copy) 0 (- end start))
            copy))))

    (define (append-all who vectors)
      (wrap (apply bytevector-append
                   (let loop ((rest vectors) (position 1))
                     (if (pair? rest)
                         (begin
                           (check who position (car rest))
                           (cons (bytes-of (car rest)) (loop (cdr rest) (+ position 1))))
                         '())))))

    (define (bitvector-append . vectors)
      (append-all 'bitvector-append vectors))

    (define (bitvector-concatenate vectors)
      (if (not (list? vectors))
          (%type-error 'bitvector-concatenate 1 "list of bitvectors" vectors))
      (append-all 'bitvector-concatenate vectors))

    (define (bitvector-append-subbitvectors . arguments)
      (let loop ((rest arguments) (position 1) (parts '()))
        (cond ((null? rest) (append-all 'bitvector-append-subbitvectors (reverse! parts)))
              ((or (null? (cdr rest)) (null? (cddr rest)))
               (%type-error 'bitvector-append-subbitvectors position
                            "bitvector with start and end" (car rest)))
              (else
               (check 'bitvector-append-subbitvectors position (car rest))
               (check-range 'bitvector-append-subbitvectors (+ position 1)
                            (cadr rest) (caddr rest) (size (car rest)))
               (loop (cdddr rest)
                     (+ position 3)
                     (cons (sub (car rest) (cadr rest) (caddr rest)) parts))))))

    ;; Predicates and selectors.

    (define (bitvector-empty? vector)
      (check 'bitvector-empty? 1 vector)
      (eqv? 0 (size vector)))

    (define (bitvector=? . vectors)
      (let loop ((rest vectors) (position 1))
        (if (pair? rest)
            (begin
              (check 'bitvector=? position (car rest))
              (loop (cdr rest) (+ position 1)))))
      (or (null? vectors)
          (let ((bytes (bytes-of (car vectors))))
            (let loop ((rest (cdr vectors)))
              (or (null? rest)
                  (and (equal? bytes (bytes-of (car rest)))
                       (loop (cdr rest))))))))

    (define (bitvector-length vector)
      (check 'bitvector-length 1 vector)
      (size vector))

    (define (bitvector-ref/int vector index)
      (check 'bitvector-ref/int 1 vector)
      (check-index 'bitvector-ref/int 2 index (size vector))
      (bytevector-u8-ref (bytes-of vector) index))

    (define (bitvector-ref/bool vector index)
      (check 'bitvector-ref/bool 1 vector)
      (check-index 'bitvector-ref/bool 2 index (size vector))
      (eqv? 1 (bytevector-u8-ref (bytes-of vector) index)))

    (define (bitvector-take vector count)
      (check 'bitvector-take 1 vector)
      (check-count 'bitvector-take 2 count (size vector))
      (sub vector 0 count))

    (define (bitvector-take-right vector count)
      (check 'bitvector-take-right 1 vector)
      (check-count 'bitvector-take-right 2 count (size vector))
      (sub vector (- (size vector) count) (size vector)))

    (define (bitvector-drop vector count)
      (check 'bitvector-drop 1 vector)
      (check-count 'bitvector-drop 2 count (size vector))
      (sub vector count (size vector)))

    (define (bitvector-drop-right vector count)
      (check 'bitvector-drop-right 1 vector)
      (check-count 'bitvector-drop-right 2 count (size vector))
      (sub vector 0 (- (size vector) count)))

    (define (bitvector-segment vector count)
      (check 'bitvector-segment 1 vector)
      (if (not (and (exact-integer? count) (positive? count)))
          (%type-error 'bitvector-segment 2 "positive exact integer" count))
      (let loop ((start 0) (parts '()))
        (if (< start (size vector))
            (let ((end (min (size vector) (+ start count))))
              (loop end (cons (sub vector start end) parts)))
            (reverse! parts))))

    ;; Iteration.

    (define (folder who shown)
      (lambda (kons knil . vectors)
        (check-procedure who 1 kons)
        (let ((end (same-length who 3 vectors)))
          (let loop ((index 0) (state knil))
            (if (< index end)
                (loop (+ index 1) (apply kons state (bits-at shown vectors index)))
                state)))))

    (define (right-folder who shown)
      (lambda (kons knil . vectors)
        (check-procedure who 1 kons)
        (let loop ((index (- (same-length who 3 vectors) 1)) (state knil))
          (if (>= index 0)
              (loop (- index 1) (apply kons state (bits-at shown vectors index)))
              state))))

    (define-shown (bitvector-fold/int bitvector-fold/bool) (folder))
    (define-shown (bitvector-fold-right/int bitvector-fold-right/bool) (right-folder))

    ;; Applies the procedure at each index, calls `each` with the index and what it gave. Gives a
    ;; list of the results of `each`, last first.
    (define (walk who shown procedure vectors each)
      (check-procedure who 1 procedure)
      (let ((end (same-length who 2 vectors)))
        (let loop ((index 0) (results '()))
          (if (< index end)
              (let ((result (apply procedure (bits-at shown vectors index))))
                (loop (+ index 1) (cons (each index result) results)))
              results))))

    (define (mapper who shown)
      (lambda (procedure vector . vectors)
        (check who 2 vector)
        (let ((bits (walk who shown procedure (cons vector vectors)
                          (lambda (index bit) (to-bit who 1 bit)))))
          (wrap (list->bytevector (reverse bits))))))

    (define (mapper! who shown)
      (lambda (procedure vector . vectors)
        (walk who shown procedure (cons vector vectors)
              (lambda (index bit)
                (bytevector-u8-set! (bytes-of vector) index (to-bit who 1 bit))))
        (void)))

    (define (list-mapper who shown)
      (lambda (procedure . vectors)
        (reverse (walk who shown procedure vectors (lambda (index result) result)))))

    (define (for-eacher who shown)
      (lambda (procedure . vectors)
        (walk who shown procedure vectors (lambda (index result) result))
        (void)))

    (define-shown (bitvector-map/int bitvector-map/bool) (mapper))
    (define-shown (bitvector-map!/int bitvector-map!/bool) (mapper!))
    (define-shown (bitvector-map->list/int bitvector-map->list/bool) (list-mapper))
    (define-shown (bitvector-for-each/int bitvector-for-each/bool) (for-eacher))

    ;; Prefixes and suffixes, padding and trimming.

    (define (bitvector-prefix-length left right)
      (check 'bitvector-prefix-length 1 left)
      (check 'bitvector-prefix-length 2 right)
      (let ((end (min (size left) (size right))) (x (bytes-of left)) (y (bytes-of right)))
        (let loop ((index 0))
          (if (and (< index end)
                   (eqv? (bytevector-u8-ref x index) (bytevector-u8-ref y index)))
              (loop (+ index 1))
              index))))

    (define (bitvector-suffix-length left right)
      (check 'bitvector-suffix-length 1 left)
      (check 'bitvector-suffix-length 2 right)
      (let ((x-end (size left)) (y-end (size right)) (x (bytes-of left)) (y (bytes-of right)))
        (let loop ((count 0))
          (if (and (< count (min x-end y-end))
                   (eqv? (bytevector-u8-ref x (- x-end count 1))
                         (bytevector-u8-ref y (- y-end count 1))))
              (loop (+ count 1))
              count))))

    (define (bitvector-prefix? left right)
      (= (bitvector-prefix-length left right) (size left)))

    (define (bitvector-suffix? left right)
      (= (bitvector-suffix-length left right) (size left)))

    (define (padding who bit vector length)
      (to-bit who 1 bit)
      (check who 2 vector)
      (if (not (exact-nonnegative-integer? length))
          (%type-error who 3 "index" length))
      (make-bitvector (max 0 (- length (size vector))) bit))

    (define (bitvector-pad bit vector length)
      (bitvector-append (padding 'bitvector-pad bit vector length) vector))

    (define (bitvector-pad-right bit vector length)
      (let ((padding (padding 'bitvector-pad-right bit vector length)))
        (bitvector-append vector padding)))

    ;; The end of the run of a bit from the start, and the start of such a run at the end.

    (define (run-end bytes byte start)
      (let loop ((index start))
        (if (and (< index (bytevector-length bytes))
                 (eqv? byte (bytevector-u8-ref bytes index)))
            (loop (+ index 1))
            index)))

    (define (run-start bytes byte start)
      (let loop ((index (bytevector-length bytes)))
        (if (and (> index start) (eqv? byte (bytevector-u8-ref bytes (- index 1))))
            (loop (- index 1))
            index)))

    (define (bitvector-trim bit vector)
      (check 'bitvector-trim 2 vector)
      (sub vector
           (run-end (bytes-of vector) (to-bit 'bitvector-trim 1 bit) 0)
           (size vector)))

    (define (bitvector-trim-right bit vector)
      (check 'bitvector-trim-right 2 vector)
      (sub vector 0 (run-start (bytes-of vector) (to-bit 'bitvector-trim-right 1 bit) 0)))

    (define (bitvector-trim-both bit vector)
      (check 'bitvector-trim-both 2 vector)
      (let* ((byte (to-bit 'bitvector-trim-both 1 bit))
             (start (run-end (bytes-of vector) byte 0)))
        (sub vector start (run-start (bytes-of vector) byte start))))

    ;; Mutators.

    (define (bitvector-set! vector index bit)
      (check 'bitvector-set! 1 vector)
      (check-index 'bitvector-set! 2 index (size vector))
      (bytevector-u8-set! (bytes-of vector) index (to-bit 'bitvector-set! 3 bit)))

    (define (bitvector-swap! vector i j)
      (check 'bitvector-swap! 1 vector)
      (check-index 'bitvector-swap! 2 i (size vector))
      (check-index 'bitvector-swap! 3 j (size vector))
      (let* ((bytes (bytes-of vector)) (byte (bytevector-u8-ref bytes i)))
        (bytevector-u8-set! bytes i (bytevector-u8-ref bytes j))
        (bytevector-u8-set! bytes j byte)))

    (define (bitvector-reverse! vector . range)
      (check 'bitvector-reverse! 1 vector)
      (with-range 'bitvector-reverse! 2 (size vector) range
        (lambda (start end) (reverse-bytes! (bytes-of vector) start end))))

    (define (copy-into who to at from range finish)
      (check who 1 to)
      (check who 3 from)
      (with-range who 4 (size from) range
        (lambda (start end)
          (if (not (and (exact-nonnegative-integer? at) (<= (+ at (- end start)) (size to))))
              (%range-error who 2 "an index with room for the bits" at))
          (bytevector-copy! (bytes-of to) at (bytes-of from) start end)
          (finish at (+ at (- end start))))))

    (define (bitvector-copy! to at from . range)
      (copy-into 'bitvector-copy! to at from range void))

    (define (bitvector-reverse-copy! to at from . range)
      (copy-into 'bitvector-reverse-copy! to at from range
                 (lambda (start end) (reverse-bytes! (bytes-of to) start end))))

    ;; Conversion.

    (define (lister who shown)
      (lambda (vector . range)
        (check who 1 vector)
        (with-range who 2 (size vector) range
          (lambda (start end)
            (let loop ((index (- end 1)) (bits '()))
              (if (>= index start)
                  (loop (- index 1)
                        (cons (shown (bytevector-u8-ref (bytes-of vector) index)) bits))
                  bits))))))

    (define (reverse-lister who shown)
      (let ((list (lister who shown)))
        (lambda (vector . range)
          (reverse! (apply list vector range)))))

    (define (vectorer who shown make-lister)
      (let ((list (make-lister who shown)))
        (lambda (vector . range)
          (list->vector (apply list vector range)))))

    (define-shown (bitvector->list/int bitvector->list/bool) (lister))
    (define-shown (reverse-bitvector->list/int reverse-bitvector->list/bool) (reverse-lister))
    (define-shown (bitvector->vector/int bitvector->vector/bool) (vectorer lister))
    (define-shown (reverse-bitvector->vector/int reverse-bitvector->vector/bool)
      (vectorer reverse-lister))

    (define (vector->bitvector vector . range)
      (if (not (vector? vector))
          (%type-error 'vector->bitvector 1 "vector" vector))
      (bits->bitvector 'vector->bitvector (apply vector->list vector range)))

    (define (reverse-vector->bitvector vector . range)
      (if (not (vector? vector))
          (%type-error 'reverse-vector->bitvector 1 "vector" vector))
      (bits->bitvector 'reverse-vector->bitvector (reverse! (apply vector->list vector range))))

    (define (bitvector->string vector)
      (check 'bitvector->string 1 vector)
      (list->string
       (cons* #\# #\*
              (let loop ((index (- (size vector) 1)) (chars '()))
                (if (>= index 0)
                    (loop (- index 1)
                          (cons (if (eqv? 1 (bytevector-u8-ref (bytes-of vector) index)) #\1 #\0)
                                chars))
                    chars)))))

    (define (string->bitvector string)
      (if (not (string? string))
          (%type-error 'string->bitvector 1 "string" string))
      (and (string-prefix? "#*" string)
           (let loop ((index (- (string-length string) 1)) (bits '()))
             (if (< index 2)
                 (list->bitvector bits)
                 (case (string-ref string index)
                   ((#\0) (loop (- index 1) (cons 0 bits)))
                   ((#\1) (loop (- index 1) (cons 1 bits)))
                   (else #f))))))

    (define (bitvector->integer vector)
      (check 'bitvector->integer 1 vector)
      (list->bits (bitvector->list/bool vector)))

    (define integer->bitvector
      (case-lambda
        ((integer)
         (if (not (exact-nonnegative-integer? integer))
             (%type-error 'integer->bitvector 1 "exact non-negative integer" integer))
         (integer->bitvector integer (integer-length integer)))
        ((integer length)
         (if (not (exact-nonnegative-integer? integer))
             (%type-error 'integer->bitvector 1 "exact non-negative integer" integer))
         (bitvector-unfold (lambda (index) (bit-set? index integer)) length))))

    ;; Generators and accumulators.

    (define (generator who shown)
      (lambda (vector)
        (check who 1 vector)
        (let ((index 0))
          (lambda ()
            (if (< index (size vector))
                (let ((byte (bytevector-u8-ref (bytes-of vector) index)))
                  (set! index (+ index 1))
                  (shown byte))
                (eof-object))))))

    (define-shown (make-bitvector/int-generator make-bitvector/bool-generator) (generator))

    (define (make-bitvector-accumulator)
      (let ((bits '()))
        (lambda (bit)
          (if (eof-object? bit)
              (reverse-list->bitvector bits)
              (begin
                (to-bit 'bitvector-accumulator 1 bit)
                (set! bits (cons bit bits)))))))

    ;; Logic: on bytes of 0 and 1.

    (define (byte-not x) (- 1 x))

    (define (combine! who operation target others)
      (let ((end (same-length who 1 (cons target others)))
            (bytes (bytes-of target)))
        (let loop ((others others))
          (if (pair? others)
              (let ((other (bytes-of (car others))))
                (let each ((index 0))
                  (if (< index end)
                      (begin
                        (bytevector-u8-set! bytes
                                            index
                                            (operation (bytevector-u8-ref bytes index)
                                                       (bytevector-u8-ref other index)))
                        (each (+ index 1)))))
                (loop (cdr others)))))))

    ;; The associative ones take any number of further bitvectors.
    (define-syntax define-associative
      (syntax-rules ()
        ((_ (name name! operation) ...)
         (begin
           (define (name left right . others)
             (check 'name 1 left)
             (let ((result (sub left 0 (size left))))
               (combine! 'name operation result (cons right others))
               result))
           ...
           (define (name! left right . others)
             (combine! 'name! operation left (cons right others)))
           ...))))

    (define-syntax define-dyadic
      (syntax-rules ()
        ((_ (name name! operation) ...)
         (begin
           (define (name left right)
             (check 'name 1 left)
             (let ((result (sub left 0 (size left))))
               (combine! 'name operation result (list right))
               result))
           ...
           (define (name! left right)
             (combine! 'name! operation left (list right)))
           ...))))

    (define (byte-eqv x y) (byte-not (bitwise-xor x y)))
    (define (byte-nand x y) (byte-not (bitwise-and x y)))
    (define (byte-nor x y) (byte-not (bitwise-ior x y)))
    (define (byte-andc1 x y) (bitwise-and (byte-not x) y))
    (define (byte-andc2 x y) (bitwise-and x (byte-not y)))
    (define (byte-orc1 x y) (bitwise-ior (byte-not x) y))
    (define (byte-orc2 x y) (bitwise-ior x (byte-not y)))

    (define-associative
      (bitvector-and bitvector-and! bitwise-and)
      (bitvector-ior bitvector-ior! bitwise-ior)
      (bitvector-xor bitvector-xor! bitwise-xor)
      (bitvector-eqv bitvector-eqv! byte-eqv))

    (define-dyadic
      (bitvector-nand bitvector-nand! byte-nand)
      (bitvector-nor bitvector-nor! byte-nor)
      (bitvector-andc1 bitvector-andc1! byte-andc1)
      (bitvector-andc2 bitvector-andc2! byte-andc2)
      (bitvector-orc1 bitvector-orc1! byte-orc1)
      (bitvector-orc2 bitvector-orc2! byte-orc2))

    (define (flip! bytes start end)
      (let loop ((index start))
        (if (< index end)
            (begin
              (bytevector-u8-set! bytes index (byte-not (bytevector-u8-ref bytes index)))
              (loop (+ index 1))))))

    (define (bitvector-not! vector)
      (check 'bitvector-not! 1 vector)
      (flip! (bytes-of vector) 0 (size vector)))

    (define (bitvector-not vector)
      (check 'bitvector-not 1 vector)
      (let ((copy (sub vector 0 (size vector))))
        (flip! (bytes-of copy) 0 (size copy))
        copy))

    ;; Quasi-integers.

    (define (bitvector-logical-shift vector count bit)
      (check 'bitvector-logical-shift 1 vector)
      (if (not (exact-integer? count))
          (%type-error 'bitvector-logical-shift 2 "exact integer" count))
      (let* ((length (size vector))
             (result (make-bitvector length (to-bit 'bitvector-logical-shift 3 bit)))
             (kept (- length (abs count))))
        (cond ((<= kept 0))
              ((>= count 0)
               (bytevector-copy! (bytes-of result) 0 (bytes-of vector) count length))
              (else
               (bytevector-copy! (bytes-of result) (- count) (bytes-of vector) 0 kept)))
        result))

    (define (bitvector-count bit vector)
      (check 'bitvector-count 2 vector)
      (let ((byte (to-bit 'bitvector-count 1 bit)) (bytes (bytes-of vector)))
        (let loop ((index (- (size vector) 1)) (count 0))
          (if (< index 0)
              count
              (loop (- index 1)
                    (if (eqv? byte (bytevector-u8-ref bytes index)) (+ count 1) count))))))

    (define (bitvector-count-run bit vector index)
      (check 'bitvector-count-run 2 vector)
      (check-count 'bitvector-count-run 3 index (size vector))
      (- (run-end (bytes-of vector) (to-bit 'bitvector-count-run 1 bit) index) index))

    (define (bitvector-if which then else)
      (same-length 'bitvector-if 1 (list which then else))
      (bitvector-map/int (lambda (which then else) (if (eqv? which 1) then else))
                         which then else))

    (define (bitvector-first-bit bit vector)
      (check 'bitvector-first-bit 2 vector)
      (let ((index (run-end (bytes-of vector)
                            (byte-not (to-bit 'bitvector-first-bit 1 bit))
                            0)))
        (if (< index (size vector)) index -1)))

    ;; Fields.

    (define (check-field who position vector start end)
      (check who 1 vector)
      (check-range who position start end (size vector)))

    (define (bitvector-field-any? vector start end)
      (check-field 'bitvector-field-any? 2 vector start end)
      (< (run-end (bytes-of vector) 0 start) end))

    (define (bitvector-field-every? vector start end)
      (check-field 'bitvector-field-every? 2 vector start end)
      (>= (run-end (bytes-of vector) 1 start) end))

    ;; Defines the procedure that changes a field and the one that changes it in a copy.
    (define-syntax define-field-change
      (syntax-rules ()
        ((_ (name name! vector argument ... start end) (bytes checks ...) body)
         (begin
           (define (change! who vector argument ... start end)
             (check-field who (+ 2 (length '(argument ...))) vector start end)
             (checks who argument start end) ...
             (let ((bytes (bytes-of vector)))
               body))
           (define (name! vector argument ... start end)
             (change! 'name! vector argument ... start end))
           (define (name vector argument ... start end)
             (check 'name 1 vector)
             (let ((copy (sub vector 0 (size vector))))
               (change! 'name copy argument ... start end)
               copy))))))

    (define-field-change (bitvector-field-clear bitvector-field-clear! vector start end)
      (bytes)
      (bytevector-fill! bytes 0 start end))

    (define-field-change (bitvector-field-set bitvector-field-set! vector start end)
      (bytes)
      (bytevector-fill! bytes 1 start end))

    (define-field-change (bitvector-field-flip bitvector-field-flip! vector start end)
      (bytes)
      (flip! bytes start end))

    (define (check-source who source start end)
      (check who 2 source)
      (if (< (size source) (- end start))
          (%range-error who 2 "a bitvector as long as the field" source)))

    (define (check-same who source start end)
      (check who 2 source)
      (if (< (size source) end)
          (%range-error who 2 "a bitvector that has the field" source)))

    (define-field-change
      (bitvector-field-replace bitvector-field-replace! vector source start end)
      (bytes check-source)
      (bytevector-copy! bytes start (bytes-of source) 0 (- end start)))

    (define-field-change
      (bitvector-field-replace-same bitvector-field-replace-same! vector source start end)
      (bytes check-same)
      (bytevector-copy! bytes start (bytes-of source) start end))

    (define (bitvector-field-rotate vector count start end)
      (check-field 'bitvector-field-rotate 3 vector start end)
      (if (not (exact-integer? count))
          (%type-error 'bitvector-field-rotate 2 "exact integer" count))
      (let ((copy (sub vector 0 (size vector))))
        (if (< start end)
            (let ((middle (+ start (modulo count (- end start)))))
              (bytevector-copy! (bytes-of copy) start (bytes-of vector) middle end)
              (bytevector-copy! (bytes-of copy) (+ start (- end middle))
                                (bytes-of vector) start middle)))
        copy))))
