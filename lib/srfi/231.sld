;;; (srfi 231): intervals and generalized arrays.
;;;
;;; An array is a domain, a getter and perhaps a setter. A specialized array has a body besides, and
;;; an affine map from multi-indexes to places in it: a base and a stride for each axis.
;;; Transformations of specialized arrays share the body; their maps are found by asking for the
;;; first element and for its neighbors. Getters of up to three dimensions take no lists.

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
  (begin

    ;; Checks.

    (define (every-element? wanted? vector)
      (let loop ((index (- (vector-length vector) 1)))
        (or (< index 0)
            (and (wanted? (vector-ref vector index))
                 (loop (- index 1))))))

    (define (check-procedure who position object)
      (if (not (procedure? object))
          (%type-error who position "procedure" object)))

    (define (check-interval who position object)
      (if (not (interval? object))
          (%type-error who position "interval" object)))

    (define (check-array who position object)
      (if (not (array? object))
          (%type-error who position "array" object)))

    (define (check-specialized who position object)
      (if (not (specialized-array? object))
          (%type-error who position "specialized array" object)))

    (define (translation? object)
      (and (vector? object) (every-element? exact-integer? object)))

    (define (permutation? object)
      (and (translation? object)
           (let* ((size (vector-length object)) (seen (make-vector size #f)))
             (every-element? (lambda (index)
                               (and (< -1 index size)
                                    (not (vector-ref seen index))
                                    (begin
                                      (vector-set! seen index #t)
                                      #t)))
                             object))))

    (define (check-permutation who position object dimension)
      (if (not (and (permutation? object) (= (vector-length object) dimension)))
          (%type-error who position "permutation of the dimension" object)))

    (define (check-translation who position object dimension)
      (if (not (and (translation? object) (= (vector-length object) dimension)))
          (%type-error who position "vector of as many exact integers as there are dimensions"
                       object)))

    (define (check-axis who position k limit)
      (if (not (and (exact-nonnegative-integer? k) (< k limit)))
          (%range-error who position "an axis" k)))

    (define (index-rotate n k)
      (check-axis 'index-rotate 2 k (+ n 1))
      (list->vector (append (iota (- n k) k) (iota k))))

    (define (index-first n k)
      (check-axis 'index-first 2 k n)
      (list->vector (cons k (append (iota k) (iota (- n k 1) (+ k 1))))))

    (define (index-last n k)
      (check-axis 'index-last 2 k n)
      (list->vector (append (iota k) (iota (- n k 1) (+ k 1)) (list k))))

    (define (index-swap n i j)
      (check-axis 'index-swap 2 i n)
      (check-axis 'index-swap 3 j n)
      (let ((result (list->vector (iota n))))
        (vector-set! result i j)
        (vector-set! result j i)
        result))

    ;; Intervals.

    (define-record-type <interval>
      (new-interval lowers uppers)
      interval?
      (lowers lowers)
      (uppers uppers))

    (define make-interval
      (case-lambda
        ((uppers)
         (if (not (and (vector? uppers) (every-element? exact-nonnegative-integer? uppers)))
             (%type-error 'make-interval 1 "vector of exact non-negative integers" uppers))
         (new-interval (make-vector (vector-length uppers) 0) (vector-copy uppers)))
        ((lowers uppers)
         (if (not (translation? lowers))
             (%type-error 'make-interval 1 "vector of exact integers" lowers))
         (if (not (and (translation? uppers) (= (vector-length lowers) (vector-length uppers))))
             (%type-error 'make-interval 2 "vector of as many exact integers" uppers))
         (if (not (every-element? values (vector-map <= lowers uppers)))
             (%range-error 'make-interval 2 "bounds not below the lower ones" uppers))
         (new-interval (vector-copy lowers) (vector-copy uppers)))))

    (define (interval-dimension interval)
      (check-interval 'interval-dimension 1 interval)
      (vector-length (lowers interval)))

    (define (dimension interval)
      (vector-length (lowers interval)))

    (define-syntax define-interval-parts
      (syntax-rules ()
        ((_ (name interval k body) ...)
         (begin
           (define (name interval k)
             (check-interval 'name 1 interval)
             (check-axis 'name 2 k (dimension interval))
             body)
           ...))))

    (define-interval-parts
      (interval-lower-bound interval k (vector-ref (lowers interval) k))
      (interval-upper-bound interval k (vector-ref (uppers interval) k))
      (interval-width interval k
        (- (vector-ref (uppers interval) k) (vector-ref (lowers interval) k))))

    (define-syntax define-interval-views
      (syntax-rules ()
        ((_ (name interval body) ...)
         (begin
           (define (name interval)
             (check-interval 'name 1 interval)
             body)
           ...))))

    (define-interval-views
      (interval-lower-bounds->list interval (vector->list (lowers interval)))
      (interval-upper-bounds->list interval (vector->list (uppers interval)))
      (interval-lower-bounds->vector interval (vector-copy (lowers interval)))
      (interval-upper-bounds->vector interval (vector-copy (uppers interval)))
      (interval-widths interval (vector-map - (uppers interval) (lowers interval)))
      (interval-volume interval (volume interval))
      (interval-empty? interval (eqv? 0 (volume interval))))

    (define (volume interval)
      (let ((lowers (lowers interval)) (uppers (uppers interval)))
        (let loop ((k (- (vector-length lowers) 1)) (product 1))
          (if (< k 0)
              product
              (loop (- k 1) (* product (- (vector-ref uppers k) (vector-ref lowers k))))))))

    (define (same-interval? left right)
      (and (equal? (lowers left) (lowers right))
           (equal? (uppers left) (uppers right))))

    (define (interval= left right)
      (check-interval 'interval= 1 left)
      (check-interval 'interval= 2 right)
      (same-interval? left right))

    (define (check-dimension who position interval wanted)
      (check-interval who position interval)
      (if (not (= wanted (dimension interval)))
          (%range-error who position "an interval of the same dimension" interval)))

    (define (subset? left right)
      (and (every-element? values (vector-map >= (lowers left) (lowers right)))
           (every-element? values (vector-map <= (uppers left) (uppers right)))))

    (define (interval-subset? left right)
      (check-interval 'interval-subset? 1 left)
      (check-dimension 'interval-subset? 2 right (dimension left))
      (subset? left right))

    (define (contains? interval indexes)
      (let ((lowers (lowers interval)) (uppers (uppers interval)))
        (let loop ((rest indexes) (k 0))
          (if (null? rest)
              (= k (vector-length lowers))
              (and (< k (vector-length lowers))
                   (exact-integer? (car rest))
                   (<= (vector-ref lowers k) (car rest))
                   (< (car rest) (vector-ref uppers k))
                   (loop (cdr rest) (+ k 1)))))))

    (define (interval-contains-multi-index? interval . indexes)
      (check-interval 'interval-contains-multi-index? 1 interval)
      (for-each (lambda (index)
                  (if (not (exact-integer? index))
                      (%type-error 'interval-contains-multi-index? 2 "exact integer" index)))
                indexes)
      (if (not (= (length indexes) (dimension interval)))
          (%range-error 'interval-contains-multi-index? 2 "as many indexes as dimensions" indexes))
      (contains? interval indexes))

    (define (interval-projections interval right)
      (check-interval 'interval-projections 1 interval)
      (check-axis 'interval-projections 2 right (+ 1 (dimension interval)))
      (let ((left (- (dimension interval) right)))
        (values (new-interval (vector-copy (lowers interval) 0 left)
                              (vector-copy (uppers interval) 0 left))
                (new-interval (vector-copy (lowers interval) left)
                              (vector-copy (uppers interval) left)))))

    ;; Calls `use` with `f` at each multi-index and the state, in lexicographic order.
    (define (fold-interval f use state interval)
      (let* ((lowers (lowers interval)) (uppers (uppers interval))
             (low (lambda (k) (vector-ref lowers k)))
             (high (lambda (k) (vector-ref uppers k))))
        (case (vector-length lowers)
          ((0) (use state (f)))
          ((1)
           (let ((end (high 0)))
             (let loop ((i (low 0)) (state state))
               (if (< i end) (loop (+ i 1) (use state (f i))) state))))
          ((2)
           (let ((i-end (high 0)) (j-low (low 1)) (j-end (high 1)))
             (let outer ((i (low 0)) (state state))
               (if (< i i-end)
                   (let inner ((j j-low) (state state))
                     (if (< j j-end)
                         (inner (+ j 1) (use state (f i j)))
                         (outer (+ i 1) state)))
                   state))))
          (else
           (let walk ((k 0) (reversed '()) (state state))
             (if (= k (vector-length lowers))
                 (use state (apply f (reverse reversed)))
                 (let loop ((i (low k)) (state state))
                   (if (< i (high k))
                       (loop (+ i 1) (walk (+ k 1) (cons i reversed) state))
                       state))))))))

    (define (interval-for-each f interval)
      (check-procedure 'interval-for-each 1 f)
      (check-interval 'interval-for-each 2 interval)
      (if (not (eqv? 0 (volume interval)))
          (fold-interval f (lambda (state result) state) #t interval)))

    (define (interval-fold-left f operator identity interval)
      (check-procedure 'interval-fold-left 1 f)
      (check-procedure 'interval-fold-left 2 operator)
      (check-interval 'interval-fold-left 4 interval)
      (if (eqv? 0 (volume interval))
          identity
          (fold-interval f operator identity interval)))

    (define (interval-fold-right f operator identity interval)
      (check-procedure 'interval-fold-right 1 f)
      (check-procedure 'interval-fold-right 2 operator)
      (check-interval 'interval-fold-right 4 interval)
      (let loop ((rest (collect f interval)) (state identity))
        (if (pair? rest)
            (loop (cdr rest) (operator (car rest) state))
            state)))

    ;; What f gives, last first.
    (define (collect f interval)
      (if (eqv? 0 (volume interval))
          '()
          (fold-interval f (lambda (list item) (cons item list)) '() interval)))

    (define (interval-dilate interval lower-diffs upper-diffs)
      (check-interval 'interval-dilate 1 interval)
      (check-translation 'interval-dilate 2 lower-diffs (dimension interval))
      (check-translation 'interval-dilate 3 upper-diffs (dimension interval))
      (make-interval (vector-map + (lowers interval) lower-diffs)
                     (vector-map + (uppers interval) upper-diffs)))

    (define (interval-intersect interval . intervals)
      (check-interval 'interval-intersect 1 interval)
      (for-each (lambda (other)
                  (check-dimension 'interval-intersect 2 other (dimension interval)))
                intervals)
      (let ((low (apply vector-map max (lowers interval) (map lowers intervals)))
            (high (apply vector-map min (uppers interval) (map uppers intervals))))
        (and (every-element? values (vector-map <= low high))
             (new-interval low high))))

    (define (interval-translate interval translation)
      (check-interval 'interval-translate 1 interval)
      (check-translation 'interval-translate 2 translation (dimension interval))
      (new-interval (vector-map + (lowers interval) translation)
                    (vector-map + (uppers interval) translation)))

    (define (permute vector permutation)
      (vector-map (lambda (k) (vector-ref vector k)) permutation))

    (define (interval-permute interval permutation)
      (check-interval 'interval-permute 1 interval)
      (check-permutation 'interval-permute 2 permutation (dimension interval))
      (new-interval (permute (lowers interval) permutation)
                    (permute (uppers interval) permutation)))

    (define (check-scales who interval scales)
      (if (not (every-element? zero? (lowers interval)))
          (%range-error who 1 "lower bounds of zero" interval))
      (check-translation who 2 scales (dimension interval))
      (if (not (every-element? positive? scales))
          (%range-error who 2 "positive scales" scales)))

    (define (interval-scale interval scales)
      (check-interval 'interval-scale 1 interval)
      (check-scales 'interval-scale interval scales)
      (make-interval (vector-map (lambda (upper scale) (quotient (+ upper scale -1) scale))
                                 (uppers interval)
                                 scales)))

    (define (interval-cartesian-product . intervals)
      (for-each (lambda (interval) (check-interval 'interval-cartesian-product 1 interval))
                intervals)
      (new-interval (apply vector-append (map lowers intervals))
                    (apply vector-append (map uppers intervals))))

    ;; Storage classes.

    (define-record-type <storage-class>
      (make-storage-class getter setter checker maker copier length default data? data->body)
      storage-class?
      (getter storage-class-getter)
      (setter storage-class-setter)
      (checker storage-class-checker)
      (maker storage-class-maker)
      (copier storage-class-copier)
      (length storage-class-length)
      (default storage-class-default)
      (data? storage-class-data?)
      (data->body storage-class-data->body))

    (define generic-storage-class
      (make-storage-class vector-ref vector-set! (lambda (object) #t) make-vector vector-copy!
                          vector-length #f vector? values))

    (define char-storage-class
      (make-storage-class string-ref string-set! char? make-string string-copy! string-length
                          #\0 string? values))

    ;; Floats take exact numbers too, but what is stored and read back has to satisfy the checker.
    (define-syntax define-storage-classes
      (syntax-rules ()
        ((_ (name ref set! element? make copy! length default vector?) ...)
         (begin
           (define name
             (make-storage-class ref set! element? make copy! length default vector? values))
           ...))))

    (define-storage-classes
      (s8-storage-class s8vector-ref s8vector-set! s8? make-s8vector s8vector-copy! s8vector-length
                        0 s8vector?)
      (s16-storage-class s16vector-ref s16vector-set! s16? make-s16vector s16vector-copy!
                         s16vector-length 0 s16vector?)
      (s32-storage-class s32vector-ref s32vector-set! s32? make-s32vector s32vector-copy!
                         s32vector-length 0 s32vector?)
      (s64-storage-class s64vector-ref s64vector-set! s64? make-s64vector s64vector-copy!
                         s64vector-length 0 s64vector?)
      (u8-storage-class u8vector-ref u8vector-set! u8? make-u8vector u8vector-copy! u8vector-length
                        0 u8vector?)
      (u16-storage-class u16vector-ref u16vector-set! u16? make-u16vector u16vector-copy!
                         u16vector-length 0 u16vector?)
      (u32-storage-class u32vector-ref u32vector-set! u32? make-u32vector u32vector-copy!
                         u32vector-length 0 u32vector?)
      (u64-storage-class u64vector-ref u64vector-set! u64? make-u64vector u64vector-copy!
                         u64vector-length 0 u64vector?)
      (f32-storage-class f32vector-ref f32vector-set! f32? make-f32vector f32vector-copy!
                         f32vector-length 0.0 f32vector?)
      (f64-storage-class f64vector-ref f64vector-set! f64? make-f64vector f64vector-copy!
                         f64vector-length 0.0 f64vector?)
      (c64-storage-class c64vector-ref c64vector-set! c64? make-c64vector c64vector-copy!
                         c64vector-length 0.0+0.0i c64vector?)
      (c128-storage-class c128vector-ref c128vector-set! c128? make-c128vector c128vector-copy!
                          c128vector-length 0.0+0.0i c128vector?))

    ;; Bits are bytes of 0 and 1.
    (define (bit? object) (or (eqv? object 0) (eqv? object 1)))

    (define (bits? object)
      (and (bytevector? object)
           (let loop ((index (- (bytevector-length object) 1)))
             (or (< index 0)
                 (and (bit? (bytevector-u8-ref object index))
                      (loop (- index 1)))))))

    (define u1-storage-class
      (make-storage-class bytevector-u8-ref
                          (lambda (body index bit)
                            (if (not (bit? bit))
                                (%type-error 'array-set! 2 "bit" bit))
                            (bytevector-u8-set! body index bit))
                          bit? make-bytevector bytevector-copy! bytevector-length 0 bits? values))

    ;; There are no vectors of such small floats.
    (define f8-storage-class #f)
    (define f16-storage-class #f)

    ;; Arrays.

    (define (boolean-parameter name default)
      (make-parameter default
                      (lambda (value)
                        (if (not (boolean? value))
                            (%type-error name 1 "boolean" value))
                        value)))

    (define specialized-array-default-safe?
      (boolean-parameter 'specialized-array-default-safe? #f))
    (define specialized-array-default-mutable?
      (boolean-parameter 'specialized-array-default-mutable? #t))

    ;; The last five fields are #f in an array that is not specialized.
    (define-record-type <array>
      (new-array domain getter setter storage-class body base strides safe?)
      array?
      (domain domain-of)
      (getter getter-of)
      (setter setter-of set-setter!)
      (storage-class class-of)
      (body body-of)
      (base base-of)
      (strides strides-of)
      (safe? safe-of))

    (define (specialized-array? object)
      (and (array? object) (class-of object) #t))

    (define (mutable-array? object)
      (and (array? object) (setter-of object) #t))

    (define make-array
      (case-lambda
        ((domain getter)
         (check-interval 'make-array 1 domain)
         (check-procedure 'make-array 2 getter)
         (new-array domain getter #f #f #f #f #f #f))
        ((domain getter setter)
         (check-interval 'make-array 1 domain)
         (check-procedure 'make-array 2 getter)
         (check-procedure 'make-array 3 setter)
         (new-array domain getter setter #f #f #f #f #f))))

    (define-syntax define-array-views
      (syntax-rules ()
        ((_ check (name array body) ...)
         (begin
           (define (name array)
             (check 'name 1 array)
             body)
           ...))))

    (define-array-views check-array
      (array-domain array (domain-of array))
      (array-getter array (getter-of array))
      (array-dimension array (dimension (domain-of array)))
      (array-empty? array (eqv? 0 (volume (domain-of array)))))

    (define-array-views check-specialized
      (array-storage-class array (class-of array))
      (array-body array (body-of array))
      (array-safe? array (safe-of array))
      (array-indexer array (make-indexer (base-of array) (strides-of array)))
      (array-packed? array
        (equal? (cells array)
                (let ((places (cells array)))
                  (if (null? places)
                      places
                      (iota (length places) (car places)))))))

    (define (array-setter array)
      (if (not (mutable-array? array))
          (%type-error 'array-setter 1 "mutable array" array))
      (setter-of array))

    (define (array-freeze! array)
      (check-array 'array-freeze! 1 array)
      (set-setter! array #f)
      array)

    ;; Places in the body.

    (define (make-indexer base strides)
      (let ((stride (lambda (k) (vector-ref strides k))))
        (case (vector-length strides)
          ((0) (lambda () base))
          ((1) (let ((s0 (stride 0))) (lambda (i) (+ base (* s0 i)))))
          ((2) (let ((s0 (stride 0)) (s1 (stride 1)))
                 (lambda (i j) (+ base (* s0 i) (* s1 j)))))
          ((3) (let ((s0 (stride 0)) (s1 (stride 1)) (s2 (stride 2)))
                 (lambda (i j k) (+ base (* s0 i) (* s1 j) (* s2 k)))))
          (else
           (lambda indexes
             (if (not (= (length indexes) (vector-length strides)))
                 (%range-error 'array-ref 2 "as many indexes as dimensions" indexes))
             (let loop ((k 0) (rest indexes) (place base))
               (if (pair? rest)
                   (loop (+ k 1) (cdr rest) (+ place (* (vector-ref strides k) (car rest))))
                   place)))))))

    ;; The places of the elements in lexicographic order.
    (define (cells array)
      (reverse (collect (make-indexer (base-of array) (strides-of array)) (domain-of array))))

    (define (unsafe-getter class body base strides)
      (let ((ref (storage-class-getter class)) (stride (lambda (k) (vector-ref strides k))))
        (case (vector-length strides)
          ((1) (let ((s0 (stride 0))) (lambda (i) (ref body (+ base (* s0 i))))))
          ((2) (let ((s0 (stride 0)) (s1 (stride 1)))
                 (lambda (i j) (ref body (+ base (* s0 i) (* s1 j))))))
          (else
           (let ((indexer (make-indexer base strides)))
             (lambda indexes (ref body (apply indexer indexes))))))))

    (define (unsafe-setter class body base strides)
      (let ((set (storage-class-setter class)) (stride (lambda (k) (vector-ref strides k))))
        (case (vector-length strides)
          ((1) (let ((s0 (stride 0))) (lambda (value i) (set body (+ base (* s0 i)) value))))
          ((2) (let ((s0 (stride 0)) (s1 (stride 1)))
                 (lambda (value i j) (set body (+ base (* s0 i) (* s1 j)) value))))
          (else
           (let ((indexer (make-indexer base strides)))
             (lambda (value . indexes) (set body (apply indexer indexes) value)))))))

    (define (specialized domain class body base strides mutable? safe?)
      (let ((getter (unsafe-getter class body base strides))
            (setter (and mutable? (unsafe-setter class body base strides))))
        (new-array domain
                   (if safe?
                       (lambda indexes
                         (check-index 'array-ref 2 domain indexes)
                         (apply getter indexes))
                       getter)
                   (and setter
                        (if safe?
                            (lambda (value . indexes)
                              (check-index 'array-set! 3 domain indexes)
                              (check-value 'array-set! 2 class value)
                              (apply setter value indexes))
                            setter))
                   class body base strides safe?)))

    (define (check-index who position domain indexes)
      (if (not (contains? domain indexes))
          (%range-error who position "a multi-index of the domain" indexes)))

    (define (check-value who position class value)
      (if (not ((storage-class-checker class) value))
          (%type-error who position "element of the storage class" value)))

    (define (lexicographic-strides domain)
      (let* ((size (dimension domain)) (strides (make-vector size)))
        (let loop ((k (- size 1)) (stride 1))
          (if (>= k 0)
              (begin
                (vector-set! strides k stride)
                (loop (- k 1)
                      (* stride (- (vector-ref (uppers domain) k) (vector-ref (lowers domain) k)))))
              strides))))

    ;; The base that gives the first element of the domain a place.
    (define (base-for first domain strides)
      (let loop ((k 0) (base first))
        (if (= k (dimension domain))
            base
            (loop (+ k 1) (- base (* (vector-ref strides k) (vector-ref (lowers domain) k)))))))

    (define (fresh domain class initial mutable? safe?)
      (let ((strides (lexicographic-strides domain)))
        (specialized domain class ((storage-class-maker class) (volume domain) initial)
                     (base-for 0 domain strides) strides mutable? safe?)))

    (define (check-class who position class)
      (if (not (storage-class? class))
          (%type-error who position "storage class" class)))

    (define (check-boolean who position object)
      (if (not (boolean? object))
          (%type-error who position "boolean" object)))

    (define make-specialized-array
      (case-lambda
        ((domain) (make-specialized-array domain generic-storage-class))
        ((domain class)
         (check-class 'make-specialized-array 2 class)
         (make-specialized-array domain class (storage-class-default class)))
        ((domain class initial)
         (make-specialized-array domain class initial (specialized-array-default-safe?)))
        ((domain class initial safe?)
         (check-interval 'make-specialized-array 1 domain)
         (check-class 'make-specialized-array 2 class)
         (check-value 'make-specialized-array 3 class initial)
         (check-boolean 'make-specialized-array 4 safe?)
         (fresh domain class initial #t safe?))))

    ;; Calls `use` with storage class, mutability and safety, of which `options` lists those given,
    ;; from argument `position` on.
    (define (with-options who position options class mutable? safe? use)
      (let* ((next (lambda (default)
                     (if (pair? options)
                         (let ((option (car options)))
                           (set! options (cdr options))
                           option)
                         default)))
             (class (next class))
             (mutable? (next mutable?))
             (safe? (next safe?)))
        (check-class who position class)
        (check-boolean who (+ position 1) mutable?)
        (check-boolean who (+ position 2) safe?)
        (if (pair? options)
            (%range-error who (+ position 3) "no further argument" (car options)))
        (use class mutable? safe?)))

    (define (with-defaults who position options use)
      (with-options who position options generic-storage-class
        (specialized-array-default-mutable?) (specialized-array-default-safe?) use))

    (define (make-specialized-array-from-data data . options)
      (with-defaults 'make-specialized-array-from-data 2 options
        (lambda (class mutable? safe?)
          (if (not ((storage-class-data? class) data))
              (%type-error 'make-specialized-array-from-data 1 "data of the storage class" data))
          (let ((body ((storage-class-data->body class) data)))
            (specialized (make-interval (vector ((storage-class-length class) body)))
                         class body 0 (vector 1) mutable? safe?)))))

    ;; A new array of a list of elements, in lexicographic order.
    (define (from-list who position domain elements class mutable? safe?)
      (for-each (lambda (element) (check-value who position class element)) elements)
      (let* ((array (fresh domain class (storage-class-default class) mutable? safe?))
             (body (body-of array))
             (set (storage-class-setter class)))
        (let loop ((place 0) (rest elements))
          (if (pair? rest)
              (begin
                (set body place (car rest))
                (loop (+ place 1) (cdr rest)))
              array))))

    ;; Elements, last first.
    (define (elements-reversed array)
      (collect (getter-of array) (domain-of array)))

    (define (array-copy array . options)
      (check-array 'array-copy 1 array)
      (let ((copy (lambda (class mutable? safe?)
                    (from-list 'array-copy 1 (domain-of array) (reverse (elements-reversed array))
                               class mutable? safe?))))
        (if (specialized-array? array)
            (with-options 'array-copy 2 options (class-of array) (mutable-array? array)
              (safe-of array) copy)
            (with-defaults 'array-copy 2 options copy))))

    ;; Sharing.  `map-index` takes the list of a new multi-index and gives the list of an old one.

    (define (share array domain map-index)
      (let* ((size (dimension domain))
             (strides (make-vector size 0))
             (indexer (make-indexer (base-of array) (strides-of array)))
             (place (lambda (indexes) (apply indexer (map-index indexes))))
             (first-index (vector->list (lowers domain)))
             (base (if (eqv? 0 (volume domain))
                       0
                       (let ((first (place first-index)))
                         (let loop ((k 0))
                           (if (< k size)
                               (begin
                                 (if (> (vector-ref (uppers domain) k)
                                        (+ 1 (vector-ref (lowers domain) k)))
                                     (vector-set! strides k
                                                  (- (place (add-at first-index k)) first)))
                                 (loop (+ k 1)))))
                         (base-for first domain strides)))))
        (specialized domain (class-of array) (body-of array) base strides
                     (mutable-array? array) (safe-of array))))

    (define (add-at indexes k)
      (if (eqv? k 0)
          (cons (+ 1 (car indexes)) (cdr indexes))
          (cons (car indexes) (add-at (cdr indexes) (- k 1)))))

    (define (specialized-array-share array domain new->old)
      (check-specialized 'specialized-array-share 1 array)
      (check-interval 'specialized-array-share 2 domain)
      (check-procedure 'specialized-array-share 3 new->old)
      (if (> (volume domain) (volume (domain-of array)))
          (%range-error 'specialized-array-share 2 "a domain no larger than the old one" domain))
      (let ((map-index (lambda (indexes)
                         (call-with-values (lambda () (apply new->old indexes)) list))))
        (if (not (eqv? 0 (volume domain)))
            (check-range domain (domain-of array) map-index))
        (share array domain map-index)))

    ;; The extremes of an affine map are at the corners: along each axis it grows or falls by its
    ;; step.
    (define (check-range domain old map-index)
      (let* ((first-index (vector->list (lowers domain)))
             (first (map-index first-index))
             (axes (iota (dimension domain))))
        (define (reach k)
          (let ((steps (- (vector-ref (uppers domain) k) (vector-ref (lowers domain) k) 1)))
            (if (eqv? steps 0)
                (map (lambda (index) 0) first)
                (map (lambda (next start) (* steps (- next start)))
                     (map-index (add-at first-index k))
                     first))))
        (check-index 'specialized-array-share 3 old first)
        (let ((reaches (map reach axes)))
          (define (corner extreme)
            (apply map (lambda (start . reaches)
                         (apply + start (map (lambda (reach) (extreme 0 reach)) reaches)))
                   first
                   reaches))
          (check-index 'specialized-array-share 3 old (corner min))
          (check-index 'specialized-array-share 3 old (corner max)))))

    ;; An array whose element at a multi-index is the one of another array at `(map-index INDEXES)`.
    (define (transform array domain map-index)
      (if (specialized-array? array)
          (share array domain map-index)
          (let ((getter (getter-of array)) (setter (setter-of array)))
            (new-array domain
                       (lambda indexes (apply getter (map-index indexes)))
                       (and setter
                            (lambda (value . indexes) (apply setter value (map-index indexes))))
                       #f #f #f #f #f))))

    (define (array-curry array inner)
      (check-array 'array-curry 1 array)
      (check-axis 'array-curry 2 inner (+ 1 (dimension (domain-of array))))
      (let-values (((outer-domain inner-domain) (interval-projections (domain-of array) inner)))
        (make-array outer-domain
                    (lambda outer
                      (transform array inner-domain (lambda (inner) (append outer inner)))))))

    (define (extract array domain)
      (if (specialized-array? array)
          (share array domain values)
          (new-array domain (getter-of array) (setter-of array) #f #f #f #f #f)))

    (define (array-extract array domain)
      (check-array 'array-extract 1 array)
      (check-dimension 'array-extract 2 domain (dimension (domain-of array)))
      (if (not (subset? domain (domain-of array)))
          (%range-error 'array-extract 2 "an interval within the domain" domain))
      (extract array domain))

    ;; Where the cuts along an axis are: a vector of bounds.
    (define (axis-cuts domain k sides)
      (let* ((low (vector-ref (lowers domain) k))
             (high (vector-ref (uppers domain) k))
             (side (vector-ref sides k)))
        (cond ((and (exact-integer? side) (positive? side) (< low high))
               (let loop ((cut low) (cuts '()))
                 (if (< cut high)
                     (loop (+ cut side) (cons cut cuts))
                     (%reverse-list->vector (cons high cuts)))))
              ((and (vector? side)
                    (positive? (vector-length side))
                    (every-element? exact-nonnegative-integer? side)
                    (= (- high low) (apply + (vector->list side))))
               (let loop ((rest (vector->list side)) (cut low) (cuts (list low)))
                 (if (pair? rest)
                     (loop (cdr rest) (+ cut (car rest)) (cons (+ cut (car rest)) cuts))
                     (%reverse-list->vector cuts))))
              (else
               (%range-error 'array-tile 2 "sizes that fit the axis" side)))))

    (define (array-tile array sides)
      (check-array 'array-tile 1 array)
      (let* ((domain (domain-of array)) (size (dimension domain)))
        (if (not (and (vector? sides) (= (vector-length sides) size)))
            (%type-error 'array-tile 2 "vector of sizes, one for each axis" sides))
        (let ((cuts (list->vector (map (lambda (k) (axis-cuts domain k sides)) (iota size)))))
          (make-array
           (make-interval (vector-map (lambda (cuts) (- (vector-length cuts) 1)) cuts))
           (lambda indexes
             (let ((indexes (list->vector indexes)))
               (extract array
                        (new-interval
                         (vector-map (lambda (cuts i) (vector-ref cuts i)) cuts indexes)
                         (vector-map (lambda (cuts i) (vector-ref cuts (+ i 1)))
                                     cuts indexes)))))))))

    (define (array-translate array translation)
      (check-array 'array-translate 1 array)
      (check-translation 'array-translate 2 translation (dimension (domain-of array)))
      (let ((offsets (vector->list translation)))
        (transform array
                   (interval-translate (domain-of array) translation)
                   (lambda (indexes) (map - indexes offsets)))))

    (define (array-permute array permutation)
      (check-array 'array-permute 1 array)
      (check-permutation 'array-permute 2 permutation (dimension (domain-of array)))
      (let* ((size (vector-length permutation)) (inverse (make-vector size)))
        (do ((k 0 (+ k 1)))
            ((= k size))
          (vector-set! inverse (vector-ref permutation k) k))
        (let ((inverse (vector->list inverse)))
          (transform array
                     (interval-permute (domain-of array) permutation)
                     (lambda (indexes)
                       (let ((indexes (list->vector indexes)))
                         (map (lambda (k) (vector-ref indexes k)) inverse)))))))

    (define array-reverse
      (case-lambda
        ((array)
         (check-array 'array-reverse 1 array)
         (array-reverse array (make-vector (dimension (domain-of array)) #t)))
        ((array flips)
         (check-array 'array-reverse 1 array)
         (let* ((domain (domain-of array))
                (low (vector->list (lowers domain)))
                (high (vector->list (uppers domain))))
           (if (not (and (vector? flips)
                         (= (vector-length flips) (dimension domain))
                         (every-element? boolean? flips)))
               (%type-error 'array-reverse 2 "vector of booleans, one for each axis" flips))
           (let ((flips (vector->list flips)))
             (transform array domain
                        (lambda (indexes)
                          (map (lambda (i flip? l u) (if flip? (- (+ l u -1) i) i))
                               indexes flips low high))))))))

    (define (array-sample array scales)
      (check-array 'array-sample 1 array)
      (check-scales 'array-sample (domain-of array) scales)
      (let ((factors (vector->list scales)))
        (transform array
                   (interval-scale (domain-of array) scales)
                   (lambda (indexes) (map * indexes factors)))))

    (define (specialized-array-reshape array domain . copy?)
      (check-specialized 'specialized-array-reshape 1 array)
      (check-interval 'specialized-array-reshape 2 domain)
      (if (not (= (volume domain) (volume (domain-of array))))
          (%range-error 'specialized-array-reshape 2 "an interval of the same volume" domain))
      ;; The strides are read off the places of the elements; then every place must fit.
      (let* ((places (list->vector (cells array)))
             (steps (lexicographic-strides domain))
             (size (dimension domain))
             (strides (make-vector size 0)))
        (define (place-after k)
          (vector-ref places (vector-ref steps k)))
        (if (= 0 (vector-length places))
            (fresh domain (class-of array) (storage-class-default (class-of array))
                   (mutable-array? array) (safe-of array))
            (let ((first (vector-ref places 0)))
              (do ((k 0 (+ k 1)))
                  ((= k size))
                (if (> (vector-ref (uppers domain) k) (+ 1 (vector-ref (lowers domain) k)))
                    (vector-set! strides k (- (place-after k) first))))
              (let* ((base (base-for first domain strides))
                     (result (specialized domain (class-of array) (body-of array) base strides
                                          (mutable-array? array) (safe-of array))))
                (cond ((equal? (cells result) (vector->list places)) result)
                      ((and (pair? copy?) (car copy?))
                       (from-list 'specialized-array-reshape 1 domain
                                  (reverse (elements-reversed array))
                                  (class-of array) (mutable-array? array) (safe-of array)))
                      (else
                       (%range-error 'specialized-array-reshape 2
                                     "an interval for which the elements lie regularly in the body"
                                     domain))))))))

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
