;;; Part of (srfi 231): arrays, and those that share the body of another one.
;;;
;;; An array is a domain, a getter and perhaps a setter. A specialized array has a body besides, and
;;; an affine map from multi-indexes to places in it: a base and a stride for each axis.
;;; Transformations of specialized arrays share the body; their maps are found from the places of
;;; the first element and of its neighbors. Getters of up to three dimensions take no lists.

(define (check-array who position object)
  (if (not (array? object))
      (%type-error who position "array" object)))

(define (check-specialized who position object)
  (if (not (specialized-array? object))
      (%type-error who position "specialized array" object)))

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

;; The cuts along an axis: a vector of bounds.
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
