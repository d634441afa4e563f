;;; (srfi 231): intervals and generalized arrays.
;;;
;;; Intervals, storage classes, arrays and their transformations are in files that it includes. This
;;; one has products, maps and folds, conversions, and arrays that are assembled from others.

(define-library (srfi 231)
  (export
   translation? permutation? index-rotate index-first index-last index-swap
   make-interval interval? interval-dimension interval-lower-bound interval-upper-bound
   interval-width interval-lower-bounds->list interval-upper-bounds->list
   interval-lower-bounds->vector interval-upper-bounds->vector interval= interval-widths
   interval-volume interval-empty? interval-subset? interval-contains-multi-index?
   interval-projections interval-for-each interval-fold-left interval-fold-right
   interval-dilate interval-intersect interval-translate interval-permute interval-scale
   interval-cartesian-product
   make-storage-class storage-class? storage-class-getter storage-class-setter
   storage-class-checker storage-class-maker storage-class-copier storage-class-length
   storage-class-default storage-class-data? storage-class-data->body
   generic-storage-class char-storage-class
   s8-storage-class s16-storage-class s32-storage-class s64-storage-class
   u1-storage-class u8-storage-class u16-storage-class u32-storage-class u64-storage-class
   f8-storage-class f16-storage-class f32-storage-class f64-storage-class
   c64-storage-class c128-storage-class
   specialized-array-default-safe? specialized-array-default-mutable?
   make-array array? array-domain array-getter array-dimension mutable-array? array-setter
   array-freeze! array-empty? make-specialized-array make-specialized-array-from-data
   specialized-array? array-storage-class array-indexer array-body array-safe? array-packed?
   specialized-array-share array-copy (rename array-copy array-copy!) array-curry array-extract
   array-tile array-translate array-permute array-reverse array-sample array-outer-product
   array-inner-product array-map array-for-each array-fold-left array-fold-right array-reduce
   array-any array-every array->list list->array list*->array array->list* array->vector
   vector->array vector*->array array->vector* array-assign! array-stack
   (rename array-stack array-stack!) array-decurry (rename array-decurry array-decurry!)
   array-append (rename array-append array-append!) array-block (rename array-block array-block!)
   array-ref array-set! specialized-array-reshape)
  (import (scheme base) (scheme case-lambda)
          (only (canny primitives) %type-error %range-error exact-nonnegative-integer? iota
                take drop %reverse-list->vector)
          (srfi 160 base)
          (only (srfi 160 s8) s8vector-copy!) (only (srfi 160 s16) s16vector-copy!)
          (only (srfi 160 s32) s32vector-copy!) (only (srfi 160 s64) s64vector-copy!)
          (only (srfi 160 u8) u8vector-copy!) (only (srfi 160 u16) u16vector-copy!)
          (only (srfi 160 u32) u32vector-copy!) (only (srfi 160 u64) u64vector-copy!)
          (only (srfi 160 f32) f32vector-copy!) (only (srfi 160 f64) f64vector-copy!)
          (only (srfi 160 c64) c64vector-copy!) (only (srfi 160 c128) c128vector-copy!))
  (include "231/intervals.scm" "231/storage-classes.scm" "231/arrays.scm")
  (begin

    ;; Products and maps.

    (define (array-outer-product operator left right)
      (check-procedure 'array-outer-product 1 operator)
      (check-array 'array-outer-product 2 left)
      (check-array 'array-outer-product 3 right)
      (let ((left-getter (getter-of left)) (right-getter (getter-of right))
            (left-size (dimension (domain-of left))))
        (make-array (interval-cartesian-product (domain-of left) (domain-of right))
                    (if (and (= left-size 1) (= (dimension (domain-of right)) 1))
                        (lambda (i j) (operator (left-getter i) (right-getter j)))
                        (lambda indexes
                          (operator (apply left-getter (take indexes left-size))
                                    (apply right-getter (drop indexes left-size))))))))

    (define (array-inner-product left add multiply right)
      (check-array 'array-inner-product 1 left)
      (check-procedure 'array-inner-product 2 add)
      (check-procedure 'array-inner-product 3 multiply)
      (check-array 'array-inner-product 4 right)
      (let* ((left-domain (domain-of left)) (right-domain (domain-of right))
             (last (- (dimension left-domain) 1)))
        (if (not (and (>= last 0)
                      (> (dimension right-domain) 0)
                      (= (vector-ref (lowers left-domain) last)
                         (vector-ref (lowers right-domain) 0))
                      (= (vector-ref (uppers left-domain) last)
                         (vector-ref (uppers right-domain) 0))))
            (%range-error 'array-inner-product 4
                          "a first axis like the last one of the first array" right))
        (array-outer-product
         (lambda (row column) (array-reduce add (array-map multiply row column)))
         (array-copy (array-curry left 1))
         (array-copy
          (array-curry (array-permute right (index-rotate (dimension right-domain) 1)) 1)))))

    (define (check-domains who position array arrays)
      (check-array who position array)
      (for-each (lambda (other)
                  (check-array who (+ position 1) other)
                  (if (not (same-interval? (domain-of array) (domain-of other)))
                      (%range-error who (+ position 1) "an array with the same domain" other)))
                arrays))

    ;; A getter that applies f to the elements of arrays.
    (define (mapped-getter f array arrays)
      (let ((g (getter-of array)))
        (cond ((and (null? arrays) (= 1 (dimension (domain-of array))))
               (lambda (i) (f (g i))))
              ((and (null? arrays) (= 2 (dimension (domain-of array))))
               (lambda (i j) (f (g i j))))
              ((null? arrays) (lambda indexes (f (apply g indexes))))
              ((and (null? (cdr arrays)) (= 1 (dimension (domain-of array))))
               (let ((h (getter-of (car arrays))))
                 (lambda (i) (f (g i) (h i)))))
              (else
               (let ((getters (map getter-of (cons array arrays))))
                 (lambda indexes
                   (apply f (map (lambda (getter) (apply getter indexes)) getters))))))))

    (define (array-map f array . arrays)
      (check-procedure 'array-map 1 f)
      (check-domains 'array-map 2 array arrays)
      (make-array (domain-of array) (mapped-getter f array arrays)))

    (define (array-for-each f array . arrays)
      (check-procedure 'array-for-each 1 f)
      (check-domains 'array-for-each 2 array arrays)
      (interval-for-each (mapped-getter f array arrays) (domain-of array)))

    (define (array-fold-left operator identity array . arrays)
      (check-procedure 'array-fold-left 1 operator)
      (check-domains 'array-fold-left 3 array arrays)
      (if (null? arrays)
          (interval-fold-left (getter-of array) operator identity (domain-of array))
          (interval-fold-left (mapped-getter list array arrays)
                              (lambda (state elements) (apply operator state elements))
                              identity
                              (domain-of array))))

    (define (array-fold-right operator identity array . arrays)
      (check-procedure 'array-fold-right 1 operator)
      (check-domains 'array-fold-right 3 array arrays)
      (if (null? arrays)
          (interval-fold-right (getter-of array) operator identity (domain-of array))
          (interval-fold-right (mapped-getter list array arrays)
                               (lambda (elements state)
                                 (apply operator (append elements (list state))))
                               identity
                               (domain-of array))))

    (define (array-reduce operator array)
      (check-procedure 'array-reduce 1 operator)
      (check-array 'array-reduce 2 array)
      (let ((elements (reverse (elements-reversed array))))
        (if (null? elements)
            (%range-error 'array-reduce 2 "an array that is not empty" array))
        (let loop ((state (car elements)) (rest (cdr elements)))
          (if (pair? rest)
              (loop (operator state (car rest)) (cdr rest))
              state))))

    ;; Stops at the first multi-index that decides.
    (define (search who predicate array arrays empty decides?)
      (check-procedure who 1 predicate)
      (check-domains who 2 array arrays)
      (let ((getter (mapped-getter predicate array arrays)))
        (call-with-current-continuation
         (lambda (return)
           (interval-fold-left getter
                               (lambda (state value)
                                 (if (decides? value) (return value) value))
                               empty
                               (domain-of array))))))

    (define (array-any predicate array . arrays)
      (search 'array-any predicate array arrays #f (lambda (value) value)))

    (define (array-every predicate array . arrays)
      (search 'array-every predicate array arrays #t not))

    ;; Conversion.

    (define (array->list array)
      (check-array 'array->list 1 array)
      (reverse (elements-reversed array)))

    (define (array->vector array)
      (check-array 'array->vector 1 array)
      (%reverse-list->vector (elements-reversed array)))

    (define (check-count who domain count object)
      (check-interval who 1 domain)
      (if (not (= count (volume domain)))
          (%range-error who 2 "as many elements as the interval has" object)))

    (define (list->array domain list . options)
      (if (not (list? list))
          (%type-error 'list->array 2 "list" list))
      (check-count 'list->array domain (length list) list)
      (with-defaults 'list->array 3 options
        (lambda (class mutable? safe?)
          (from-list 'list->array 2 domain list class mutable? safe?))))

    (define (vector->array domain vector . options)
      (if (not (vector? vector))
          (%type-error 'vector->array 2 "vector" vector))
      (check-count 'vector->array domain (vector-length vector) vector)
      (with-defaults 'vector->array 3 options
        (lambda (class mutable? safe?)
          (from-list 'vector->array 2 domain (vector->list vector) class mutable? safe?))))

    ;; The widths of nested data, or an error.
    (define (nested-widths who rank data parts)
      (if (eqv? rank 0)
          '()
          (let ((parts-of-data (parts data)))
            (if (not parts-of-data)
                (%type-error who 2 "nest as deep as the dimension" data))
            (if (null? parts-of-data)
                (make-list rank 0)
                (let* ((widths (map (lambda (part) (nested-widths who (- rank 1) part parts))
                                    parts-of-data)))
                  (for-each (lambda (other)
                              (if (not (equal? other (car widths)))
                                  (%range-error who 2 "parts of one size" data)))
                            (cdr widths))
                  (cons (length parts-of-data) (car widths)))))))

    (define (nested-elements rank data parts)
      (if (eqv? rank 0)
          (list data)
          (apply append
                 (map (lambda (part) (nested-elements (- rank 1) part parts)) (parts data)))))

    (define (nested->array who rank data options parts)
      (if (not (exact-nonnegative-integer? rank))
          (%type-error who 1 "exact non-negative integer" rank))
      (let ((domain (make-interval (list->vector (nested-widths who rank data parts)))))
        (with-defaults who 3 options
          (lambda (class mutable? safe?)
            (from-list who 2 domain (nested-elements rank data parts) class mutable? safe?)))))

    (define (list*->array rank data . options)
      (nested->array 'list*->array rank data options (lambda (data) (and (list? data) data))))

    (define (vector*->array rank data . options)
      (nested->array 'vector*->array rank data options
                     (lambda (data) (and (vector? data) (vector->list data)))))

    ;; The elements nested by the widths, with what `gather` makes of lists.
    (define (nest array gather)
      (let ((widths (vector->list (interval-widths (domain-of array)))))
        (let-values (((nested rest)
                      (let build ((widths widths) (elements (reverse (elements-reversed array))))
                        (if (null? widths)
                            (values (car elements) (cdr elements))
                            (let loop ((count (car widths)) (elements elements) (parts '()))
                              (if (eqv? count 0)
                                  (values (gather (reverse parts)) elements)
                                  (let-values (((part elements) (build (cdr widths) elements)))
                                    (loop (- count 1) elements (cons part parts)))))))))
          nested)))

    (define (array->list* array)
      (check-array 'array->list* 1 array)
      (nest array values))

    (define (array->vector* array)
      (check-array 'array->vector* 1 array)
      (nest array list->vector))

    ;; Assembly.

    (define (assign! destination source)
      (let ((setter (setter-of destination)) (getter (getter-of source)))
        (case (dimension (domain-of source))
          ((1) (interval-for-each (lambda (i) (setter (getter i) i)) (domain-of source)))
          ((2) (interval-for-each (lambda (i j) (setter (getter i j) i j)) (domain-of source)))
          (else
           (interval-for-each (lambda indexes (apply setter (apply getter indexes) indexes))
                              (domain-of source))))))

    (define (array-assign! destination source)
      (if (not (mutable-array? destination))
          (%type-error 'array-assign! 1 "mutable array" destination))
      (check-array 'array-assign! 2 source)
      (if (not (same-interval? (domain-of destination) (domain-of source)))
          (%range-error 'array-assign! 2 "an array with the same domain" source))
      (assign! destination source))

    ;; A specialized array made of a getter: elements are taken in lexicographic order.
    (define (assemble who domain getter class mutable? safe?)
      (from-list who 1 domain (reverse (collect getter domain)) class mutable? safe?))

    (define (check-arrays who arrays)
      (if (not (and (pair? arrays) (list? arrays)))
          (%type-error who 2 "list of arrays that is not empty" arrays))
      (for-each (lambda (array) (check-array who 2 array)) arrays))

    (define (array-stack k arrays . options)
      (check-arrays 'array-stack arrays)
      (check-domains 'array-stack 2 (car arrays) (cdr arrays))
      (let* ((domain (domain-of (car arrays)))
             (getters (list->vector (map getter-of arrays))))
        (check-axis 'array-stack 1 k (+ 1 (dimension domain)))
        (let ((insert (lambda (bounds bound)
                        (vector-append (vector-copy bounds 0 k) (vector bound)
                                       (vector-copy bounds k)))))
          (with-defaults 'array-stack 3 options
            (lambda (class mutable? safe?)
              (assemble 'array-stack
                        (new-interval (insert (lowers domain) 0)
                                      (insert (uppers domain) (length arrays)))
                        (lambda indexes
                          (apply (vector-ref getters (list-ref indexes k))
                                 (append (take indexes k) (drop indexes (+ k 1)))))
                        class mutable? safe?))))))

    (define (array-decurry arrays . options)
      (check-array 'array-decurry 1 arrays)
      (let* ((outer (domain-of arrays))
             (elements (reverse (elements-reversed arrays))))
        (if (null? elements)
            (%range-error 'array-decurry 1 "an array that is not empty" arrays))
        (check-domains 'array-decurry 1 (car elements) (cdr elements))
        (with-defaults 'array-decurry 2 options
          (lambda (class mutable? safe?)
            (from-list 'array-decurry 1
                       (interval-cartesian-product outer (domain-of (car elements)))
                       (apply append
                              (map (lambda (element) (reverse (elements-reversed element)))
                                   elements))
                       class mutable? safe?)))))

    (define (width array k)
      (- (vector-ref (uppers (domain-of array)) k) (vector-ref (lowers (domain-of array)) k)))

    (define (array-append k arrays . options)
      (check-arrays 'array-append arrays)
      (let* ((first (car arrays)) (size (dimension (domain-of first))))
        (check-axis 'array-append 1 k size)
        (for-each
         (lambda (array)
           (if (not (and (= size (dimension (domain-of array)))
                         (let loop ((axis 0))
                           (or (= axis size)
                               (and (or (= axis k)
                                        (and (= (vector-ref (lowers (domain-of first)) axis)
                                                (vector-ref (lowers (domain-of array)) axis))
                                             (= (width first axis) (width array axis))))
                                    (loop (+ axis 1)))))))
               (%range-error 'array-append 2 "arrays that differ in that axis only" array)))
         arrays)
        (with-defaults 'array-append 3 options
          (lambda (class mutable? safe?)
            (let* ((low (vector-copy (lowers (domain-of first))))
                   (high (vector-copy (uppers (domain-of first)))))
              (vector-set! low k 0)
              (vector-set! high k (apply + (map (lambda (array) (width array k)) arrays)))
              ;; The pieces along the axis, with where each begins.
              (let* ((pieces (let loop ((rest arrays) (start 0) (pieces '()))
                               (if (pair? rest)
                                   (loop (cdr rest)
                                         (+ start (width (car rest) k))
                                         (cons
                                          (list start (+ start (width (car rest) k)) (car rest))
                                          pieces))
                                   (reverse pieces)))))
                (assemble 'array-append
                          (new-interval low high)
                          (lambda indexes
                            (let* ((index (list-ref indexes k))
                                   (piece (let find ((rest pieces))
                                            (if (< index (cadr (car rest)))
                                                (car rest)
                                                (find (cdr rest)))))
                                   (array (list-ref piece 2)))
                              (apply (getter-of array)
                                     (append (take indexes k)
                                             (list (+ (- index (car piece))
                                                      (vector-ref (lowers (domain-of array)) k)))
                                             (drop indexes (+ k 1))))))
                          class mutable? safe?)))))))

    (define (array-block blocks . options)
      (check-array 'array-block 1 blocks)
      (let* ((blocks (array-copy blocks generic-storage-class))
             (outer (domain-of blocks))
             (size (dimension outer))
             (all (reverse (elements-reversed blocks))))
        (if (null? all)
            (%range-error 'array-block 1 "an array that is not empty" blocks))
        (for-each (lambda (block)
                    (if (not (and (array? block) (= size (dimension (domain-of block)))))
                        (%type-error 'array-block 1 "array of arrays of its dimension" block)))
                  all)
        ;; For each axis the places of the cuts, from the blocks along its edge.
        (let* ((corner (vector->list (lowers outer)))
               (at (lambda (indexes) (apply (getter-of blocks) indexes)))
               (cuts
                (list->vector
                 (map (lambda (k)
                        (let loop ((i (vector-ref (lowers outer) k)) (cut 0) (cuts '(0)))
                          (if (< i (vector-ref (uppers outer) k))
                              (let ((cut (+ cut (width (at (append (take corner k)
                                                                   (cons i (drop corner (+ k 1)))))
                                                       k))))
                                (loop (+ i 1) cut (cons cut cuts)))
                              (%reverse-list->vector cuts))))
                      (iota size)))))
          (define (cut k i)
            (vector-ref (vector-ref cuts k) (- i (vector-ref (lowers outer) k))))
          (interval-for-each
           (lambda indexes
             (for-each (lambda (k i)
                         (if (not (= (width (at indexes) k) (- (cut k (+ i 1)) (cut k i))))
                             (%range-error 'array-block 1 "blocks that fit together" (at indexes))))
                       (iota size)
                       indexes))
           outer)
          (with-defaults 'array-block 2 options
            (lambda (class mutable? safe?)
              (let ((result (fresh (make-interval
                                    (vector-map (lambda (cuts)
                                                  (vector-ref cuts (- (vector-length cuts) 1)))
                                                cuts))
                                   class (storage-class-default class) #t #f)))
                (interval-for-each
                 (lambda indexes
                   (let* ((block (at indexes))
                          (starts (list->vector (map cut (iota size) indexes))))
                     (for-each (lambda (element) (check-value 'array-block 1 class element))
                               (elements-reversed block))
                     (let ((block (array-translate block
                                                   (vector-map - starts
                                                               (lowers (domain-of block))))))
                       (assign! (extract result (domain-of block)) block))))
                 outer)
                (specialized (domain-of result) class (body-of result) (base-of result)
                             (strides-of result) mutable? safe?)))))))

    ;; Elements.

    (define (array-ref array . indexes)
      (check-array 'array-ref 1 array)
      (check-index 'array-ref 2 (domain-of array) indexes)
      (apply (getter-of array) indexes))

    (define (array-set! array object . indexes)
      (if (not (mutable-array? array))
          (%type-error 'array-set! 1 "mutable array" array))
      (check-index 'array-set! 3 (domain-of array) indexes)
      (if (class-of array)
          (check-value 'array-set! 2 (class-of array) object))
      (apply (setter-of array) object indexes))))
