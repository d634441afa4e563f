;;; Part of (srfi 231): intervals of multi-indexes, translations and permutations of axes.

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

;; The results of f, last first.
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
