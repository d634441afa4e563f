;;; (srfi 221): generator and accumulator sub-library.

(define-library (srfi 221)
  (export gcompose-left gcompose-right accumulate-generated-values genumerate gchoice
          stream->generator generator->stream)
  (import (canny primitives) (canny syntax) (canny machine control) (canny machine arguments)
          (only (srfi 41) stream? stream-null? stream-car stream-cdr stream-cons stream-null
                stream-let))
  (begin

    (define (check-procedures who procedures)
      (let loop ((rest procedures) (position 1))
        (if (pair? rest)
            (begin
              (check-procedure who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    (define (gcompose-left constructor . operations)
      (check-procedures 'gcompose-left (cons constructor operations))
      (compose constructor operations))

    (define (gcompose-right operation . operations)
      (check-procedures 'gcompose-right (cons operation operations))
      (let ((reversed (reverse (cons operation operations))))
        (compose (car reversed) (cdr reversed))))

    (define (compose constructor operations)
      (let loop ((generator (constructor)) (rest operations))
        (if (null? rest)
            generator
            (loop ((car rest) generator) (cdr rest)))))

    (define (accumulate-generated-values accumulator generator)
      (check-procedures 'accumulate-generated-values (list accumulator generator))
      (let loop ()
        (let* ((value (generator)) (result (accumulator value)))
          (if (eof-object? value)
              result
              (loop)))))

    (define (genumerate generator)
      (check-procedure 'genumerate 1 generator)
      (let ((index 0))
        (lambda ()
          (let ((value (generator)))
            (if (eof-object? value)
                value
                (let ((at index))
                  (set! index (+ index 1))
                  (cons at value)))))))

    ;; `sources` has #f for generators that have ended, of which there are not yet `left`.
    (define (gchoice choice . generators)
      (check-procedures 'gchoice (cons choice generators))
      (let* ((sources (list->vector generators))
             (count (vector-length sources))
             (left count))
        (lambda ()
          (let loop ()
            (if (= left 0)
                (eof-object)
                (let ((index (choice)))
                  (cond ((eof-object? index) index)
                        ((not (and (exact-nonnegative-integer? index) (< index count)))
                         (error "gchoice: there is no generator of the index" index))
                        ((not (vector-ref sources index)) (loop))
                        (else
                         (let ((value ((vector-ref sources index))))
                           (if (eof-object? value)
                               (begin
                                 (vector-set! sources index #f)
                                 (set! left (- left 1))
                                 (loop))
                               value))))))))))

    (define (stream->generator stream)
      (check-argument 'stream->generator 1 stream? "stream" stream)
      (lambda ()
        (if (stream-null? stream)
            (eof-object)
            (let ((value (stream-car stream)))
              (set! stream (stream-cdr stream))
              value))))

    (define (generator->stream generator)
      (check-procedure 'generator->stream 1 generator)
      (stream-let loop ()
        (let ((value (generator)))
          (if (eof-object? value)
              stream-null
              (stream-cons value (loop))))))))
