;;; (canny data sequences): the procedures that walk vectors and strings and call a procedure.
;;;
;;; As in `map`, results are collected in fresh pairs, so that a continuation captured in the
;;; procedure can be entered again.

(define-library (canny data sequences)
  (export vector-map vector-for-each string-map string-for-each
          string-count string-index string-rindex string-any string-every string-filter
          vector-fold vector-index vector-count vector-map! vector-tabulate string-tabulate
          vector-binary-search)
  (import (canny primitives) (canny syntax) (canny data lists))
  (begin

    (define (check who position test? expected object)
      (if (not (test? object))
          (%type-error who position expected object)))

    ;; The least length of sequences that all satisfy `test?`.
    (define (least-length who test? expected length-of sequences)
      (let loop ((rest sequences) (position 2) (least #f))
        (if (null? rest)
            least
            (begin
              (check who position test? expected (car rest))
              (let ((length (length-of (car rest))))
                (loop (cdr rest)
                      (+ position 1)
                      (if least (min least length) length)))))))

    (define vector-map
      (case-lambda
        ((procedure vector)
         (check 'vector-map 2 vector? "vector" vector)
         (let ((end (vector-length vector)))
           (let loop ((index 0) (results '()))
             (if (< index end)
                 (loop (+ index 1) (cons (procedure (vector-ref vector index)) results))
                 (%reverse-list->vector results)))))
        ((procedure vector1 vector2)
         (check 'vector-map 2 vector? "vector" vector1)
         (check 'vector-map 3 vector? "vector" vector2)
         (let ((end (min (vector-length vector1) (vector-length vector2))))
           (let loop ((index 0) (results '()))
             (if (< index end)
                 (loop (+ index 1)
                       (cons (procedure (vector-ref vector1 index) (vector-ref vector2 index))
                             results))
                 (%reverse-list->vector results)))))
        ((procedure vector . vectors)
         (let* ((vectors (cons vector vectors))
                (end (least-length 'vector-map vector? "vector" vector-length vectors)))
           (let loop ((index 0) (results '()))
             (if (< index end)
                 (loop (+ index 1)
                       (cons (%apply procedure
                                     (%map1 (lambda (vector) (vector-ref vector index)) vectors))
                             results))
                 (%reverse-list->vector results)))))))

    (define vector-for-each
      (case-lambda
        ((procedure vector)
         (check 'vector-for-each 2 vector? "vector" vector)
         (let ((end (vector-length vector)))
           (let loop ((index 0))
             (if (< index end)
                 (begin
                   (procedure (vector-ref vector index))
                   (loop (+ index 1)))))))
        ((procedure vector1 vector2)
         (check 'vector-for-each 2 vector? "vector" vector1)
         (check 'vector-for-each 3 vector? "vector" vector2)
         (let ((end (min (vector-length vector1) (vector-length vector2))))
           (let loop ((index 0))
             (if (< index end)
                 (begin
                   (procedure (vector-ref vector1 index) (vector-ref vector2 index))
                   (loop (+ index 1)))))))
        ((procedure vector . vectors)
         (let* ((vectors (cons vector vectors))
                (end (least-length 'vector-for-each vector? "vector" vector-length vectors)))
           (let loop ((index 0))
             (if (< index end)
                 (begin
                   (%apply procedure
                           (%map1 (lambda (vector) (vector-ref vector index)) vectors))
                   (loop (+ index 1)))))))))

    (define string-map
      (case-lambda
        ((procedure string)
         (check 'string-map 2 string? "string" string)
         (let ((end (string-length string)))
           (let loop ((index 0) (results '()))
             (if (< index end)
                 (loop (+ index 1)
                       (let ((char (procedure (string-ref string index))))
                         (check 'string-map 1 char? "procedure that gives characters" char)
                         (cons char results)))
                 (%reverse-list->string results)))))
        ((procedure string . rest)
         (if (exact-integer? (car rest))
             (string-map procedure (part-of 'string-map string rest))
             (map-strings procedure (cons string rest))))))

    (define (map-strings procedure strings)
      (let ((end (least-length 'string-map string? "string" string-length strings)))
        (let loop ((index 0) (results '()))
          (if (< index end)
              (loop (+ index 1)
                    (let ((char (%apply procedure
                                        (%map1 (lambda (string) (string-ref string index))
                                               strings))))
                      (check 'string-map 1 char? "procedure that gives characters" char)
                      (cons char results)))
              (%reverse-list->string results)))))

    ;; SRFI 13 has start and end where R7RS has further strings.
    (define (part-of who string range)
      (check who 2 string? "string" string)
      (%apply string-copy (cons string range)))

    (define string-for-each
      (case-lambda
        ((procedure string)
         (check 'string-for-each 2 string? "string" string)
         (let ((end (string-length string)))
           (let loop ((index 0))
             (if (< index end)
                 (begin
                   (procedure (string-ref string index))
                   (loop (+ index 1)))))))
        ((procedure string . rest)
         (if (exact-integer? (car rest))
             (string-for-each procedure (part-of 'string-for-each string rest))
             (for-each-of-strings procedure (cons string rest))))))

    (define (for-each-of-strings procedure strings)
      (let ((end (least-length 'string-for-each string? "string" string-length strings)))
        (let loop ((index 0))
          (if (< index end)
              (begin
                (%apply procedure
                        (%map1 (lambda (string) (string-ref string index)) strings))
                (loop (+ index 1)))))))

    ;; The rest follows SRFI 13 and 133. A character in the place of a predicate means the predicate
    ;; that is true of it alone.

    (define (->predicate who criterion)
      (cond ((procedure? criterion) criterion)
            ((char? criterion) (lambda (char) (char=? char criterion)))
            (else (%type-error who 2 "character or predicate" criterion))))

    (define (check-range who string start end)
      (check who 1 string? "string" string)
      (if (not (and (exact-integer? end) (<= 0 end (string-length string))))
          (%range-error who 4 "index of the string" end))
      (if (not (and (exact-integer? start) (<= 0 start end)))
          (%range-error who 3 "index not above the end" start)))

    (define string-count
      (case-lambda
        ((string criterion) (string-count string criterion 0))
        ((string criterion start)
         (check 'string-count 1 string? "string" string)
         (string-count string criterion start (string-length string)))
        ((string criterion start end)
         (check-range 'string-count string start end)
         (let ((wanted? (->predicate 'string-count criterion)))
           (let loop ((index start) (count 0))
             (if (< index end)
                 (loop (+ index 1) (if (wanted? (string-ref string index)) (+ count 1) count))
                 count))))))

    (define string-index
      (case-lambda
        ((string criterion) (string-index string criterion 0))
        ((string criterion start)
         (check 'string-index 1 string? "string" string)
         (string-index string criterion start (string-length string)))
        ((string criterion start end)
         (if (char? criterion)
             (%string-index string criterion start end)
             (let ((wanted? (->predicate 'string-index criterion)))
               (check-range 'string-index string start end)
               (let loop ((index start))
                 (cond ((>= index end) #f)
                       ((wanted? (string-ref string index)) index)
                       (else (loop (+ index 1))))))))))

    (define string-rindex
      (case-lambda
        ((string criterion) (string-rindex string criterion 0))
        ((string criterion start)
         (check 'string-rindex 1 string? "string" string)
         (string-rindex string criterion start (string-length string)))
        ((string criterion start end)
         (if (char? criterion)
             (%string-rindex string criterion start end)
             (let ((wanted? (->predicate 'string-rindex criterion)))
               (check-range 'string-rindex string start end)
               (let loop ((index (- end 1)))
                 (cond ((< index start) #f)
                       ((wanted? (string-ref string index)) index)
                       (else (loop (- index 1))))))))))

    (define (string-any criterion string)
      (check 'string-any 2 string? "string" string)
      (let ((wanted? (->predicate 'string-any criterion))
            (end (string-length string)))
        (let loop ((index 0))
          (and (< index end)
               (or (wanted? (string-ref string index))
                   (loop (+ index 1)))))))

    (define (string-every criterion string)
      (check 'string-every 2 string? "string" string)
      (let ((wanted? (->predicate 'string-every criterion))
            (end (string-length string)))
        (let loop ((index 0) (last #t))
          (if (< index end)
              (let ((result (wanted? (string-ref string index))))
                (and result (loop (+ index 1) result)))
              last))))

    (define (string-filter criterion string)
      (check 'string-filter 2 string? "string" string)
      (let ((wanted? (->predicate 'string-filter criterion))
            (end (string-length string)))
        (let loop ((index 0) (chars '()))
          (if (< index end)
              (let ((char (string-ref string index)))
                (loop (+ index 1) (if (wanted? char) (cons char chars) chars)))
              (%reverse-list->string chars)))))

    (define (vector-fold kons knil vector)
      (check 'vector-fold 3 vector? "vector" vector)
      (let ((end (vector-length vector)))
        (let loop ((index 0) (state knil))
          (if (< index end)
              (loop (+ index 1) (kons state (vector-ref vector index)))
              state))))

    (define (vector-index wanted? vector)
      (check 'vector-index 2 vector? "vector" vector)
      (let ((end (vector-length vector)))
        (let loop ((index 0))
          (cond ((= index end) #f)
                ((wanted? (vector-ref vector index)) index)
                (else (loop (+ index 1)))))))

    (define (vector-count wanted? vector)
      (vector-fold (lambda (count element) (if (wanted? element) (+ count 1) count)) 0 vector))

    (define (vector-map! procedure vector)
      (check 'vector-map! 2 vector? "vector" vector)
      (let ((end (vector-length vector)))
        (let loop ((index 0))
          (if (< index end)
              (begin
                (vector-set! vector index (procedure (vector-ref vector index)))
                (loop (+ index 1)))))))

    (define (check-count who position count)
      (if (not (exact-nonnegative-integer? count))
          (%type-error who position "index" count)))

    (define (vector-tabulate procedure count)
      (check-count 'vector-tabulate 2 count)
      (let loop ((index 0) (elements '()))
        (if (< index count)
            (loop (+ index 1) (cons (procedure index) elements))
            (%reverse-list->vector elements))))

    (define (string-tabulate procedure count)
      (check-count 'string-tabulate 2 count)
      (let loop ((index 0) (chars '()))
        (if (< index count)
            (loop (+ index 1) (cons (procedure index) chars))
            (%reverse-list->string chars))))

    ;; The index of an element for which (compare element key) is zero, in a sorted vector.
    (define (vector-binary-search vector key compare)
      (check 'vector-binary-search 1 vector? "vector" vector)
      (let loop ((start 0) (end (vector-length vector)))
        (if (< start end)
            (let* ((middle (quotient (+ start end) 2))
                   (order (compare (vector-ref vector middle) key)))
              (cond ((zero? order) middle)
                    ((positive? order) (loop start middle))
                    (else (loop (+ middle 1) end))))
            #f)))))
