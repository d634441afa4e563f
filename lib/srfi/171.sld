;;; (srfi 171): transducers.
;;;
;;; A transducer takes a reducer and gives another. A reducer is a procedure of no argument (the
;;; identity), of one (the end: finishes the state) and of two (the state and an input). The state
;;; of a stateful transducer begins when it is given its reducer.

(define-library (srfi 171)
  (export list-transduce vector-transduce string-transduce bytevector-u8-transduce
          port-transduce generator-transduce
          rcons reverse-rcons rany revery rcount
          tmap tfilter tremove tfilter-map treplace tdrop ttake tdrop-while ttake-while
          tconcatenate tappend-map tflatten tdelete-neighbor-duplicates tdelete-duplicates
          tsegment tpartition tadd-between tenumerate tlog)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data hash-tables) (srfi 171 meta))
  (begin

    ;; Application.

    (define-syntax define-transduce
      (syntax-rules ()
        ((_ name reduce)
         (define name
           (case-lambda
             ((transducer reducer collection)
              (name transducer reducer (reducer) collection))
             ((transducer reducer identity collection)
              (check-procedure 'name 1 transducer)
              (check-procedure 'name 2 reducer)
              (let ((reducer (transducer reducer)))
                (reducer (reduce reducer identity collection)))))))))

    (define-transduce list-transduce list-reduce)
    (define-transduce vector-transduce vector-reduce)
    (define-transduce string-transduce string-reduce)
    (define-transduce bytevector-u8-transduce bytevector-u8-reduce)
    (define-transduce generator-transduce generator-reduce)

    (define port-transduce
      (case-lambda
        ((transducer reducer reader)
         (generator-transduce transducer reducer reader))
        ((transducer reducer reader port)
         (port-transduce transducer reducer (reducer) reader port))
        ((transducer reducer identity reader port)
         (check-procedure 'port-transduce 1 transducer)
         (check-procedure 'port-transduce 2 reducer)
         (let ((reducer (transducer reducer)))
           (reducer (port-reduce reducer identity reader port))))))

    ;; Reducers.

    (define rcons
      (case-lambda
        (() '())
        ((list) (reverse list))
        ((list object) (cons object list))))

    (define reverse-rcons
      (case-lambda
        (() '())
        ((list) list)
        ((list object) (cons object list))))

    (define (rany wanted?)
      (check-procedure 'rany 1 wanted?)
      (case-lambda
        (() #f)
        ((result) result)
        ((result input)
         (let ((value (wanted? input)))
           (if value (reduced value) #f)))))

    (define (revery wanted?)
      (check-procedure 'revery 1 wanted?)
      (case-lambda
        (() #t)
        ((result) result)
        ((result input)
         (or (wanted? input) (reduced #f)))))

    (define rcount
      (case-lambda
        (() 0)
        ((count) count)
        ((count input) (+ count 1))))

    ;; Transducers.

    ;; A transducer whose reducer does `step` with a state and an input, and `finish` at the end.
    (define-syntax transducer
      (syntax-rules (finish)
        ((_ (reducer state input) (binding ...) step)
         (transducer (reducer state input) (binding ...) step (finish (reducer state))))
        ((_ (reducer state input) (binding ...) step (finish last))
         (lambda (reducer)
           (let* (binding ...)
             (case-lambda
               (() (reducer))
               ((state) last)
               ((state input) step)))))))

    (define (tmap procedure)
      (check-procedure 'tmap 1 procedure)
      (transducer (reducer state input) ()
        (reducer state (procedure input))))

    (define (tfilter wanted?)
      (check-procedure 'tfilter 1 wanted?)
      (transducer (reducer state input) ()
        (if (wanted? input) (reducer state input) state)))

    (define (tremove unwanted?)
      (check-procedure 'tremove 1 unwanted?)
      (transducer (reducer state input) ()
        (if (unwanted? input) state (reducer state input))))

    (define (tfilter-map procedure)
      (check-procedure 'tfilter-map 1 procedure)
      (transducer (reducer state input) ()
        (let ((value (procedure input)))
          (if value (reducer state value) state))))

    (define (treplace mapping)
      (tmap (cond ((procedure? mapping) mapping)
                  ((hash-table? mapping)
                   (lambda (input) (hash-table-ref/default mapping input input)))
                  ((or (pair? mapping) (null? mapping))
                   (lambda (input)
                     (let ((entry (assoc input mapping)))
                       (if entry (cdr entry) input))))
                  (else
                   (%type-error 'treplace 1 "association list, hash table or procedure" mapping)))))

    (define (tdrop count)
      (check-index 'tdrop 1 count)
      (transducer (reducer state input) ((left count))
        (if (> left 0)
            (begin
              (set! left (- left 1))
              state)
            (reducer state input))))

    (define (ttake count)
      (check-index 'ttake 1 count)
      (transducer (reducer state input) ((left count))
        (let ((new (if (> left 0) (reducer state input) state)))
          (set! left (- left 1))
          (if (> left 0)
              new
              (ensure-reduced new)))))

    (define (tdrop-while unwanted?)
      (check-procedure 'tdrop-while 1 unwanted?)
      (transducer (reducer state input) ((dropping? #t))
        (if (and dropping? (unwanted? input))
            state
            (begin
              (set! dropping? #f)
              (reducer state input)))))

    (define ttake-while
      (case-lambda
        ((wanted?) (ttake-while wanted? (lambda (result input) result)))
        ((wanted? at-end)
         (check-procedure 'ttake-while 1 wanted?)
         (check-procedure 'ttake-while 2 at-end)
         (transducer (reducer state input) ((taking? #t))
           (if (and taking? (wanted? input))
               (reducer state input)
               (begin
                 (set! taking? #f)
                 (ensure-reduced (at-end state input))))))))

    (define tconcatenate
      (transducer (reducer state input) ((inner (preserving-reduced reducer)))
        (list-reduce inner state input)))

    (define (tappend-map procedure)
      (check-procedure 'tappend-map 1 procedure)
      (transducer (reducer state input) ((inner (preserving-reduced reducer)))
        (list-reduce inner state (procedure input))))

    (define tflatten
      (transducer (reducer state input) ()
        (let flatten ((state state) (input input))
          (if (or (pair? input) (null? input))
              ;; A reduced state is wrapped once more, as list-reduce takes one wrapping off.
              (list-reduce (preserving-reduced flatten) state input)
              (reducer state input)))))

    (define tdelete-neighbor-duplicates
      (case-lambda
        (() (tdelete-neighbor-duplicates equal?))
        ((same?)
         (check-procedure 'tdelete-neighbor-duplicates 1 same?)
         (transducer (reducer state input) ((first? #t) (previous #f))
           (if (and (not first?) (same? previous input))
               state
               (begin
                 (set! first? #f)
                 (set! previous input)
                 (reducer state input)))))))

    (define tdelete-duplicates
      (case-lambda
        (() (tdelete-duplicates equal?))
        ((same?)
         (check-procedure 'tdelete-duplicates 1 same?)
         (transducer (reducer state input) ((seen (make-hash-table same?)))
           (if (hash-table-contains? seen input)
               state
               (begin
                 (hash-table-set! seen input #t)
                 (reducer state input)))))))

    ;; The state after the collected inputs, last first, were given to the reducer as a list.
    (define (flush reducer state collected)
      (if (null? collected)
          state
          (let ((state (reducer state (reverse collected))))
            (if (reduced? state) (unreduce state) state))))

    (define (tsegment count)
      (check-index 'tsegment 1 count)
      (if (= count 0)
          (%range-error 'tsegment 1 "the size is not positive" count))
      (transducer (reducer state input) ((left count) (collected '()))
        (begin
          (set! collected (cons input collected))
          (set! left (- left 1))
          (if (> left 0)
              state
              (let ((segment (reverse collected)))
                (set! collected '())
                (set! left count)
                (reducer state segment))))
        (finish
         (let ((last collected))
           (set! collected '())
           (reducer (flush reducer state last))))))

    (define (tpartition key-of)
      (check-procedure 'tpartition 1 key-of)
      (transducer (reducer state input) ((key #f) (collected '()))
        (let ((new-key (key-of input)))
          (if (or (null? collected) (equal? key new-key))
              (begin
                (set! key new-key)
                (set! collected (cons input collected))
                state)
              (let ((part (reverse collected)))
                (set! key new-key)
                (set! collected (list input))
                (let ((state (reducer state part)))
                  (if (reduced? state) (set! collected '()))
                  state))))
        (finish
         (let ((last collected))
           (set! collected '())
           (reducer (flush reducer state last))))))

    (define (tadd-between object)
      (transducer (reducer state input) ((first? #t))
        (if first?
            (begin
              (set! first? #f)
              (reducer state input))
            (let ((state (reducer state object)))
              (if (reduced? state)
                  state
                  (reducer state input))))))

    (define tenumerate
      (case-lambda
        (() (tenumerate 0))
        ((start)
         (check-exact-integer 'tenumerate 1 start)
         (transducer (reducer state input) ((index start))
           (let ((entry (cons index input)))
             (set! index (+ index 1))
             (reducer state entry))))))

    (define tlog
      (case-lambda
        (() (tlog (lambda (result input)
                    (write input)
                    (newline))))
        ((logger)
         (check-procedure 'tlog 1 logger)
         (transducer (reducer state input) ()
           (begin
             (logger state input)
             (reducer state input))))))))
