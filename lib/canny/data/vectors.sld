;;; (canny data vectors): what the vector libraries of SRFIs 43 and 133 have in common: checks, and
;;; the procedures that make, reverse and unfold vectors.

(define-library (canny data vectors)
  (export check-procedure check-vector check-range least-length elements-at
          vector-unfold vector-unfold-right vector-unfold! vector-unfold-right!
          vector-reverse-copy vector-reverse-copy! vector-concatenate vector-append-subvectors
          reverse-vector->list)
  (import (canny primitives) (canny syntax))
  (begin

    ;; Checks. The object is a variable. A check calls a procedure to raise the error: a procedure
    ;; that mentions the text of an error cannot be copied to its calls.

    (define (not-a-procedure who position object)
      (%type-error who position "procedure" object))

    (define (not-a-vector who position object)
      (%type-error who position "vector" object))

    (define-syntax check-procedure
      (syntax-rules ()
        ((_ who position object)
         (if (not (procedure? object))
             (not-a-procedure who position object)))))

    (define-syntax check-vector
      (syntax-rules ()
        ((_ who position object)
         (if (not (vector? object))
             (not-a-vector who position object)))))

    ;; Start and end are arguments `position` and the next.
    (define (check-range who position start end length)
      (if (not (and (fixnum? end) (<= 0 end) (<= end length)))
          (%range-error who (+ position 1) "an index of the vector" end))
      (if (not (and (fixnum? start) (<= 0 start) (<= start end)))
          (%range-error who position "an index not above the end" start)))

    ;; The length of the shortest of the vectors, of which the first is argument `position`.
    (define (least-length who position vectors)
      (let loop ((rest vectors) (position position) (least #f))
        (if (pair? rest)
            (let ((vector (car rest)))
              (check-vector who position vector)
              (let ((length (vector-length vector)))
                (loop (cdr rest)
                      (+ position 1)
                      (if least (min least length) length))))
            (or least 0))))

    (define (elements-at vectors index)
      (if (pair? vectors)
          (cons (vector-ref (car vectors) index) (elements-at (cdr vectors) index))
          '()))

    ;; Unfolding.  `step` takes the index in the vector and the seeds, and gives the element and the
    ;; next seeds.

    (define (check-size who size)
      (if (not (exact-nonnegative-integer? size))
          (%type-error who 2 "index" size)))

    (define (unfold-up! step vector start end seeds)
      (cond ((null? seeds)
             (let loop ((index start))
               (if (< index end)
                   (begin
                     (vector-set! vector index (step index))
                     (loop (+ index 1))))))
            ((null? (cdr seeds))
             (let loop ((index start) (seed (car seeds)))
               (if (< index end)
                   (let-values (((element seed) (step index seed)))
                     (vector-set! vector index element)
                     (loop (+ index 1) seed)))))
            (else
             (let loop ((index start) (seeds seeds))
               (if (< index end)
                   (let-values (((element . seeds) (apply step index seeds)))
                     (vector-set! vector index element)
                     (loop (+ index 1) seeds)))))))

    (define (unfold-down! step vector start end seeds)
      (cond ((null? seeds)
             (let loop ((index (- end 1)))
               (if (>= index start)
                   (begin
                     (vector-set! vector index (step index))
                     (loop (- index 1))))))
            ((null? (cdr seeds))
             (let loop ((index (- end 1)) (seed (car seeds)))
               (if (>= index start)
                   (let-values (((element seed) (step index seed)))
                     (vector-set! vector index element)
                     (loop (- index 1) seed)))))
            (else
             (let loop ((index (- end 1)) (seeds seeds))
               (if (>= index start)
                   (let-values (((element . seeds) (apply step index seeds)))
                     (vector-set! vector index element)
                     (loop (- index 1) seeds)))))))

    ;; A list of the elements, last first: a continuation captured in `step` can be entered again.
    (define (unfolded step start end by seeds)
      (cond ((null? seeds)
             (let loop ((index start) (elements '()))
               (if (= index end)
                   elements
                   (loop (+ index by) (cons (step index) elements)))))
            ((null? (cdr seeds))
             (let loop ((index start) (seed (car seeds)) (elements '()))
               (if (= index end)
                   elements
                   (let-values (((element seed) (step index seed)))
                     (loop (+ index by) seed (cons element elements))))))
            (else
             (let loop ((index start) (seeds seeds) (elements '()))
               (if (= index end)
                   elements
                   (let-values (((element . seeds) (apply step index seeds)))
                     (loop (+ index by) seeds (cons element elements))))))))

    (define vector-unfold
      (case-lambda
        ((step size)
         (check-procedure 'vector-unfold 1 step)
         (if (not (and (fixnum? size) (<= 0 size)))
             (check-size 'vector-unfold size))
         (let loop ((index 0) (elements '()))
           (if (= index size)
               (%reverse-list->vector elements)
               (loop (+ index 1) (cons (step index) elements)))))
        ((step size . seeds)
         (check-procedure 'vector-unfold 1 step)
         (check-size 'vector-unfold size)
         (%reverse-list->vector (unfolded step 0 size 1 seeds)))))

    (define (vector-unfold-right step size . seeds)
      (check-procedure 'vector-unfold-right 1 step)
      (check-size 'vector-unfold-right size)
      (list->vector (unfolded step (- size 1) -1 -1 seeds)))

    (define (vector-unfold! step vector start end . seeds)
      (check-procedure 'vector-unfold! 1 step)
      (check-vector 'vector-unfold! 2 vector)
      (check-range 'vector-unfold! 3 start end (vector-length vector))
      (unfold-up! step vector start end seeds))

    (define (vector-unfold-right! step vector start end . seeds)
      (check-procedure 'vector-unfold-right! 1 step)
      (check-vector 'vector-unfold-right! 2 vector)
      (check-range 'vector-unfold-right! 3 start end (vector-length vector))
      (unfold-down! step vector start end seeds))

    ;; Copies.

    (define vector-reverse-copy
      (case-lambda
        ((vector)
         (check-vector 'vector-reverse-copy 1 vector)
         (vector-reverse-copy vector 0 (vector-length vector)))
        ((vector start)
         (check-vector 'vector-reverse-copy 1 vector)
         (vector-reverse-copy vector start (vector-length vector)))
        ((vector start end)
         (check-vector 'vector-reverse-copy 1 vector)
         (check-range 'vector-reverse-copy 2 start end (vector-length vector))
         (let ((copy (vector-copy vector start end)))
           (vector-reverse! copy)
           copy))))

    ;; The ranges may overlap.
    (define vector-reverse-copy!
      (case-lambda
        ((to at from)
         (check-vector 'vector-reverse-copy! 3 from)
         (vector-reverse-copy! to at from 0 (vector-length from)))
        ((to at from start)
         (check-vector 'vector-reverse-copy! 3 from)
         (vector-reverse-copy! to at from start (vector-length from)))
        ((to at from start end)
         (check-vector 'vector-reverse-copy! 1 to)
         (check-vector 'vector-reverse-copy! 3 from)
         (check-range 'vector-reverse-copy! 4 start end (vector-length from))
         (if (not (and (exact-nonnegative-integer? at)
                       (<= (+ at (- end start)) (vector-length to))))
             (%range-error 'vector-reverse-copy! 2 "an index with room for the elements" at))
         (vector-copy! to at from start end)
         (vector-reverse! to at (+ at (- end start))))))

    (define (vector-concatenate vectors)
      (if (not (list? vectors))
          (%type-error 'vector-concatenate 1 "list of vectors" vectors))
      (for-each-element (lambda (vector)
                          (if (not (vector? vector))
                              (%type-error 'vector-concatenate 1 "list of vectors" vector)))
                        vectors)
      (if (and (pair? vectors) (pair? (cdr vectors)) (null? (cddr vectors)))
          (vector-append (car vectors) (cadr vectors))
          (apply vector-append vectors)))

    (define (for-each-element procedure list)
      (if (pair? list)
          (begin
            (procedure (car list))
            (for-each-element procedure (cdr list)))))

    (define (vector-append-subvectors . arguments)
      ;; The arguments are checked on the way to the total length.
      (let ((result
             (make-vector
              (let loop ((rest arguments) (position 1) (total 0))
                (cond ((null? rest) total)
                      ((or (null? (cdr rest)) (null? (cddr rest)))
                       (%type-error 'vector-append-subvectors position
                                    "vector with start and end" (car rest)))
                      (else
                       (let ((vector (car rest)))
                         (check-vector 'vector-append-subvectors position vector))
                       (check-range 'vector-append-subvectors (+ position 1)
                                    (cadr rest) (caddr rest) (vector-length (car rest)))
                       (loop (cdddr rest)
                             (+ position 3)
                             (+ total (- (caddr rest) (cadr rest))))))))))
        (let loop ((rest arguments) (at 0))
          (if (null? rest)
              result
              (begin
                (vector-copy! result at (car rest) (cadr rest) (caddr rest))
                (loop (cdddr rest) (+ at (- (caddr rest) (cadr rest)))))))))

    (define (reversed-elements vector start end)
      (let loop ((index start) (elements '()))
        (if (< index end)
            (loop (+ index 1) (cons (vector-ref vector index) elements))
            elements)))

    (define reverse-vector->list
      (case-lambda
        ((vector)
         (check-vector 'reverse-vector->list 1 vector)
         (reversed-elements vector 0 (vector-length vector)))
        ((vector start)
         (check-vector 'reverse-vector->list 1 vector)
         (let ((end (vector-length vector)))
           (check-range 'reverse-vector->list 2 start end end)
           (reversed-elements vector start end)))
        ((vector start end)
         (check-vector 'reverse-vector->list 1 vector)
         (check-range 'reverse-vector->list 2 start end (vector-length vector))
         (reversed-elements vector start end))))))
