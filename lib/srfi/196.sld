;;; (srfi 196): range objects.
;;;
;;; A range has an indexer, which takes positions from `start` on, and a length. So a part of a
;;; range is a range with the same indexer.  Ranges that hold computed elements index a vector.

(define-library (srfi 196)
  (export range numeric-range iota-range vector-range string-range range-append range-reverse
          range? range=? range-length range-ref range-first range-last
          range-split-at subrange range-segment range-take range-take-right range-drop
          range-drop-right range-count range-any range-every range-map range-map->list
          range-map->vector range-for-each range-filter-map range-filter-map->list
          range-filter range-filter->list range-remove range-remove->list
          range-fold range-fold-right
          range-index range-index-right range-take-while range-take-while-right
          range-drop-while range-drop-while-right
          range->list range->vector range->string range->generator vector->range)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments))
  (begin

    (define-record-type <range>
      (make-range indexer start length)
      range?
      (indexer indexer)
      (start start-of)
      (length size))

    (define (check who position object)
      (check-argument who position range? "range" object))

    (define (check-all who position ranges)
      (let loop ((rest ranges) (position position))
        (if (pair? rest)
            (begin
              (check who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    (define (ref range index)
      ((indexer range) (+ (start-of range) index)))

    ;; Constructors.

    (define (range length indexer)
      (check-index 'range 1 length)
      (check-procedure 'range 2 indexer)
      (make-range indexer 0 length))

    (define (steps start step)
      (lambda (index) (+ start (* index step))))

    (define numeric-range
      (case-lambda
        ((start end) (numeric-range start end 1))
        ((start end step)
         (check-argument 'numeric-range 1 real? "real number" start)
         (check-argument 'numeric-range 2 real? "real number" end)
         (check-argument 'numeric-range 3 real? "real number" step)
         (if (zero? step)
             (%range-error 'numeric-range 3 "the step is zero" step))
         (let ((count (ceiling (/ (- end start) step))))
           (if (not (finite? count))
               (error "numeric-range: the range has no end" start end step))
           (let ((count (max 0 (exact count))))
             ;; A rounded quotient may count an element too many.
             (make-range (steps start step)
                         0
                         (if (and (> count 0)
                                  (let ((last (+ start (* (- count 1) step))))
                                    (if (> step 0) (>= last end) (<= last end))))
                             (- count 1)
                             count)))))))

    (define iota-range
      (case-lambda
        ((length) (iota-range length 0 1))
        ((length start) (iota-range length start 1))
        ((length start step)
         (check-index 'iota-range 1 length)
         (check-argument 'iota-range 2 real? "real number" start)
         (check-argument 'iota-range 3 real? "real number" step)
         (make-range (steps start step) 0 length))))

    (define (from-vector vector)
      (make-range (lambda (index) (vector-ref vector index)) 0 (vector-length vector)))

    (define (vector-range vector)
      (check-argument 'vector-range 1 vector? "vector" vector)
      (from-vector vector))

    (define (vector->range vector)
      (check-argument 'vector->range 1 vector? "vector" vector)
      (from-vector (vector-copy vector)))

    (define (string-range string)
      (check-argument 'string-range 1 string? "string" string)
      (make-range (lambda (index) (string-ref string index)) 0 (string-length string)))

    (define (range-append . ranges)
      (check-all 'range-append 1 ranges)
      (cond ((null? ranges) (from-vector (vector)))
            ((null? (cdr ranges)) (car ranges))
            (else (from-vector (list->vector (concatenate (%map1 elements ranges)))))))

    (define (range-reverse range)
      (check 'range-reverse 1 range)
      (from-vector (list->vector (elements-reversed range))))

    ;; The elements as a list.
    (define (elements range)
      (let loop ((index (- (size range) 1)) (list '()))
        (if (< index 0)
            list
            (loop (- index 1) (cons (ref range index) list)))))

    (define (elements-reversed range)
      (let ((length (size range)))
        (let loop ((index 0) (list '()))
          (if (= index length)
              list
              (loop (+ index 1) (cons (ref range index) list))))))

    ;; Predicates and accessors.

    (define (range=? same? range . ranges)
      (check-procedure 'range=? 1 same?)
      (check-all 'range=? 2 (cons range ranges))
      (let loop ((left range) (rest ranges))
        (or (null? rest)
            (and (same-elements? same? left (car rest))
                 (loop (car rest) (cdr rest))))))

    (define (same-elements? same? left right)
      (let ((length (size left)))
        (and (= length (size right))
             (let loop ((index 0))
               (or (= index length)
                   (and (same? (ref left index) (ref right index))
                        (loop (+ index 1))))))))

    (define (range-length range)
      (check 'range-length 1 range)
      (size range))

    (define (range-ref range index)
      (check 'range-ref 1 range)
      (check-index 'range-ref 2 index)
      (if (>= index (size range))
          (%range-error 'range-ref 2 "the range is shorter" index))
      (ref range index))

    (define (check-not-empty who range)
      (check who 1 range)
      (if (= (size range) 0)
          (%range-error who 1 "the range is empty" range)))

    (define (range-first range)
      (check-not-empty 'range-first range)
      (ref range 0))

    (define (range-last range)
      (check-not-empty 'range-last range)
      (ref range (- (size range) 1)))

    ;; Parts.

    (define (part range start end)
      (if (and (= start 0) (= end (size range)))
          range
          (make-range (indexer range) (+ (start-of range) start) (- end start))))

    (define (check-count who range count)
      (check who 1 range)
      (check-index who 2 count)
      (if (> count (size range))
          (%range-error who 2 "the range is shorter" count)))

    (define (range-split-at range index)
      (check-count 'range-split-at range index)
      (values (part range 0 index) (part range index (size range))))

    (define (subrange range start end)
      (check 'subrange 1 range)
      (check-bounds 'subrange 2 start end (size range))
      (part range start end))

    (define (range-segment range length)
      (check 'range-segment 1 range)
      (check-index 'range-segment 2 length)
      (if (= length 0)
          (%range-error 'range-segment 2 "the length is not positive" length))
      (let ((total (size range)))
        (let loop ((start 0) (reversed '()))
          (if (>= start total)
              (reverse! reversed)
              (let ((end (min total (+ start length))))
                (loop end (cons (part range start end) reversed)))))))

    (define (range-take range count)
      (check-count 'range-take range count)
      (part range 0 count))

    (define (range-take-right range count)
      (check-count 'range-take-right range count)
      (part range (- (size range) count) (size range)))

    (define (range-drop range count)
      (check-count 'range-drop range count)
      (part range count (size range)))

    (define (range-drop-right range count)
      (check-count 'range-drop-right range count)
      (part range 0 (- (size range) count)))

    ;; Iteration.

    (define (least-length ranges)
      (%apply min (%map1 size ranges)))

    (define (elements-at ranges index)
      (%map1 (lambda (range) (ref range index)) ranges))

    (define range-fold
      (case-lambda
        ((kons state range)
         (check-procedure 'range-fold 1 kons)
         (check 'range-fold 3 range)
         (let ((length (size range)))
           (let loop ((index 0) (state state))
             (if (= index length)
                 state
                 (loop (+ index 1) (kons state (ref range index)))))))
        ((kons state . ranges)
         (check-procedure 'range-fold 1 kons)
         (check-all 'range-fold 3 ranges)
         (let ((length (least-length ranges)))
           (let loop ((index 0) (state state))
             (if (= index length)
                 state
                 (loop (+ index 1) (%apply kons (cons state (elements-at ranges index))))))))))

    (define (range-fold-right kons state range . ranges)
      (let ((ranges (cons range ranges)))
        (check-procedure 'range-fold-right 1 kons)
        (check-all 'range-fold-right 3 ranges)
        (let loop ((index (- (least-length ranges) 1)) (state state))
          (if (< index 0)
              state
              (loop (- index 1) (%apply kons (cons state (elements-at ranges index))))))))

    ;; The results of `procedure` at the elements at each index, as a list, last first.
    (define (results-reversed who procedure ranges)
      (check-procedure who 1 procedure)
      (check-all who 2 ranges)
      (if (null? (cdr ranges))
          (range-fold (lambda (reversed object) (cons (procedure object) reversed))
                      '()
                      (car ranges))
          (%apply range-fold
                  (cons* (lambda (reversed . objects)
                           (cons (%apply procedure objects) reversed))
                         '()
                         ranges))))

    (define (range-count wanted? range . ranges)
      (let loop ((rest (results-reversed 'range-count wanted? (cons range ranges))) (count 0))
        (if (null? rest)
            count
            (loop (cdr rest) (if (car rest) (+ count 1) count)))))

    (define (range-any wanted? range . ranges)
      (let ((ranges (cons range ranges)))
        (check-procedure 'range-any 1 wanted?)
        (check-all 'range-any 2 ranges)
        (let ((length (least-length ranges)))
          (let loop ((index 0))
            (and (< index length)
                 (or (%apply wanted? (elements-at ranges index))
                     (loop (+ index 1))))))))

    (define (range-every wanted? range . ranges)
      (let ((ranges (cons range ranges)))
        (check-procedure 'range-every 1 wanted?)
        (check-all 'range-every 2 ranges)
        (let ((length (least-length ranges)))
          (let loop ((index 0) (last #t))
            (if (= index length)
                last
                (let ((result (%apply wanted? (elements-at ranges index))))
                  (and result (loop (+ index 1) result))))))))

    (define (range-map procedure range . ranges)
      (from-vector
       (%reverse-list->vector (results-reversed 'range-map procedure (cons range ranges)))))

    (define (range-map->list procedure range . ranges)
      (reverse (results-reversed 'range-map->list procedure (cons range ranges))))

    (define (range-map->vector procedure range . ranges)
      (%reverse-list->vector (results-reversed 'range-map->vector procedure (cons range ranges))))

    (define (range-for-each procedure range . ranges)
      (results-reversed 'range-for-each procedure (cons range ranges))
      (void))

    (define (true-values reversed)
      (let loop ((rest reversed) (list '()))
        (if (null? rest)
            list
            (loop (cdr rest) (if (car rest) (cons (car rest) list) list)))))

    (define (range-filter-map procedure range . ranges)
      (from-vector
       (list->vector
        (true-values (results-reversed 'range-filter-map procedure (cons range ranges))))))

    (define (range-filter-map->list procedure range . ranges)
      (true-values (results-reversed 'range-filter-map->list procedure (cons range ranges))))

    (define (kept who wanted? range keep?)
      (check-procedure who 1 wanted?)
      (check who 2 range)
      (reverse (range-fold (lambda (reversed object)
                             (if (eq? keep? (if (wanted? object) #t #f))
                                 (cons object reversed)
                                 reversed))
                           '()
                           range)))

    (define (range-filter wanted? range)
      (from-vector (list->vector (kept 'range-filter wanted? range #t))))
    (define (range-filter->list wanted? range)
      (kept 'range-filter->list wanted? range #t))
    (define (range-remove unwanted? range)
      (from-vector (list->vector (kept 'range-remove unwanted? range #f))))
    (define (range-remove->list unwanted? range)
      (kept 'range-remove->list unwanted? range #f))

    ;; Searching.

    ;; The first index, in steps of `step` from `start`, whose elements satisfy `found?`; or `stop`.
    (define (search found? ranges start stop step)
      (let loop ((index start))
        (if (or (= index stop) (%apply found? (elements-at ranges index)))
            index
            (loop (+ index step)))))

    (define (range-index wanted? range . ranges)
      (let ((ranges (cons range ranges)))
        (check-procedure 'range-index 1 wanted?)
        (check-all 'range-index 2 ranges)
        (let* ((length (least-length ranges)) (index (search wanted? ranges 0 length 1)))
          (and (< index length) index))))

    (define (range-index-right wanted? range . ranges)
      (let ((ranges (cons range ranges)))
        (check-procedure 'range-index-right 1 wanted?)
        (check-all 'range-index-right 2 ranges)
        (for-each (lambda (other)
                    (if (not (= (size other) (size range)))
                        (error "range-index-right: the ranges have different lengths"
                               range other)))
                  ranges)
        (let ((index (search wanted? ranges (- (size range) 1) -1 -1)))
          (and (>= index 0) index))))

    ;; The length of the prefix, or the start of the suffix, whose elements satisfy `wanted?`.

    (define (prefix-end who wanted? range)
      (check-procedure who 1 wanted?)
      (check who 2 range)
      (search (lambda (object) (not (wanted? object))) (list range) 0 (size range) 1))

    (define (suffix-start who wanted? range)
      (check-procedure who 1 wanted?)
      (check who 2 range)
      (+ 1 (search (lambda (object) (not (wanted? object)))
                   (list range)
                   (- (size range) 1)
                   -1
                   -1)))

    (define (range-take-while wanted? range)
      (part range 0 (prefix-end 'range-take-while wanted? range)))
    (define (range-drop-while unwanted? range)
      (part range (prefix-end 'range-drop-while unwanted? range) (size range)))
    (define (range-take-while-right wanted? range)
      (part range (suffix-start 'range-take-while-right wanted? range) (size range)))
    (define (range-drop-while-right unwanted? range)
      (part range 0 (suffix-start 'range-drop-while-right unwanted? range)))

    ;; Conversion.

    (define (range->list range)
      (check 'range->list 1 range)
      (elements range))

    (define (range->vector range)
      (check 'range->vector 1 range)
      (%reverse-list->vector (elements-reversed range)))

    (define (range->string range)
      (check 'range->string 1 range)
      (%reverse-list->string (elements-reversed range)))

    (define (range->generator range)
      (check 'range->generator 1 range)
      (let ((index 0))
        (lambda ()
          (if (< index (size range))
              (let ((object (ref range index)))
                (set! index (+ index 1))
                object)
              (eof-object)))))))
