;;; (srfi 214): flexvectors.
;;;
;;; A flexvector is a vector with a number of elements in use; the rest of the vector holds #f. It
;;; grows to at least twice its size. Bounds of parts are clamped, as the SRFI says. Procedures that
;;; take several flexvectors stop at the end of the shortest.

(define-library (srfi 214)
  (export make-flexvector flexvector flexvector-unfold flexvector-unfold-right
          flexvector-copy flexvector-reverse-copy flexvector-append flexvector-concatenate
          flexvector-append-subvectors
          flexvector? flexvector-empty? flexvector=?
          flexvector-ref flexvector-front flexvector-back flexvector-length
          flexvector-add! flexvector-add-front! flexvector-add-back! flexvector-add-all!
          flexvector-append! flexvector-remove! flexvector-remove-front!
          flexvector-remove-back! flexvector-remove-range! flexvector-clear! flexvector-set!
          flexvector-swap! flexvector-fill! flexvector-reverse! flexvector-copy!
          flexvector-reverse-copy!
          flexvector-fold flexvector-fold-right flexvector-map flexvector-map/index
          flexvector-map! flexvector-map/index! flexvector-append-map
          flexvector-append-map/index flexvector-filter flexvector-filter/index
          flexvector-filter! flexvector-filter/index! flexvector-for-each
          flexvector-for-each/index flexvector-count flexvector-cumulate
          flexvector-index flexvector-index-right flexvector-skip flexvector-skip-right
          flexvector-binary-search flexvector-any flexvector-every flexvector-partition
          flexvector->vector vector->flexvector flexvector->list reverse-flexvector->list
          list->flexvector reverse-list->flexvector flexvector->string string->flexvector
          flexvector->generator generator->flexvector)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments))
  (begin

    (define-record-type <flexvector>
      (make-raw storage length)
      flexvector?
      (storage storage set-storage!)
      (length used set-used!))

    (define capacity-min 4)

    (define (check who position object)
      (check-argument who position flexvector? "flexvector" object))

    (define (check-all who position flexvectors)
      (for-each (lambda (flexvector) (check who position flexvector)) flexvectors))

    (define (check-element-index who flexvector index)
      (check who 1 flexvector)
      (check-index who 2 index)
      (if (>= index (used flexvector))
          (%range-error who 2 "the flexvector is shorter" index)))

    (define (check-not-empty who flexvector)
      (check who 1 flexvector)
      (if (= (used flexvector) 0)
          (%range-error who 1 "the flexvector is empty" flexvector)))

    (define (clamp who position bound length)
      (check-exact-integer who position bound)
      (max 0 (min bound length)))

    ;; Calls `receive` with the bounds of the part of a sequence of `length` elements.
    (define (with-bounds who position length start end receive)
      (let ((start (clamp who position start length))
            (end (clamp who (+ position 1) end length)))
        (if (> start end)
            (%range-error who position "the start is greater than the end" start))
        (receive start end)))

    ;; Defines a procedure whose optional last parameters bound a part of its first, a flexvector.
    (define-syntax define-on-part
      (syntax-rules ()
        ((_ (name flexvector parameter ...) position (start end) body)
         (define name
           (case-lambda
             ((flexvector parameter ...)
              (check 'name 1 flexvector)
              (name flexvector parameter ... 0 (used flexvector)))
             ((flexvector parameter ... from)
              (check 'name 1 flexvector)
              (name flexvector parameter ... from (used flexvector)))
             ((flexvector parameter ... from to)
              (check 'name 1 flexvector)
              (with-bounds 'name position (used flexvector) from to
                (lambda (start end) body))))))))

    ;; Room for `count` elements in all.
    (define (reserve! flexvector count)
      (let* ((old (storage flexvector)) (capacity (vector-length old)))
        (if (> count capacity)
            (let ((new (make-vector (max count (* 2 capacity) capacity-min) #f)))
              (vector-copy! new 0 old 0 (used flexvector))
              (set-storage! flexvector new)))))

    ;; Opens a gap of `count` elements at `index`.
    (define (open! flexvector index count)
      (let ((length (used flexvector)))
        (reserve! flexvector (+ length count))
        (let ((vector (storage flexvector)))
          (vector-copy! vector (+ index count) vector index length)
          (set-used! flexvector (+ length count)))))

    ;; Removes the elements from `start` to `end`.
    (define (close! flexvector start end)
      (let* ((length (used flexvector))
             (vector (storage flexvector))
             (new-length (- length (- end start))))
        (vector-copy! vector start vector end length)
        (vector-fill! vector #f new-length length)
        (set-used! flexvector new-length)))

    ;; Constructors.

    (define make-flexvector
      (case-lambda
        ((size) (make-flexvector size #f))
        ((size fill)
         (check-index 'make-flexvector 1 size)
         (make-raw (make-vector size fill) size))))

    (define (from-vector vector)
      (make-raw vector (vector-length vector)))

    (define (flexvector . objects)
      (from-vector (list->vector objects)))

    (define (unfold-reversed who stop? mapper successor seeds)
      (check-procedure who 1 stop?)
      (check-procedure who 2 mapper)
      (check-procedure who 3 successor)
      (if (and (pair? seeds) (null? (cdr seeds)))
          (let loop ((seed (car seeds)) (reversed '()))
            (if (stop? seed)
                reversed
                (loop (successor seed) (cons (mapper seed) reversed))))
          (let loop ((seeds seeds) (reversed '()))
            (if (%apply stop? seeds)
                reversed
                (let ((object (%apply mapper seeds)))
                  (loop (call-with-values (lambda () (%apply successor seeds)) list)
                        (cons object reversed)))))))

    (define (flexvector-unfold stop? mapper successor . seeds)
      (from-vector
       (%reverse-list->vector
        (unfold-reversed 'flexvector-unfold stop? mapper successor seeds))))

    (define (flexvector-unfold-right stop? mapper successor . seeds)
      (from-vector
       (list->vector
        (unfold-reversed 'flexvector-unfold-right stop? mapper successor seeds))))

    (define-on-part (flexvector-copy flexvector) 2 (start end)
      (from-vector (vector-copy (storage flexvector) start end)))

    (define-on-part (flexvector-reverse-copy flexvector) 2 (start end)
      (from-vector (reversed-part (storage flexvector) start end)))

    (define (reversed-part vector start end)
      (let ((copy (vector-copy vector start end)))
        (vector-reverse! copy)
        copy))

    (define (flexvector-append . flexvectors)
      (flexvector-concatenate flexvectors))

    (define (flexvector-concatenate flexvectors)
      (check-list 'flexvector-concatenate 1 flexvectors)
      (check-all 'flexvector-concatenate 1 flexvectors)
      (let ((result (make-flexvector 0)))
        (append-all! result flexvectors)
        result))

    (define (append-all! flexvector others)
      (let* ((lengths (%map1 used others))
             (at (used flexvector))
             (total (%apply + (cons at lengths))))
        (reserve! flexvector total)
        (let loop ((rest others) (lengths lengths) (at at))
          (if (pair? rest)
              (begin
                (vector-copy! (storage flexvector) at (storage (car rest)) 0 (car lengths))
                (loop (cdr rest) (cdr lengths) (+ at (car lengths))))
              (set-used! flexvector total)))))

    (define (flexvector-append-subvectors . arguments)
      (let loop ((rest arguments) (parts '()))
        (cond ((null? rest) (flexvector-concatenate (reverse parts)))
              ((or (null? (cdr rest)) (null? (cddr rest)))
               (error "flexvector-append-subvectors: a flexvector has no bounds" (car rest)))
              (else
               (loop (list-tail rest 3)
                     (cons (flexvector-copy (car rest) (cadr rest) (caddr rest)) parts))))))

    ;; Predicates and selectors.

    (define (flexvector-empty? flexvector)
      (check 'flexvector-empty? 1 flexvector)
      (= (used flexvector) 0))

    (define (flexvector=? same? . flexvectors)
      (check-procedure 'flexvector=? 1 same?)
      (check-all 'flexvector=? 2 flexvectors)
      (or (null? flexvectors)
          (let loop ((left (car flexvectors)) (rest (cdr flexvectors)))
            (or (null? rest)
                (and (same-elements? same? left (car rest))
                     (loop (car rest) (cdr rest)))))))

    (define (same-elements? same? left right)
      (let ((length (used left)))
        (and (= length (used right))
             (let loop ((index 0))
               (or (= index length)
                   (and (same? (flexvector-ref left index) (flexvector-ref right index))
                        (loop (+ index 1))))))))

    (define (flexvector-ref flexvector index)
      (check-element-index 'flexvector-ref flexvector index)
      (vector-ref (storage flexvector) index))

    (define (flexvector-front flexvector)
      (check-not-empty 'flexvector-front flexvector)
      (vector-ref (storage flexvector) 0))

    (define (flexvector-back flexvector)
      (check-not-empty 'flexvector-back flexvector)
      (vector-ref (storage flexvector) (- (used flexvector) 1)))

    (define (flexvector-length flexvector)
      (check 'flexvector-length 1 flexvector)
      (used flexvector))

    ;; Mutators.

    (define (insert-list! who flexvector index objects)
      (check who 1 flexvector)
      (check-index who 2 index)
      (check-list who 3 objects)
      (if (> index (used flexvector))
          (%range-error who 2 "the flexvector is shorter" index))
      (open! flexvector index (length objects))
      (let ((vector (storage flexvector)))
        (let loop ((rest objects) (index index))
          (if (pair? rest)
              (begin
                (vector-set! vector index (car rest))
                (loop (cdr rest) (+ index 1))))))
      flexvector)

    (define (flexvector-add! flexvector index . objects)
      (insert-list! 'flexvector-add! flexvector index objects))

    (define (flexvector-add-all! flexvector index objects)
      (insert-list! 'flexvector-add-all! flexvector index objects))

    (define (flexvector-add-front! flexvector . objects)
      (insert-list! 'flexvector-add-front! flexvector 0 objects))

    (define flexvector-add-back!
      (case-lambda
        ((flexvector object)
         (check 'flexvector-add-back! 1 flexvector)
         (let ((length (used flexvector)))
           (reserve! flexvector (+ length 1))
           (vector-set! (storage flexvector) length object)
           (set-used! flexvector (+ length 1))
           flexvector))
        ((flexvector . objects)
         (check 'flexvector-add-back! 1 flexvector)
         (insert-list! 'flexvector-add-back! flexvector (used flexvector) objects))))

    (define (flexvector-append! flexvector . others)
      (check 'flexvector-append! 1 flexvector)
      (check-all 'flexvector-append! 2 others)
      (append-all! flexvector others)
      flexvector)

    (define (flexvector-remove! flexvector index)
      (check-element-index 'flexvector-remove! flexvector index)
      (let ((object (vector-ref (storage flexvector) index)))
        (close! flexvector index (+ index 1))
        object))

    (define (flexvector-remove-front! flexvector)
      (check-not-empty 'flexvector-remove-front! flexvector)
      (flexvector-remove! flexvector 0))

    (define (flexvector-remove-back! flexvector)
      (check-not-empty 'flexvector-remove-back! flexvector)
      (flexvector-remove! flexvector (- (used flexvector) 1)))

    (define flexvector-remove-range!
      (case-lambda
        ((flexvector start)
         (check 'flexvector-remove-range! 1 flexvector)
         (flexvector-remove-range! flexvector start (used flexvector)))
        ((flexvector start end)
         (check 'flexvector-remove-range! 1 flexvector)
         (with-bounds 'flexvector-remove-range! 2 (used flexvector) start end
           (lambda (start end)
             (close! flexvector start end)
             flexvector)))))

    (define (flexvector-clear! flexvector)
      (check 'flexvector-clear! 1 flexvector)
      (set-storage! flexvector (make-vector capacity-min #f))
      (set-used! flexvector 0)
      flexvector)

    (define (flexvector-set! flexvector index object)
      (check 'flexvector-set! 1 flexvector)
      (if (eqv? index (used flexvector))
          (begin
            (flexvector-add-back! flexvector object)
            (void))
          (begin
            (check-element-index 'flexvector-set! flexvector index)
            (let ((old (vector-ref (storage flexvector) index)))
              (vector-set! (storage flexvector) index object)
              old))))

    (define (flexvector-swap! flexvector left right)
      (check-element-index 'flexvector-swap! flexvector left)
      (check-element-index 'flexvector-swap! flexvector right)
      (vector-swap! (storage flexvector) left right)
      flexvector)

    (define-on-part (flexvector-fill! flexvector fill) 3 (start end)
      (begin
        (vector-fill! (storage flexvector) fill start end)
        flexvector))

    (define (flexvector-reverse! flexvector)
      (check 'flexvector-reverse! 1 flexvector)
      (vector-reverse! (storage flexvector) 0 (used flexvector))
      flexvector)

    (define (copy-into! who to at vector)
      (check who 1 to)
      (check-index who 2 at)
      (if (> at (used to))
          (%range-error who 2 "the flexvector is shorter" at))
      (let ((end (+ at (vector-length vector))))
        (reserve! to end)
        (vector-copy! (storage to) at vector)
        (if (> end (used to))
            (set-used! to end))
        to))

    (define flexvector-copy!
      (case-lambda
        ((to at from) (flexvector-copy! to at from 0))
        ((to at from start)
         (check 'flexvector-copy! 3 from)
         (flexvector-copy! to at from start (used from)))
        ((to at from start end)
         (check 'flexvector-copy! 3 from)
         (with-bounds 'flexvector-copy! 4 (used from) start end
           (lambda (start end)
             (copy-into! 'flexvector-copy! to at
                         (vector-copy (storage from) start end)))))))

    (define flexvector-reverse-copy!
      (case-lambda
        ((to at from) (flexvector-reverse-copy! to at from 0))
        ((to at from start)
         (check 'flexvector-reverse-copy! 3 from)
         (flexvector-reverse-copy! to at from start (used from)))
        ((to at from start end)
         (check 'flexvector-reverse-copy! 3 from)
         (with-bounds 'flexvector-reverse-copy! 4 (used from) start end
           (lambda (start end)
             (copy-into! 'flexvector-reverse-copy! to at
                         (reversed-part (storage from) start end)))))))

    ;; Iteration.

    (define (least-length flexvectors)
      (%apply min (%map1 used flexvectors)))

    (define (elements-at flexvectors index)
      (%map1 (lambda (flexvector) (flexvector-ref flexvector index)) flexvectors))

    ;; Walks go over the indices that there were at the start.

    (define flexvector-fold
      (case-lambda
        ((kons state flexvector)
         (check-procedure 'flexvector-fold 1 kons)
         (check 'flexvector-fold 3 flexvector)
         (let ((length (used flexvector)))
           (let loop ((index 0) (state state))
             (if (= index length)
                 state
                 (loop (+ index 1) (kons state (flexvector-ref flexvector index)))))))
        ((kons state . flexvectors)
         (check-procedure 'flexvector-fold 1 kons)
         (check-all 'flexvector-fold 3 flexvectors)
         (let ((length (least-length flexvectors)))
           (let loop ((index 0) (state state))
             (if (= index length)
                 state
                 (loop (+ index 1)
                       (%apply kons (cons state (elements-at flexvectors index))))))))))

    (define (flexvector-fold-right kons state . flexvectors)
      (check-procedure 'flexvector-fold-right 1 kons)
      (check-all 'flexvector-fold-right 3 flexvectors)
      (let loop ((index (- (least-length flexvectors) 1)) (state state))
        (if (< index 0)
            state
            (loop (- index 1) (%apply kons (cons state (elements-at flexvectors index)))))))

    ;; The results of `procedure` on each index and the elements there, as a list, last first.
    (define (results-reversed who procedure flexvectors)
      (check-procedure who 1 procedure)
      (check-all who 2 flexvectors)
      (let ((length (least-length flexvectors)))
        (let loop ((index 0) (reversed '()))
          (if (= index length)
              reversed
              (loop (+ index 1)
                    (cons (%apply procedure (cons index (elements-at flexvectors index)))
                          reversed))))))

    (define (without-index who procedure)
      (check-procedure who 1 procedure)
      (lambda (index . objects) (%apply procedure objects)))

    (define (flexvector-map/index procedure flexvector . flexvectors)
      (from-vector
       (%reverse-list->vector
        (results-reversed 'flexvector-map/index procedure (cons flexvector flexvectors)))))

    (define flexvector-map
      (case-lambda
        ((procedure flexvector)
         (check-procedure 'flexvector-map 1 procedure)
         (from-vector
          (%reverse-list->vector
           (flexvector-fold (lambda (reversed object) (cons (procedure object) reversed))
                            '()
                            flexvector))))
        ((procedure . flexvectors)
         (%apply flexvector-map/index
                 (cons (without-index 'flexvector-map procedure) flexvectors)))))

    (define (flexvector-map/index! procedure flexvector . flexvectors)
      (let ((new (%reverse-list->vector
                  (results-reversed 'flexvector-map/index! procedure
                                    (cons flexvector flexvectors)))))
        (vector-copy! (storage flexvector) 0 new)
        flexvector))

    (define (flexvector-map! procedure flexvector . flexvectors)
      (%apply flexvector-map/index!
              (cons* (without-index 'flexvector-map! procedure) flexvector flexvectors)))

    (define (flexvector-append-map/index procedure flexvector . flexvectors)
      (flexvector-concatenate
       (reverse (results-reversed 'flexvector-append-map/index procedure
                                  (cons flexvector flexvectors)))))

    (define (flexvector-append-map procedure . flexvectors)
      (%apply flexvector-append-map/index
              (cons (without-index 'flexvector-append-map procedure) flexvectors)))

    (define (kept who wanted? flexvector)
      (check-procedure who 1 wanted?)
      (check who 2 flexvector)
      (let ((length (used flexvector)))
        (let loop ((index 0) (reversed '()))
          (if (= index length)
              (%reverse-list->vector reversed)
              (let ((object (flexvector-ref flexvector index)))
                (loop (+ index 1)
                      (if (wanted? index object) (cons object reversed) reversed)))))))

    (define (flexvector-filter/index wanted? flexvector)
      (from-vector (kept 'flexvector-filter/index wanted? flexvector)))

    (define (flexvector-filter wanted? flexvector)
      (check-procedure 'flexvector-filter 1 wanted?)
      (from-vector (kept 'flexvector-filter (lambda (index object) (wanted? object)) flexvector)))

    (define (flexvector-filter/index! wanted? flexvector)
      (let ((vector (kept 'flexvector-filter/index! wanted? flexvector)))
        (set-storage! flexvector vector)
        (set-used! flexvector (vector-length vector))
        flexvector))

    (define (flexvector-filter! wanted? flexvector)
      (check-procedure 'flexvector-filter! 1 wanted?)
      (flexvector-filter/index! (lambda (index object) (wanted? object)) flexvector))

    (define (flexvector-for-each/index procedure flexvector . flexvectors)
      (results-reversed 'flexvector-for-each/index procedure (cons flexvector flexvectors))
      (void))

    (define (flexvector-for-each procedure . flexvectors)
      (%apply flexvector-for-each/index
              (cons (without-index 'flexvector-for-each procedure) flexvectors)))

    (define (flexvector-count wanted? . flexvectors)
      (%apply flexvector-fold
              (cons* (lambda (count . objects) (if (%apply wanted? objects) (+ count 1) count))
                     0
                     flexvectors)))

    (define (flexvector-cumulate procedure state flexvector)
      (check-procedure 'flexvector-cumulate 1 procedure)
      (let ((state state))
        (flexvector-map (lambda (object)
                          (set! state (procedure state object))
                          state)
                        flexvector)))

    ;; Searching.

    ;; The first index from `start` on, in steps of `step`, whose elements satisfy `found?`.
    (define (search found? flexvectors start stop step)
      (let loop ((index start))
        (cond ((= index stop) #f)
              ((%apply found? (elements-at flexvectors index)) index)
              (else (loop (+ index step))))))

    (define (search-forward who found? flexvectors)
      (check-procedure who 1 found?)
      (check-all who 2 flexvectors)
      (search found? flexvectors 0 (least-length flexvectors) 1))

    (define (search-backward who found? flexvectors)
      (check-procedure who 1 found?)
      (check-all who 2 flexvectors)
      (let ((length (least-length flexvectors)))
        (for-each (lambda (flexvector)
                    (if (not (= (used flexvector) length))
                        (error "the flexvectors have different lengths" who)))
                  flexvectors)
        (search found? flexvectors (- length 1) -1 -1)))

    (define (negated who wanted?)
      (check-procedure who 1 wanted?)
      (lambda objects (not (%apply wanted? objects))))

    (define (flexvector-index wanted? flexvector . flexvectors)
      (search-forward 'flexvector-index wanted? (cons flexvector flexvectors)))

    (define (flexvector-index-right wanted? flexvector . flexvectors)
      (search-backward 'flexvector-index-right wanted? (cons flexvector flexvectors)))

    (define (flexvector-skip wanted? flexvector . flexvectors)
      (search-forward 'flexvector-skip
                      (negated 'flexvector-skip wanted?)
                      (cons flexvector flexvectors)))

    (define (flexvector-skip-right wanted? flexvector . flexvectors)
      (search-backward 'flexvector-skip-right
                       (negated 'flexvector-skip-right wanted?)
                       (cons flexvector flexvectors)))

    (define-on-part (flexvector-binary-search flexvector value compare) 4 (start end)
      (begin
        (check-procedure 'flexvector-binary-search 3 compare)
        (let loop ((low start) (high end))
          (and (< low high)
               (let* ((middle (quotient (+ low high) 2))
                      (order (compare (flexvector-ref flexvector middle) value)))
                 (cond ((= order 0) middle)
                       ((< order 0) (loop (+ middle 1) high))
                       (else (loop low middle))))))))

    (define (flexvector-any wanted? flexvector . flexvectors)
      (check-procedure 'flexvector-any 1 wanted?)
      (let ((flexvectors (cons flexvector flexvectors)))
        (check-all 'flexvector-any 2 flexvectors)
        (let ((length (least-length flexvectors)))
          (let loop ((index 0))
            (and (< index length)
                 (or (%apply wanted? (elements-at flexvectors index))
                     (loop (+ index 1))))))))

    (define (flexvector-every wanted? flexvector . flexvectors)
      (check-procedure 'flexvector-every 1 wanted?)
      (let ((flexvectors (cons flexvector flexvectors)))
        (check-all 'flexvector-every 2 flexvectors)
        (let ((length (least-length flexvectors)))
          (let loop ((index 0) (last #t))
            (if (= index length)
                last
                (let ((result (%apply wanted? (elements-at flexvectors index))))
                  (and result (loop (+ index 1) result))))))))

    (define (flexvector-partition wanted? flexvector)
      (check-procedure 'flexvector-partition 1 wanted?)
      (check 'flexvector-partition 2 flexvector)
      (let ((in (make-flexvector 0)) (out (make-flexvector 0)))
        (flexvector-for-each (lambda (object)
                               (flexvector-add-back! (if (wanted? object) in out) object))
                             flexvector)
        (values in out)))

    ;; Conversion.

    (define-on-part (flexvector->vector flexvector) 2 (start end)
      (vector-copy (storage flexvector) start end))

    (define-on-part (flexvector->list flexvector) 2 (start end)
      (vector->list (storage flexvector) start end))

    (define-on-part (reverse-flexvector->list flexvector) 2 (start end)
      (reverse! (vector->list (storage flexvector) start end)))

    (define-on-part (flexvector->string flexvector) 2 (start end)
      (vector->string (storage flexvector) start end))

    (define vector->flexvector
      (case-lambda
        ((vector) (from-vector (vector-copy vector)))
        ((vector start) (vector->flexvector vector start (vector-length vector)))
        ((vector start end)
         (check-argument 'vector->flexvector 1 vector? "vector" vector)
         (with-bounds 'vector->flexvector 2 (vector-length vector) start end
           (lambda (start end) (from-vector (vector-copy vector start end)))))))

    (define string->flexvector
      (case-lambda
        ((string) (from-vector (string->vector string)))
        ((string start) (string->flexvector string start (string-length string)))
        ((string start end)
         (check-argument 'string->flexvector 1 string? "string" string)
         (with-bounds 'string->flexvector 2 (string-length string) start end
           (lambda (start end) (from-vector (string->vector string start end)))))))

    (define (list->flexvector list)
      (check-list 'list->flexvector 1 list)
      (from-vector (list->vector list)))

    (define (reverse-list->flexvector list)
      (check-list 'reverse-list->flexvector 1 list)
      (from-vector (%reverse-list->vector list)))

    (define (flexvector->generator flexvector)
      (check 'flexvector->generator 1 flexvector)
      (let ((index 0))
        (lambda ()
          (if (< index (used flexvector))
              (let ((object (flexvector-ref flexvector index)))
                (set! index (+ index 1))
                object)
              (eof-object)))))

    (define (generator->flexvector generator)
      (check-procedure 'generator->flexvector 1 generator)
      (let ((result (make-flexvector 0)))
        (let loop ()
          (let ((object (generator)))
            (if (eof-object? object)
                result
                (begin
                  (flexvector-add-back! result object)
                  (loop)))))))))
