;;; (canny data arrays): what the array libraries of SRFIs 25, 47 and 63 have in common.
;;;
;;; An array is a storage (a vector, a string or a numeric vector) and an affine map from its
;;; indexes to places in the storage. The map is the place of the element whose indexes are all
;;; zero, and a stride for each dimension. A shared array has the storage of another one and a map
;;; of its own. Bounds are vectors of the least index and of the one behind the greatest, for each
;;; dimension.

(define-library (canny data arrays)
  (export array-object? make-array-object array-storage array-lows array-highs
          make-storage storage-length storage-ref storage-set! storage?
          new-array place-of place-of-list share for-each-index array-size index-in-bounds?)
  (import (canny primitives) (canny syntax) (only (canny data lists) map))
  (begin

    (define-record-type array
      (make-array-object storage origin lows highs strides)
      array-object?
      (storage array-storage)
      (origin array-origin)
      (lows array-lows)
      (highs array-highs)
      (strides array-strides))

    ;; Storages.

    (define (storage? object)
      (or (vector? object)
          (string? object)
          (if (%numeric-vector-type object) #t #f)))

    ;; A storage of the type of another one, filled with an object if there is one.
    (define (make-storage like size . fill)
      (cond ((vector? like)
             (if (pair? fill) (make-vector size (car fill)) (make-vector size)))
            ((string? like)
             (if (pair? fill) (make-string size (car fill)) (make-string size)))
            (else
             (let ((storage (%make-numeric-vector (%numeric-vector-type like) size)))
               (if (pair? fill)
                   (%numeric-vector-fill! storage (car fill) 0 size))
               storage))))

    (define (storage-length storage)
      (cond ((vector? storage) (vector-length storage))
            ((string? storage) (string-length storage))
            (else (%numeric-vector-length storage))))

    (define (storage-ref storage place)
      (cond ((vector? storage) (vector-ref storage place))
            ((string? storage) (string-ref storage place))
            (else (%numeric-vector-ref storage place))))

    (define (storage-set! storage place object)
      (cond ((vector? storage) (vector-set! storage place object))
            ((string? storage) (string-set! storage place object))
            (else (%numeric-vector-set! storage place object))))

    ;; Making arrays.

    (define (size-of lows highs)
      (let loop ((dimension 0) (size 1))
        (if (< dimension (vector-length lows))
            (loop (+ dimension 1)
                  (* size (- (vector-ref highs dimension) (vector-ref lows dimension))))
            size)))

    (define (array-size array)
      (size-of (array-lows array) (array-highs array)))

    ;; An array in row-major order over the storage that a procedure makes for a size.
    (define (new-array lows highs make-storage)
      (let* ((rank (vector-length lows))
             (strides (make-vector rank)))
        (let loop ((dimension (- rank 1)) (stride 1) (origin 0))
          (if (>= dimension 0)
              (let ((low (vector-ref lows dimension)))
                (vector-set! strides dimension stride)
                (loop (- dimension 1)
                      (* stride (- (vector-ref highs dimension) low))
                      (- origin (* stride low))))
              (make-array-object (make-storage stride) origin lows highs strides)))))

    ;; Whether all indexes of a list are good.
    (define (index-in-bounds? array indexes)
      (let* ((lows (array-lows array)) (highs (array-highs array)) (rank (vector-length lows)))
        (let loop ((rest indexes) (dimension 0))
          (if (null? rest)
              (= dimension rank)
              (and (< dimension rank)
                   (exact-integer? (car rest))
                   (<= (vector-ref lows dimension) (car rest))
                   (< (car rest) (vector-ref highs dimension))
                   (loop (cdr rest) (+ dimension 1)))))))

    ;; The place of the element with the indexes of a list; the first is argument `position`.
    (define (place-of-list who position array indexes)
      (let* ((lows (array-lows array)) (highs (array-highs array)) (strides (array-strides array))
             (rank (vector-length lows)))
        (let loop ((rest indexes) (dimension 0) (place (array-origin array)))
          (if (null? rest)
              (begin
                (if (not (= dimension rank))
                    (%range-error who position "as many indexes as the array has dimensions"
                                  indexes))
                place)
              (begin
                (if (= dimension rank)
                    (%range-error who position "as many indexes as the array has dimensions"
                                  indexes))
                (let ((index (car rest)))
                  (if (not (and (exact-integer? index)
                                (<= (vector-ref lows dimension) index)
                                (< index (vector-ref highs dimension))))
                      (%range-error who (+ position dimension) "an index of that dimension" index))
                  (loop (cdr rest)
                        (+ dimension 1)
                        (+ place (* index (vector-ref strides dimension))))))))))

    ;; Likewise for one and two indexes, without a list.
    (define place-of
      (case-lambda
        ((who position array i)
         (if (not (and (= (vector-length (array-lows array)) 1)
                       (fixnum? i)
                       (<= (vector-ref (array-lows array) 0) i)
                       (< i (vector-ref (array-highs array) 0))))
             (place-of-list who position array (list i)))
         (+ (array-origin array) (* i (vector-ref (array-strides array) 0))))
        ((who position array i j)
         (if (not (and (= (vector-length (array-lows array)) 2)
                       (fixnum? i)
                       (fixnum? j)
                       (<= (vector-ref (array-lows array) 0) i)
                       (< i (vector-ref (array-highs array) 0))
                       (<= (vector-ref (array-lows array) 1) j)
                       (< j (vector-ref (array-highs array) 1))))
             (place-of-list who position array (list i j)))
         (+ (array-origin array)
            (* i (vector-ref (array-strides array) 0))
            (* j (vector-ref (array-strides array) 1))))
        ((who position array . indexes)
         (place-of-list who position array indexes))))

    ;; Calls a procedure with the list of indexes of each element, in row-major order.
    (define (for-each-index procedure lows highs)
      (let walk ((dimension (- (vector-length lows) 1)) (tails (list '())))
        (if (>= dimension 0)
            ;; Lists of the indexes of the last dimensions, in order.
            (walk (- dimension 1)
                  (let outer ((index (- (vector-ref highs dimension) 1)) (lists '()))
                    (if (>= index (vector-ref lows dimension))
                        (outer (- index 1)
                               (let inner ((rest (reverse tails)) (lists lists))
                                 (if (pair? rest)
                                     (inner (cdr rest) (cons (cons index (car rest)) lists))
                                     lists)))
                        lists)))
            (let loop ((rest tails))
              (if (pair? rest)
                  (begin
                    (procedure (car rest))
                    (loop (cdr rest))))))))

    ;; An array over the storage of another one. `mapper` takes a list of indexes and gives the list
    ;; of the indexes in the other array, by an affine function. It is called for the first element
    ;; and for its neighbors. Its range must stay within the other array.
    (define (share who array lows highs mapper)
      (if (eqv? 0 (size-of lows highs))
          (new-array lows highs (lambda (size) (make-storage (array-storage array) size)))
          (let* ((rank (vector-length lows))
                 (first (vector->list lows))
                 (base (mapped who array (mapper first)))
                 (steps
                  (let loop ((dimension 0) (steps '()))
                    (if (= dimension rank)
                        (reverse! steps)
                        (loop (+ dimension 1)
                              (cons (if (< (+ 1 (vector-ref lows dimension))
                                           (vector-ref highs dimension))
                                        (map -
                                             (mapped who array
                                                     (mapper (with-next first dimension)))
                                             base)
                                        (map (lambda (index) 0) base))
                                    steps))))))
            (check-range who array lows highs base steps)
            (let* ((strides (list->vector
                             (map (lambda (step) (dot step (vector->list (array-strides array))))
                                  steps)))
                   (place (+ (array-origin array)
                             (dot base (vector->list (array-strides array))))))
              (make-array-object (array-storage array)
                                 (- place (dot first (vector->list strides)))
                                 lows
                                 highs
                                 strides)))))

    (define (mapped who array indexes)
      (if (not (and (list? indexes) (= (length indexes) (vector-length (array-lows array)))))
          (%range-error who 2 "as many indexes as the array has dimensions" indexes))
      (map (lambda (index)
             (if (not (exact-integer? index))
                 (%type-error who 2 "mapper that gives exact integers" index))
             index)
           indexes))

    (define (with-next indexes dimension)
      (if (eqv? dimension 0)
          (cons (+ 1 (car indexes)) (cdr indexes))
          (cons (car indexes) (with-next (cdr indexes) (- dimension 1)))))

    (define (dot left right)
      (let loop ((left left) (right right) (sum 0))
        (if (pair? left)
            (loop (cdr left) (cdr right) (+ sum (* (car left) (car right))))
            sum)))

    ;; Of an affine function the extremes are at the corners: each step adds to one of them.
    (define (check-range who array lows highs base steps)
      (let loop ((dimension 0) (base base) (steps steps))
        (if (pair? base)
            (let extend ((rest steps) (d 0) (least (car base)) (greatest (car base)))
              (if (pair? rest)
                  (let ((reach (* (car (car rest))
                                  (- (vector-ref highs d) (vector-ref lows d) 1))))
                    (extend (cdr rest)
                            (+ d 1)
                            (+ least (min 0 reach))
                            (+ greatest (max 0 reach))))
                  (begin
                    (if (not (and (<= (vector-ref (array-lows array) dimension) least)
                                  (< greatest (vector-ref (array-highs array) dimension))))
                        (%range-error who 2 "a mapper that stays within the array"
                                      (list least greatest)))
                    (loop (+ dimension 1) (cdr base) (map cdr steps))))))))))
