;;; (canny data sorting): stable merge sort of lists and vectors.
;;;
;;; A list is sorted in a vector: one pass in, one pass out, and the merging touches no pairs.
;;; Elements of one kind are sorted by a primitive if the procedure is a well-known one.
;;;
;;; A continuation captured in the procedure can be entered again, and nothing of what was returned
;;; before changes. A sort works in place and keeps the answers of the procedure. A comparison that
;;; is answered once more, by a continuation, sorts the elements again, with the answers up to it.

(define-library (canny data sorting)
  (export sort sort! list-sort vector-sort vector-sort! sorted? merge merge-vectors)
  (import (canny primitives) (canny machine protocols) (canny syntax))
  (begin

    ;; The answers of a sort: a byte for each comparison, 2 for one to come, with room for as many
    ;; as a sort can need.
    (define (make-answers elements)
      (let ((length (vector-length elements)))
        (make-bytevector (* length (+ 3 (integer-length length))) 2)))

    ;; Comparison `number` of a sort: evaluates `yes` or `no`.  If it has been answered before, a
    ;; continuation was entered again, and gives what `sort-again` gives.
    (define-syntax if-less
      (syntax-rules ()
        ((_ (less? x y) elements answers number yes no)
         (if (less? x y)
             (if (eq? (bytevector-u8-ref answers number) 2)
                 (begin
                   (bytevector-u8-set! answers number 1)
                   yes)
                 (sort-again less? elements answers number 1))
             (if (eq? (bytevector-u8-ref answers number) 2)
                 (begin
                   (bytevector-u8-set! answers number 0)
                   no)
                 (sort-again less? elements answers number 0))))))

    ;; The sorted vector, if the first answers are as they were and answer `number` is another.
    (define (sort-again less? elements answers number answer)
      (let ((given (bytevector-copy answers 0 (+ number 1)))
            (place 0))
        (bytevector-u8-set! given number answer)
        (sort-elements (lambda (x y)
                         (if (<= place number)
                             (begin
                               (set! place (+ place 1))
                               (eq? (bytevector-u8-ref given (- place 1)) 1))
                             (less? x y)))
                       elements)))

    ;; The procedures that sort a range in place give the number of the next comparison, or the
    ;; sorted vector if a continuation has sorted again.

    ;; Runs up to this length are sorted by insertion.
    (define run-length-max 8)

    (define (insertion-sort! vector less? start end elements answers number)
      (let outer ((place (+ start 1)) (number number))
        (if (< place end)
            (let ((element (vector-ref vector place)))
              (let inner ((hole place) (number number))
                (if (> hole start)
                    (if-less (less? element (vector-ref vector (- hole 1))) elements answers number
                      (begin
                        (vector-set! vector hole (vector-ref vector (- hole 1)))
                        (inner (- hole 1) (+ number 1)))
                      (begin
                        (vector-set! vector hole element)
                        (outer (+ place 1) (+ number 1))))
                    (begin
                      (vector-set! vector hole element)
                      (outer (+ place 1) number)))))
            number)))

    ;; Merges [start, middle) of `vector`, which is copied to `spare`, with [middle, end).
    (define (merge-runs! vector spare less? start middle end elements answers number)
      (vector-copy! spare start vector start middle)
      (let loop ((left start) (right middle) (to start) (number number))
        (cond ((= left middle) number)
              ((= right end)
               (vector-copy! vector to spare left middle)
               number)
              (else
               (if-less (less? (vector-ref vector right) (vector-ref spare left))
                        elements answers number
                        (begin
                          (vector-set! vector to (vector-ref vector right))
                          (loop left (+ right 1) (+ to 1) (+ number 1)))
                        (begin
                          (vector-set! vector to (vector-ref spare left))
                          (loop (+ left 1) right (+ to 1) (+ number 1))))))))

    (define (merge-sort! vector spare less? start end elements answers number)
      (if (<= (- end start) run-length-max)
          (insertion-sort! vector less? start end elements answers number)
          (let* ((middle (quotient (+ start end) 2))
                 (number (merge-sort! vector spare less? start middle elements answers number)))
            (if (vector? number)
                number
                (let ((number (merge-sort! vector spare less? middle end elements answers number)))
                  (if (vector? number)
                      number
                      (if-less (less? (vector-ref vector middle) (vector-ref vector (- middle 1)))
                               elements answers number
                               (merge-runs! vector spare less? start middle end elements answers
                                            (+ number 1))
                               (+ number 1))))))))

    (define (sort-elements less? elements)
      (let* ((vector (vector-copy elements))
             (length (vector-length vector))
             (spare (if (> length run-length-max) (make-vector length #f) vector))
             (answers (make-answers elements))
             (result (merge-sort! vector spare less? 0 length elements answers 0)))
        (if (vector? result) result vector)))

    ;; Fills the unwritten elements of a vector that is being merged.
    (define unwritten (list 'unwritten))

    ;; The vector itself if `to` is the first place in it that is not written. Otherwise a
    ;; continuation was entered again, and another run has written there or relies on the elements:
    ;; then a copy of the elements before `to`.
    (define (writable vector to)
      (if (eq? (vector-ref vector to) unwritten)
          vector
          (let ((copy (make-vector (vector-length vector) unwritten)))
            (vector-copy! copy 0 vector 0 to)
            copy)))

    ;; Merges ranges of two vectors in a new one.
    (define (merge-vectors less? left left-start left-end right right-start right-end)
      (let ((length (+ (- left-end left-start) (- right-end right-start))))
        (let loop ((i left-start)
                   (j right-start)
                   (to 0)
                   (merged (make-vector length unwritten)))
          (cond ((= i left-end)
                 (vector-copy! merged to right j right-end)
                 merged)
                ((= j right-end)
                 (vector-copy! merged to left i left-end)
                 merged)
                ((less? (vector-ref right j) (vector-ref left i))
                 (let ((merged (writable merged to)))
                   (vector-set! merged to (vector-ref right j))
                   (loop i (+ j 1) (+ to 1) merged)))
                (else
                 (let ((merged (writable merged to)))
                   (vector-set! merged to (vector-ref left i))
                   (loop (+ i 1) j (+ to 1) merged)))))))

    ;; A sorted vector of the elements of a vector that only the caller has.
    (define (sort-own-vector vector less?)
      (let ((length (vector-length vector)))
        (cond ((<= length 1) vector)
              ((> length run-length-max) (sort-long-vector vector less?))
              ((eq? less? <) (sort-run vector length <))
              ((eq? less? >) (sort-run vector length >))
              ((eq? less? string<?) (sort-run vector length string<?))
              (else (sort-long-vector vector less?)))))

    (define (sort-long-vector vector less?)
      (let ((order (order-of less?)))
        (if order
            (sort-by-order vector less? order)
            (sort-elements less? vector))))

    ;; Sorts a short vector by a primitive, which captures no continuation, and compares as
    ;; `insertion-sort!` does.
    (define-syntax sort-run
      (syntax-rules ()
        ((_ vector end less?)
         (let outer ((place 1))
           (if (< place end)
               (let ((element (vector-ref vector place)))
                 (let inner ((hole place))
                   (if (and (> hole 0) (less? element (vector-ref vector (- hole 1))))
                       (begin
                         (vector-set! vector hole (vector-ref vector (- hole 1)))
                         (inner (- hole 1)))
                       (begin
                         (vector-set! vector hole element)
                         (outer (+ place 1))))))
               vector)))))

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

    (define (sort-by-order vector less? order)
      (let ((length (vector-length vector)))
        (cond ((> length ordered-length-max)
               (let* ((middle (quotient length 2))
                      (left (sort-by-order (vector-copy vector 0 middle) less? order))
                      (right (sort-by-order (vector-copy vector middle length) less? order)))
                 (merge-vectors less? left 0 middle right 0 (- length middle))))
              ((%sort-vector! vector 0 length order) vector)
              (else (sort-elements less? vector)))))

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
          (vector->list (sort-own-vector (list->vector list) less?))))

    (define (check-range who start end length)
      (if (not (and (exact-integer? end) (<= 0 end length)))
          (%range-error who 4 "an index of the vector" end))
      (if (not (and (exact-integer? start) (<= 0 start end)))
          (%range-error who 3 "an index not above the end" start)))

    ;; A range of the vector is sorted, if one is given.

    (define vector-sort
      (case-lambda
        ((less? vector)
         (check-procedure 'vector-sort 1 less?)
         (check-vector 'vector-sort 2 vector)
         (sort-own-vector (vector-copy vector) less?))
        ((less? vector . range)
         (check-procedure 'vector-sort 1 less?)
         (check-vector 'vector-sort 2 vector)
         (sort-own-vector (apply vector-copy vector range) less?))))

    (define vector-sort!
      (case-lambda
        ((less? vector)
         (check-procedure 'vector-sort! 1 less?)
         (check-vector 'vector-sort! 2 vector)
         (vector-copy! vector 0 (sort-own-vector (vector-copy vector) less?)))
        ((less? vector start)
         (check-vector 'vector-sort! 2 vector)
         (vector-sort! less? vector start (vector-length vector)))
        ((less? vector start end)
         (check-procedure 'vector-sort! 1 less?)
         (check-vector 'vector-sort! 2 vector)
         (check-range 'vector-sort! start end (vector-length vector))
         (vector-copy! vector start (sort-own-vector (vector-copy vector start end) less?)))))

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

    ;; Merges lists.
    (define (merge left right less?)
      (let loop ((left left) (right right) (merged '()))
        (cond ((null? left) (append-reverse merged right))
              ((null? right) (append-reverse merged left))
              ((less? (car right) (car left))
               (loop left (cdr right) (cons (car right) merged)))
              (else
               (loop (cdr left) right (cons (car left) merged))))))))
