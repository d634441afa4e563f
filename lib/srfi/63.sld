;;; (srfi 63): homogeneous and heterogeneous arrays.
;;;
;;; Vectors, strings and numeric vectors are arrays of one dimension; others are records of (canny
;;; data arrays). Prototypes of numeric types are numeric vectors; decimal and extended types, which
;;; there are not, are the next larger type or a vector.

(define-library (srfi 63)
  (export
   array? (rename same-contents? equal?) array-rank array-dimensions make-array make-shared-array
   list->array array->list vector->array array->vector array-in-bounds? array-ref array-set!
   A:floC128b A:floC64b A:floC32b A:floC16b A:floR128b A:floR64b A:floR32b A:floR16b
   A:floQ128d A:floQ64d A:floQ32d
   A:fixZ64b A:fixZ32b A:fixZ16b A:fixZ8b A:fixN64b A:fixN32b A:fixN16b A:fixN8b A:bool)
  (import (canny primitives) (canny syntax) (canny data arrays)
          (only (srfi 160 base) s64vector s32vector s16vector s8vector u64vector u32vector
                u16vector u8vector f64vector f32vector c128vector c64vector))
  (begin

    (define (array? object)
      (or (array-object? object) (storage? object)))

    (define (check-array who position object)
      (if (not (array? object))
          (%type-error who position "array" object)))

    ;; The object as a record.
    (define (as-array object)
      (if (array-object? object)
          object
          (new-array (vector 0) (vector (storage-length object)) (lambda (size) object))))

    (define (storage-of array)
      (if (array-object? array) (array-storage array) array))

    (define (array-rank object)
      (cond ((array-object? object) (vector-length (array-lows object)))
            ((array? object) 1)
            (else 0)))

    (define (array-dimensions array)
      (check-array 'array-dimensions 1 array)
      (if (array-object? array)
          (vector->list (array-highs array))
          (list (storage-length array))))

    (define (check-dimensions who position dimensions)
      (let loop ((rest dimensions) (position position))
        (if (pair? rest)
            (begin
              (if (not (exact-nonnegative-integer? (car rest)))
                  (%type-error who position "exact non-negative integer" (car rest)))
              (loop (cdr rest) (+ position 1))))))

    ;; An array of one dimension is its storage.
    (define (build dimensions make)
      (if (and (pair? dimensions) (null? (cdr dimensions)))
          (make (car dimensions))
          (new-array (make-vector (length dimensions) 0) (list->vector dimensions) make)))

    ;; The element at the origin of a prototype, as a list, or ().
    (define (first-element prototype)
      (let ((array (as-array prototype)))
        (if (eqv? 0 (array-size array))
            '()
            (list (storage-ref (array-storage array)
                               (place-of-list 'make-array 1 array
                                              (vector->list (array-lows array))))))))

    (define (make-array prototype . dimensions)
      (check-array 'make-array 1 prototype)
      (check-dimensions 'make-array 2 dimensions)
      (let ((fill (first-element prototype)))
        (build dimensions
               (lambda (size) (apply make-storage (storage-of prototype) size fill)))))

    (define (make-shared-array array mapper . dimensions)
      (check-array 'make-shared-array 1 array)
      (if (not (procedure? mapper))
          (%type-error 'make-shared-array 2 "procedure" mapper))
      (check-dimensions 'make-shared-array 3 dimensions)
      (share 'make-shared-array
             (as-array array)
             (make-vector (length dimensions) 0)
             (list->vector dimensions)
             (lambda (indexes) (apply mapper indexes))))

    (define (array-in-bounds? array . indexes)
      (check-array 'array-in-bounds? 1 array)
      (index-in-bounds? (as-array array) indexes))

    (define array-ref
      (case-lambda
        ((array i)
         (cond ((array-object? array)
                (storage-ref (array-storage array) (place-of 'array-ref 2 array i)))
               ((vector? array) (vector-ref array i))
               (else (array-ref-list array (list i)))))
        ((array i j)
         (if (array-object? array)
             (storage-ref (array-storage array) (place-of 'array-ref 2 array i j))
             (array-ref-list array (list i j))))
        ((array . indexes) (array-ref-list array indexes))))

    (define (array-ref-list array indexes)
      (if (and (not (array? array)) (null? indexes))
          array
          (begin
            (check-array 'array-ref 1 array)
            (let ((array (as-array array)))
              (storage-ref (array-storage array) (place-of-list 'array-ref 2 array indexes))))))

    (define (array-set! array object . indexes)
      (check-array 'array-set! 1 array)
      (let ((array (as-array array)))
        (storage-set! (array-storage array) (place-of-list 'array-set! 3 array indexes) object)))

    ;; Conversion.

    (define (list->array rank prototype list)
      (if (not (exact-nonnegative-integer? rank))
          (%type-error 'list->array 1 "exact non-negative integer" rank))
      (check-array 'list->array 2 prototype)
      (let* ((dimensions (let measure ((rank rank) (list list))
                           (cond ((eqv? rank 0) '())
                                 ((not (list? list))
                                  (%type-error 'list->array 3 "nested list" list))
                                 ((null? list) (make-list rank 0))
                                 (else (cons (length list) (measure (- rank 1) (car list)))))))
             (elements (let flatten ((dimensions dimensions) (list list) (elements '()))
                         (cond ((null? dimensions) (cons list elements))
                               ((not (and (list? list) (= (length list) (car dimensions))))
                                (%range-error 'list->array 3 "lists of one length" list))
                               (else
                                (let loop ((rest list) (elements elements))
                                  (if (pair? rest)
                                      (loop (cdr rest)
                                            (flatten (cdr dimensions) (car rest) elements))
                                      elements)))))))
        (build dimensions (lambda (size) (fill-storage prototype size (reverse! elements))))))

    (define (fill-storage prototype size elements)
      (let ((storage (make-storage (storage-of prototype) size)))
        (let loop ((place 0) (rest elements))
          (if (pair? rest)
              (begin
                (storage-set! storage place (car rest))
                (loop (+ place 1) (cdr rest)))
              storage))))

    ;; The elements in row-major order.
    (define (elements array)
      (let ((array (as-array array)) (found '()))
        (for-each-index
         (lambda (indexes)
           (set! found
                 (cons (storage-ref (array-storage array)
                                    (place-of-list 'array->list 1 array indexes))
                       found)))
         (array-lows array)
         (array-highs array))
        (reverse! found)))

    (define (array->list array)
      (check-array 'array->list 1 array)
      ;; Takes as many elements as the dimensions want and calls `use` with their nest and the rest.
      (let nest ((dimensions (array-dimensions array))
                 (rest (elements array))
                 (use (lambda (list rest) list)))
        (if (null? dimensions)
            (use (car rest) (cdr rest))
            (let loop ((count (car dimensions)) (rest rest) (lists '()))
              (if (eqv? count 0)
                  (use (reverse! lists) rest)
                  (nest (cdr dimensions) rest
                        (lambda (list rest)
                          (loop (- count 1) rest (cons list lists)))))))))

    (define (vector->array vector prototype . dimensions)
      (if (not (vector? vector))
          (%type-error 'vector->array 1 "vector" vector))
      (check-array 'vector->array 2 prototype)
      (check-dimensions 'vector->array 3 dimensions)
      (if (not (= (vector-length vector) (apply * dimensions)))
          (%range-error 'vector->array 1 "as many elements as the array has" vector))
      (build dimensions
             (lambda (size) (fill-storage prototype size (vector->list vector)))))

    (define (array->vector array)
      (check-array 'array->vector 1 array)
      (list->vector (elements array)))

    ;; Like equal?, and the same for arrays, also inside of pairs and vectors.
    (define (same-contents? left right)
      (cond ((eqv? left right) #t)
            ((and (pair? left) (pair? right))
             (and (same-contents? (car left) (car right))
                  (same-contents? (cdr left) (cdr right))))
            ((or (array-object? left) (array-object? right) (and (vector? left) (vector? right)))
             (and (array? left)
                  (array? right)
                  (equal? (array-dimensions left) (array-dimensions right))
                  (same-contents? (elements left) (elements right))))
            (else (equal? left right))))

    ;; Prototypes.

    (define-syntax define-prototypes
      (syntax-rules ()
        ((_ (name maker) ...)
         (begin
           (define (name . element)
             (apply maker element))
           ...))))

    (define-prototypes
      (A:floC128b c128vector) (A:floC64b c128vector) (A:floC32b c64vector) (A:floC16b c64vector)
      (A:floR128b f64vector) (A:floR64b f64vector) (A:floR32b f32vector) (A:floR16b f32vector)
      (A:floQ128d vector) (A:floQ64d vector) (A:floQ32d vector)
      (A:fixZ64b s64vector) (A:fixZ32b s32vector) (A:fixZ16b s16vector) (A:fixZ8b s8vector)
      (A:fixN64b u64vector) (A:fixN32b u32vector) (A:fixN16b u16vector) (A:fixN8b u8vector)
      (A:bool vector))))
