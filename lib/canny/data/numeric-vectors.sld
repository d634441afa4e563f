;;; (canny data numeric-vectors): the procedures of SRFIs 4 and 160 for any element type.
;;;
;;; Each `numeric:NAME` takes the code of an element type and the name of the procedure to blame. It
;;; gives the procedure for vectors of that type. `define-numeric-procedures` defines a family.
;;; Element access is generic here; what a program calls directly, `f64vector-ref` and the like, are
;;; primitives.

(define-library (canny data numeric-vectors)
  (export define-numeric-procedures
          numeric:make numeric:vector numeric:unfold numeric:unfold-right numeric:copy
          numeric:reverse-copy numeric:append numeric:concatenate numeric:append-subvectors
          numeric:element? numeric:empty? numeric:=
          numeric:take numeric:take-right numeric:drop numeric:drop-right numeric:segment
          numeric:fold numeric:fold-right numeric:map numeric:map! numeric:for-each numeric:count
          numeric:cumulate
          numeric:take-while numeric:take-while-right numeric:drop-while
          numeric:drop-while-right numeric:index numeric:index-right numeric:skip
          numeric:skip-right numeric:any numeric:every numeric:partition numeric:filter
          numeric:remove
          numeric:swap! numeric:fill! numeric:reverse! numeric:copy! numeric:reverse-copy!
          numeric:unfold! numeric:unfold-right!
          numeric:->list numeric:reverse->list numeric:list-> numeric:reverse-list->
          numeric:->vector numeric:vector-> numeric:generator numeric:comparator numeric:write)
  (import (canny machine protocols) (canny primitives) (canny syntax)
          (only (srfi 128) make-comparator))
  (begin

    (define-syntax define-numeric-procedures
      (syntax-rules ()
        ((_ code (name maker) ...)
         (begin (define name (maker code 'name)) ...))))

    (define names
      (vector-at 12
                 (element-type/u8 "u8vector")
                 (element-type/s8 "s8vector")
                 (element-type/u16 "u16vector")
                 (element-type/s16 "s16vector")
                 (element-type/u32 "u32vector")
                 (element-type/s32 "s32vector")
                 (element-type/u64 "u64vector")
                 (element-type/s64 "s64vector")
                 (element-type/f32 "f32vector")
                 (element-type/f64 "f64vector")
                 (element-type/c64 "c64vector")
                 (element-type/c128 "c128vector")))

    ;; Checks.

    (define (check code who position object)
      (if (not (eqv? (%numeric-vector-type object) code))
          (%type-error who position (vector-ref names code) object)))

    (define (check-procedure who position object)
      (if (not (procedure? object))
          (%type-error who position "procedure" object)))

    (define (check-count who position count limit)
      (if (not (and (exact-nonnegative-integer? count) (<= count limit)))
          (%range-error who position "at most the number of elements" count)))

    (define (check-list who object)
      (if (not (list? object))
          (%type-error who 1 "list" object)))

    (define (check-element code who position object)
      (if (not (%numeric-element? code object))
          (%type-error who position (%numeric-element-description code) object)))

    ;; Stores what a procedure, argument 1, has given.
    (define (put! code who vector index element)
      (if (not (%numeric-element? code element))
          (%type-error who 1
                       (string-append "procedure that gives elements: "
                                      (%numeric-element-description code))
                       element))
      (%numeric-vector-set! vector index element))

    ;; Calls `work` with start and end, of which `range` lists the given ones, from argument
    ;; `position` on.
    (define (with-range who position length range work)
      (let* ((start (if (pair? range) (car range) 0))
             (more (if (pair? range) (cdr range) '()))
             (end (if (pair? more) (car more) length)))
        (if (and (pair? more) (pair? (cdr more)))
            (%range-error who (+ position 2) "no argument after the end" (cadr more)))
        (if (not (and (exact-integer? end) (<= 0 end length)))
            (%range-error who (+ position 1) "an index of the vector" end))
        (if (not (and (exact-integer? start) (<= 0 start end)))
            (%range-error who position "an index not above the end" start))
        (work start end)))

    ;; The length of the shortest vector; the first one is argument `position`.
    (define (least-length code who position vectors)
      (let loop ((rest vectors) (position position) (least #f))
        (if (pair? rest)
            (begin
              (check code who position (car rest))
              (let ((length (%numeric-vector-length (car rest))))
                (loop (cdr rest) (+ position 1) (if least (min least length) length))))
            least)))

    (define (common-length code who vectors)
      (let ((length (least-length code who 2 vectors)))
        (let loop ((rest vectors) (position 2))
          (if (pair? rest)
              (begin
                (if (not (= length (%numeric-vector-length (car rest))))
                    (%range-error who position "a vector as long as the others" (car rest)))
                (loop (cdr rest) (+ position 1)))))
        length))

    (define (elements-at vectors index)
      (if (pair? vectors)
          (cons (%numeric-vector-ref (car vectors) index) (elements-at (cdr vectors) index))
          '()))

    ;; A procedure of one vector or of several calls this with one of an index: the application of
    ;; `procedure` to the elements there.
    (define (applier procedure vector vectors)
      (if (null? vectors)
          (lambda (index) (procedure (%numeric-vector-ref vector index)))
          (let ((vectors (cons vector vectors)))
            (lambda (index) (apply procedure (elements-at vectors index))))))

    (define (copy-range code vector start end)
      (let ((copy (%make-numeric-vector code (- end start))))
        (%numeric-vector-copy! copy 0 vector start end)
        copy))

    (define (swap! vector i j)
      (let ((element (%numeric-vector-ref vector i)))
        (%numeric-vector-set! vector i (%numeric-vector-ref vector j))
        (%numeric-vector-set! vector j element)))

    (define (reverse-range! vector start end)
      (let loop ((low start) (high (- end 1)))
        (if (< low high)
            (begin
              (swap! vector low high)
              (loop (+ low 1) (- high 1))))))

    ;; A fresh vector of the elements of a list, last first, of which there are `count`.
    (define (from-reversed code count elements)
      (let ((vector (%make-numeric-vector code count)))
        (let loop ((index (- count 1)) (rest elements))
          (if (pair? rest)
              (begin
                (%numeric-vector-set! vector index (car rest))
                (loop (- index 1) (cdr rest)))
              vector))))

    ;; Constructors.

    (define (numeric:make code who)
      (lambda (size . fill)
        (if (not (exact-nonnegative-integer? size))
            (%type-error who 1 "index" size))
        (let ((vector (%make-numeric-vector code size)))
          (if (pair? fill)
              (begin
                (check-element code who 2 (car fill))
                (%numeric-vector-fill! vector (car fill) 0 size)))
          vector)))

    (define (list->numeric code who elements)
      (let* ((length (length elements))
             (vector (%make-numeric-vector code length)))
        (let loop ((index 0) (rest elements))
          (if (pair? rest)
              (begin
                (check-element code who (+ index 1) (car rest))
                (%numeric-vector-set! vector index (car rest))
                (loop (+ index 1) (cdr rest)))
              vector))))

    (define (numeric:vector code who)
      (lambda elements
        (list->numeric code who elements)))

    (define (unfold-up! code who step vector start end seeds)
      (if (and (pair? seeds) (null? (cdr seeds)))
          (let loop ((index start) (seed (car seeds)))
            (if (< index end)
                (let-values (((element seed) (step index seed)))
                  (put! code who vector index element)
                  (loop (+ index 1) seed))))
          (let loop ((index start) (seeds seeds))
            (if (< index end)
                (let-values (((element . seeds) (apply step index seeds)))
                  (put! code who vector index element)
                  (loop (+ index 1) seeds))))))

    (define (unfold-down! code who step vector start end seeds)
      (let loop ((index (- end 1)) (seeds seeds))
        (if (>= index start)
            (let-values (((element . seeds) (apply step index seeds)))
              (put! code who vector index element)
              (loop (- index 1) seeds)))))

    ;; A vector in the making is a pair of the index that is written next and the vector. If the
    ;; index is another, a continuation was entered again, and another continuation has the
    ;; elements, too.
    (define (in-the-making code state index)
      (if (eqv? (car state) index)
          state
          (let ((vector (cdr state)))
            (cons index (copy-range code vector 0 (%numeric-vector-length vector))))))

    (define (add! code who state index next element)
      (let ((state (in-the-making code state index)))
        (put! code who (cdr state) index element)
        (set-car! state next)
        state))

    (define (unfolder code who start-of end-of by)
      (lambda (step size . seeds)
        (check-procedure who 1 step)
        (if (not (exact-nonnegative-integer? size))
            (%type-error who 2 "index" size))
        (let ((start (start-of size)) (end (end-of size)))
          (let loop ((index start)
                     (seeds seeds)
                     (state (cons start (%make-numeric-vector code size))))
            (if (= index end)
                (cdr state)
                (let-values (((element . seeds) (apply step index seeds)))
                  (let ((next (+ index by)))
                    (loop next seeds (add! code who state index next element)))))))))

    (define (numeric:unfold code who)
      (unfolder code who (lambda (size) 0) (lambda (size) size) 1))
    (define (numeric:unfold-right code who)
      (unfolder code who (lambda (size) (- size 1)) (lambda (size) -1) -1))

    (define (unfolder! code who fill!)
      (lambda (step vector start end . seeds)
        (check-procedure who 1 step)
        (check code who 2 vector)
        (with-range who 3 (%numeric-vector-length vector) (list start end)
          (lambda (start end)
            (fill! code who step vector start end seeds)
            vector))))

    (define (numeric:unfold! code who) (unfolder! code who unfold-up!))
    (define (numeric:unfold-right! code who) (unfolder! code who unfold-down!))

    (define (numeric:copy code who)
      (lambda (vector . range)
        (check code who 1 vector)
        (with-range who 2 (%numeric-vector-length vector) range
          (lambda (start end) (copy-range code vector start end)))))

    (define (numeric:reverse-copy code who)
      (lambda (vector . range)
        (check code who 1 vector)
        (with-range who 2 (%numeric-vector-length vector) range
          (lambda (start end)
            (let ((copy (copy-range code vector start end)))
              (reverse-range! copy 0 (- end start))
              copy)))))

    (define (append-vectors code who vectors)
      (let ((result
             (%make-numeric-vector
              code
              (let loop ((rest vectors) (position 1) (total 0))
                (if (pair? rest)
                    (begin
                      (check code who position (car rest))
                      (loop (cdr rest)
                            (+ position 1)
                            (+ total (%numeric-vector-length (car rest)))))
                    total)))))
        (let loop ((rest vectors) (at 0))
          (if (pair? rest)
              (let ((length (%numeric-vector-length (car rest))))
                (%numeric-vector-copy! result at (car rest) 0 length)
                (loop (cdr rest) (+ at length)))
              result))))

    (define (numeric:append code who)
      (lambda vectors (append-vectors code who vectors)))

    (define (numeric:concatenate code who)
      (lambda (vectors)
        (check-list who vectors)
        (append-vectors code who vectors)))

    (define (numeric:append-subvectors code who)
      (lambda arguments
        (let loop ((rest arguments) (position 1) (parts '()))
          (cond ((null? rest) (append-vectors code who (reverse! parts)))
                ((or (null? (cdr rest)) (null? (cddr rest)))
                 (%type-error who position "vector with start and end" (car rest)))
                (else
                 (check code who position (car rest))
                 (with-range who (+ position 1) (%numeric-vector-length (car rest))
                   (list (cadr rest) (caddr rest))
                   (lambda (start end)
                     (loop (cdddr rest)
                           (+ position 3)
                           (cons (copy-range code (car rest) start end) parts)))))))))

    ;; Predicates.

    ;; Vectors of floats take exact numbers too, but only inexact ones are elements.
    (define (numeric:element? code who)
      (if (< code 8)
          (lambda (object) (%numeric-element? code object))
          (lambda (object) (and (%numeric-element? code object) (inexact? object)))))

    (define (numeric:empty? code who)
      (lambda (vector)
        (check code who 1 vector)
        (eqv? (%numeric-vector-length vector) 0)))

    (define (same-elements? left right)
      (let ((length (%numeric-vector-length left)))
        (and (= length (%numeric-vector-length right))
             (let loop ((index 0))
               (or (= index length)
                   (and (= (%numeric-vector-ref left index) (%numeric-vector-ref right index))
                        (loop (+ index 1))))))))

    (define (numeric:= code who)
      (lambda vectors
        (least-length code who 1 vectors)
        (or (null? vectors)
            (let loop ((left (car vectors)) (rest (cdr vectors)))
              (or (null? rest)
                  (and (same-elements? left (car rest))
                       (loop (car rest) (cdr rest))))))))

    ;; Parts.

    (define (part code who bounds)
      (lambda (vector count)
        (check code who 1 vector)
        (let ((length (%numeric-vector-length vector)))
          (check-count who 2 count length)
          (let-values (((start end) (bounds length count)))
            (copy-range code vector start end)))))

    (define (numeric:take code who) (part code who (lambda (length n) (values 0 n))))
    (define (numeric:take-right code who)
      (part code who (lambda (length n) (values (- length n) length))))
    (define (numeric:drop code who) (part code who (lambda (length n) (values n length))))
    (define (numeric:drop-right code who)
      (part code who (lambda (length n) (values 0 (- length n)))))

    (define (numeric:segment code who)
      (lambda (vector count)
        (check code who 1 vector)
        (if (not (and (exact-integer? count) (positive? count)))
            (%type-error who 2 "positive exact integer" count))
        (let ((length (%numeric-vector-length vector)))
          (let loop ((start 0) (parts '()))
            (if (< start length)
                (let ((end (min length (+ start count))))
                  (loop end (cons (copy-range code vector start end) parts)))
                (reverse! parts))))))

    ;; Iteration.

    (define (numeric:fold code who)
      (case-lambda
        ((kons knil vector)
         (check-procedure who 1 kons)
         (check code who 3 vector)
         (let ((end (%numeric-vector-length vector)))
           (let loop ((index 0) (state knil))
             (if (< index end)
                 (loop (+ index 1) (kons state (%numeric-vector-ref vector index)))
                 state))))
        ((kons knil vector . vectors)
         (check-procedure who 1 kons)
         (let* ((vectors (cons vector vectors))
                (end (least-length code who 3 vectors)))
           (let loop ((index 0) (state knil))
             (if (< index end)
                 (loop (+ index 1) (apply kons state (elements-at vectors index)))
                 state))))))

    (define (numeric:fold-right code who)
      (lambda (kons knil vector . vectors)
        (check-procedure who 1 kons)
        (let ((vectors (cons vector vectors)))
          (let loop ((index (- (least-length code who 3 vectors) 1)) (state knil))
            (if (>= index 0)
                (loop (- index 1) (apply kons state (elements-at vectors index)))
                state)))))

    (define (numeric:map code who)
      (lambda (procedure vector . vectors)
        (check-procedure who 1 procedure)
        (let* ((end (least-length code who 2 (cons vector vectors)))
               (at (applier procedure vector vectors)))
          (let loop ((index 0) (state (cons 0 (%make-numeric-vector code end))))
            (if (< index end)
                (let ((element (at index)) (next (+ index 1)))
                  (loop next (add! code who state index next element)))
                (cdr state))))))

    (define (numeric:map! code who)
      (lambda (procedure vector . vectors)
        (check-procedure who 1 procedure)
        (let ((end (least-length code who 2 (cons vector vectors)))
              (at (applier procedure vector vectors)))
          (let loop ((index 0))
            (if (< index end)
                (begin
                  (put! code who vector index (at index))
                  (loop (+ index 1))))))))

    (define (numeric:for-each code who)
      (lambda (procedure vector . vectors)
        (check-procedure who 1 procedure)
        (let ((end (least-length code who 2 (cons vector vectors)))
              (at (applier procedure vector vectors)))
          (let loop ((index 0))
            (if (< index end)
                (begin
                  (at index)
                  (loop (+ index 1))))))))

    (define (numeric:count code who)
      (lambda (wanted? vector . vectors)
        (check-procedure who 1 wanted?)
        (let ((end (least-length code who 2 (cons vector vectors)))
              (at (applier wanted? vector vectors)))
          (let loop ((index 0) (count 0))
            (if (< index end)
                (loop (+ index 1) (if (at index) (+ count 1) count))
                count)))))

    (define (numeric:cumulate code who)
      (lambda (procedure knil vector)
        (check-procedure who 1 procedure)
        (check code who 3 vector)
        (let ((end (%numeric-vector-length vector)))
          (let loop ((index 0)
                     (element knil)
                     (state (cons 0 (%make-numeric-vector code end))))
            (if (< index end)
                (let ((element (procedure element (%numeric-vector-ref vector index)))
                      (next (+ index 1)))
                  (loop next element (add! code who state index next element)))
                (cdr state))))))

    ;; Searching.

    ;; The first index from `index` on, by steps, at which `stop?` holds, or `end`.
    (define (scan stop? index end step)
      (let loop ((index index))
        (if (or (= index end) (stop? index))
            index
            (loop (+ index step)))))

    ;; For prefixes and suffixes: where the run of elements that satisfy the predicate ends.
    (define (run-procedure code who find bounds)
      (lambda (wanted? vector)
        (check-procedure who 1 wanted?)
        (check code who 2 vector)
        (let* ((length (%numeric-vector-length vector))
               (unwanted? (lambda (index) (not (wanted? (%numeric-vector-ref vector index))))))
          (let-values (((start end) (bounds (find unwanted? length) length)))
            (copy-range code vector start end)))))

    (define (prefix-end unwanted? length) (scan unwanted? 0 length 1))
    (define (suffix-start unwanted? length) (+ (scan unwanted? (- length 1) -1 -1) 1))

    (define (numeric:take-while code who)
      (run-procedure code who prefix-end (lambda (place length) (values 0 place))))
    (define (numeric:drop-while code who)
      (run-procedure code who prefix-end (lambda (place length) (values place length))))
    (define (numeric:take-while-right code who)
      (run-procedure code who suffix-start (lambda (place length) (values place length))))
    (define (numeric:drop-while-right code who)
      (run-procedure code who suffix-start (lambda (place length) (values 0 place))))

    (define (numeric:index code who)
      (lambda (wanted? vector . vectors)
        (check-procedure who 1 wanted?)
        (let* ((end (least-length code who 2 (cons vector vectors)))
               (place (scan (applier wanted? vector vectors) 0 end 1)))
          (and (< place end) place))))

    (define (numeric:skip code who)
      (lambda (unwanted? vector . vectors)
        (check-procedure who 1 unwanted?)
        (let* ((end (least-length code who 2 (cons vector vectors)))
               (at (applier unwanted? vector vectors))
               (place (scan (lambda (index) (not (at index))) 0 end 1)))
          (and (< place end) place))))

    (define (numeric:index-right code who)
      (lambda (wanted? vector . vectors)
        (check-procedure who 1 wanted?)
        (let* ((end (common-length code who (cons vector vectors)))
               (place (scan (applier wanted? vector vectors) (- end 1) -1 -1)))
          (and (>= place 0) place))))

    (define (numeric:skip-right code who)
      (lambda (unwanted? vector . vectors)
        (check-procedure who 1 unwanted?)
        (let* ((end (common-length code who (cons vector vectors)))
               (at (applier unwanted? vector vectors))
               (place (scan (lambda (index) (not (at index))) (- end 1) -1 -1)))
          (and (>= place 0) place))))

    (define (numeric:any code who)
      (lambda (wanted? vector . vectors)
        (check-procedure who 1 wanted?)
        (let ((end (least-length code who 2 (cons vector vectors)))
              (at (applier wanted? vector vectors)))
          (let loop ((index 0))
            (and (< index end)
                 (or (at index) (loop (+ index 1))))))))

    (define (numeric:every code who)
      (lambda (wanted? vector . vectors)
        (check-procedure who 1 wanted?)
        (let ((end (least-length code who 2 (cons vector vectors)))
              (at (applier wanted? vector vectors)))
          (let loop ((index 0) (last #t))
            (if (< index end)
                (let ((last (at index)))
                  (and last (loop (+ index 1) last)))
                last)))))

    ;; Calls `work` with the reversed lists of the elements that satisfy the predicate and of the
    ;; others, and how many there are of each.
    (define (divide code who wanted? vector work)
      (check-procedure who 1 wanted?)
      (check code who 2 vector)
      (let ((end (%numeric-vector-length vector)))
        (let loop ((index 0) (count 0) (wanted '()) (others '()))
          (if (< index end)
              (let ((element (%numeric-vector-ref vector index)))
                (if (wanted? element)
                    (loop (+ index 1) (+ count 1) (cons element wanted) others)
                    (loop (+ index 1) count wanted (cons element others))))
              (work wanted count others (- end count))))))

    (define (numeric:partition code who)
      (lambda (wanted? vector)
        (divide code who wanted? vector
          (lambda (wanted count others rest)
            (values (from-reversed code (+ count rest) (append! others wanted)) count)))))

    (define (numeric:filter code who)
      (lambda (wanted? vector)
        (divide code who wanted? vector
          (lambda (wanted count others rest) (from-reversed code count wanted)))))

    (define (numeric:remove code who)
      (lambda (unwanted? vector)
        (divide code who unwanted? vector
          (lambda (unwanted count others rest) (from-reversed code rest others)))))

    ;; Mutators.

    (define (numeric:swap! code who)
      (lambda (vector i j)
        (check code who 1 vector)
        (let ((length (%numeric-vector-length vector)))
          (if (not (and (exact-nonnegative-integer? i) (< i length)))
              (%range-error who 2 "an index of the vector" i))
          (if (not (and (exact-nonnegative-integer? j) (< j length)))
              (%range-error who 3 "an index of the vector" j)))
        (swap! vector i j)))

    (define (numeric:fill! code who)
      (lambda (vector fill . range)
        (check code who 1 vector)
        (check-element code who 2 fill)
        (with-range who 3 (%numeric-vector-length vector) range
          (lambda (start end) (%numeric-vector-fill! vector fill start end)))))

    (define (numeric:reverse! code who)
      (lambda (vector . range)
        (check code who 1 vector)
        (with-range who 2 (%numeric-vector-length vector) range
          (lambda (start end) (reverse-range! vector start end)))))

    ;; Copies, and calls `finish` with where the copy begins and ends.
    (define (copy-into code who to at from range finish)
      (check code who 1 to)
      (check code who 3 from)
      (with-range who 4 (%numeric-vector-length from) range
        (lambda (start end)
          (if (not (and (exact-nonnegative-integer? at)
                        (<= (+ at (- end start)) (%numeric-vector-length to))))
              (%range-error who 2 "an index with room for the elements" at))
          (%numeric-vector-copy! to at from start end)
          (finish at (+ at (- end start))))))

    (define (numeric:copy! code who)
      (lambda (to at from . range)
        (copy-into code who to at from range void)))

    (define (numeric:reverse-copy! code who)
      (lambda (to at from . range)
        (copy-into code who to at from range
                   (lambda (start end) (reverse-range! to start end)))))

    ;; Conversion.

    (define (numeric:->list code who)
      (lambda (vector . range)
        (check code who 1 vector)
        (with-range who 2 (%numeric-vector-length vector) range
          (lambda (start end)
            (let loop ((index (- end 1)) (list '()))
              (if (>= index start)
                  (loop (- index 1) (cons (%numeric-vector-ref vector index) list))
                  list))))))

    (define (numeric:reverse->list code who)
      (lambda (vector . range)
        (check code who 1 vector)
        (with-range who 2 (%numeric-vector-length vector) range
          (lambda (start end)
            (let loop ((index start) (list '()))
              (if (< index end)
                  (loop (+ index 1) (cons (%numeric-vector-ref vector index) list))
                  list))))))

    (define (numeric:list-> code who)
      (lambda (list)
        (check-list who list)
        (list->numeric code who list)))

    (define (numeric:reverse-list-> code who)
      (lambda (list)
        (check-list who list)
        (list->numeric code who (reverse list))))

    (define (numeric:->vector code who)
      (let ((->list (numeric:->list code who)))
        (lambda (vector . range)
          (list->vector (apply ->list vector range)))))

    (define (numeric:vector-> code who)
      (lambda (vector . range)
        (if (not (vector? vector))
            (%type-error who 1 "vector" vector))
        (with-range who 2 (vector-length vector) range
          (lambda (start end)
            (list->numeric code who (vector->list vector start end))))))

    ;; Others.

    (define (numeric:generator code who)
      (lambda (vector)
        (check code who 1 vector)
        (let ((index 0) (end (%numeric-vector-length vector)))
          (lambda ()
            (if (< index end)
                (let ((element (%numeric-vector-ref vector index)))
                  (set! index (+ index 1))
                  element)
                (eof-object))))))

    ;; Complex numbers are ordered by their real parts, then by their imaginary parts.
    (define (element<? left right)
      (if (and (real? left) (real? right))
          (< left right)
          (or (< (real-part left) (real-part right))
              (and (= (real-part left) (real-part right))
                   (< (imag-part left) (imag-part right))))))

    ;; A shorter vector comes first.
    (define (vector<? left right)
      (let ((left-length (%numeric-vector-length left))
            (right-length (%numeric-vector-length right)))
        (or (< left-length right-length)
            (and (= left-length right-length)
                 (let loop ((index 0))
                   (and (< index left-length)
                        (let ((x (%numeric-vector-ref left index))
                              (y (%numeric-vector-ref right index)))
                          (or (element<? x y)
                              (and (= x y) (loop (+ index 1)))))))))))

    ;; Elements that are = hash alike: the sum with zero has no negative zeros.
    (define (vector-hash vector)
      (let ((length (%numeric-vector-length vector)))
        (let loop ((index 0) (state length))
          (if (< index length)
              (loop (+ index 1)
                    (modulo (+ (* 31 state) (hash (+ (%numeric-vector-ref vector index) 0)))
                            33554393))
              state))))

    (define (numeric:comparator code who)
      (make-comparator (lambda (object) (eqv? (%numeric-vector-type object) code))
                       same-elements?
                       vector<?
                       vector-hash))

    (define (numeric:write code who)
      (case-lambda
        ((vector)
         (check code who 1 vector)
         (write vector))
        ((vector port)
         (check code who 1 vector)
         (write vector port))))))
