;;; (srfi 41): streams.
;;;
;;; A stream is a record with a promise. The promise's value is the mark `nothing` for the empty
;;; stream, or a cell. That has a promise of the car, and the stream that is the cdr. Loops over
;;; streams use delay-force, so that they take constant space.

(define-library (srfi 41)
  (export stream-null stream-cons stream? stream-null? stream-pair? stream-car stream-cdr
          stream-lambda
          define-stream list->stream port->stream stream stream->list stream-append stream-concat
          stream-constant stream-drop stream-drop-while stream-filter stream-fold stream-for-each
          stream-from stream-iterate stream-length stream-let stream-map stream-match stream-of
          stream-range stream-ref stream-reverse stream-scan stream-take stream-take-while
          stream-unfold stream-unfolds stream-zip)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments))
  (begin

    (define-record-type <stream>
      (make-stream %promise)
      stream?
      (%promise stream-promise))

    (define-record-type <cell>
      (make-cell car-promise cdr)
      cell?
      (car-promise cell-car-promise)
      (cdr cell-cdr))

    (define nothing (list 'nothing))

    (define stream-null (make-stream (make-promise nothing)))

    (define (promise-of object)
      (check-argument 'stream-cdr 1 stream? "stream" object)
      (stream-promise object))

    ;; A stream that is the value of the expression, once it is read.
    (define-syntax stream-lazy
      (syntax-rules ()
        ((_ expression) (make-stream (delay-force (promise-of expression))))))

    (define-syntax stream-cons
      (syntax-rules ()
        ((_ object stream)
         (make-stream (make-promise (make-cell (delay object) (stream-lazy stream)))))))

    (define-syntax stream-lambda
      (syntax-rules ()
        ((_ formals body0 body ...)
         (lambda formals (stream-lazy (let () body0 body ...))))))

    (define-syntax define-stream
      (syntax-rules ()
        ((_ (name . formals) body0 body ...)
         (define name (stream-lambda formals body0 body ...)))))

    (define-syntax stream-let
      (syntax-rules ()
        ((_ tag ((name value) ...) body0 body ...)
         ((letrec ((tag (stream-lambda (name ...) body0 body ...))) tag) value ...))))

    (define (content stream)
      (force (stream-promise stream)))

    (define (stream-null? object)
      (and (stream? object) (eq? (content object) nothing)))

    (define (stream-pair? object)
      (and (stream? object) (cell? (content object))))

    (define (cell-of who object)
      (check-argument who 1 stream? "stream" object)
      (let ((cell (content object)))
        (if (eq? cell nothing)
            (%type-error who 1 "non-empty stream" object))
        cell))

    (define (stream-car stream)
      (force (cell-car-promise (cell-of 'stream-car stream))))

    (define (stream-cdr stream)
      (cell-cdr (cell-of 'stream-cdr stream)))

    (define (check-stream who position object)
      (check-argument who position stream? "stream" object))

    (define (check-streams who position streams)
      (if (null? streams)
          (error "a stream is missing" who))
      (let loop ((rest streams) (position position))
        (if (pair? rest)
            (begin
              (check-stream who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    (define (any-null? streams)
      (and (pair? streams)
           (or (stream-null? (car streams))
               (any-null? (cdr streams)))))

    ;; Conversion.

    (define-syntax stream
      (syntax-rules ()
        ((_) stream-null)
        ((_ expression rest ...) (stream-cons expression (stream rest ...)))))

    (define (list->stream list)
      (check-argument 'list->stream 1 list? "list" list)
      (stream-let loop ((rest list))
        (if (null? rest)
            stream-null
            (stream-cons (car rest) (loop (cdr rest))))))

    (define port->stream
      (case-lambda
        (() (port->stream (current-input-port)))
        ((port)
         (check-argument 'port->stream 1 input-port? "input port" port)
         (stream-let loop ((char (read-char port)))
           (if (eof-object? char)
               stream-null
               (stream-cons char (loop (read-char port))))))))

    (define stream->list
      (case-lambda
        ((stream)
         (check-stream 'stream->list 1 stream)
         (first-elements stream -1))
        ((count stream)
         (check-index 'stream->list 1 count)
         (check-stream 'stream->list 2 stream)
         (first-elements stream count))))

    ;; At most `count` elements; all when it is negative.
    (define (first-elements stream count)
      (let loop ((rest stream) (left count) (reversed '()))
        (if (or (= left 0) (stream-null? rest))
            (reverse reversed)
            (loop (stream-cdr rest) (- left 1) (cons (stream-car rest) reversed)))))

    ;; Streams of numbers and constants.

    (define stream-from
      (case-lambda
        ((first) (stream-from first 1))
        ((first step)
         (check-argument 'stream-from 1 number? "number" first)
         (check-argument 'stream-from 2 number? "number" step)
         (stream-let loop ((number first))
           (stream-cons number (loop (+ number step)))))))

    (define stream-range
      (case-lambda
        ((first past) (stream-range first past (if (< first past) 1 -1)))
        ((first past step)
         (check-argument 'stream-range 1 number? "number" first)
         (check-argument 'stream-range 2 number? "number" past)
         (check-argument 'stream-range 3 number? "number" step)
         (let ((more? (cond ((< 0 step) <) ((< step 0) >) (else =))))
           (if (and (= step 0) (= first past))
               (stream-let loop ()
                 (stream-cons first (loop)))
               (stream-let loop ((number first))
                 (if (more? number past)
                     (stream-cons number (loop (+ number step)))
                     stream-null)))))))

    (define (stream-constant . objects)
      (if (null? objects)
          stream-null
          (stream-let loop ((rest objects))
            (if (null? rest)
                (loop objects)
                (stream-cons (car rest) (loop (cdr rest)))))))

    (define (stream-iterate procedure base)
      (check-procedure 'stream-iterate 1 procedure)
      (stream-let loop ((value base))
        (stream-cons value (loop (procedure value)))))

    (define (stream-unfold mapper more? successor base)
      (check-procedure 'stream-unfold 1 mapper)
      (check-procedure 'stream-unfold 2 more?)
      (check-procedure 'stream-unfold 3 successor)
      (stream-let loop ((seed base))
        (if (more? seed)
            (stream-cons (mapper seed) (loop (successor seed)))
            stream-null)))

    ;; The results of the generator, as lists without the seed, are one stream; the stream of each
    ;; position picks its own from it.
    (define (stream-unfolds generator seed)
      (check-procedure 'stream-unfolds 1 generator)
      (let* ((step (lambda (seed) (call-with-values (lambda () (generator seed)) list)))
             (first (step seed))
             (all (stream-cons (cdr first)
                               (stream-let loop ((seed (car first)))
                                 (let ((next (step seed)))
                                   (stream-cons (cdr next) (loop (car next))))))))
        (define (pick index)
          (stream-let loop ((rest all))
            (let ((result (list-ref (stream-car rest) index)))
              (cond ((pair? result)
                     (stream-cons (car result) (loop (stream-cdr rest))))
                    ((null? result) stream-null)
                    ((not result) (loop (stream-cdr rest)))
                    (else (error "stream-unfolds: the result is neither a list nor #f" result))))))
        (%list->values (map pick (iota (length (cdr first)))))))

    ;; Parts.

    (define (stream-ref stream index)
      (check-stream 'stream-ref 1 stream)
      (check-index 'stream-ref 2 index)
      (let loop ((rest stream) (left index))
        (cond ((stream-null? rest) (%range-error 'stream-ref 2 "the stream is shorter" index))
              ((= left 0) (stream-car rest))
              (else (loop (stream-cdr rest) (- left 1))))))

    (define (stream-take count stream)
      (check-index 'stream-take 1 count)
      (check-stream 'stream-take 2 stream)
      (stream-let loop ((left count) (rest stream))
        (if (or (= left 0) (stream-null? rest))
            stream-null
            (stream-cons (stream-car rest) (loop (- left 1) (stream-cdr rest))))))

    (define (stream-drop count stream)
      (check-index 'stream-drop 1 count)
      (check-stream 'stream-drop 2 stream)
      (stream-let loop ((left count) (rest stream))
        (if (or (= left 0) (stream-null? rest))
            rest
            (loop (- left 1) (stream-cdr rest)))))

    (define (stream-take-while wanted? stream)
      (check-procedure 'stream-take-while 1 wanted?)
      (check-stream 'stream-take-while 2 stream)
      (stream-let loop ((rest stream))
        (if (and (stream-pair? rest) (wanted? (stream-car rest)))
            (stream-cons (stream-car rest) (loop (stream-cdr rest)))
            stream-null)))

    (define (stream-drop-while unwanted? stream)
      (check-procedure 'stream-drop-while 1 unwanted?)
      (check-stream 'stream-drop-while 2 stream)
      (stream-let loop ((rest stream))
        (if (and (stream-pair? rest) (unwanted? (stream-car rest)))
            (loop (stream-cdr rest))
            rest)))

    (define (stream-filter wanted? stream)
      (check-procedure 'stream-filter 1 wanted?)
      (check-stream 'stream-filter 2 stream)
      (stream-let loop ((rest stream))
        (cond ((stream-null? rest) stream-null)
              ((wanted? (stream-car rest))
               (stream-cons (stream-car rest) (loop (stream-cdr rest))))
              (else (loop (stream-cdr rest))))))

    ;; Combination.

    (define (stream-append . streams)
      (if (null? streams)
          stream-null
          (begin
            (check-streams 'stream-append 1 streams)
            (stream-let loop ((stream (car streams)) (others (cdr streams)))
              (cond ((null? others) stream)
                    ((stream-null? stream) (loop (car others) (cdr others)))
                    (else (stream-cons (stream-car stream)
                                       (loop (stream-cdr stream) others))))))))

    (define (stream-concat streams)
      (check-stream 'stream-concat 1 streams)
      (stream-let outer ((streams streams))
        (if (stream-null? streams)
            stream-null
            (let ((first (stream-car streams)))
              (if (not (stream? first))
                  (error "stream-concat: an element is not a stream" first))
              (stream-let inner ((rest first))
                (if (stream-null? rest)
                    (outer (stream-cdr streams))
                    (stream-cons (stream-car rest) (inner (stream-cdr rest)))))))))

    (define (stream-map procedure . streams)
      (check-procedure 'stream-map 1 procedure)
      (check-streams 'stream-map 2 streams)
      (if (null? (cdr streams))
          (stream-let loop ((rest (car streams)))
            (if (stream-null? rest)
                stream-null
                (stream-cons (procedure (stream-car rest)) (loop (stream-cdr rest)))))
          (stream-let loop ((rest streams))
            (if (any-null? rest)
                stream-null
                (stream-cons (%apply procedure (%map1 stream-car rest))
                             (loop (%map1 stream-cdr rest)))))))

    (define (stream-for-each procedure . streams)
      (check-procedure 'stream-for-each 1 procedure)
      (check-streams 'stream-for-each 2 streams)
      (let loop ((rest streams))
        (if (not (any-null? rest))
            (begin
              (%apply procedure (%map1 stream-car rest))
              (loop (%map1 stream-cdr rest))))))

    (define (stream-zip . streams)
      (check-streams 'stream-zip 1 streams)
      (%apply stream-map (cons list streams)))

    (define (stream-fold procedure base stream)
      (check-procedure 'stream-fold 1 procedure)
      (check-stream 'stream-fold 3 stream)
      (let loop ((state base) (rest stream))
        (if (stream-null? rest)
            state
            (loop (procedure state (stream-car rest)) (stream-cdr rest)))))

    (define (stream-scan procedure base stream)
      (check-procedure 'stream-scan 1 procedure)
      (check-stream 'stream-scan 3 stream)
      (stream-let loop ((state base) (rest stream))
        (if (stream-null? rest)
            (stream-cons state stream-null)
            (stream-cons state
                         (loop (procedure state (stream-car rest)) (stream-cdr rest))))))

    (define (stream-length stream)
      (check-stream 'stream-length 1 stream)
      (let loop ((rest stream) (count 0))
        (if (stream-null? rest)
            count
            (loop (stream-cdr rest) (+ count 1)))))

    (define (stream-reverse stream)
      (check-stream 'stream-reverse 1 stream)
      (stream-let loop ((rest stream) (reversed stream-null))
        (if (stream-null? rest)
            reversed
            (loop (stream-cdr rest)
                  ;; The element is computed when it is first read.
                  (stream-cons (stream-car rest) reversed)))))

    ;; Comprehensions.  `base` is the stream that follows the elements of the clauses left.
    (define-syntax stream-of
      (syntax-rules ()
        ((_ expression clause ...) (stream-of-clauses expression stream-null clause ...))))

    (define-syntax stream-of-clauses
      (syntax-rules (in is)
        ((_ expression base) (stream-cons expression base))
        ((_ expression base (name in stream) clause ...)
         (stream-let loop ((rest stream))
           (if (stream-null? rest)
               base
               (let ((name (stream-car rest)))
                 (stream-of-clauses expression (loop (stream-cdr rest)) clause ...)))))
        ((_ expression base (name is value) clause ...)
         (let ((name value)) (stream-of-clauses expression base clause ...)))
        ((_ expression base condition clause ...)
         (if condition
             (stream-of-clauses expression base clause ...)
             base))))

    ;; Matching.

    (define (no-match stream)
      (error "stream-match: no pattern takes the stream" stream))

    (define-syntax stream-match
      (syntax-rules ()
        ((_ expression clause ...)
         (let ((stream expression))
           (check-argument 'stream-match 1 stream? "stream" stream)
           (match-clauses stream clause ...)))))

    (define-syntax match-clauses
      (syntax-rules ()
        ((_ stream) (no-match stream))
        ((_ stream (pattern fender expression) clause ...)
         (let ((next (lambda () (match-clauses stream clause ...))))
           (match-pattern stream pattern (if fender expression (next)) (next))))
        ((_ stream (pattern expression) clause ...)
         (let ((next (lambda () (match-clauses stream clause ...))))
           (match-pattern stream pattern expression (next))))))

    (define-syntax match-pattern
      (syntax-rules (_)
        ((_1 stream () success failure)
         (if (stream-null? stream) success failure))
        ((_1 stream (_ . pattern) success failure)
         (if (stream-pair? stream)
             (let ((rest (stream-cdr stream)))
               (match-pattern rest pattern success failure))
             failure))
        ((_1 stream (name . pattern) success failure)
         (if (stream-pair? stream)
             (let ((name (stream-car stream)) (rest (stream-cdr stream)))
               (match-pattern rest pattern success failure))
             failure))
        ((_1 stream _ success failure) success)
        ((_1 stream name success failure)
         (let ((name stream)) success))))))
