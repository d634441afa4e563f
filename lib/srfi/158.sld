;;; (srfi 158): generators and accumulators.
;;;
;;; A generator is a procedure without parameters that gives the next value. Once there are no more
;;; it gives an end-of-file object, however often it is called then. An accumulator takes values,
;;; and gives its result for an end-of-file object.

(define-library (srfi 158)
  (export generator circular-generator make-iota-generator make-range-generator
          make-coroutine-generator list->generator vector->generator reverse-vector->generator
          string->generator bytevector->generator make-for-each-generator make-unfold-generator
          gcons* gappend gflatten ggroup gmerge gmap gcombine gfilter gremove gstate-filter
          gtake gdrop gtake-while gdrop-while gdelete gdelete-neighbor-dups gindex gselect
          generator->list generator->reverse-list generator->vector generator->vector!
          generator->string generator-fold generator-for-each generator-map->list generator-find
          generator-count generator-any generator-every generator-unfold
          make-accumulator count-accumulator list-accumulator reverse-list-accumulator
          vector-accumulator reverse-vector-accumulator vector-accumulator! string-accumulator
          bytevector-accumulator bytevector-accumulator! sum-accumulator product-accumulator)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments))
  (begin

    (define end (eof-object))

    (define (check-generator who position object)
      (check-argument who position procedure? "generator" object))

    (define (check-generators who position generators)
      (let loop ((rest generators) (position position))
        (if (pair? rest)
            (begin
              (check-generator who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    ;; The next values of all generators, or #f when one of them has ended.
    (define (next-values generators)
      (let loop ((rest generators) (reversed '()))
        (if (null? rest)
            (reverse reversed)
            (let ((value ((car rest))))
              (if (eof-object? value)
                  #f
                  (loop (cdr rest) (cons value reversed)))))))

    ;; Constructors.

    (define (generator . objects)
      (list->generator objects))

    (define (list->generator list)
      (check-list 'list->generator 1 list)
      (let ((rest list))
        (lambda ()
          (if (pair? rest)
              (let ((object (car rest)))
                (set! rest (cdr rest))
                object)
              end))))

    (define (circular-generator object . objects)
      (let* ((all (cons object objects)) (rest all))
        (lambda ()
          (let ((next (car rest)))
            (set! rest (if (pair? (cdr rest)) (cdr rest) all))
            next))))

    (define make-iota-generator
      (case-lambda
        ((count)
         (check-argument 'make-iota-generator 1 real? "real number" count)
         (let ((index 0))
           (lambda ()
             (if (< index count)
                 (let ((value index))
                   (set! index (+ index 1))
                   value)
                 end))))
        ((count start) (make-iota-generator count start 1))
        ((count start step)
         (check-argument 'make-iota-generator 1 real? "real number" count)
         (if (and (exact? start) (exact? step))
             (numbers start step (lambda (index value) (< index count)))
             (numbers (inexact start) (inexact step) (lambda (index value) (< index count)))))))

    (define make-range-generator
      (case-lambda
        ((start) (make-range-generator start +inf.0 1))
        ((start stop) (make-range-generator start stop 1))
        ((start stop step)
         (check-argument 'make-range-generator 1 real? "real number" start)
         (check-argument 'make-range-generator 2 real? "real number" stop)
         (check-argument 'make-range-generator 3 real? "real number" step)
         (if (and (exact? start) (exact? step))
             (numbers start step (lambda (index value) (< value stop)))
             (numbers (inexact start) (inexact step) (lambda (index value) (< value stop)))))))

    ;; start, start + step, … as long as `more?` holds for the index and the value.
    (define (numbers start step more?)
      (let ((index 0))
        (lambda ()
          (let ((value (+ start (* index step))))
            (if (more? index value)
                (begin
                  (set! index (+ index 1))
                  value)
                end)))))

    (define (make-coroutine-generator procedure)
      (check-procedure 'make-coroutine-generator 1 procedure)
      (let ((return #f) (resume #f))
        (define (yield value)
          (call-with-current-continuation
           (lambda (k)
             (set! resume k)
             (return value))))
        (define (finish)
          (set! resume (lambda (ignored) (return end)))
          (return end))
        (lambda ()
          (call-with-current-continuation
           (lambda (k)
             (set! return k)
             (if resume
                 (resume #f)
                 (begin
                   (procedure yield)
                   (finish))))))))

    ;; Generators of the parts of sequences.  The end of a part is taken when it is made.
    (define-syntax define-sequence-generator
      (syntax-rules ()
        ((_ name ref length-of)
         (define name
           (case-lambda
             ((sequence) (name sequence 0 (length-of sequence)))
             ((sequence start) (name sequence start (length-of sequence)))
             ((sequence start stop)
              (check-bounds 'name 2 start stop (length-of sequence))
              (let ((index start))
                (lambda ()
                  (if (< index stop)
                      (let ((object (ref sequence index)))
                        (set! index (+ index 1))
                        object)
                      end)))))))))

    (define-sequence-generator vector->generator vector-ref vector-length)
    (define-sequence-generator string->generator string-ref string-length)
    (define-sequence-generator bytevector->generator bytevector-u8-ref bytevector-length)

    (define reverse-vector->generator
      (case-lambda
        ((vector) (reverse-vector->generator vector 0 (vector-length vector)))
        ((vector start) (reverse-vector->generator vector start (vector-length vector)))
        ((vector start stop)
         (check-bounds 'reverse-vector->generator 2 start stop (vector-length vector))
         (let ((index stop))
           (lambda ()
             (if (> index start)
                 (begin
                   (set! index (- index 1))
                   (vector-ref vector index))
                 end))))))

    (define (make-for-each-generator for-each object)
      (check-procedure 'make-for-each-generator 1 for-each)
      (make-coroutine-generator (lambda (yield) (for-each yield object))))

    (define (make-unfold-generator stop? mapper successor seed)
      (check-procedure 'make-unfold-generator 1 stop?)
      (check-procedure 'make-unfold-generator 2 mapper)
      (check-procedure 'make-unfold-generator 3 successor)
      (lambda ()
        (if (stop? seed)
            end
            (let ((value (mapper seed)))
              (set! seed (successor seed))
              value))))

    ;; Operations.

    (define (gcons* object . objects)
      (let* ((all (%apply cons* (cons object objects))) (rest all))
        (lambda ()
          (if (pair? rest)
              (let ((next (car rest)))
                (set! rest (cdr rest))
                next)
              (rest)))))

    (define (gappend . generators)
      (check-generators 'gappend 1 generators)
      (lambda ()
        (let loop ()
          (if (null? generators)
              end
              (let ((value ((car generators))))
                (if (eof-object? value)
                    (begin
                      (set! generators (cdr generators))
                      (loop))
                    value))))))

    (define (gflatten generator)
      (check-generator 'gflatten 1 generator)
      (let ((rest '()))
        (lambda ()
          (let loop ()
            (cond ((pair? rest)
                   (let ((object (car rest)))
                     (set! rest (cdr rest))
                     object))
                  ((eof-object? rest) end)
                  (else
                   (set! rest (generator))
                   (loop)))))))

    (define ggroup
      (case-lambda
        ((generator count) (group 'ggroup generator count (lambda (size) '())))
        ((generator count padding)
         (group 'ggroup generator count (lambda (missing) (make-list missing padding))))))

    (define (group who generator count fill)
      (check-generator who 1 generator)
      (check-index who 2 count)
      (if (= count 0)
          (%range-error who 2 "the size is not positive" count))
      (lambda ()
        (let loop ((missing count) (reversed '()))
          (if (= missing 0)
              (reverse reversed)
              (let ((value (generator)))
                (cond ((not (eof-object? value))
                       (loop (- missing 1) (cons value reversed)))
                      ((null? reversed) end)
                      (else (append-reverse reversed (fill missing)))))))))

    (define gmerge
      (case-lambda
        ((less? generator)
         (check-generator 'gmerge 2 generator)
         generator)
        ((less? left right)
         (check-procedure 'gmerge 1 less?)
         (check-generators 'gmerge 2 (list left right))
         (merge-two less? left right))
        ((less? . generators)
         (check-procedure 'gmerge 1 less?)
         (check-generators 'gmerge 2 generators)
         ;; A balanced tree of merges.
         (let build ((count (length generators)) (generators generators))
           (if (= count 1)
               (car generators)
               (let ((half (quotient count 2)))
                 (merge-two less?
                            (build half generators)
                            (build (- count half) (list-tail generators half)))))))))

    (define (merge-two less? left right)
      (let ((started? #f) (left-value #f) (right-value #f))
        (lambda ()
          (if (not started?)
              (begin
                (set! started? #t)
                (set! left-value (left))
                (set! right-value (right))))
          (cond ((eof-object? left-value)
                 (let ((value right-value))
                   (if (not (eof-object? value)) (set! right-value (right)))
                   value))
                ((or (eof-object? right-value) (not (less? right-value left-value)))
                 (let ((value left-value))
                   (set! left-value (left))
                   value))
                (else
                 (let ((value right-value))
                   (set! right-value (right))
                   value))))))

    (define gmap
      (case-lambda
        ((procedure generator)
         (check-procedure 'gmap 1 procedure)
         (check-generator 'gmap 2 generator)
         (lambda ()
           (let ((value (generator)))
             (if (eof-object? value) value (procedure value)))))
        ((procedure . generators)
         (check-procedure 'gmap 1 procedure)
         (check-generators 'gmap 2 generators)
         (lambda ()
           (let ((objects (next-values generators)))
             (if objects (%apply procedure objects) end))))))

    (define (gcombine procedure seed generator . generators)
      (check-procedure 'gcombine 1 procedure)
      (let ((generators (cons generator generators)))
        (check-generators 'gcombine 3 generators)
        (lambda ()
          (let ((objects (next-values generators)))
            (if objects
                (let-values (((value next) (%apply procedure (append! objects (list seed)))))
                  (set! seed next)
                  value)
                end)))))

    (define (gfilter wanted? generator)
      (check-procedure 'gfilter 1 wanted?)
      (check-generator 'gfilter 2 generator)
      (lambda ()
        (let loop ()
          (let ((value (generator)))
            (if (or (eof-object? value) (wanted? value))
                value
                (loop))))))

    (define (gremove unwanted? generator)
      (check-procedure 'gremove 1 unwanted?)
      (check-generator 'gremove 2 generator)
      (gfilter (lambda (value) (not (unwanted? value))) generator))

    (define (gstate-filter procedure seed generator)
      (check-procedure 'gstate-filter 1 procedure)
      (check-generator 'gstate-filter 3 generator)
      (lambda ()
        (let loop ()
          (let ((value (generator)))
            (if (eof-object? value)
                value
                (let-values (((wanted? next) (procedure value seed)))
                  (set! seed next)
                  (if wanted? value (loop))))))))

    (define gtake
      (case-lambda
        ((generator count)
         (check-generator 'gtake 1 generator)
         (check-index 'gtake 2 count)
         (lambda ()
           (if (> count 0)
               (begin
                 (set! count (- count 1))
                 (generator))
               end)))
        ((generator count padding)
         (gtake (gappend generator (lambda () padding)) count))))

    (define (gdrop generator count)
      (check-generator 'gdrop 1 generator)
      (check-index 'gdrop 2 count)
      (lambda ()
        (let loop ()
          (if (> count 0)
              (begin
                (set! count (- count 1))
                (if (eof-object? (generator))
                    (set! count 0))
                (loop))
              (generator)))))

    (define (gtake-while wanted? generator)
      (check-procedure 'gtake-while 1 wanted?)
      (check-generator 'gtake-while 2 generator)
      (let ((ended? #f))
        (lambda ()
          (if ended?
              end
              (let ((value (generator)))
                (if (and (not (eof-object? value)) (wanted? value))
                    value
                    (begin
                      (set! ended? #t)
                      end)))))))

    (define (gdrop-while unwanted? generator)
      (check-procedure 'gdrop-while 1 unwanted?)
      (check-generator 'gdrop-while 2 generator)
      (let ((found? #f))
        (lambda ()
          (if found?
              (generator)
              (let loop ()
                (let ((value (generator)))
                  (if (and (not (eof-object? value)) (unwanted? value))
                      (loop)
                      (begin
                        (set! found? #t)
                        value))))))))

    (define gdelete
      (case-lambda
        ((object generator) (gdelete object generator equal?))
        ((object generator same?)
         (check-procedure 'gdelete 3 same?)
         (gremove (lambda (value) (same? object value)) generator))))

    (define gdelete-neighbor-dups
      (case-lambda
        ((generator) (gdelete-neighbor-dups generator equal?))
        ((generator same?)
         (check-generator 'gdelete-neighbor-dups 1 generator)
         (check-procedure 'gdelete-neighbor-dups 2 same?)
         (let ((first? #t) (previous #f))
           (gfilter (lambda (value)
                      (let ((new? (or first? (not (same? previous value)))))
                        (set! first? #f)
                        (set! previous value)
                        new?))
                    generator)))))

    (define (gindex generator indices)
      (check-generators 'gindex 1 (list generator indices))
      (let ((position 0))
        (lambda ()
          (let ((index (indices)))
            (if (eof-object? index)
                end
                (begin
                  (if (not (and (exact-nonnegative-integer? index) (>= index position)))
                      (error "gindex: the indices do not increase" index))
                  (let loop ()
                    (let ((value (generator)) (at position))
                      (set! position (+ position 1))
                      (if (or (= at index) (eof-object? value))
                          value
                          (loop))))))))))

    (define (gselect generator truths)
      (check-generators 'gselect 1 (list generator truths))
      (lambda ()
        (let loop ()
          (let ((value (generator)) (truth (truths)))
            (cond ((or (eof-object? value) (eof-object? truth)) end)
                  (truth value)
                  (else (loop)))))))

    ;; Consumption.

    (define generator->reverse-list
      (case-lambda
        ((generator)
         (check-generator 'generator->reverse-list 1 generator)
         (let loop ((reversed '()))
           (let ((value (generator)))
             (if (eof-object? value)
                 reversed
                 (loop (cons value reversed))))))
        ((generator count)
         (generator->reverse-list (gtake generator count)))))

    (define generator->list
      (case-lambda
        ((generator) (reverse (generator->reverse-list generator)))
        ((generator count) (reverse (generator->reverse-list generator count)))))

    (define generator->vector
      (case-lambda
        ((generator) (%reverse-list->vector (generator->reverse-list generator)))
        ((generator count) (%reverse-list->vector (generator->reverse-list generator count)))))

    (define (generator->vector! vector start generator)
      (check-argument 'generator->vector! 1 vector? "vector" vector)
      (check-bounds 'generator->vector! 2 start (vector-length vector) (vector-length vector))
      (check-generator 'generator->vector! 3 generator)
      (let ((stop (vector-length vector)))
        (let loop ((index start))
          (if (= index stop)
              (- index start)
              (let ((value (generator)))
                (if (eof-object? value)
                    (- index start)
                    (begin
                      (vector-set! vector index value)
                      (loop (+ index 1)))))))))

    (define generator->string
      (case-lambda
        ((generator) (%reverse-list->string (generator->reverse-list generator)))
        ((generator count) (%reverse-list->string (generator->reverse-list generator count)))))

    (define generator-fold
      (case-lambda
        ((procedure seed generator)
         (check-procedure 'generator-fold 1 procedure)
         (check-generator 'generator-fold 3 generator)
         (let loop ((state seed))
           (let ((value (generator)))
             (if (eof-object? value)
                 state
                 (loop (procedure value state))))))
        ((procedure seed . generators)
         (check-procedure 'generator-fold 1 procedure)
         (check-generators 'generator-fold 3 generators)
         (let loop ((state seed))
           (let ((objects (next-values generators)))
             (if objects
                 (loop (%apply procedure (append! objects (list state))))
                 state))))))

    (define generator-for-each
      (case-lambda
        ((procedure generator)
         (check-procedure 'generator-for-each 1 procedure)
         (check-generator 'generator-for-each 2 generator)
         (let loop ()
           (let ((value (generator)))
             (if (not (eof-object? value))
                 (begin
                   (procedure value)
                   (loop))))))
        ((procedure . generators)
         (check-procedure 'generator-for-each 1 procedure)
         (check-generators 'generator-for-each 2 generators)
         (let loop ()
           (let ((objects (next-values generators)))
             (if objects
                 (begin
                   (%apply procedure objects)
                   (loop))))))))

    (define (generator-map->list procedure generator . generators)
      (generator->list (%apply gmap (cons* procedure generator generators))))

    (define (generator-find wanted? generator)
      (check-procedure 'generator-find 1 wanted?)
      (let ((value ((gfilter wanted? generator))))
        (if (eof-object? value) #f value)))

    (define (generator-count wanted? generator)
      (generator-fold (lambda (value count) (if (wanted? value) (+ count 1) count)) 0 generator))

    (define (generator-any wanted? generator)
      (check-procedure 'generator-any 1 wanted?)
      (check-generator 'generator-any 2 generator)
      (let loop ()
        (let ((value (generator)))
          (if (eof-object? value)
              #f
              (or (wanted? value) (loop))))))

    (define (generator-every wanted? generator)
      (check-procedure 'generator-every 1 wanted?)
      (check-generator 'generator-every 2 generator)
      (let loop ((last #t))
        (let ((value (generator)))
          (if (eof-object? value)
              last
              (let ((result (wanted? value)))
                (and result (loop result)))))))

    (define (generator-unfold generator unfold . arguments)
      (check-generator 'generator-unfold 1 generator)
      (check-procedure 'generator-unfold 2 unfold)
      (%apply unfold
              (cons* eof-object?
                     (lambda (value) value)
                     (lambda (value) (generator))
                     (generator)
                     arguments)))

    ;; Accumulators.

    (define (make-accumulator kons knil finalize)
      (check-procedure 'make-accumulator 1 kons)
      (check-procedure 'make-accumulator 3 finalize)
      (let ((state knil))
        (lambda (object)
          (if (eof-object? object)
              (finalize state)
              (set! state (kons object state))))))

    (define (count-accumulator)
      (make-accumulator (lambda (object count) (+ count 1)) 0 values))

    (define (list-accumulator)
      (make-accumulator cons '() reverse))

    (define (reverse-list-accumulator)
      (make-accumulator cons '() values))

    (define (vector-accumulator)
      (make-accumulator cons '() %reverse-list->vector))

    (define (reverse-vector-accumulator)
      (make-accumulator cons '() list->vector))

    (define (string-accumulator)
      (make-accumulator (lambda (object state)
                          (check-argument 'string-accumulator 1 char? "character" object)
                          (cons object state))
                        '()
                        %reverse-list->string))

    (define (byte? object)
      (and (exact-nonnegative-integer? object) (< object 256)))

    (define (bytevector-accumulator)
      (make-accumulator (lambda (object state)
                          (check-argument 'bytevector-accumulator 1 byte? "byte" object)
                          (cons object state))
                        '()
                        (lambda (state) (list->bytevector (reverse state)))))

    (define (vector-accumulator! vector start)
      (check-argument 'vector-accumulator! 1 vector? "vector" vector)
      (check-bounds 'vector-accumulator! 2 start (vector-length vector) (vector-length vector))
      (make-accumulator (lambda (object index)
                          (vector-set! vector index object)
                          (+ index 1))
                        start
                        (lambda (index) vector)))

    (define (bytevector-accumulator! bytevector start)
      (check-argument 'bytevector-accumulator! 1 bytevector? "bytevector" bytevector)
      (check-bounds 'bytevector-accumulator! 2 start (bytevector-length bytevector)
                    (bytevector-length bytevector))
      (make-accumulator (lambda (object index)
                          (bytevector-u8-set! bytevector index object)
                          (+ index 1))
                        start
                        (lambda (index) bytevector)))

    (define (sum-accumulator)
      (make-accumulator + 0 values))

    (define (product-accumulator)
      (make-accumulator * 1 values))))
