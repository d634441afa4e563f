;;; (srfi 25): multi-dimensional arrays.
;;;
;;; A shape is an array of two columns, the bounds of the dimensions. Elements are reached by
;;; indexes, or by one vector or array of them.

(define-library (srfi 25)
  (export array? make-array shape array array-rank array-start array-end array-ref array-set!
          share-array)
  (import (canny primitives) (canny syntax) (rename (canny data arrays) (array-object? array?)))
  (begin

    (define (check-array who position object)
      (if (not (array? object))
          (%type-error who position "array" object)))

    (define (shape . bounds)
      (let loop ((rest bounds) (position 1))
        (if (pair? rest)
            (begin
              (if (not (exact-integer? (car rest)))
                  (%type-error 'shape position "exact integer" (car rest)))
              (if (not (and (pair? (cdr rest)) (exact-integer? (cadr rest))
                            (<= (car rest) (cadr rest))))
                  (%range-error 'shape (+ position 1) "an upper bound for each lower one" bounds))
              (loop (cddr rest) (+ position 2)))))
      (new-array (vector 0 0)
                 (vector (quotient (length bounds) 2) 2)
                 (lambda (size) (list->vector bounds))))

    ;; Calls `use` with the vectors of lower and upper bounds that a shape has.
    (define (with-bounds who position object use)
      (if (not (and (array? object)
                    (= 2 (vector-length (array-lows object)))
                    (equal? (array-lows object) #(0 0))
                    (= 2 (vector-ref (array-highs object) 1))))
          (%type-error who position "shape" object))
      (let* ((rank (vector-ref (array-highs object) 0))
             (lows (make-vector rank))
             (highs (make-vector rank)))
        (let loop ((dimension 0))
          (if (< dimension rank)
              (let ((low (array-ref object dimension 0))
                    (high (array-ref object dimension 1)))
                (if (not (and (exact-integer? low) (exact-integer? high) (<= low high)))
                    (%type-error who position "shape" object))
                (vector-set! lows dimension low)
                (vector-set! highs dimension high)
                (loop (+ dimension 1)))
              (use lows highs)))))

    (define make-array
      (case-lambda
        ((shape) (make-array shape (void)))
        ((shape fill)
         (with-bounds 'make-array 1 shape
           (lambda (lows highs)
             (new-array lows highs (lambda (size) (make-vector size fill))))))))

    (define (array shape . elements)
      (with-bounds 'array 1 shape
        (lambda (lows highs)
          (new-array lows highs
                     (lambda (size)
                       (if (not (= size (length elements)))
                           (%range-error 'array 2 "as many elements as the shape wants" elements))
                       (list->vector elements))))))

    (define (array-rank array)
      (check-array 'array-rank 1 array)
      (vector-length (array-lows array)))

    (define (check-dimension who array dimension)
      (check-array who 1 array)
      (if (not (and (exact-nonnegative-integer? dimension)
                    (< dimension (vector-length (array-lows array)))))
          (%range-error who 2 "a dimension of the array" dimension)))

    (define (array-start array dimension)
      (check-dimension 'array-start array dimension)
      (vector-ref (array-lows array) dimension))

    (define (array-end array dimension)
      (check-dimension 'array-end array dimension)
      (vector-ref (array-highs array) dimension))

    ;; The indexes of a vector or an array of one dimension.
    (define (index-list who object)
      (cond ((vector? object) (vector->list object))
            ((and (array? object) (= 1 (array-rank object)) (= 0 (array-start object 0)))
             (let loop ((index (- (array-end object 0) 1)) (indexes '()))
               (if (>= index 0)
                   (loop (- index 1) (cons (array-ref object index) indexes))
                   indexes)))
            (else (list object))))

    (define array-ref
      (case-lambda
        ((array i j)
         (check-array 'array-ref 1 array)
         (storage-ref (array-storage array) (place-of 'array-ref 2 array i j)))
        ((array i)
         (check-array 'array-ref 1 array)
         (storage-ref (array-storage array)
                      (if (fixnum? i)
                          (place-of 'array-ref 2 array i)
                          (place-of-list 'array-ref 2 array (index-list 'array-ref i)))))
        ((array . indexes)
         (check-array 'array-ref 1 array)
         (storage-ref (array-storage array) (place-of-list 'array-ref 2 array indexes)))))

    (define (array-set! array . arguments)
      (check-array 'array-set! 1 array)
      (if (null? arguments)
          (%range-error 'array-set! 2 "an object to store" arguments))
      (let* ((reversed (reverse arguments))
             (indexes (reverse! (cdr reversed))))
        (storage-set! (array-storage array)
                      (place-of-list 'array-set! 2 array
                                     (if (and (pair? indexes) (null? (cdr indexes)))
                                         (index-list 'array-set! (car indexes))
                                         indexes))
                      (car reversed))))

    (define (share-array array shape procedure)
      (check-array 'share-array 1 array)
      (if (not (procedure? procedure))
          (%type-error 'share-array 3 "procedure" procedure))
      (with-bounds 'share-array 2 shape
        (lambda (lows highs)
          (share 'share-array array lows highs
                 (lambda (indexes)
                   (call-with-values (lambda () (apply procedure indexes)) list))))))))
