;;; (canny data strings): what the string libraries of SRFIs 13, 130 and 152 have in common.
;;;
;;; `define-ranged` defines a procedure that takes an optional range of a string; its body sees
;;; start and end as checked indexes. A criterion is a predicate, a character or a character set.
;;;
;;; The clause for a whole string is what programs copy to their calls. So checks are syntax that
;;; calls a procedure only to raise an error: a clause that mentioned the texts of errors could not
;;; be copied. Loops call a predicate at as few places as they can.

(define-library (canny data strings)
  (export define-ranged define-two-ranged with-two-ranges with-predicate
          check-string check-procedure check-range check-count check-char criterion
          find-forward find-backward skip-forward skip-backward
          find-char-forward find-char-backward skip-char-forward skip-char-backward
          string-every-in string-any-in string-fold-in string-fold-right-in
          string-unfold string-unfold-right
          string-tabulate
          string-take string-take-right string-drop string-drop-right
          pad-left pad-right
          common-prefix-length common-suffix-length search-forward search-backward
          string-join-list string-concatenate-reverse
          replicate replace-range filter-range filter-out-range count-range count-char
          reverse-list->string)
  (import (canny primitives) (canny syntax) (only (canny data sequences) string-filter-range)
          (only (srfi 14) char-set? char-set-contains?))
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

    (define-check check-string string? not-a-string "string")
    (define-check check-procedure procedure? not-a-procedure "procedure")
    (define-check check-char char? not-a-character "character")

    (define-syntax check-count
      (syntax-rules ()
        ((_ who position count limit)
         (if (not (and (fixnum? count) (<= 0 count) (<= count limit)))
             (bad-count who position count)))))

    (define (bad-count who position count)
      (%range-error who position "at most the length of the string" count))

    ;; Start and end are arguments `position` and the next.
    (define (check-range who position start end length)
      (if (not (and (fixnum? end) (<= 0 end) (<= end length)))
          (%range-error who (+ position 1) "an index of the string" end))
      (if (not (and (fixnum? start) (<= 0 start) (<= start end)))
          (%range-error who position "an index not above the end" start)))

    (define (criterion who position object)
      (cond ((procedure? object) object)
            ((char? object) (lambda (char) (eq? char object)))
            ((char-set? object) (lambda (char) (char-set-contains? object char)))
            (else (%type-error who position "predicate, character or character set" object))))

    ;; Evaluates the expression, in which the variable is a predicate instead of a criterion.
    (define-syntax with-predicate
      (syntax-rules ()
        ((_ (variable who position) expression)
         (if (procedure? variable)
             expression
             (let ((variable (criterion who position variable))) expression)))))

    ;; (define-ranged (name (parameter ...) string start end) body ...)
    ;; defines `name` with the parameters, of which `string` is one, and optional start and end.
    ;; `(whole expression)` in front of the body is evaluated for a string without a range.
    (define-syntax define-ranged
      (syntax-rules (whole)
        ((_ (name (parameter ...) string start end) (whole expression) body ...)
         (begin
           (define (work parameter ... start end) body ...)
           (define name
             (case-lambda
               ((parameter ...)
                (check-string 'name (place string parameter ...) string)
                expression)
               ((parameter ... start)
                (check-string 'name (place string parameter ...) string)
                (let ((end (string-length string)))
                  (check-range 'name (place-behind parameter ...) start end end)
                  (work parameter ... start end)))
               ((parameter ... start end)
                (check-string 'name (place string parameter ...) string)
                (check-range 'name (place-behind parameter ...) start end (string-length string))
                (work parameter ... start end))))))
        ((_ (name (parameter ...) string start end) body ...)
         (define-ranged (name (parameter ...) string start end)
           (whole (let ((start 0) (end (string-length string))) body ...))
           body ...))))

    ;; The position of a parameter among the parameters, and that of the argument behind them.
    (define-syntax place
      (syntax-rules ()
        ((_ wanted parameter ...)
         (- (+ 1 (length '(parameter ...))) (length (memq 'wanted '(parameter ...)))))))

    (define-syntax place-behind
      (syntax-rules ()
        ((_ parameter ...) (+ 1 (length '(parameter ...))))))

    ;; Likewise with two strings and two ranges.
    (define-syntax define-two-ranged
      (syntax-rules (whole)
        ((_ (name (parameter ...) string1 start1 end1 string2 start2 end2)
            (whole expression) body ...)
         (define name
           (case-lambda
             ((parameter ...) expression)
             ((parameter ... . range)
              (with-two-ranges 'name (place-behind parameter ...)
                string1 (place string1 parameter ...)
                string2 (place string2 parameter ...)
                range
                (lambda (start1 end1 start2 end2) body ...))))))
        ((_ (name (parameter ...) string1 start1 end1 string2 start2 end2) body ...)
         (define-two-ranged (name (parameter ...) string1 start1 end1 string2 start2 end2)
           (whole
            (begin
              (check-string 'name (place string1 parameter ...) string1)
              (check-string 'name (place string2 parameter ...) string2)
              (let ((start1 0)
                    (end1 (string-length string1))
                    (start2 0)
                    (end2 (string-length string2)))
                body ...)))
           body ...))))

    (define (with-two-ranges who position string1 place1 string2 place2 range work)
      (check-string who place1 string1)
      (check-string who place2 string2)
      (let* ((next (lambda (default)
                     (if (pair? range)
                         (let ((value (car range)))
                           (set! range (cdr range))
                           value)
                         default)))
             (start1 (next 0))
             (end1 (next (string-length string1)))
             (start2 (next 0))
             (end2 (next (string-length string2))))
        (if (pair? range)
            (%range-error who (+ position 4) "no further argument" (car range)))
        (check-range who position start1 end1 (string-length string1))
        (check-range who (+ position 2) start2 end2 (string-length string2))
        (work start1 end1 start2 end2)))

    ;; Searching for a character; #f when there is none.

    (define-syntax define-search
      (syntax-rules ()
        ((_ (forward backward parameter char) test)
         (begin
           (define (forward parameter string start end)
             (let loop ((index start))
               (cond ((>= index end) #f)
                     ((let ((char (string-ref string index))) test) index)
                     (else (loop (+ index 1))))))
           (define (backward parameter string start end)
             (let loop ((index (- end 1)))
               (cond ((< index start) #f)
                     ((let ((char (string-ref string index))) test) index)
                     (else (loop (- index 1))))))))))

    (define-search (find-forward find-backward wanted? char) (wanted? char))
    (define-search (skip-forward skip-backward unwanted? char) (not (unwanted? char)))
    (define-search (find-char-forward find-char-backward wanted char) (eq? char wanted))
    (define-search (skip-char-forward skip-char-backward unwanted char)
      (not (eq? char unwanted)))

    (define (string-every-in wanted? string start end)
      (if (= start end)
          #t
          ;; The last call is a tail call.
          (let loop ((index start))
            (if (= (+ index 1) end)
                (wanted? (string-ref string index))
                (and (wanted? (string-ref string index))
                     (loop (+ index 1)))))))

    (define (string-any-in wanted? string start end)
      (and (< start end)
           (let loop ((index start))
             (if (= (+ index 1) end)
                 (wanted? (string-ref string index))
                 (or (wanted? (string-ref string index))
                     (loop (+ index 1)))))))

    (define (string-fold-in kons knil string start end)
      (let loop ((index start) (state knil))
        (if (< index end)
            (loop (+ index 1) (kons (string-ref string index) state))
            state)))

    (define (string-fold-right-in kons knil string start end)
      (let loop ((index (- end 1)) (state knil))
        (if (>= index start)
            (loop (- index 1) (kons (string-ref string index) state))
            state)))

    (define (count-range wanted? string start end)
      (let loop ((index start) (count 0))
        (if (< index end)
            (loop (+ index 1) (if (wanted? (string-ref string index)) (+ count 1) count))
            count)))

    (define (count-char wanted string start end)
      (let loop ((index start) (count 0))
        (if (< index end)
            (loop (+ index 1) (if (eq? wanted (string-ref string index)) (+ count 1) count))
            count)))

    (define filter-range string-filter-range)

    (define (filter-out-range unwanted? string start end)
      (string-filter-range (lambda (char) (not (unwanted? char))) string start end))

    ;; Constructors.

    (define (check-index who position object)
      (if (not (exact-nonnegative-integer? object))
          (%type-error who position "index" object)))

    (define (string-tabulate procedure count)
      (check-procedure 'string-tabulate 1 procedure)
      (if (not (and (fixnum? count) (<= 0 count)))
          (check-index 'string-tabulate 2 count))
      (let loop ((index 0) (chars '()))
        (if (< index count)
            (let ((char (procedure index)))
              (check-char 'string-tabulate 1 char)
              (loop (+ index 1) (cons char chars)))
            (%reverse-list->string chars))))

    ;; A mapper returns a character or a string; so are bases and final parts.
    (define (as-string who position piece)
      (cond ((char? piece) (string piece))
            ((string? piece) piece)
            (else (%type-error who position "character or string" piece))))

    ;; Calls `finish` with the pieces, last first, and the final part.
    (define (unfold-pieces who stop? mapper successor seed make-final finish)
      (check-procedure who 1 stop?)
      (check-procedure who 2 mapper)
      (check-procedure who 3 successor)
      (let loop ((seed seed) (pieces '()))
        (if (stop? seed)
            (finish pieces (as-string who 6 (make-final seed)))
            (let ((piece (mapper seed)))
              (if (not (or (char? piece) (string? piece)))
                  (as-string who 2 piece))
              (loop (successor seed) (cons piece pieces))))))

    (define (no-final seed) "")

    (define (concatenate-pieces pieces)
      (let loop ((rest pieces) (all-chars? #t))
        (cond ((pair? rest) (loop (cdr rest) (and all-chars? (char? (car rest)))))
              (all-chars? (list->string pieces))
              (else
               (string-concatenate
                (let convert ((rest pieces) (strings '()))
                  (if (pair? rest)
                      (convert (cdr rest)
                               (cons (if (char? (car rest)) (string (car rest)) (car rest))
                                     strings))
                      (reverse! strings))))))))

    (define string-unfold
      (case-lambda
        ((stop? mapper successor seed) (string-unfold stop? mapper successor seed "" no-final))
        ((stop? mapper successor seed base)
         (string-unfold stop? mapper successor seed base no-final))
        ((stop? mapper successor seed base make-final)
         (let ((base (as-string 'string-unfold 5 base)))
           (unfold-pieces 'string-unfold stop? mapper successor seed make-final
             (lambda (pieces final)
               (string-append base (concatenate-pieces (reverse pieces)) final)))))))

    (define string-unfold-right
      (case-lambda
        ((stop? mapper successor seed)
         (string-unfold-right stop? mapper successor seed "" no-final))
        ((stop? mapper successor seed base)
         (string-unfold-right stop? mapper successor seed base no-final))
        ((stop? mapper successor seed base make-final)
         (let ((base (as-string 'string-unfold-right 5 base)))
           (unfold-pieces 'string-unfold-right stop? mapper successor seed make-final
             (lambda (pieces final)
               (string-append final (concatenate-pieces pieces) base)))))))

    (define (reverse-list->string chars)
      (if (not (list? chars))
          (%type-error 'reverse-list->string 1 "list" chars))
      (%reverse-list->string chars))

    ;; Parts.

    ;; Raises the error of a procedure that takes as many characters as a string does not have.
    (define (bad-part who string count)
      (check-string who 1 string)
      (bad-count who 2 count))

    (define-syntax define-part
      (syntax-rules ()
        ((_ (name string count length) start end)
         (define (name string count)
           (if (and (string? string)
                    (fixnum? count)
                    (<= 0 count)
                    (<= count (string-length string)))
               (let ((length (string-length string)))
                 (substring string start end))
               (bad-part 'name string count))))))

    (define-part (string-take string count length) 0 count)
    (define-part (string-drop string count length) count length)
    (define-part (string-take-right string count length) (- length count) length)
    (define-part (string-drop-right string count length) 0 (- length count))

    (define (check-padding who length char)
      (check-index who 2 length)
      (check-char who 3 char))

    (define (pad-left who string length char start end)
      (check-padding who length char)
      (let ((missing (- length (- end start))))
        (if (> missing 0)
            (string-append (make-string missing char) (substring string start end))
            (substring string (- end length) end))))

    (define (pad-right who string length char start end)
      (check-padding who length char)
      (let ((missing (- length (- end start))))
        (if (> missing 0)
            (string-append (substring string start end) (make-string missing char))
            (substring string start (+ start length)))))

    ;; Two strings.

    (define (common-prefix-length same? string1 start1 end1 string2 start2 end2)
      (let ((limit (min (- end1 start1) (- end2 start2))))
        (let loop ((count 0))
          (if (and (< count limit)
                   (same? (string-ref string1 (+ start1 count))
                          (string-ref string2 (+ start2 count))))
              (loop (+ count 1))
              count))))

    (define (common-suffix-length same? string1 start1 end1 string2 start2 end2)
      (let ((limit (min (- end1 start1) (- end2 start2))))
        (let loop ((count 0))
          (if (and (< count limit)
                   (same? (string-ref string1 (- end1 count 1))
                          (string-ref string2 (- end2 count 1))))
              (loop (+ count 1))
              count))))

    ;; The index at which the second range first or last occurs in the first, or #f.

    (define (search-forward string1 start1 end1 string2 start2 end2)
      (string-contains string1 (substring string2 start2 end2) start1 end1))

    (define (search-backward string1 start1 end1 string2 start2 end2)
      (let* ((pattern (substring string2 start2 end2))
             (found (string-search-backward pattern (substring string1 start1 end1)
                                            (- end1 start1))))
        ;; It gives the index behind the match.
        (and found (+ start1 (- found (string-length pattern))))))

    ;; Joining.

    (define (string-join-list strings delimiter grammar)
      (if (not (list? strings))
          (%type-error 'string-join 1 "list of strings" strings))
      (check-string 'string-join 2 delimiter)
      (case grammar
        ((infix) (string-join strings delimiter))
        ((strict-infix)
         (if (null? strings)
             (%range-error 'string-join 1 "a list that is not empty" strings))
         (string-join strings delimiter))
        ((suffix)
         (if (null? strings) "" (string-append (string-join strings delimiter) delimiter)))
        ((prefix)
         (if (null? strings) "" (string-append delimiter (string-join strings delimiter))))
        (else
         (%range-error 'string-join 3 "infix, strict-infix, suffix or prefix" grammar))))

    (define string-concatenate-reverse
      (case-lambda
        ((strings) (string-concatenate-reverse strings ""))
        ((strings final)
         (check-string 'string-concatenate-reverse 2 final)
         (string-concatenate-reverse strings final (string-length final)))
        ((strings final end)
         (if (not (list? strings))
             (%type-error 'string-concatenate-reverse 1 "list of strings" strings))
         (check-string 'string-concatenate-reverse 2 final)
         (check-count 'string-concatenate-reverse 3 end (string-length final))
         (string-concatenate (append-reverse strings (list (substring final 0 end)))))))

    ;; The characters from index `from` to index `to` of a range of a string, repeated without end
    ;; in both directions.
    (define (replicate who string from to start end)
      (if (not (exact-integer? from))
          (%type-error who 2 "exact integer" from))
      (if (not (and (exact-integer? to) (<= from to)))
          (%range-error who 3 "an exact integer not below the one before" to))
      (let ((length (- end start)) (count (- to from)))
        (cond ((= count 0) "")
              ((= length 0)
               (%range-error who 1 "a string with characters" string))
              (else
               (let* ((phase (modulo from length))
                      (turns (+ 1 (quotient (+ phase count) length))))
                 (substring (string-repeat (substring string start end) turns)
                            phase
                            (+ phase count)))))))

    (define (replace-range string1 start1 end1 string2 start2 end2)
      (let ((length2 (string-length string2)))
        (string-append (substring string1 0 start1)
                       (if (and (eqv? start2 0) (eqv? end2 length2))
                           string2
                           (substring string2 start2 end2))
                       (substring string1 end1 (string-length string1)))))))
