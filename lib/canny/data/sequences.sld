;;; (canny data sequences): the procedures that walk vectors and strings and call a procedure.
;;;
;;; As in `map`, results are collected in fresh pairs, so that a continuation captured in the
;;; procedure can be entered again. One, two and three sequences have loops of their own.
;;;
;;; The clauses that programs copy to their calls mention no text of an error, which would keep them
;;; from being copied, and not themselves.

(define-library (canny data sequences)
  (export vector-map vector-for-each string-map string-for-each
          string-count string-index string-rindex string-any string-every string-filter
          string-filter-range
          vector-fold vector-index vector-count vector-map! vector-tabulate string-tabulate
          vector-binary-search)
  (import (canny primitives) (canny syntax) (canny data lists))
  (begin

    ;; Checks. The object is a variable.

    (define-syntax define-check
      (syntax-rules ()
        ((_ name test? fail expected)
         (begin
           (define (fail who position object)
             (%type-error who position expected object))
           (define-syntax name
             (syntax-rules ()
               ((_ who position object)
                (if (not (test? object))
                    (fail who position object)))))))))

    (define-check check-vector vector? not-a-vector "vector")
    (define-check check-string string? not-a-string "string")
    (define-check check-char char? not-a-character "procedure that gives characters")

    ;; The least length of sequences.
    (define (least-length who check length-of sequences)
      (let loop ((rest sequences) (position 2) (least #f))
        (if (null? rest)
            least
            (begin
              (check who position (car rest))
              (let ((length (length-of (car rest))))
                (loop (cdr rest)
                      (+ position 1)
                      (if least (min least length) length)))))))

    (define (least-length-of-vectors who vectors)
      (least-length who
                    (lambda (who position object) (check-vector who position object))
                    vector-length
                    vectors))

    (define (least-length-of-strings who strings)
      (least-length who
                    (lambda (who position object) (check-string who position object))
                    string-length
                    strings))

    (define-syntax shorter
      (syntax-rules ()
        ((_ length1 length2)
         (let ((x length1) (y length2))
           (if (< x y) x y)))))

    (define-syntax shortest
      (syntax-rules ()
        ((_ length1 length2 length3)
         (shorter (shorter length1 length2) length3))))

    ;; Mapping: `result` checks an element of the result, `finish` takes the results, last first.
    (define-syntax map-loop
      (syntax-rules ()
        ((_ end index result finish call)
         (let loop ((index 0) (results '()))
           (if (< index end)
               (loop (+ index 1) (cons (result call) results))
               (finish results))))))

    (define-syntax for-each-loop
      (syntax-rules ()
        ((_ end index call)
         (let loop ((index 0))
           (if (< index end)
               (begin
                 call
                 (loop (+ index 1))))))))

    (define-syntax itself
      (syntax-rules ()
        ((_ expression) expression)))

    (define-syntax checked-char
      (syntax-rules ()
        ((_ expression)
         (let ((char expression))
           (check-char 'string-map 1 char)
           char))))

    (define vector-map
      (case-lambda
        ((procedure vector)
         (check-vector 'vector-map 2 vector)
         (let ((end (vector-length vector)))
           (map-loop end index itself %reverse-list->vector
             (procedure (vector-ref vector index)))))
        ((procedure vector1 vector2)
         (check-vector 'vector-map 2 vector1)
         (check-vector 'vector-map 3 vector2)
         (let ((end (shorter (vector-length vector1) (vector-length vector2))))
           (map-loop end index itself %reverse-list->vector
             (procedure (vector-ref vector1 index) (vector-ref vector2 index)))))
        ((procedure vector1 vector2 vector3)
         (check-vector 'vector-map 2 vector1)
         (check-vector 'vector-map 3 vector2)
         (check-vector 'vector-map 4 vector3)
         (let ((end (shortest (vector-length vector1)
                              (vector-length vector2)
                              (vector-length vector3))))
           (map-loop end index itself %reverse-list->vector
             (procedure (vector-ref vector1 index)
                        (vector-ref vector2 index)
                        (vector-ref vector3 index)))))
        ((procedure vector . vectors)
         (let* ((vectors (cons vector vectors))
                (end (least-length-of-vectors 'vector-map vectors)))
           (map-loop end index itself %reverse-list->vector
             (%apply procedure
                     (%map1 (lambda (vector) (vector-ref vector index)) vectors)))))))

    (define vector-for-each
      (case-lambda
        ((procedure vector)
         (check-vector 'vector-for-each 2 vector)
         (let ((end (vector-length vector)))
           (for-each-loop end index (procedure (vector-ref vector index)))))
        ((procedure vector1 vector2)
         (check-vector 'vector-for-each 2 vector1)
         (check-vector 'vector-for-each 3 vector2)
         (let ((end (shorter (vector-length vector1) (vector-length vector2))))
           (for-each-loop end index
             (procedure (vector-ref vector1 index) (vector-ref vector2 index)))))
        ((procedure vector1 vector2 vector3)
         (check-vector 'vector-for-each 2 vector1)
         (check-vector 'vector-for-each 3 vector2)
         (check-vector 'vector-for-each 4 vector3)
         (let ((end (shortest (vector-length vector1)
                              (vector-length vector2)
                              (vector-length vector3))))
           (for-each-loop end index
             (procedure (vector-ref vector1 index)
                        (vector-ref vector2 index)
                        (vector-ref vector3 index)))))
        ((procedure vector . vectors)
         (let* ((vectors (cons vector vectors))
                (end (least-length-of-vectors 'vector-for-each vectors)))
           (for-each-loop end index
             (%apply procedure
                     (%map1 (lambda (vector) (vector-ref vector index)) vectors)))))))

    ;; SRFI 13 has start and end where R7RS has further strings.
    (define-syntax define-over-strings
      (syntax-rules ()
        ((_ name general walk)
         (begin
           (define (over-one procedure string)
             (check-string 'name 2 string)
             (let ((end (string-length string)))
               (walk end index (procedure (string-ref string index)))))
           (define (general procedure string rest)
             (if (exact-integer? (car rest))
                 (over-one procedure (part-of 'name string rest))
                 (let* ((strings (cons string rest))
                        (end (least-length-of-strings 'name strings)))
                   (walk end index
                     (%apply procedure
                             (%map1 (lambda (string) (string-ref string index)) strings))))))
           (define name
             (case-lambda
               ((procedure string)
                (check-string 'name 2 string)
                (let ((end (string-length string)))
                  (walk end index (procedure (string-ref string index)))))
               ((procedure string1 string2)
                (if (and (string? string1) (string? string2))
                    (let ((end (shorter (string-length string1) (string-length string2))))
                      (walk end index
                        (procedure (string-ref string1 index) (string-ref string2 index))))
                    (general procedure string1 (list string2))))
               ((procedure string1 string2 string3)
                (if (and (string? string1) (string? string2) (string? string3))
                    (let ((end (shortest (string-length string1)
                                         (string-length string2)
                                         (string-length string3))))
                      (walk end index
                        (procedure (string-ref string1 index)
                                   (string-ref string2 index)
                                   (string-ref string3 index))))
                    (general procedure string1 (list string2 string3))))
               ((procedure string . rest)
                (general procedure string rest))))))))

    (define-syntax map-chars
      (syntax-rules ()
        ((_ end index call)
         (map-loop end index checked-char %reverse-list->string call))))

    (define (part-of who string range)
      (check-string who 2 string)
      (%apply string-copy (cons string range)))

    (define-over-strings string-map map-strings map-chars)
    (define-over-strings string-for-each for-each-of-strings for-each-loop)

    ;; The rest follows SRFI 13 and 133. A character in the place of a predicate means the predicate
    ;; that is true of it alone.

    (define (->predicate who criterion)
      (cond ((procedure? criterion) criterion)
            ((char? criterion) (lambda (char) (char=? char criterion)))
            (else (not-a-criterion who criterion))))

    (define (not-a-criterion who object)
      (%type-error who 2 "character or predicate" object))

    ;; The expression with a predicate in the variable, or `for-character` with a character.
    (define-syntax with-predicate
      (syntax-rules ()
        ((_ (variable who) expression for-character)
         (cond ((procedure? variable) expression)
               ((char? variable) for-character)
               (else (not-a-criterion who variable))))))

    (define (check-range who string start end)
      (check-string who 1 string)
      (if (not (and (exact-integer? end) (<= 0 end (string-length string))))
          (%range-error who 4 "index of the string" end))
      (if (not (and (exact-integer? start) (<= 0 start end)))
          (%range-error who 3 "index not above the end" start)))

    (define-syntax count-loop
      (syntax-rules ()
        ((_ string start end char test)
         (let loop ((index start) (count 0))
           (if (< index end)
               (loop (+ index 1)
                     (if (let ((char (string-ref string index))) test) (+ count 1) count))
               count)))))

    (define (count-in string criterion start end)
      (check-range 'string-count string start end)
      (with-predicate (criterion 'string-count)
        (count-loop string start end char (criterion char))
        (count-loop string start end char (eq? char criterion))))

    (define string-count
      (case-lambda
        ((string criterion)
         (check-string 'string-count 1 string)
         (let ((end (string-length string)))
           (with-predicate (criterion 'string-count)
             (count-loop string 0 end char (criterion char))
             (count-in string criterion 0 end))))
        ((string criterion start)
         (check-string 'string-count 1 string)
         (count-in string criterion start (string-length string)))
        ((string criterion start end)
         (count-in string criterion start end))))

    (define-syntax define-index
      (syntax-rules ()
        ((_ name index-in search-char (string start end index) first after-last? next)
         (begin
           (define (index-in string criterion start end)
             (if (char? criterion)
                 (search-char string criterion start end)
                 (let ((wanted? (->predicate 'name criterion)))
                   (check-range 'name string start end)
                   (let loop ((index first))
                     (cond (after-last? #f)
                           ((wanted? (string-ref string index)) index)
                           (else (loop next)))))))
           (define name
             (case-lambda
               ((string criterion)
                (check-string 'name 1 string)
                (with-predicate (criterion 'name)
                  (let ((start 0) (end (string-length string)))
                    (let loop ((index first))
                      (cond (after-last? #f)
                            ((criterion (string-ref string index)) index)
                            (else (loop next)))))
                  (search-char string criterion)))
               ((string criterion start)
                (check-string 'name 1 string)
                (index-in string criterion start (string-length string)))
               ((string criterion start end)
                (index-in string criterion start end))))))))

    (define-index string-index index-in %string-index (string start end index)
      start (>= index end) (+ index 1))
    (define-index string-rindex rindex-in %string-rindex (string start end index)
      (- end 1) (< index start) (- index 1))

    (define (string-any criterion string)
      (check-string 'string-any 2 string)
      (with-predicate (criterion 'string-any)
        (let ((end (string-length string)))
          (let loop ((index 0))
            (and (< index end)
                 (or (criterion (string-ref string index))
                     (loop (+ index 1))))))
        (and (%string-index string criterion) #t)))

    (define (string-every criterion string)
      (check-string 'string-every 2 string)
      (let ((end (string-length string)))
        (with-predicate (criterion 'string-every)
          (let loop ((index 0) (last #t))
            (if (< index end)
                (let ((result (criterion (string-ref string index))))
                  (and result (loop (+ index 1) result)))
                last))
          (let loop ((index 0))
            (or (>= index end)
                (and (eq? (string-ref string index) criterion)
                     (loop (+ index 1))))))))

    (define (string-filter criterion string)
      (check-string 'string-filter 2 string)
      (let ((wanted? (->predicate 'string-filter criterion)))
        (string-filter-range wanted? string 0 (string-length string))))

    ;; The wanted characters of a range. Those side by side are copied together: most texts lose few
    ;; characters, and a pair for each one costs four times what the text takes.
    (define (string-filter-range wanted? string start end)
      (let loop ((index start) (from start) (pieces '()))
        (cond ((< index end)
               (cond ((wanted? (string-ref string index)) (loop (+ index 1) from pieces))
                     ((= from index) (loop (+ index 1) (+ index 1) pieces))
                     (else
                      (loop (+ index 1) (+ index 1) (cons (substring string from index) pieces)))))
              ((null? pieces) (substring string from end))
              ((= from end) (string-concatenate (reverse pieces)))
              (else (string-concatenate (reverse (cons (substring string from end) pieces)))))))

    (define (vector-fold kons knil vector)
      (check-vector 'vector-fold 3 vector)
      (let ((end (vector-length vector)))
        (let loop ((index 0) (state knil))
          (if (< index end)
              (loop (+ index 1) (kons state (vector-ref vector index)))
              state))))

    (define (vector-index wanted? vector)
      (check-vector 'vector-index 2 vector)
      (let ((end (vector-length vector)))
        (let loop ((index 0))
          (cond ((= index end) #f)
                ((wanted? (vector-ref vector index)) index)
                (else (loop (+ index 1)))))))

    (define (vector-count wanted? vector)
      (vector-fold (lambda (count element) (if (wanted? element) (+ count 1) count)) 0 vector))

    (define (vector-map! procedure vector)
      (check-vector 'vector-map! 2 vector)
      (let ((end (vector-length vector)))
        (let loop ((index 0))
          (if (< index end)
              (begin
                (vector-set! vector index (procedure (vector-ref vector index)))
                (loop (+ index 1)))))))

    (define (check-count who position count)
      (if (not (exact-nonnegative-integer? count))
          (%type-error who position "index" count)))

    ;; `count` is not certainly an index.
    (define-syntax check-index
      (syntax-rules ()
        ((_ who position count)
         (if (not (and (fixnum? count) (<= 0 count)))
             (check-count who position count)))))

    (define (vector-tabulate procedure count)
      (check-index 'vector-tabulate 2 count)
      (let loop ((index 0) (elements '()))
        (if (< index count)
            (loop (+ index 1) (cons (procedure index) elements))
            (%reverse-list->vector elements))))

    (define (string-tabulate procedure count)
      (check-index 'string-tabulate 2 count)
      (let loop ((index 0) (chars '()))
        (if (< index count)
            (loop (+ index 1) (cons (procedure index) chars))
            (%reverse-list->string chars))))

    ;; The index of an element for which (compare element key) is zero, in a sorted vector.
    (define (vector-binary-search vector key compare)
      (check-vector 'vector-binary-search 1 vector)
      (let loop ((start 0) (end (vector-length vector)))
        (if (< start end)
            (let* ((middle (quotient (+ start end) 2))
                   (order (compare (vector-ref vector middle) key)))
              (cond ((zero? order) middle)
                    ((positive? order) (loop start middle))
                    (else (loop (+ middle 1) end))))
            #f)))))
