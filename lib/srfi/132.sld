;;; (srfi 132): sort libraries.
;;;
;;; Every sort is the stable merge sort of (canny data sorting). Selection is quickselect with
;;; pivots at random places, linear on average whatever the order of the elements.

(define-library (srfi 132)
  (export list-sorted? vector-sorted?
          list-sort (rename list-sort list-stable-sort)
          (rename list-sort list-sort!) (rename list-sort list-stable-sort!)
          vector-sort (rename vector-sort vector-stable-sort)
          vector-sort! (rename vector-sort! vector-stable-sort!)
          list-merge (rename list-merge list-merge!)
          vector-merge vector-merge!
          list-delete-neighbor-dups list-delete-neighbor-dups!
          vector-delete-neighbor-dups vector-delete-neighbor-dups!
          vector-find-median vector-find-median! vector-select! vector-separate!)
  (import (canny primitives) (canny syntax)
          (only (canny data sorting) list-sort vector-sort vector-sort! merge-vectors)
          (only (canny data vectors) check-procedure check-vector check-range))
  (begin

    (define (check-list who position object)
      (if (not (list? object))
          (%type-error who position "list" object)))

    ;; Calls `work` with start and end of a range of a vector, of which `range` lists the given
    ;; ones, from argument `position` on.
    (define (with-range who position vector range work)
      (let* ((length (vector-length vector))
             (start (if (pair? range) (car range) 0))
             (end (if (and (pair? range) (pair? (cdr range))) (cadr range) length)))
        (check-range who position start end length)
        (work start end)))

    (define (list-sorted? less? list)
      (check-procedure 'list-sorted? 1 less?)
      (check-list 'list-sorted? 2 list)
      (or (null? list)
          (let loop ((previous (car list)) (rest (cdr list)))
            (or (null? rest)
                (and (not (less? (car rest) previous))
                     (loop (car rest) (cdr rest)))))))

    (define (vector-sorted? less? vector . range)
      (check-procedure 'vector-sorted? 1 less?)
      (check-vector 'vector-sorted? 2 vector)
      (with-range 'vector-sorted? 3 vector range
        (lambda (start end)
          (let loop ((index (+ start 1)))
            (or (>= index end)
                (and (not (less? (vector-ref vector index) (vector-ref vector (- index 1))))
                     (loop (+ index 1))))))))

    ;; Merging prefers the elements of the first sequence where neither is less.

    (define (list-merge less? left right)
      (check-procedure 'list-merge 1 less?)
      (check-list 'list-merge 2 left)
      (check-list 'list-merge 3 right)
      (let loop ((left left) (right right) (merged '()))
        (cond ((null? left) (append-reverse merged right))
              ((null? right) (append-reverse merged left))
              ((less? (car right) (car left))
               (loop left (cdr right) (cons (car right) merged)))
              (else (loop (cdr left) right (cons (car left) merged))))))

    (define vector-merge
      (case-lambda
        ((less? left right) (vector-merge less? left right 0))
        ((less? left right start1)
         (check-vector 'vector-merge 2 left)
         (vector-merge less? left right start1 (vector-length left)))
        ((less? left right start1 end1) (vector-merge less? left right start1 end1 0))
        ((less? left right start1 end1 start2)
         (check-vector 'vector-merge 3 right)
         (vector-merge less? left right start1 end1 start2 (vector-length right)))
        ((less? left right start1 end1 start2 end2)
         (check-procedure 'vector-merge 1 less?)
         (check-vector 'vector-merge 2 left)
         (check-vector 'vector-merge 3 right)
         (check-range 'vector-merge 4 start1 end1 (vector-length left))
         (check-range 'vector-merge 6 start2 end2 (vector-length right))
         (merge-vectors less? left start1 end1 right start2 end2))))

    (define vector-merge!
      (case-lambda
        ((less? to left right) (vector-merge! less? to left right 0))
        ((less? to left right start) (vector-merge! less? to left right start 0))
        ((less? to left right start start1)
         (check-vector 'vector-merge! 3 left)
         (vector-merge! less? to left right start start1 (vector-length left)))
        ((less? to left right start start1 end1)
         (vector-merge! less? to left right start start1 end1 0))
        ((less? to left right start start1 end1 start2)
         (check-vector 'vector-merge! 4 right)
         (vector-merge! less? to left right start start1 end1 start2 (vector-length right)))
        ((less? to left right start start1 end1 start2 end2)
         (check-procedure 'vector-merge! 1 less?)
         (check-vector 'vector-merge! 2 to)
         (check-vector 'vector-merge! 3 left)
         (check-vector 'vector-merge! 4 right)
         (check-range 'vector-merge! 6 start1 end1 (vector-length left))
         (check-range 'vector-merge! 8 start2 end2 (vector-length right))
         (if (not (and (exact-nonnegative-integer? start)
                       (<= (+ start (- end1 start1) (- end2 start2)) (vector-length to))))
             (%range-error 'vector-merge! 5 "an index with room for the elements" start))
         (vector-copy! to start (merge-vectors less? left start1 end1 right start2 end2)))))

    ;; Neighbors.

    (define (list-delete-neighbor-dups same? list)
      (check-procedure 'list-delete-neighbor-dups 1 same?)
      (check-list 'list-delete-neighbor-dups 2 list)
      (if (null? list)
          '()
          (let loop ((last (car list)) (rest (cdr list)) (kept (cons (car list) '())))
            (cond ((null? rest) (reverse kept))
                  ((same? last (car rest)) (loop last (cdr rest) kept))
                  (else (loop (car rest) (cdr rest) (cons (car rest) kept)))))))

    (define (list-delete-neighbor-dups! same? list)
      (check-procedure 'list-delete-neighbor-dups! 1 same?)
      (check-list 'list-delete-neighbor-dups! 2 list)
      (if (pair? list)
          (let loop ((last list) (rest (cdr list)))
            (cond ((null? rest) (set-cdr! last '()))
                  ((same? (car last) (car rest)) (loop last (cdr rest)))
                  (else
                   (set-cdr! last rest)
                   (loop rest (cdr rest))))))
      list)

    ;; Packs the range into its beginning and gives the new end.
    (define (pack! same? vector start end)
      (if (= start end)
          start
          (let loop ((last start) (index (+ start 1)))
            (cond ((= index end) (+ last 1))
                  ((same? (vector-ref vector last) (vector-ref vector index))
                   (loop last (+ index 1)))
                  (else
                   (vector-set! vector (+ last 1) (vector-ref vector index))
                   (loop (+ last 1) (+ index 1)))))))

    (define (vector-delete-neighbor-dups same? vector . range)
      (check-procedure 'vector-delete-neighbor-dups 1 same?)
      (check-vector 'vector-delete-neighbor-dups 2 vector)
      (with-range 'vector-delete-neighbor-dups 3 vector range
        (lambda (start end)
          (list->vector
           (list-delete-neighbor-dups same? (vector->list vector start end))))))

    (define (vector-delete-neighbor-dups! same? vector . range)
      (check-procedure 'vector-delete-neighbor-dups! 1 same?)
      (check-vector 'vector-delete-neighbor-dups! 2 vector)
      (with-range 'vector-delete-neighbor-dups! 3 vector range
        (lambda (start end) (pack! same? vector start end))))

    ;; Selection.

    ;; Rearranges the range until place `wanted` has the element that it would have after sorting.
    ;; Then nothing after it is less, and it is less than nothing before it. Elements equal to the
    ;; pivot are gathered between the others, so that many equal elements cost no more.
    (define (select! less? vector wanted start end)
      (let select ((start start) (end end))
        (if (> (- end start) 1)
            (let ((pivot (vector-ref vector (+ start (random-integer (- end start))))))
              ;; [start, low) is less than the pivot, [low, index) neither, [high, end) greater.
              (let split ((low start) (index start) (high end))
                (if (< index high)
                    (let ((element (vector-ref vector index)))
                      (cond ((less? element pivot)
                             (vector-swap! vector low index)
                             (split (+ low 1) (+ index 1) high))
                            ((less? pivot element)
                             (vector-swap! vector index (- high 1))
                             (split low index (- high 1)))
                            (else (split low (+ index 1) high))))
                    (cond ((< wanted low) (select start low))
                          ((>= wanted high) (select high end)))))))))

    (define (vector-select! less? vector k . range)
      (check-procedure 'vector-select! 1 less?)
      (check-vector 'vector-select! 2 vector)
      (with-range 'vector-select! 4 vector range
        (lambda (start end)
          (if (not (and (exact-nonnegative-integer? k) (< k (- end start))))
              (%range-error 'vector-select! 3 "an index below the number of elements" k))
          (select! less? vector (+ start k) start end)
          (vector-ref vector (+ start k)))))

    (define (vector-separate! less? vector k . range)
      (check-procedure 'vector-separate! 1 less?)
      (check-vector 'vector-separate! 2 vector)
      (with-range 'vector-separate! 4 vector range
        (lambda (start end)
          (if (not (and (exact-nonnegative-integer? k) (<= k (- end start))))
              (%range-error 'vector-separate! 3 "at most the number of elements" k))
          (if (< k (- end start))
              (select! less? vector (+ start k) start end)))))

    (define (middle-of-two low high)
      (/ (+ low high) 2))

    (define vector-find-median
      (case-lambda
        ((less? vector knil) (vector-find-median less? vector knil middle-of-two))
        ((less? vector knil mean)
         (check-procedure 'vector-find-median 1 less?)
         (check-vector 'vector-find-median 2 vector)
         (let* ((copy (vector-copy vector))
                (length (vector-length copy))
                (half (quotient length 2)))
           (cond ((= length 0) knil)
                 ((odd? length)
                  (select! less? copy half 0 length)
                  (vector-ref copy half))
                 (else
                  (select! less? copy half 0 length)
                  (select! less? copy (- half 1) 0 half)
                  (mean (vector-ref copy (- half 1)) (vector-ref copy half))))))))

    (define vector-find-median!
      (case-lambda
        ((less? vector knil) (vector-find-median! less? vector knil middle-of-two))
        ((less? vector knil mean)
         (check-procedure 'vector-find-median! 1 less?)
         (check-vector 'vector-find-median! 2 vector)
         (vector-sort! less? vector)
         (let* ((length (vector-length vector))
                (half (quotient length 2)))
           (cond ((= length 0) knil)
                 ((odd? length) (vector-ref vector half))
                 (else (mean (vector-ref vector (- half 1)) (vector-ref vector half))))))))))
