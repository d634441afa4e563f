;;; (srfi 43): the older vector library.
;;;
;;; It is SRFI 133 but for the procedures that pass the index to what they call, and the fourth
;;; argument of `vector-copy`.

(define-library (srfi 43)
  (export
   make-vector vector vector-unfold vector-unfold-right vector-copy vector-reverse-copy
   vector-append vector-concatenate
   vector? vector-empty? vector=
   vector-ref vector-length
   vector-fold vector-fold-right vector-map vector-map! vector-for-each vector-count
   vector-index vector-index-right vector-skip vector-skip-right vector-binary-search
   vector-any vector-every
   vector-set! vector-swap! vector-fill! vector-reverse! vector-copy! vector-reverse-copy!
   vector->list reverse-vector->list list->vector reverse-list->vector)
  (import (except (canny primitives) vector-copy)
          (rename (only (canny primitives) vector-copy) (vector-copy copy-range))
          (canny syntax)
          (only (canny data vectors) check-procedure check-vector check-range least-length
                elements-at)
          (except (srfi 133) vector-fold vector-fold-right vector-map vector-map! vector-for-each
                  vector-count vector-copy))
  (begin

    (define vector-copy
      (case-lambda
        ((vector) (copy-range vector))
        ((vector start) (copy-range vector start))
        ((vector start end) (vector-copy vector start end (void)))
        ((vector start end fill)
         (check-vector 'vector-copy 1 vector)
         (if (not (exact-nonnegative-integer? end))
             (%type-error 'vector-copy 3 "index" end))
         (check-range 'vector-copy 2 start (min end (vector-length vector)) (vector-length vector))
         (if (<= end (vector-length vector))
             (copy-range vector start end)
             (let ((copy (make-vector (- end start) fill)))
               (vector-copy! copy 0 vector start)
               copy)))))

    (define (vector-fold kons knil . vectors)
      (check-procedure 'vector-fold 1 kons)
      (let ((end (least-length 'vector-fold 3 vectors)))
        (if (and (pair? vectors) (null? (cdr vectors)))
            (let ((vector (car vectors)))
              (let loop ((index 0) (state knil))
                (if (< index end)
                    (loop (+ index 1) (kons index state (vector-ref vector index)))
                    state)))
            (let loop ((index 0) (state knil))
              (if (< index end)
                  (loop (+ index 1) (apply kons index state (elements-at vectors index)))
                  state)))))

    (define (vector-fold-right kons knil . vectors)
      (check-procedure 'vector-fold-right 1 kons)
      (let loop ((index (- (least-length 'vector-fold-right 3 vectors) 1)) (state knil))
        (if (>= index 0)
            (loop (- index 1) (apply kons index state (elements-at vectors index)))
            state)))

    (define (vector-map procedure . vectors)
      (check-procedure 'vector-map 1 procedure)
      (let ((end (least-length 'vector-map 2 vectors)))
        (let loop ((index 0) (results '()))
          (if (< index end)
              (loop (+ index 1)
                    (cons (apply procedure index (elements-at vectors index)) results))
              (reverse-list->vector results)))))

    (define (vector-map! procedure vector . vectors)
      (check-procedure 'vector-map! 1 procedure)
      (let* ((vectors (cons vector vectors))
             (end (least-length 'vector-map! 2 vectors)))
        (let loop ((index 0))
          (if (< index end)
              (begin
                (vector-set! vector index (apply procedure index (elements-at vectors index)))
                (loop (+ index 1)))))))

    (define (vector-for-each procedure . vectors)
      (check-procedure 'vector-for-each 1 procedure)
      (let ((end (least-length 'vector-for-each 2 vectors)))
        (let loop ((index 0))
          (if (< index end)
              (begin
                (apply procedure index (elements-at vectors index))
                (loop (+ index 1)))))))

    (define (vector-count wanted? . vectors)
      (check-procedure 'vector-count 1 wanted?)
      (let ((end (least-length 'vector-count 2 vectors)))
        (let loop ((index 0) (count 0))
          (if (< index end)
              (loop (+ index 1)
                    (if (apply wanted? index (elements-at vectors index)) (+ count 1) count))
              count))))))
