;;; (srfi 194): generators of random data.
;;;
;;; Each maker takes its bits from the source that is current when it is called.

(define-library (srfi 194)
  (export
   clamp-real-number current-random-source with-random-source make-random-source-generator
   make-random-integer-generator make-random-u1-generator
   make-random-u8-generator make-random-s8-generator
   make-random-u16-generator make-random-s16-generator
   make-random-u32-generator make-random-s32-generator
   make-random-u64-generator make-random-s64-generator
   make-random-real-generator make-random-rectangular-generator make-random-polar-generator
   make-random-boolean-generator make-random-char-generator make-random-string-generator
   make-bernoulli-generator make-binomial-generator make-categorical-generator
   make-normal-generator make-exponential-generator make-geometric-generator
   make-poisson-generator make-zipf-generator
   make-sphere-generator make-ellipsoid-generator make-ball-generator
   gsampling)
  (import (except (scheme base) exact-integer?) (scheme case-lambda) (scheme inexact)
          (scheme complex)
          (only (canny primitives) %type-error %range-error exact-floor exact-integer?
                exact-nonnegative-integer?)
          (srfi 27))
  (begin

    (define current-random-source (make-parameter default-random-source))

    (define (with-random-source source thunk)
      (if (not (random-source? source))
          (%type-error 'with-random-source 1 "random source" source))
      (parameterize ((current-random-source source))
        (thunk)))

    (define (make-random-source-generator i)
      (if (not (exact-nonnegative-integer? i))
          (%type-error 'make-random-source-generator 1 "index" i))
      (let ((j 0))
        (lambda ()
          (let ((source (make-random-source)))
            (random-source-pseudo-randomize! source i j)
            (set! j (+ j 1))
            source))))

    (define (integers) (random-source-make-integers (current-random-source)))
    (define (reals) (random-source-make-reals (current-random-source)))

    (define (check-real who position object)
      (if (not (real? object))
          (%type-error who position "real number" object)))

    (define (check-bounds who position lower upper)
      (check-real who position lower)
      (check-real who (+ position 1) upper)
      (if (> lower upper)
          (%range-error who position "not above the upper bound" lower)))

    (define (check-probability who position p)
      (if (not (and (real? p) (<= 0 p 1)))
          (%range-error who position "a probability" p)))

    (define (check-positive who position object)
      (if (not (and (real? object) (positive? object)))
          (%type-error who position "positive real number" object)))

    ;; Uniform distributions.

    (define (make-random-integer-generator lower upper)
      (if (not (exact-integer? lower))
          (%type-error 'make-random-integer-generator 1 "exact integer" lower))
      (if (not (and (exact-integer? upper) (< lower upper)))
          (%type-error 'make-random-integer-generator 2 "exact integer above the lower bound"
                       upper))
      (let ((draw (integers)) (size (- upper lower)))
        (lambda () (+ lower (draw size)))))

    (define-syntax define-sized
      (syntax-rules ()
        ((_ (unsigned signed bits) ...)
         (begin
           (define (unsigned)
             (make-random-integer-generator 0 (expt 2 bits)))
           ...
           (define (signed)
             (make-random-integer-generator (- (expt 2 (- bits 1))) (expt 2 (- bits 1))))
           ...))))

    (define-sized
      (make-random-u8-generator make-random-s8-generator 8)
      (make-random-u16-generator make-random-s16-generator 16)
      (make-random-u32-generator make-random-s32-generator 32)
      (make-random-u64-generator make-random-s64-generator 64))

    (define (make-random-u1-generator)
      (make-random-integer-generator 0 2))

    (define (clamp-real-number lower upper value)
      (check-bounds 'clamp-real-number 1 lower upper)
      (check-real 'clamp-real-number 3 value)
      (cond ((< value lower) lower)
            ((> value upper) upper)
            (else value)))

    ;; The bounds belong to the range, though a generator hardly ever gives them.
    (define (make-random-real-generator lower upper)
      (check-bounds 'make-random-real-generator 1 lower upper)
      (let ((draw (reals)) (lower (inexact lower)) (upper (inexact upper)))
        (lambda ()
          (let ((t (draw)))
            ;; This way neither infinities nor values outside the range come out.
            (clamp-real-number lower upper (+ (* t upper) (* (- 1.0 t) lower)))))))

    (define (make-random-rectangular-generator real-lower real-upper imag-lower imag-upper)
      (check-bounds 'make-random-rectangular-generator 1 real-lower real-upper)
      (check-bounds 'make-random-rectangular-generator 3 imag-lower imag-upper)
      (let ((real (make-random-real-generator real-lower real-upper))
            (imag (make-random-real-generator imag-lower imag-upper)))
        (lambda () (make-rectangular (real) (imag)))))

    (define pi 3.141592653589793)

    (define make-random-polar-generator
      (case-lambda
        ((lower upper) (make-random-polar-generator 0 lower upper 0 (* 2 pi)))
        ((origin lower upper) (make-random-polar-generator origin lower upper 0 (* 2 pi)))
        ((lower upper angle-lower angle-upper)
         (make-random-polar-generator 0 lower upper angle-lower angle-upper))
        ((origin lower upper angle-lower angle-upper)
         (if (not (number? origin))
             (%type-error 'make-random-polar-generator 1 "number" origin))
         (check-bounds 'make-random-polar-generator 2 lower upper)
         (check-bounds 'make-random-polar-generator 4 angle-lower angle-upper)
         ;; The area grows with the square of the radius.
         (let ((square (make-random-real-generator (* lower lower) (* upper upper)))
               (angle (make-random-real-generator angle-lower angle-upper)))
           (lambda () (+ origin (make-polar (sqrt (square)) (angle))))))))

    (define (make-random-boolean-generator)
      (let ((draw (integers)))
        (lambda () (= 1 (draw 2)))))

    (define (check-characters who position string)
      (if (not (and (string? string) (positive? (string-length string))))
          (%type-error who position "string that is not empty" string)))

    (define (make-random-char-generator string)
      (check-characters 'make-random-char-generator 1 string)
      (let ((draw (integers)) (length (string-length string)))
        (lambda () (string-ref string (draw length)))))

    (define (make-random-string-generator k string)
      (if (not (and (exact-integer? k) (positive? k)))
          (%type-error 'make-random-string-generator 1 "positive exact integer" k))
      (check-characters 'make-random-string-generator 2 string)
      (let ((draw (integers)) (char (make-random-char-generator string)))
        (lambda ()
          (let loop ((count (draw k)) (chars '()))
            (if (= count 0)
                (list->string chars)
                (loop (- count 1) (cons (char) chars)))))))

    ;; Other distributions.

    (define (make-bernoulli-generator p)
      (check-probability 'make-bernoulli-generator 1 p)
      (let ((draw (reals)))
        (lambda () (if (< (draw) p) 1 0))))

    ;; Walker's method of aliases (in Vose's form). A column is drawn, then one of the two outcomes
    ;; that share it. So a draw takes the same time whatever the weights.
    (define (make-categorical-generator weights)
      (if (not (and (vector? weights) (positive? (vector-length weights))))
          (%type-error 'make-categorical-generator 1 "vector that is not empty" weights))
      (let ((total (vector-fold-weights weights))
            (count (vector-length weights)))
        (if (not (positive? total))
            (%range-error 'make-categorical-generator 1 "weights with a positive sum" weights))
        (let ((shares (vector-map (lambda (weight) (/ (* weight count) total)) weights))
              (aliases (make-vector count 0)))
          (let loop ((small (indexes shares (lambda (share) (< share 1))))
                     (large (indexes shares (lambda (share) (>= share 1)))))
            (if (and (pair? small) (pair? large))
                (let ((rest (- (+ (vector-ref shares (car small)) (vector-ref shares (car large)))
                               1)))
                  (vector-set! aliases (car small) (car large))
                  (vector-set! shares (car large) rest)
                  (if (< rest 1)
                      (loop (cons (car large) (cdr small)) (cdr large))
                      (loop (cdr small) large)))
                ;; Rounding may leave some: they have their columns alone.
                (for-each (lambda (index) (vector-set! shares index 1)) (append small large))))
          (let ((draw (integers)) (real (reals)))
            (lambda ()
              (let ((column (draw count)))
                (if (< (real) (vector-ref shares column))
                    column
                    (vector-ref aliases column))))))))

    (define (vector-fold-weights weights)
      (let loop ((index 0) (total 0))
        (if (< index (vector-length weights))
            (let ((weight (vector-ref weights index)))
              (if (not (and (real? weight) (>= weight 0)))
                  (%type-error 'make-categorical-generator 1 "vector of weights" weights))
              (loop (+ index 1) (+ total weight)))
            total)))

    (define (indexes vector wanted?)
      (let loop ((index (- (vector-length vector) 1)) (found '()))
        (if (< index 0)
            found
            (loop (- index 1)
                  (if (wanted? (vector-ref vector index)) (cons index found) found)))))

    ;; The polar method of Marsaglia: two at a time.
    (define (normal-draw)
      (let ((draw (reals)) (spare #f))
        (lambda ()
          (if spare
              (let ((value spare))
                (set! spare #f)
                value)
              (let loop ()
                (let* ((x (- (* 2.0 (draw)) 1.0))
                       (y (- (* 2.0 (draw)) 1.0))
                       (s (+ (* x x) (* y y))))
                  (if (or (>= s 1.0) (= s 0.0))
                      (loop)
                      (let ((scale (sqrt (/ (* -2.0 (log s)) s))))
                        (set! spare (* y scale))
                        (* x scale)))))))))

    (define make-normal-generator
      (case-lambda
        (() (make-normal-generator 0.0 1.0))
        ((mean) (make-normal-generator mean 1.0))
        ((mean deviation)
         (check-real 'make-normal-generator 1 mean)
         (if (not (and (real? deviation) (>= deviation 0)))
             (%type-error 'make-normal-generator 2 "real number that is not negative" deviation))
         (let ((draw (normal-draw)))
           (lambda () (+ mean (* deviation (draw))))))))

    (define (make-exponential-generator mean)
      (check-positive 'make-exponential-generator 1 mean)
      (let ((draw (reals)))
        (lambda () (- (* mean (log (draw)))))))

    (define (make-geometric-generator p)
      (check-probability 'make-geometric-generator 1 p)
      (cond ((= p 1) (lambda () 1))
            ((= p 0) (%range-error 'make-geometric-generator 1 "positive" p))
            (else
             (let ((draw (reals)) (scale (/ 1.0 (log1-of p))))
               (lambda () (+ 1 (exact-floor (* (log (draw)) scale))))))))

    ;; The logarithm of 1 - p, also of a very small p.
    (define (log1-of p)
      (let ((q (- 1.0 p)))
        (if (= q 1.0)
            (- p)
            (/ (* (log q) p) (- 1.0 q)))))

    ;; Sums of Poisson variables are Poisson variables. A large mean is halved until products of
    ;; uniform numbers do (Knuth). But from 1000 on a gamma variable of integer order cuts it down
    ;; at once (Ahrens and Dieter, 1974).
    (define (make-poisson-generator mean)
      (check-positive 'make-poisson-generator 1 mean)
      (let ((draw (reals)) (normal (normal-draw)) (binomial (binomial-draw)))
        (lambda ()
          (let loop ((mean (inexact mean)) (count 0))
            (if (< mean 30.0)
                (let ((limit (exp (- mean))))
                  (let multiply ((product (draw)) (count count))
                    (if (> product limit)
                        (multiply (* product (draw)) (+ count 1))
                        count)))
                (let* ((order (exact-floor (* 0.875 mean)))
                       (waited (gamma-draw order draw normal)))
                  (if (<= waited mean)
                      (loop (- mean waited) (+ count order))
                      (+ count (binomial (- order 1) (/ mean waited))))))))))

    ;; A gamma variable of an order above one (Marsaglia and Tsang, 2000).
    (define (gamma-draw order draw normal)
      (let* ((d (- order (/ 1.0 3.0)))
             (c (/ 1.0 (sqrt (* 9.0 d)))))
        (let loop ()
          (let* ((x (normal))
                 (base (+ 1.0 (* c x))))
            (if (<= base 0.0)
                (loop)
                (let ((v (* base base base)))
                  (if (< (log (draw)) (+ (* 0.5 x x) (* d (+ (- 1.0 v) (log v)))))
                      (* d v)
                      (loop))))))))

    ;; A procedure of n and p. For a large n, a beta variable gives the median of n uniform
    ;; numbers. It determines of half of them whether they are below p. This is repeated until few
    ;; are left.
    (define (binomial-draw)
      (let ((draw (reals)) (normal (normal-draw)))
        (lambda (n p)
          (let loop ((n n) (p (inexact p)) (count 0))
            (cond ((<= p 0.0) count)
                  ((>= p 1.0) (+ count n))
                  ((< n 40)
                   (let add ((n n) (count count))
                     (if (= n 0)
                         count
                         (add (- n 1) (if (< (draw) p) (+ count 1) count)))))
                  (else
                   (let* ((place (+ 1 (quotient n 2)))
                          (x (gamma-draw place draw normal))
                          (y (gamma-draw (- (+ n 1) place) draw normal))
                          (median (/ x (+ x y))))
                     (if (<= median p)
                         (loop (- n place) (/ (- p median) (- 1.0 median)) (+ count place))
                         (loop (- place 1) (/ p median) count)))))))))

    (define (make-binomial-generator n p)
      (if (not (exact-nonnegative-integer? n))
          (%type-error 'make-binomial-generator 1 "index" n))
      (check-probability 'make-binomial-generator 2 p)
      (let ((draw (binomial-draw)))
        (lambda () (draw n p))))

    ;; Rejection from the continuous distribution with the same exponent (Hörmann and Derflinger,
    ;; 1996).
    (define make-zipf-generator
      (case-lambda
        ((n) (make-zipf-generator n 1.0 0.0))
        ((n s) (make-zipf-generator n s 0.0))
        ((n s q)
         (if (not (and (exact-integer? n) (positive? n)))
             (%type-error 'make-zipf-generator 1 "positive exact integer" n))
         (check-real 'make-zipf-generator 2 s)
         (if (not (and (real? q) (> q -1/2)))
             (%range-error 'make-zipf-generator 3 "above -1/2" q))
         (let* ((s (inexact s)) (q (inexact q)) (1-s (- 1.0 s)) (draw (reals)))
           ;; The integral of the density, shifted to be zero at 1, and its inverse.
           (define (area x)
             (let ((t (log (/ (+ x q) (+ 1.0 q)))))
               (* (expt (+ 1.0 q) 1-s) (scaled-exp t))))
           (define (scaled-exp t)
             ;; ((exp (1-s)t) - 1) / (1-s)
             (let ((u (* 1-s t)))
               (if (< (abs u) 1e-8)
                   (* t (+ 1.0 (/ u 2.0)))
                   (/ (- (exp u) 1.0) 1-s))))
           (define (inverse y)
             (let* ((w (/ y (expt (+ 1.0 q) 1-s)))
                    (u (* 1-s w))
                    (t (if (< (abs u) 1e-8)
                           (* w (- 1.0 (/ u 2.0)))
                           (/ (log (+ 1.0 u)) 1-s))))
               (- (* (+ 1.0 q) (exp t)) q)))
           (define (density k) (expt (+ k q) (- s)))
           (let* ((low (area 0.5))
                  (high (area (+ n 0.5))))
             (lambda ()
               (let loop ()
                 (let* ((y (+ low (* (draw) (- high low))))
                        (k (max 1 (min n (exact (round (inverse y)))))))
                   ;; The area over [k - 1/2, k + 1/2] is at least the density, the rest is thrown
                   ;; away.
                   (if (>= y (- (area (+ k 0.5)) (density (inexact k))))
                       k
                       (loop))))))))))

    ;; Points.

    (define (normal-vector size normal)
      (let ((vector (make-vector size)))
        (do ((index 0 (+ index 1)))
            ((= index size) vector)
          (vector-set! vector index (normal)))))

    (define (norm vector)
      (let loop ((index 0) (sum 0.0))
        (if (< index (vector-length vector))
            (loop (+ index 1) (+ sum (square (vector-ref vector index))))
            (sqrt sum))))

    (define (scale vector factor)
      (vector-map (lambda (x) (* x factor)) vector))

    (define (sphere-draw size)
      (let ((normal (normal-draw)))
        (lambda ()
          (let loop ()
            (let* ((vector (normal-vector size normal))
                   (length (norm vector)))
              (if (= length 0.0)
                  (loop)
                  (scale vector (/ 1.0 length))))))))

    (define (make-sphere-generator n)
      (if (not (and (exact-integer? n) (positive? n)))
          (%type-error 'make-sphere-generator 1 "positive exact integer" n))
      (sphere-draw (+ n 1)))

    (define (check-axes who axes)
      (if (not (and (vector? axes) (positive? (vector-length axes))))
          (%type-error who 1 "vector of axes" axes))
      (vector-for-each (lambda (axis) (check-positive who 1 axis)) axes))

    ;; A point of the sphere is stretched; it is kept in proportion to how much the surface grows
    ;; there.
    (define (make-ellipsoid-generator axes)
      (check-axes 'make-ellipsoid-generator axes)
      (let* ((axes (vector-map inexact axes))
             (draw (sphere-draw (vector-length axes)))
             (real (reals))
             (shortest (apply min (vector->list axes))))
        (lambda ()
          (let loop ()
            (let* ((point (draw))
                   (growth (* shortest (norm (vector-map / point axes)))))
              (if (< (real) growth)
                  (vector-map * point axes)
                  (loop)))))))

    (define (make-ball-generator dimensions)
      (let ((axes (if (and (exact-integer? dimensions) (positive? dimensions))
                      (make-vector dimensions 1.0)
                      dimensions)))
        (check-axes 'make-ball-generator axes)
        (let ((draw (sphere-draw (vector-length axes)))
              (real (reals))
              (root (/ 1.0 (vector-length axes))))
          (lambda ()
            (vector-map * (scale (draw) (expt (real) root)) axes)))))

    (define (gsampling . generators)
      (let ((draw (integers)) (live (list->vector generators)))
        (lambda ()
          (let loop ()
            (let ((count (vector-length live)))
              (if (= count 0)
                  (eof-object)
                  (let* ((index (draw count))
                         (value ((vector-ref live index))))
                    (if (eof-object? value)
                        (begin
                          (set! live (vector-append (vector-copy live 0 index)
                                                    (vector-copy live (+ index 1))))
                          (loop))
                        value))))))))))
