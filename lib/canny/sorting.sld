;;; (canny sorting): stable merge sort of lists and vectors.
;;;
;;; A list is sorted in a vector: one pass in, one pass out, and the merging touches no pairs.  Elements of one
;;; kind are sorted by a primitive if the procedure is a well-known one.

(define-library (canny sorting)
  (export sort sort! list-sort vector-sort vector-sort! sorted? merge)
  (import (canny primitives) (canny protocols) (canny syntax))
  (begin

    ;; Runs up to this length are sorted by insertion.
    (define run-length-max 8)

    (define (insertion-sort! vector less? start end)
      (let outer ((next (+ start 1)))
        (if (< next end)
            (let ((element (vector-ref vector next)))
              (let inner ((hole next))
                (if (and (> hole start)
                         (less? element (vector-ref vector (- hole 1))))
                    (begin
                      (vector-set! vector hole (vector-ref vector (- hole 1)))
                      (inner (- hole 1)))
                    (vector-set! vector hole element)))
              (outer (+ next 1))))))

    ;; Merges [start, middle) of `vector`, which has been copied to `spare`, with [middle, end).
    (define (merge-runs! vector spare less? start middle end)
      (vector-copy! spare start vector start middle)
      (let loop ((left start) (right middle) (to start))
        (cond ((= left middle))
              ((= right end)
               (vector-copy! vector to spare left middle))
              ((less? (vector-ref vector right) (vector-ref spare left))
               (vector-set! vector to (vector-ref vector right))
               (loop left (+ right 1) (+ to 1)))
              (else
               (vector-set! vector to (vector-ref spare left))
               (loop (+ left 1) right (+ to 1))))))

    (define (merge-sort! vector spare less? start end)
      (if (<= (- end start) run-length-max)
          (insertion-sort! vector less? start end)
          (let ((middle (quotient (+ start end) 2)))
            (merge-sort! vector spare less? start middle)
            (merge-sort! vector spare less? middle end)
            (if (less? (vector-ref vector middle) (vector-ref vector (- middle 1)))
                (merge-runs! vector spare less? start middle end)))))

    (define (sort-range! vector less? start end)
      (let ((order (order-of less?)))
        (if order
            (sort-by-order! vector less? order start end)
            (sort-by-procedure! vector less? start end))))

    (define (sort-by-procedure! vector less? start end)
      (merge-sort! vector (spare-for vector start end) less? start end))

    (define (spare-for vector start end)
      (if (> (- end start) run-length-max) (make-vector end #f) vector))

    ;; The order by which the primitive knows a procedure, or #f.
    (define (order-of less?)
      (cond ((eq? less? <) sort-order/numbers)
            ((eq? less? >) sort-order/numbers-descending)
            ((eq? less? string<?) sort-order/strings)
            ((eq? less? string>?) sort-order/strings-descending)
            ((eq? less? char<?) sort-order/characters)
            ((eq? less? char>?) sort-order/characters-descending)
            (else #f)))

    ;; The primitive sorts so many elements at most, and only such as are all of one kind.
    (define ordered-length-max 1000000)

    (define (sort-by-order! vector less? order start end)
      (cond ((<= (- end start) 1))
            ((> (- end start) ordered-length-max)
             (let ((middle (quotient (+ start end) 2)))
               (sort-by-order! vector less? order start middle)
               (sort-by-order! vector less? order middle end)
               (if (less? (vector-ref vector middle) (vector-ref vector (- middle 1)))
                   (merge-runs! vector (spare-for vector start end) less? start middle end))))
            ((not (%sort-vector! vector start end order))
             (sort-by-procedure! vector less? start end))))

    (define (sort-whole-vector! vector less?)
      (sort-range! vector less? 0 (vector-length vector)))

    (define (check-procedure who position object)
      (if (not (procedure? object))
          (%type-error who position "procedure" object)))

    (define (check-vector who position object)
      (if (not (vector? object))
          (%type-error who position "vector" object)))

    ;; SRFI 132 puts the procedure first.

    (define (list-sort less? list)
      (check-procedure 'list-sort 1 less?)
      (if (not (list? list))
          (%type-error 'list-sort 2 "list" list))
      (if (or (null? list) (null? (cdr list)))
          (list-copy list)
          (let ((vector (list->vector list)))
            (sort-whole-vector! vector less?)
            (vector->list vector))))

    (define (check-range who start end length)
      (if (not (and (exact-integer? end) (<= 0 end length)))
          (%range-error who 4 "an index of the vector" end))
      (if (not (and (exact-integer? start) (<= 0 start end)))
          (%range-error who 3 "an index not above the end" start)))

    ;; A range of the vector is sorted, if one is given.

    (define (vector-sort less? vector . range)
      (check-procedure 'vector-sort 1 less?)
      (check-vector 'vector-sort 2 vector)
      (let ((copy (if (null? range) (vector-copy vector) (apply vector-copy vector range))))
        (sort-whole-vector! copy less?)
        copy))

    (define vector-sort!
      (case-lambda
        ((less? vector)
         (check-procedure 'vector-sort! 1 less?)
         (check-vector 'vector-sort! 2 vector)
         (sort-whole-vector! vector less?))
        ((less? vector start)
         (check-vector 'vector-sort! 2 vector)
         (vector-sort! less? vector start (vector-length vector)))
        ((less? vector start end)
         (check-procedure 'vector-sort! 1 less?)
         (check-vector 'vector-sort! 2 vector)
         (check-range 'vector-sort! start end (vector-length vector))
         (sort-range! vector less? start end))))

    ;; `sort` and `sort!` take a list or a vector, and the procedure before or after it: both
    ;; orders are in use.

    (define (sort sequence less?)
      (cond ((procedure? sequence) (sort less? sequence))
            ((vector? sequence) (vector-sort less? sequence))
            ((list? sequence) (list-sort less? sequence))
            (else (%type-error 'sort 1 "list or vector" sequence))))

    (define (sort! sequence less?)
      (cond ((procedure? sequence) (sort! less? sequence))
            ((vector? sequence)
             (vector-sort! less? sequence)
             sequence)
            ((list? sequence) (list-sort less? sequence))
            (else (%type-error 'sort! 1 "list or vector" sequence))))

    (define (sorted? sequence less?)
      (cond ((vector? sequence) (sorted? (vector->list sequence) less?))
            ((not (list? sequence)) (%type-error 'sorted? 1 "list or vector" sequence))
            ((null? sequence) #t)
            (else
             (let loop ((previous (car sequence)) (rest (cdr sequence)))
               (cond ((null? rest) #t)
                     ((less? (car rest) previous) #f)
                     (else (loop (car rest) (cdr rest))))))))

    (define (merge left right less?)
      (let loop ((left left) (right right) (merged '()))
        (cond ((null? left) (append-reverse merged right))
              ((null? right) (append-reverse merged left))
              ((less? (car right) (car left))
               (loop left (cdr right) (cons (car right) merged)))
              (else
               (loop (cdr left) right (cons (car left) merged))))))))
