;;; (srfi 13): the string library.
;;;
;;; Nothing shares storage: the /shared procedures copy. Case-insensitive comparison folds character
;;; by character. Searching goes through the machine's own search; the procedures of Knuth, Morris
;;; and Pratt are there for streams.

(define-library (srfi 13)
  (export
   ;; Predicates
   string? string-null? string-every string-any
   ;; Constructors
   make-string string string-tabulate string-unfold string-unfold-right
   ;; Conversion
   string->list list->string reverse-list->string string-join
   ;; Selection
   string-length string-ref string-copy substring/shared string-copy!
   string-take string-take-right string-drop string-drop-right
   string-pad string-pad-right string-trim string-trim-right string-trim-both
   ;; Modification
   string-set! string-fill!
   ;; Comparison
   string-compare string-compare-ci
   string= string< string> string<= string>= string<>
   string-ci= string-ci< string-ci> string-ci<= string-ci>= string-ci<>
   (rename ranged-string-hash string-hash) string-hash-ci
   ;; Prefixes and suffixes
   string-prefix-length string-suffix-length string-prefix-length-ci string-suffix-length-ci
   string-prefix? string-suffix? string-prefix-ci? string-suffix-ci?
   ;; Searching
   string-index string-index-right string-skip string-skip-right string-count
   string-contains string-contains-ci
   ;; Case
   string-titlecase string-upcase string-downcase
   string-titlecase! string-upcase! string-downcase!
   ;; Reverse and append
   string-reverse string-reverse! string-append string-concatenate
   (rename string-concatenate string-concatenate/shared)
   (rename string-append string-append/shared)
   string-concatenate-reverse
   (rename string-concatenate-reverse string-concatenate-reverse/shared)
   ;; Fold, unfold and map
   string-map string-map! string-fold string-fold-right string-for-each string-for-each-index
   ;; Replicate and rotate
   xsubstring string-xcopy!
   ;; Miscellaneous
   string-replace string-tokenize
   string-filter string-delete
   ;; Low level
   string-parse-start+end string-parse-final-start+end let-string-start+end
   check-substring-spec substring-spec-ok?
   make-kmp-restart-vector kmp-step string-kmp-partial-search)
  (import (rename (except (canny primitives) string-trim string-trim-right
                          string-trim-both string-null?)
                  (string-contains contains) (string-hash hash-string)
                  (string-prefix? is-prefix?) (string-suffix? is-suffix?)
                  (string-join join) (string-pad-right fill-right)
                  (string-reverse reverse-characters))
          (canny syntax)
          (only (canny data sequences) string-map string-for-each)
          (rename (canny data strings) (check-range check-indexes))
          (only (srfi 14) char-set:graphic))
  (begin

    (define (string-null? string)
      (check-string 'string-null? 1 string)
      (eqv? (string-length string) 0))

    (define-ranged (string-every (wanted? string) string start end)
      (with-predicate (wanted? 'string-every 1)
        (string-every-in wanted? string start end)))

    (define-ranged (string-any (wanted? string) string start end)
      (with-predicate (wanted? 'string-any 1)
        (string-any-in wanted? string start end)))

    (define string-join
      (case-lambda
        ((strings) (string-join-list strings " " 'infix))
        ((strings delimiter)
         (if (and (string? delimiter) (list? strings))
             (join strings delimiter)
             (string-join-list strings delimiter 'infix)))
        ((strings delimiter grammar) (string-join-list strings delimiter grammar))))

    (define-ranged (substring/shared (string) string start end)
      (substring string start end))

    ;; Padding and trimming.

    (define-ranged (pad (string length char) string start end)
      (pad-left 'string-pad string length char start end))

    (define-ranged (pad-at-right (string length char) string start end)
      (pad-right 'string-pad-right string length char start end))

    ;; A longer string, whose memory may be missing, is left to the procedure that names itself in
    ;; the error.
    (define quick-length-max 65535)

    (define-syntax define-pad
      (syntax-rules ()
        ((_ name quick general)
         (define name
           (case-lambda
             ((string length)
              (if (and (string? string)
                       (fixnum? length)
                       (<= 0 length)
                       (<= length quick-length-max))
                  (quick string length)
                  (begin
                    (check-string 'name 1 string)
                    (general string length #\space))))
             ((string length char)
              (check-string 'name 1 string)
              (general string length char))
             ((string length char start)
              (check-string 'name 1 string)
              (general string length char start))
             ((string length char start end)
              (check-string 'name 1 string)
              (general string length char start end)))))))

    (define-pad string-pad string-pad-left pad)
    (define-pad string-pad-right fill-right pad-at-right)

    (define-ranged (trim (string unwanted) string start end)
      (with-predicate (unwanted 'string-trim 2)
        (substring string (or (skip-forward unwanted string start end) end) end)))

    (define-ranged (trim-right (string unwanted) string start end)
      (with-predicate (unwanted 'string-trim-right 2)
        (let ((last (skip-backward unwanted string start end)))
          (substring string start (if last (+ last 1) start)))))

    (define-ranged (trim-both (string unwanted) string start end)
      (with-predicate (unwanted 'string-trim-both 2)
        (let ((first (skip-forward unwanted string start end)))
          (if first
              (substring string first (+ 1 (skip-backward unwanted string start end)))
              ""))))

    (define-syntax define-trim
      (syntax-rules ()
        ((_ (name string end) general quick)
         (define name
           (case-lambda
             ((string)
              (check-string 'name 1 string)
              (let ((end (string-length string))) quick))
             ((string unwanted)
              (check-string 'name 1 string)
              (general string unwanted))
             ((string unwanted start)
              (check-string 'name 1 string)
              (general string unwanted start))
             ((string unwanted start end)
              (check-string 'name 1 string)
              (general string unwanted start end)))))))

    (define-trim (string-trim string end) trim
      (substring string (or (skip-forward char-whitespace? string 0 end) end) end))

    (define-trim (string-trim-right string end) trim-right
      (let ((last (skip-backward char-whitespace? string 0 end)))
        (substring string 0 (if last (+ last 1) 0))))

    (define-trim (string-trim-both string end) trim-both
      (let ((first (skip-forward char-whitespace? string 0 end)))
        (if first
            (substring string first (+ 1 (skip-backward char-whitespace? string 0 end)))
            "")))

    ;; Comparison. `finish` is called with two numbers. The first says how the first range
    ;; compares with the second, like -1, 0 or 1. The second one is the index of the mismatch in
    ;; the first string.

    (define (compare-ranges fold string1 start1 end1 string2 start2 end2 finish)
      (let loop ((i start1) (j start2))
        (cond ((= i end1) (finish (if (= j end2) 0 -1) i))
              ((= j end2) (finish 1 i))
              (else
               (let ((x (fold (string-ref string1 i)))
                     (y (fold (string-ref string2 j))))
                 (cond ((char<? x y) (finish -1 i))
                       ((char<? y x) (finish 1 i))
                       (else (loop (+ i 1) (+ j 1)))))))))

    (define (itself char) char)

    (define-syntax define-comparer
      (syntax-rules ()
        ((_ name fold)
         (define (name string1 string2 less equal greater . range)
           (check-procedure 'name 3 less)
           (check-procedure 'name 4 equal)
           (check-procedure 'name 5 greater)
           (with-two-ranges 'name 6 string1 1 string2 2 range
             (lambda (start1 end1 start2 end2)
               (compare-ranges fold string1 start1 end1 string2 start2 end2
                 (lambda (order index)
                   ((cond ((negative? order) less)
                          ((positive? order) greater)
                          (else equal))
                    index)))))))))

    (define-comparer string-compare itself)
    (define-comparer string-compare-ci char-foldcase)

    (define-syntax define-comparisons
      (syntax-rules ()
        ((_ fold (name holds?) ...)
         (begin
           (define-two-ranged (name (string1 string2) string1 start1 end1 string2 start2 end2)
             (compare-ranges fold string1 start1 end1 string2 start2 end2
               (lambda (order index) (holds? order))))
           ...))))

    (define (nonzero? order) (not (zero? order)))
    (define (nonpositive? order) (not (positive? order)))
    (define (nonnegative? order) (not (negative? order)))

    (define-comparisons itself
      (string= zero?) (string<> nonzero?) (string< negative?) (string> positive?)
      (string<= nonpositive?) (string>= nonnegative?))

    (define-comparisons char-foldcase
      (string-ci= zero?) (string-ci<> nonzero?) (string-ci< negative?) (string-ci> positive?)
      (string-ci<= nonpositive?) (string-ci>= nonnegative?))

    (define (bounded who hash bound)
      (if (not (exact-nonnegative-integer? bound))
          (%type-error who 2 "exact non-negative integer" bound))
      (if (eqv? bound 0) hash (modulo hash bound)))

    (define-ranged (hash-range (string bound) string start end)
      (bounded 'string-hash (hash-string (substring string start end)) bound))

    (define-ranged (hash-range-ci (string bound) string start end)
      (bounded 'string-hash-ci (string-ci-hash (substring string start end)) bound))

    (define ranged-string-hash
      (case-lambda
        ((string) (hash-range string 0))
        ((string bound) (hash-range string bound))
        ((string bound start) (hash-range string bound start))
        ((string bound start end) (hash-range string bound start end))))

    (define string-hash-ci
      (case-lambda
        ((string) (hash-range-ci string 0))
        ((string bound) (hash-range-ci string bound))
        ((string bound start) (hash-range-ci string bound start))
        ((string bound start end) (hash-range-ci string bound start end))))

    ;; Prefixes and suffixes.

    (define-syntax define-common
      (syntax-rules ()
        ((_ common same? length-name (whole-name s1 s2) whole ...)
         (begin
           (define-two-ranged (length-name (s1 s2) s1 start1 end1 s2 start2 end2)
             (common same? s1 start1 end1 s2 start2 end2))
           (define-two-ranged (whole-name (s1 s2) s1 start1 end1 s2 start2 end2)
             whole ...
             (let ((length1 (- end1 start1)))
               (and (<= length1 (- end2 start2))
                    (= length1 (common same? s1 start1 end1 s2 start2 end2)))))))))

    (define-common common-prefix-length char=? string-prefix-length (string-prefix? s1 s2)
      (whole (is-prefix? s1 s2)))
    (define-common common-suffix-length char=? string-suffix-length (string-suffix? s1 s2)
      (whole (is-suffix? s1 s2)))
    (define-common common-prefix-length char-ci=? string-prefix-length-ci
      (string-prefix-ci? s1 s2))
    (define-common common-suffix-length char-ci=? string-suffix-length-ci
      (string-suffix-ci? s1 s2))

    ;; Searching.

    (define-ranged (string-index (string wanted) string start end)
      (whole
       (if (char? wanted)
           (%string-index string wanted)
           (with-predicate (wanted 'string-index 2)
             (find-forward wanted string 0 (string-length string)))))
      (if (char? wanted)
          (%string-index string wanted start end)
          (with-predicate (wanted 'string-index 2) (find-forward wanted string start end))))

    (define-ranged (string-index-right (string wanted) string start end)
      (whole
       (if (char? wanted)
           (%string-rindex string wanted)
           (with-predicate (wanted 'string-index-right 2)
             (find-backward wanted string 0 (string-length string)))))
      (if (char? wanted)
          (%string-rindex string wanted start end)
          (with-predicate (wanted 'string-index-right 2)
            (find-backward wanted string start end))))

    (define-ranged (string-skip (string unwanted) string start end)
      (if (char? unwanted)
          (skip-char-forward unwanted string start end)
          (with-predicate (unwanted 'string-skip 2) (skip-forward unwanted string start end))))

    (define-ranged (string-skip-right (string unwanted) string start end)
      (if (char? unwanted)
          (skip-char-backward unwanted string start end)
          (with-predicate (unwanted 'string-skip-right 2)
            (skip-backward unwanted string start end))))

    (define-ranged (string-count (string wanted) string start end)
      (if (char? wanted)
          (count-char wanted string start end)
          (with-predicate (wanted 'string-count 2) (count-range wanted string start end))))

    (define-two-ranged (string-contains (s1 s2) s1 start1 end1 s2 start2 end2)
      (whole (contains s1 s2))
      (search-forward s1 start1 end1 s2 start2 end2))

    ;; Folded character by character, both have the length that they had.
    (define-two-ranged (string-contains-ci (s1 s2) s1 start1 end1 s2 start2 end2)
      (let ((found (contains (map-range char-foldcase s1 start1 end1)
                             (map-range char-foldcase s2 start2 end2))))
        (and found (+ start1 found))))

    ;; Case.

    (define (map-range procedure string start end)
      (let loop ((index (- end 1)) (chars '()))
        (if (>= index start)
            (loop (- index 1) (cons (procedure (string-ref string index)) chars))
            (list->string chars))))

    (define-ranged (string-upcase! (string) string start end)
      (string-copy! string start (map-range char-upcase string start end)))

    (define-ranged (string-downcase! (string) string start end)
      (string-copy! string start (map-range char-downcase string start end)))

    ;; The first letter of each run of letters is in title case, the others in lower case.
    (define (titlecase string start end)
      (let loop ((index start) (inside? #f) (chars '()))
        (if (< index end)
            (let ((char (string-ref string index)))
              (if (char-alphabetic? char)
                  (loop (+ index 1)
                        #t
                        (cons (if inside? (char-downcase char) (char-titlecase char)) chars))
                  (loop (+ index 1) #f (cons char chars))))
            (%reverse-list->string chars))))

    (define-ranged (string-titlecase (string) string start end)
      (titlecase string start end))

    (define-ranged (string-titlecase! (string) string start end)
      (string-copy! string start (titlecase string start end)))

    (define-ranged (string-reverse (string) string start end)
      (whole (reverse-characters string))
      (reverse-characters string start end))

    (define-ranged (string-reverse! (string) string start end)
      (string-copy! string start (string-reverse string start end)))

    ;; Mapping.

    (define-ranged (string-map! (procedure string) string start end)
      (check-procedure 'string-map! 1 procedure)
      (let loop ((index start))
        (if (< index end)
            (let ((char (procedure (string-ref string index))))
              (check-char 'string-map! 1 char)
              (string-set! string index char)
              (loop (+ index 1))))))

    (define-ranged (string-fold (kons knil string) string start end)
      (check-procedure 'string-fold 1 kons)
      (string-fold-in kons knil string start end))

    (define-ranged (string-fold-right (kons knil string) string start end)
      (check-procedure 'string-fold-right 1 kons)
      (string-fold-right-in kons knil string start end))

    (define-ranged (string-for-each-index (procedure string) string start end)
      (check-procedure 'string-for-each-index 1 procedure)
      (let loop ((index start))
        (if (< index end)
            (begin
              (procedure index)
              (loop (+ index 1))))))

    ;; Replication.

    (define-ranged (replicated (string from to) string start end)
      (replicate 'xsubstring string from (or to (+ from (- end start))) start end))

    (define xsubstring
      (case-lambda
        ((string from) (replicated string from #f))
        ((string from to) (replicated string from to))
        ((string from to start) (replicated string from to start))
        ((string from to start end) (replicated string from to start end))))

    (define (string-xcopy! target at string from . to+range)
      (check-string 'string-xcopy! 1 target)
      (let ((piece (apply xsubstring string from to+range)))
        (if (not (and (exact-nonnegative-integer? at)
                      (<= (+ at (string-length piece)) (string-length target))))
            (%range-error 'string-xcopy! 2 "an index with room for the characters" at))
        (string-copy! target at piece)))

    (define string-replace
      (case-lambda
        ((s1 s2 start1 end1)
         (check-string 'string-replace 1 s1)
         (check-string 'string-replace 2 s2)
         (check-indexes 'string-replace 3 start1 end1 (string-length s1))
         (replace-range s1 start1 end1 s2 0 (string-length s2)))
        ((s1 s2 start1 end1 start2 . end2)
         (with-two-ranges 'string-replace 3 s1 1 s2 2 (cons* start1 end1 start2 end2)
           (lambda (start1 end1 start2 end2)
             (replace-range s1 start1 end1 s2 start2 end2))))))

    (define-ranged (tokenize (string token) string start end)
      (let ((inside? (criterion 'string-tokenize 2 token)))
        (let loop ((end end) (tokens '()))
          (let ((last (find-backward inside? string start end)))
            (if last
                (let ((before (skip-backward inside? string start last)))
                  (let ((first (if before (+ before 1) start)))
                    (loop first (cons (substring string first (+ last 1)) tokens))))
                tokens)))))

    (define string-tokenize
      (case-lambda
        ((string) (tokenize string char-set:graphic))
        ((string token) (tokenize string token))
        ((string token start) (tokenize string token start))
        ((string token start end) (tokenize string token start end))))

    ;; Both orders of the first two arguments are in use.

    (define-syntax define-filter
      (syntax-rules ()
        ((_ name general filter-in)
         (begin
           (define-ranged (general (wanted string) string start end)
             (with-predicate (wanted 'name 1) (filter-in wanted string start end)))
           (define name
             (case-lambda
               ((wanted string)
                (if (and (procedure? wanted) (string? string))
                    (filter-in wanted string 0 (string-length string))
                    (if (string? wanted)
                        (general string wanted)
                        (general wanted string))))
               ((wanted string . range)
                (if (string? wanted)
                    (apply general string wanted range)
                    (apply general wanted string range)))))))))

    (define-filter string-filter filter-string filter-range)
    (define-filter string-delete delete-from-string filter-out-range)

    ;; Low level.

    (define (substring-spec-ok? string start end)
      (and (string? string)
           (exact-integer? start)
           (exact-integer? end)
           (<= 0 start end (string-length string))))

    (define (check-substring-spec who string start end)
      (check-string who 1 string)
      (check-indexes who 2 start end (string-length string)))

    ;; The rest of the arguments, start and end.
    (define (string-parse-start+end who string arguments)
      (check-string who 1 string)
      (let* ((start (if (pair? arguments) (car arguments) 0))
             (more (if (pair? arguments) (cdr arguments) '()))
             (end (if (pair? more) (car more) (string-length string))))
        (check-indexes who 2 start end (string-length string))
        (values (if (pair? more) (cdr more) '()) start end)))

    (define (string-parse-final-start+end who string arguments)
      (let-values (((rest start end) (string-parse-start+end who string arguments)))
        (if (pair? rest)
            (%range-error who 4 "no further argument" (car rest)))
        (values start end)))

    (define-syntax let-string-start+end
      (syntax-rules ()
        ((_ (start end) who string arguments body ...)
         (let-values (((start end) (string-parse-final-start+end who string arguments)))
           body ...))
        ((_ (start end rest) who string arguments body ...)
         (let-values (((rest start end) (string-parse-start+end who string arguments)))
           body ...))))

    ;; Knuth, Morris and Pratt: element i of the vector is how much of the pattern is matched
    ;; already when its character i does not match. It is -1 for none, this character
    ;; included.

    (define-ranged (restart-vector (pattern same?) pattern start end)
      (check-procedure 'make-kmp-restart-vector 2 same?)
      (let* ((length (- end start))
             (restarts (make-vector length -1)))
        (if (> length 0)
            (let loop ((i 0) (j -1))
              (if (< (+ i 1) length)
                  (let ((next-i (+ i 1)) (char (string-ref pattern (+ start i))))
                    (let back ((j j))
                      (if (or (= j -1) (same? char (string-ref pattern (+ start j))))
                          (let ((j (+ j 1)))
                            (vector-set! restarts
                                         next-i
                                         (if (same? (string-ref pattern (+ start next-i))
                                                    (string-ref pattern (+ start j)))
                                             (vector-ref restarts j)
                                             j))
                            (loop next-i j))
                          (back (vector-ref restarts j))))))))
        restarts))

    (define make-kmp-restart-vector
      (case-lambda
        ((pattern) (restart-vector pattern char=?))
        ((pattern same?) (restart-vector pattern same?))
        ((pattern same? start) (restart-vector pattern same? start))
        ((pattern same? start end) (restart-vector pattern same? start end))))

    (define (kmp-step pattern restarts char i same? pattern-start)
      (let loop ((i i))
        (cond ((same? char (string-ref pattern (+ i pattern-start))) (+ i 1))
              ((= -1 (vector-ref restarts i)) 0)
              (else (loop (vector-ref restarts i))))))

    ;; How much of the pattern is matched at the end of the string, or the negated index in the
    ;; string behind a whole match.
    (define (string-kmp-partial-search pattern restarts string i . options)
      (check-string 'string-kmp-partial-search 1 pattern)
      (if (not (vector? restarts))
          (%type-error 'string-kmp-partial-search 2 "vector" restarts))
      (let* ((same? (if (pair? options) (car options) char=?))
             (options (if (pair? options) (cdr options) '()))
             (pattern-start (if (pair? options) (car options) 0))
             (range (if (pair? options) (cdr options) '()))
             (length (vector-length restarts)))
        (check-count 'string-kmp-partial-search 4 i length)
        (let-string-start+end (start end) 'string-kmp-partial-search string range
          (let loop ((index start) (i i))
            (cond ((= i length) (- index))
                  ((= index end) i)
                  (else
                   (loop (+ index 1)
                         (kmp-step pattern restarts (string-ref string index) i
                                   same? pattern-start))))))))))
