;;; (srfi 127): lazy sequences.
;;;
;;; A lazy sequence is a list whose last cdr may be a generator. `lseq-cdr` replaces it by a pair
;;; with the next value and the generator, or by () at its end.

(define-library (srfi 127)
  (export generator->lseq lseq? lseq=? lseq-car lseq-cdr lseq-first lseq-rest lseq-ref lseq-take
          lseq-drop lseq-realize lseq->generator lseq-length lseq-append lseq-zip lseq-map
          lseq-for-each lseq-filter lseq-remove lseq-find lseq-find-tail lseq-any lseq-every
          lseq-index lseq-take-while lseq-drop-while lseq-member lseq-memq lseq-memv)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments))
  (begin

    (define end (eof-object))

    (define (check-lseq who position object)
      (if (not (or (pair? object) (null? object)))
          (%type-error who position "lazy sequence" object)))

    (define (check-pair who object)
      (check-argument who 1 pair? "non-empty lazy sequence" object))

    (define (generator->lseq generator)
      (check-procedure 'generator->lseq 1 generator)
      (let ((value (generator)))
        (if (eof-object? value)
            '()
            (cons value generator))))

    (define (lseq? object)
      (cond ((pair? object) (lseq? (cdr object)))
            ((null? object) #t)
            (else (procedure? object))))

    ;; The lazy sequence after the first element of `pair`.
    (define (next pair)
      (let ((rest (cdr pair)))
        (if (procedure? rest)
            (let* ((value (rest))
                   (new (if (eof-object? value) '() (cons value rest))))
              (set-cdr! pair new)
              new)
            rest)))

    (define (lseq-car lseq)
      (check-pair 'lseq-car lseq)
      (car lseq))

    (define (lseq-first lseq)
      (check-pair 'lseq-first lseq)
      (car lseq))

    (define (lseq-cdr lseq)
      (check-pair 'lseq-cdr lseq)
      (next lseq))

    (define (lseq-rest lseq)
      (check-pair 'lseq-rest lseq)
      (next lseq))

    (define (lseq-drop lseq count)
      (drop-first 'lseq-drop lseq count))

    (define (drop-first who lseq count)
      (check-lseq who 1 lseq)
      (check-index who 2 count)
      (let loop ((rest lseq) (left count))
        (cond ((= left 0) rest)
              ((pair? rest) (loop (next rest) (- left 1)))
              (else (%range-error who 2 "the sequence is shorter" count)))))

    (define (lseq-ref lseq index)
      (let ((rest (drop-first 'lseq-ref lseq index)))
        (if (null? rest)
            (%range-error 'lseq-ref 2 "the sequence is shorter" index)
            (car rest))))

    ;; A generator of the elements.  It takes no element before it is asked for it.
    (define (elements lseq)
      (let ((started? #f))
        (lambda ()
          (if (and started? (pair? lseq))
              (set! lseq (next lseq)))
          (set! started? #t)
          (if (pair? lseq) (car lseq) end))))

    (define (lseq-take lseq count)
      (check-lseq 'lseq-take 1 lseq)
      (check-index 'lseq-take 2 count)
      (let ((generator (elements lseq)))
        (generator->lseq
         (lambda ()
           (if (= count 0)
               end
               (let ((value (generator)))
                 (set! count (- count 1))
                 (if (eof-object? value)
                     (error "lseq-take: the sequence is shorter" lseq)
                     value)))))))

    (define (lseq-realize lseq)
      (check-lseq 'lseq-realize 1 lseq)
      (let loop ((rest lseq))
        (if (pair? rest)
            (loop (next rest))
            lseq)))

    (define (lseq->generator lseq)
      (check-lseq 'lseq->generator 1 lseq)
      (elements lseq))

    (define (lseq-length lseq)
      (check-lseq 'lseq-length 1 lseq)
      (let loop ((rest lseq) (count 0))
        (if (pair? rest)
            (loop (next rest) (+ count 1))
            count)))

    (define (lseq=? same? left right)
      (check-procedure 'lseq=? 1 same?)
      (check-lseq 'lseq=? 2 left)
      (check-lseq 'lseq=? 3 right)
      (let loop ((left left) (right right))
        (cond ((null? left) (null? right))
              ((null? right) #f)
              ((same? (car left) (car right)) (loop (next left) (next right)))
              (else #f))))

    (define (lseq-append . lseqs)
      (let loop ((rest lseqs) (position 1))
        (if (pair? rest)
            (begin
              (check-lseq 'lseq-append position (car rest))
              (loop (cdr rest) (+ position 1)))))
      (let ((generators (%map1 elements lseqs)))
        (generator->lseq
         (lambda ()
           (let loop ()
             (if (null? generators)
                 end
                 (let ((value ((car generators))))
                   (if (eof-object? value)
                       (begin
                         (set! generators (cdr generators))
                         (loop))
                       value))))))))

    (define (lseq-zip lseq . lseqs)
      (%apply lseq-map (cons* list lseq lseqs)))

    ;; A generator of what `procedure` makes of the elements at each position.
    (define (map-elements who procedure lseqs)
      (check-procedure who 1 procedure)
      (for-each (lambda (lseq) (check-lseq who 2 lseq)) lseqs)
      (if (null? (cdr lseqs))
          (let ((generator (elements (car lseqs))))
            (lambda ()
              (let ((value (generator)))
                (if (eof-object? value) end (procedure value)))))
          (let ((generators (%map1 elements lseqs)))
            (lambda ()
              (let loop ((rest generators) (reversed '()))
                (if (null? rest)
                    (%apply procedure (reverse reversed))
                    (let ((value ((car rest))))
                      (if (eof-object? value)
                          end
                          (loop (cdr rest) (cons value reversed))))))))))

    (define (lseq-map procedure lseq . lseqs)
      (generator->lseq (map-elements 'lseq-map procedure (cons lseq lseqs))))

    ;; The generator gives #t after each call, whatever the procedure returns.
    (define (lseq-for-each procedure lseq . lseqs)
      (check-procedure 'lseq-for-each 1 procedure)
      (let ((generator (map-elements 'lseq-for-each
                                     (lambda objects
                                       (%apply procedure objects)
                                       #t)
                                     (cons lseq lseqs))))
        (let loop ()
          (if (not (eof-object? (generator)))
              (loop)))))

    (define (lseq-filter wanted? lseq)
      (check-procedure 'lseq-filter 1 wanted?)
      (check-lseq 'lseq-filter 2 lseq)
      (let ((generator (elements lseq)))
        (generator->lseq
         (lambda ()
           (let loop ()
             (let ((value (generator)))
               (if (or (eof-object? value) (wanted? value))
                   value
                   (loop))))))))

    (define (lseq-remove unwanted? lseq)
      (check-procedure 'lseq-remove 1 unwanted?)
      (lseq-filter (lambda (value) (not (unwanted? value))) lseq))

    (define (lseq-find wanted? lseq)
      (let ((tail (lseq-find-tail wanted? lseq)))
        (and tail (car tail))))

    (define (lseq-find-tail wanted? lseq)
      (check-procedure 'lseq-find-tail 1 wanted?)
      (check-lseq 'lseq-find-tail 2 lseq)
      (let loop ((rest lseq))
        (cond ((null? rest) #f)
              ((wanted? (car rest)) rest)
              (else (loop (next rest))))))

    (define (lseq-take-while wanted? lseq)
      (check-procedure 'lseq-take-while 1 wanted?)
      (check-lseq 'lseq-take-while 2 lseq)
      (let ((generator (elements lseq)) (ended? #f))
        (generator->lseq
         (lambda ()
           (if ended?
               end
               (let ((value (generator)))
                 (if (and (not (eof-object? value)) (wanted? value))
                     value
                     (begin
                       (set! ended? #t)
                       end))))))))

    (define (lseq-drop-while unwanted? lseq)
      (check-procedure 'lseq-drop-while 1 unwanted?)
      (check-lseq 'lseq-drop-while 2 lseq)
      (let loop ((rest lseq))
        (if (and (pair? rest) (unwanted? (car rest)))
            (loop (next rest))
            rest)))

    (define (lseq-any wanted? lseq . lseqs)
      (let ((generator (map-elements 'lseq-any wanted? (cons lseq lseqs))))
        (let loop ()
          (let ((value (generator)))
            (cond ((eof-object? value) #f)
                  (value value)
                  (else (loop)))))))

    (define (lseq-every wanted? lseq . lseqs)
      (let ((generator (map-elements 'lseq-every wanted? (cons lseq lseqs))))
        (let loop ((last #t))
          (let ((value (generator)))
            (cond ((eof-object? value) last)
                  (value (loop value))
                  (else #f))))))

    (define (lseq-index wanted? lseq . lseqs)
      (let ((generator (map-elements 'lseq-index wanted? (cons lseq lseqs))))
        (let loop ((index 0))
          (let ((value (generator)))
            (cond ((eof-object? value) #f)
                  (value index)
                  (else (loop (+ index 1))))))))

    (define lseq-member
      (case-lambda
        ((object lseq) (lseq-member object lseq equal?))
        ((object lseq same?)
         (check-procedure 'lseq-member 3 same?)
         (lseq-find-tail (lambda (element) (same? object element)) lseq))))

    (define (lseq-memq object lseq) (lseq-member object lseq eq?))
    (define (lseq-memv object lseq) (lseq-member object lseq eqv?))))
