;;; (canny data strings): what the string libraries of SRFIs 13, 130 and 152 have in common.
;;;
;;; `define-ranged` defines a procedure that takes an optional range of a string; its body sees
;;; start and end as checked indexes. A criterion is a predicate, a character or a character set.

(define-library (canny data strings)
  (export define-ranged define-two-ranged with-two-ranges
          check-string check-procedure check-range check-count check-char criterion
          find-forward find-backward
          string-every-in string-any-in string-fold-in string-fold-right-in
          string-unfold string-unfold-right
          string-tabulate
          string-take string-take-right string-drop string-drop-right
          pad-left pad-right
          common-prefix-length common-suffix-length search-forward search-backward
          string-join-list string-concatenate-reverse
          replicate replace-range filter-range count-range
          reverse-list->string)
  (import (canny primitives) (canny syntax) (only (srfi 14) char-set? char-set-contains?))
  (begin

    ;; Checks.

    (define (check-string who position object)
      (if (not (string? object))
          (%type-error who position "string" object)))

    (define (check-procedure who position object)
      (if (not (procedure? object))
          (%type-error who position "procedure" object)))

    (define (check-char who position object)
      (if (not (char? object))
          (%type-error who position "character" object)))

    (define (check-count who position count limit)
      (if (not (and (exact-nonnegative-integer? count) (<= count limit)))
          (%range-error who position "at most the length of the string" count)))

    ;; Start and end are arguments `position` and the next.
    (define (check-range who position start end length)
      (if (not (and (exact-integer? end) (<= 0 end length)))
          (%range-error who (+ position 1) "an index of the string" end))
      (if (not (and (exact-integer? start) (<= 0 start end)))
          (%range-error who position "an index not above the end" start)))

    (define (criterion who position object)
      (cond ((procedure? object) object)
            ((char? object) (lambda (char) (eq? char object)))
            ((char-set? object) (lambda (char) (char-set-contains? object char)))
            (else (%type-error who position "predicate, character or character set" object))))

    ;; (define-ranged (name (parameter ...) string start end) body ...)
    ;; defines `name` with the parameters, of which `string` is one, and optional start and end.
    (define-syntax define-ranged
      (syntax-rules ()
        ((_ (name (parameter ...) string start end) body ...)
         (define name
           (let ((work (lambda (parameter ... start end) body ...))
                 (position (+ 1 (length '(parameter ...)))))
             (case-lambda
               ((parameter ...)
                (check-string 'name (place string parameter ...) string)
                (work parameter ... 0 (string-length string)))
               ((parameter ... start)
                (check-string 'name (place string parameter ...) string)
                (let ((end (string-length string)))
                  (check-range 'name position start end end)
                  (work parameter ... start end)))
               ((parameter ... start end)
                (check-string 'name (place string parameter ...) string)
                (check-range 'name position start end (string-length string))
                (work parameter ... start end))))))))

    ;; The position of a parameter among the parameters.
    (define-syntax place
      (syntax-rules ()
        ((_ wanted parameter ...)
         (- (+ 1 (length '(parameter ...))) (length (memq 'wanted '(parameter ...)))))))

    ;; Likewise with two strings and two ranges.
    (define-syntax define-two-ranged
      (syntax-rules ()
        ((_ (name (parameter ...) string1 start1 end1 string2 start2 end2) body ...)
         (define (name parameter ... . range)
           (with-two-ranges 'name (+ 1 (length '(parameter ...)))
             string1 (place string1 parameter ...)
             string2 (place string2 parameter ...)
             range
             (lambda (start1 end1 start2 end2) body ...))))))

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

    (define (find-forward wanted? string start end)
      (let loop ((index start))
        (cond ((>= index end) #f)
              ((wanted? (string-ref string index)) index)
              (else (loop (+ index 1))))))

    (define (find-backward wanted? string start end)
      (let loop ((index (- end 1)))
        (cond ((< index start) #f)
              ((wanted? (string-ref string index)) index)
              (else (loop (- index 1))))))

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

    (define (filter-range wanted? string start end)
      (let loop ((index start) (chars '()))
        (if (< index end)
            (let ((char (string-ref string index)))
              (loop (+ index 1) (if (wanted? char) (cons char chars) chars)))
            (%reverse-list->string chars))))

    ;; Constructors.

    (define (string-tabulate procedure count)
      (check-procedure 'string-tabulate 1 procedure)
      (if (not (exact-nonnegative-integer? count))
          (%type-error 'string-tabulate 2 "index" count))
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

    (define (string-take string count)
      (check-string 'string-take 1 string)
      (check-count 'string-take 2 count (string-length string))
      (substring string 0 count))

    (define (string-drop string count)
      (check-string 'string-drop 1 string)
      (check-count 'string-drop 2 count (string-length string))
      (substring string count (string-length string)))

    (define (string-take-right string count)
      (check-string 'string-take-right 1 string)
      (check-count 'string-take-right 2 count (string-length string))
      (substring string (- (string-length string) count) (string-length string)))

    (define (string-drop-right string count)
      (check-string 'string-drop-right 1 string)
      (check-count 'string-drop-right 2 count (string-length string))
      (substring string 0 (- (string-length string) count)))

    (define (check-padding who length char)
      (if (not (exact-nonnegative-integer? length))
          (%type-error who 2 "index" length))
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
      (string-append (substring string1 0 start1)
                     (substring string2 start2 end2)
                     (substring string1 end1 (string-length string1))))))
