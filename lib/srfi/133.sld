;;; (srfi 133): the vector library.
;;;
;;; Of several vectors, the shortest one ends the walk. One vector and two have loops of their own;
;;; more vectors go through lists.

(define-library (srfi 133)
  (export
   ;; Constructors
   make-vector vector vector-unfold vector-unfold-right vector-copy vector-reverse-copy
   vector-append vector-concatenate vector-append-subvectors
   ;; Predicates
   vector? vector-empty? vector=
   ;; Selectors
   vector-ref vector-length
   ;; Iteration
   vector-fold vector-fold-right vector-map vector-map! vector-for-each vector-count
   vector-cumulate
   ;; Searching
   vector-index vector-index-right vector-skip vector-skip-right vector-binary-search
   vector-any vector-every vector-partition
   ;; Mutators
   vector-set! vector-swap! vector-fill! vector-reverse! vector-copy! vector-reverse-copy!
   vector-unfold! vector-unfold-right!
   ;; Conversion
   vector->list reverse-vector->list list->vector
   (rename %reverse-list->vector reverse-list->vector)
   vector->string string->vector)
  (import (canny primitives) (canny syntax)
          (except (canny data sequences) vector-fold vector-index vector-count vector-map!)
          (canny data vectors))
  (begin

    ;; The length of the shorter of two vectors.
    (define-syntax length-of-two
      (syntax-rules ()
        ((_ who position vector1 vector2)
         (begin
           (check-vector who position vector1)
           (check-vector who (+ position 1) vector2)
           (let ((length1 (vector-length vector1)) (length2 (vector-length vector2)))
             (if (< length1 length2) length1 length2))))))

    (define (vector-empty? vector)
      (check-vector 'vector-empty? 1 vector)
      (eqv? (vector-length vector) 0))

    (define (vector= same? . vectors)
      (check-procedure 'vector= 1 same?)
      (define (equal-vectors? left right)
        (let ((length (vector-length left)))
          (and (= length (vector-length right))
               (let loop ((index 0))
                 (or (= index length)
                     (and (same? (vector-ref left index) (vector-ref right index))
                          (loop (+ index 1))))))))
      (least-length 'vector= 2 vectors)
      (or (null? vectors)
          (let loop ((left (car vectors)) (rest (cdr vectors)))
            (or (null? rest)
                (and (equal-vectors? left (car rest))
                     (loop (car rest) (cdr rest)))))))

    ;; Iteration.

    (define vector-fold
      (case-lambda
        ((kons knil vector)
         (check-procedure 'vector-fold 1 kons)
         (check-vector 'vector-fold 3 vector)
         (let ((end (vector-length vector)))
           (let loop ((index 0) (state knil))
             (if (< index end)
                 (loop (+ index 1) (kons state (vector-ref vector index)))
                 state))))
        ((kons knil vector1 vector2)
         (check-procedure 'vector-fold 1 kons)
         (let ((end (length-of-two 'vector-fold 3 vector1 vector2)))
           (let loop ((index 0) (state knil))
             (if (< index end)
                 (loop (+ index 1)
                       (kons state (vector-ref vector1 index) (vector-ref vector2 index)))
                 state))))
        ((kons knil . vectors)
         (check-procedure 'vector-fold 1 kons)
         (let ((end (least-length 'vector-fold 3 vectors)))
           (let loop ((index 0) (state knil))
             (if (< index end)
                 (loop (+ index 1) (apply kons state (elements-at vectors index)))
                 state))))))

    (define vector-fold-right
      (case-lambda
        ((kons knil vector)
         (check-procedure 'vector-fold-right 1 kons)
         (check-vector 'vector-fold-right 3 vector)
         (let loop ((index (- (vector-length vector) 1)) (state knil))
           (if (>= index 0)
               (loop (- index 1) (kons state (vector-ref vector index)))
               state)))
        ((kons knil vector1 vector2)
         (check-procedure 'vector-fold-right 1 kons)
         (let loop ((index (- (length-of-two 'vector-fold-right 3 vector1 vector2) 1))
                    (state knil))
           (if (>= index 0)
               (loop (- index 1)
                     (kons state (vector-ref vector1 index) (vector-ref vector2 index)))
               state)))
        ((kons knil . vectors)
         (check-procedure 'vector-fold-right 1 kons)
         (let loop ((index (- (least-length 'vector-fold-right 3 vectors) 1)) (state knil))
           (if (>= index 0)
               (loop (- index 1) (apply kons state (elements-at vectors index)))
               state)))))

    (define vector-map!
      (case-lambda
        ((procedure vector)
         (check-procedure 'vector-map! 1 procedure)
         (check-vector 'vector-map! 2 vector)
         (let ((end (vector-length vector)))
           (let loop ((index 0))
             (if (< index end)
                 (begin
                   (vector-set! vector index (procedure (vector-ref vector index)))
                   (loop (+ index 1)))))))
        ((procedure vector1 vector2)
         (check-procedure 'vector-map! 1 procedure)
         (let ((end (length-of-two 'vector-map! 2 vector1 vector2)))
           (let loop ((index 0))
             (if (< index end)
                 (begin
                   (vector-set! vector1
                                index
                                (procedure (vector-ref vector1 index)
                                           (vector-ref vector2 index)))
                   (loop (+ index 1)))))))
        ((procedure vector . vectors)
         (check-procedure 'vector-map! 1 procedure)
         (let* ((vectors (cons vector vectors))
                (end (least-length 'vector-map! 2 vectors)))
           (let loop ((index 0))
             (if (< index end)
                 (begin
                   (vector-set! vector index (apply procedure (elements-at vectors index)))
                   (loop (+ index 1)))))))))

    (define vector-count
      (case-lambda
        ((wanted? vector)
         (check-procedure 'vector-count 1 wanted?)
         (check-vector 'vector-count 2 vector)
         (let ((end (vector-length vector)))
           (let loop ((index 0) (count 0))
             (if (< index end)
                 (loop (+ index 1) (if (wanted? (vector-ref vector index)) (+ count 1) count))
                 count))))
        ((wanted? vector1 vector2)
         (check-procedure 'vector-count 1 wanted?)
         (let ((end (length-of-two 'vector-count 2 vector1 vector2)))
           (let loop ((index 0) (count 0))
             (if (< index end)
                 (loop (+ index 1)
                       (if (wanted? (vector-ref vector1 index) (vector-ref vector2 index))
                           (+ count 1)
                           count))
                 count))))
        ((wanted? . vectors)
         (check-procedure 'vector-count 1 wanted?)
         (let ((end (least-length 'vector-count 2 vectors)))
           (let loop ((index 0) (count 0))
             (if (< index end)
                 (loop (+ index 1)
                       (if (apply wanted? (elements-at vectors index)) (+ count 1) count))
                 count))))))

    (define (vector-cumulate procedure knil vector)
      (check-procedure 'vector-cumulate 1 procedure)
      (check-vector 'vector-cumulate 3 vector)
      (let ((end (vector-length vector)))
        (let loop ((index 0) (state knil) (results '()))
          (if (< index end)
              (let ((state (procedure state (vector-ref vector index))))
                (loop (+ index 1) state (cons state results)))
              (%reverse-list->vector results)))))

    ;; Searching.

    ;; Searching from the right asks for vectors of one length.
    (define (common-length who vectors)
      (let ((length (least-length who 2 vectors)))
        (let loop ((rest vectors) (position 2))
          (if (pair? rest)
              (begin
                (if (not (= (vector-length (car rest)) length))
                    (%range-error who position "a vector as long as the others" (car rest)))
                (loop (cdr rest) (+ position 1)))))
        length))

    (define-syntax itself
      (syntax-rules ()
        ((_ test) test)))

    ;; The searches: `holds` is `itself` or `not`.
    (define-syntax define-search
      (syntax-rules ()
        ((_ (forward backward) holds)
         (begin
           (define forward
             (case-lambda
               ((test? vector)
                (check-procedure 'forward 1 test?)
                (check-vector 'forward 2 vector)
                (let ((end (vector-length vector)))
                  (let loop ((index 0))
                    (cond ((>= index end) #f)
                          ((holds (test? (vector-ref vector index))) index)
                          (else (loop (+ index 1)))))))
               ((test? vector1 vector2)
                (check-procedure 'forward 1 test?)
                (let ((end (length-of-two 'forward 2 vector1 vector2)))
                  (let loop ((index 0))
                    (cond ((>= index end) #f)
                          ((holds (test? (vector-ref vector1 index) (vector-ref vector2 index)))
                           index)
                          (else (loop (+ index 1)))))))
               ((test? . vectors)
                (check-procedure 'forward 1 test?)
                (let ((end (least-length 'forward 2 vectors)))
                  (let loop ((index 0))
                    (cond ((>= index end) #f)
                          ((holds (apply test? (elements-at vectors index))) index)
                          (else (loop (+ index 1)))))))))
           (define backward
             (case-lambda
               ((test? vector)
                (check-procedure 'backward 1 test?)
                (check-vector 'backward 2 vector)
                (let loop ((index (- (vector-length vector) 1)))
                  (cond ((< index 0) #f)
                        ((holds (test? (vector-ref vector index))) index)
                        (else (loop (- index 1))))))
               ((test? . vectors)
                (check-procedure 'backward 1 test?)
                (let loop ((index (- (common-length 'backward vectors) 1)))
                  (cond ((< index 0) #f)
                        ((holds (apply test? (elements-at vectors index))) index)
                        (else (loop (- index 1))))))))))))

    (define-search (vector-index vector-index-right) itself)
    (define-search (vector-skip vector-skip-right) not)

    (define vector-any
      (case-lambda
        ((wanted? vector)
         (check-procedure 'vector-any 1 wanted?)
         (check-vector 'vector-any 2 vector)
         (let ((end (vector-length vector)))
           (let loop ((index 0))
             (and (< index end)
                  (or (wanted? (vector-ref vector index))
                      (loop (+ index 1)))))))
        ((wanted? vector1 vector2)
         (check-procedure 'vector-any 1 wanted?)
         (let ((end (length-of-two 'vector-any 2 vector1 vector2)))
           (let loop ((index 0))
             (and (< index end)
                  (or (wanted? (vector-ref vector1 index) (vector-ref vector2 index))
                      (loop (+ index 1)))))))
        ((wanted? . vectors)
         (check-procedure 'vector-any 1 wanted?)
         (let ((end (least-length 'vector-any 2 vectors)))
           (let loop ((index 0))
             (and (< index end)
                  (or (apply wanted? (elements-at vectors index))
                      (loop (+ index 1)))))))))

    (define vector-every
      (case-lambda
        ((wanted? vector)
         (check-procedure 'vector-every 1 wanted?)
         (check-vector 'vector-every 2 vector)
         (let ((end (vector-length vector)))
           (let loop ((index 0) (last #t))
             (if (< index end)
                 (let ((last (wanted? (vector-ref vector index))))
                   (and last (loop (+ index 1) last)))
                 last))))
        ((wanted? vector1 vector2)
         (check-procedure 'vector-every 1 wanted?)
         (let ((end (length-of-two 'vector-every 2 vector1 vector2)))
           (let loop ((index 0) (last #t))
             (if (< index end)
                 (let ((last (wanted? (vector-ref vector1 index) (vector-ref vector2 index))))
                   (and last (loop (+ index 1) last)))
                 last))))
        ((wanted? . vectors)
         (check-procedure 'vector-every 1 wanted?)
         (let ((end (least-length 'vector-every 2 vectors)))
           (let loop ((index 0) (last #t))
             (if (< index end)
                 (let ((last (apply wanted? (elements-at vectors index))))
                   (and last (loop (+ index 1) last)))
                 last))))))

    (define (vector-partition wanted? vector)
      (check-procedure 'vector-partition 1 wanted?)
      (check-vector 'vector-partition 2 vector)
      (let ((end (vector-length vector)))
        (let loop ((index 0) (count 0) (wanted '()) (others '()))
          (if (< index end)
              (let ((element (vector-ref vector index)))
                (if (wanted? element)
                    (loop (+ index 1) (+ count 1) (cons element wanted) others)
                    (loop (+ index 1) count wanted (cons element others))))
              (values (%reverse-list->vector (append! others wanted)) count)))))))
