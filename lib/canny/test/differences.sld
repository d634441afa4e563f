;;; (canny test differences): where two values differ.
;;;
;;; (differences expected actual) gives lines for people, or the empty list when the two are so
;;; small that they show it themselves. A line that begins with "at" says where. [3] is an element
;;; of a list, a vector or a bytevector. .name is a field of a record, {key} the value of a key in a
;;; hash table. Below stand lines that begin with "- " for what was expected and "+ " for what came.
;;; Of long texts the lines that differ are shown between their neighbours.
;;;
;;; Sequences are laid beside each other by a longest common subsequence if little is left
;;; without their common beginning and end. Else they are laid position by position.

(define-library (canny test differences)
  (export differences same? show-value)
  (import (scheme base) (scheme cxr) (scheme write)
          (only (canny primitives)
                %make-hash-table %hash-table? %hash-table-ref %hash-table-set! %hash-table-contains?
                %hash-table-keys record? record-type-descriptor record-type-field-names %record-ref
                condition->string condition-kind))
  (begin

    ;; Differences that are shown at most.
    (define differences-max 8)

    ;; Characters of a value that are shown at most.
    (define characters-max 2000)

    ;; Characters of a value that needs no look at its parts.
    (define small-value-characters 40)

    ;; Entries of the table of common subsequences at most.
    (define table-entries-max 250000)

    ;; How deep the parts of parts are looked at.
    (define depth-max 100)

    (define (not-a-number? object)
      (and (number? object) (not (= object object))))

    (define (same? expected actual)
      (or (equal? expected actual)
          (and (not-a-number? expected) (not-a-number? actual))))

    (define (written object)
      (let ((port (open-output-string)))
        (write object port)
        (get-output-string port)))

    ;; The written form of a value, cut if it is long.
    (define (show-value object)
      (cut-off (written object) characters-max))

    (define (cut-off text characters)
      (let ((length (string-length text)))
        (if (<= length characters)
            text
            (string-append (substring text 0 characters)
                           "... ("
                           (number->string (- length characters))
                           " characters more)"))))

    ;; The differences found so far.
    (define-record-type finding
      (make-finding lines count seen)
      finding?
      ;; Newest first.
      (lines finding-lines set-finding-lines!)
      (count finding-count set-finding-count!)
      ;; From an object to the list of objects that it was compared with.
      (seen finding-seen))

    (define (differences expected actual)
      (let ((finding (make-finding '() 0 (%make-hash-table 'eq #f 16))))
        (if (not (and (small? expected) (small? actual)))
            (compare finding "" 0 expected actual))
        (let ((count (finding-count finding)))
          (if (> count differences-max)
              (note! finding
                     (string-append (number->string (- count differences-max))
                                    " more differences"))))
        (let ((lines (reverse (finding-lines finding))))
          ;; Expected and actual value say it already.
          (if (and (= (finding-count finding) 1) (not (string? expected)) (at-root? lines))
              '()
              lines))))

    (define (at-root? lines)
      (and (pair? lines) (string-prefix? "- " (car lines))))

    (define (string-prefix? prefix text)
      (and (>= (string-length text) (string-length prefix))
           (string=? prefix (substring text 0 (string-length prefix)))))

    (define (small? object)
      (or (number? object)
          (symbol? object)
          (boolean? object)
          (char? object)
          (and (string? object)
               (< (string-length object) small-value-characters)
               (not (has-line-break? object)))
          (and (or (pair? object) (vector? object) (bytevector? object))
               (< (string-length (written object)) small-value-characters))))

    (define (note! finding line)
      (set-finding-lines! finding (cons line (finding-lines finding))))

    ;; Adds a difference; the lines of those that are not shown are never made.
    (define (add! finding path make-lines)
      (set-finding-count! finding (+ (finding-count finding) 1))
      (if (<= (finding-count finding) differences-max)
          (begin
            (if (not (string=? path ""))
                (note! finding (string-append "at " path)))
            (for-each (lambda (line) (note! finding line)) (make-lines)))))

    (define (element path index)
      (string-append path "[" (number->string index) "]"))

    (define (changed! finding path expected actual)
      (add! finding path
            (lambda ()
              (list (string-append "- " (part expected)) (string-append "+ " (part actual))))))

    (define (missing! finding path value)
      (add! finding path (lambda () (list (string-append "- " (part value))))))

    (define (surplus! finding path value)
      (add! finding path (lambda () (list (string-append "+ " (part value))))))

    (define (part value)
      (cut-off (written value) 200))

    (define (compare finding path depth expected actual)
      (cond ((same? expected actual))
            ((or (> depth depth-max) (seen-before? finding expected actual))
             (if (> depth depth-max)
                 (changed! finding path expected actual)))
            ((and (string? expected) (string? actual))
             (compare-strings finding path expected actual))
            ((and (list? expected) (list? actual) (or (pair? expected) (pair? actual)))
             (compare-elements finding path depth 0 expected actual))
            ((and (pair? expected) (pair? actual))
             (compare-pairs finding path depth 0 expected actual))
            ((and (vector? expected) (vector? actual))
             (compare-elements finding path depth 0 (vector->list expected) (vector->list actual)))
            ((and (bytevector? expected) (bytevector? actual))
             (compare-elements finding path depth 0 (bytes expected) (bytes actual)))
            ((and (%hash-table? expected) (%hash-table? actual))
             (compare-tables finding path depth expected actual))
            ((and (record? expected)
                  (record? actual)
                  (eq? (record-type-descriptor expected) (record-type-descriptor actual)))
             (compare-records finding path depth expected actual))
            (else (changed! finding path expected actual))))

    ;; Whether these two compounds were compared before, as in circular ones.
    (define (seen-before? finding expected actual)
      (and (or (pair? expected) (vector? expected) (record? expected) (%hash-table? expected))
           (let ((others (%hash-table-ref (finding-seen finding) expected '())))
             (or (and (memq actual others) #t)
                 (begin
                   (%hash-table-set! (finding-seen finding) expected (cons actual others))
                   #f)))))

    (define (bytes bytevector)
      (let loop ((index (bytevector-length bytevector)) (bytes '()))
        (if (= index 0)
            bytes
            (loop (- index 1) (cons (bytevector-u8-ref bytevector (- index 1)) bytes)))))

    ;; Pairs of which at least one is no list.
    (define (compare-pairs finding path depth index expected actual)
      (cond ((and (pair? expected) (pair? actual))
             (if (or (= index 0) (not (seen-before? finding expected actual)))
                 (begin
                   (compare finding (element path index) (+ depth 1) (car expected) (car actual))
                   (compare-pairs finding path depth (+ index 1) (cdr expected) (cdr actual)))))
            (else
             (compare finding
                      (string-append path "[" (number->string index) "...]")
                      (+ depth 1)
                      expected
                      actual))))

    (define (compare-records finding path depth expected actual)
      (let* ((type (record-type-descriptor expected))
             (names (record-type-field-names type))
             (count (finding-count finding)))
        (do ((index 0 (+ index 1)))
            ((= index (vector-length names)))
          (let ((name (vector-ref names index)))
            (compare finding
                     (string-append path "." (symbol->string name))
                     (+ depth 1)
                     (%record-ref expected type index name)
                     (%record-ref actual type index name))))
        (if (= count (finding-count finding))
            (add! finding path
                  (lambda ()
                    (list (string-append
                           "two records with the same fields, which are not the same object: "
                           (part actual))))))))

    (define (compare-tables finding path depth expected actual)
      (define (keyed key)
        (string-append path "{" (cut-off (written key) 60) "}"))
      (let ((count (finding-count finding)))
        (for-each
         (lambda (key)
           (let ((value (%hash-table-ref expected key #f)))
             (if (%hash-table-contains? actual key)
                 (compare finding (keyed key) (+ depth 1) value (%hash-table-ref actual key #f))
                 (missing! finding (keyed key) value))))
         (%hash-table-keys expected))
        (for-each
         (lambda (key)
           (if (not (%hash-table-contains? expected key))
               (surplus! finding (keyed key) (%hash-table-ref actual key #f))))
         (%hash-table-keys actual))
        (if (= count (finding-count finding))
            (add! finding path
                  (lambda ()
                    (list
                     "two hash tables with the same keys and values, which are not the same \
                           object"))))))

    ;; Sequences.

    ;; Lists of elements, of which those before `index` are left out.
    (define (compare-elements finding path depth index expected actual)
      (if (and (pair? expected) (pair? actual) (same? (car expected) (car actual)))
          (compare-elements finding path depth (+ index 1) (cdr expected) (cdr actual))
          (let ((ends (common-end expected actual)))
            (walk-edits (edits (car ends) (cdr ends))
                        index
                        (lambda (at expected actual)
                          (compare finding (element path at) (+ depth 1) expected actual))
                        (lambda (at value) (missing! finding (element path at) value))
                        (lambda (at value) (surplus! finding (element path at) value))))))

    ;; The two lists without their common end, as a pair.
    (define (common-end expected actual)
      (let loop ((left (reverse expected)) (right (reverse actual)))
        (if (and (pair? left) (pair? right) (same? (car left) (car right)))
            (loop (cdr left) (cdr right))
            (cons (reverse left) (reverse right)))))

    ;; How one list becomes the other: a list of (keep expected actual), (remove value) and
    ;; (insert value).
    (define (edits expected actual)
      (let ((rows (length expected)) (columns (length actual)))
        (if (or (= rows columns) (> (* (+ rows 1) (+ columns 1)) table-entries-max))
            (side-by-side expected actual)
            (common-subsequence (list->vector expected) (list->vector actual)))))

    (define (side-by-side expected actual)
      (cond ((null? expected) (map (lambda (value) (list 'insert value)) actual))
            ((null? actual) (map (lambda (value) (list 'remove value)) expected))
            (else
             (cons (list 'keep (car expected) (car actual))
                   (side-by-side (cdr expected) (cdr actual))))))

    (define (common-subsequence expected actual)
      (let* ((rows (vector-length expected))
             (columns (vector-length actual))
             (width (+ columns 1))
             ;; At (row, column) the length of the common subsequence of what follows.
             (table (make-vector (* (+ rows 1) width) 0)))
        (define (ref row column)
          (vector-ref table (+ (* row width) column)))
        (do ((row (- rows 1) (- row 1)))
            ((< row 0))
          (do ((column (- columns 1) (- column 1)))
              ((< column 0))
            (vector-set! table
                         (+ (* row width) column)
                         (if (same? (vector-ref expected row) (vector-ref actual column))
                             (+ 1 (ref (+ row 1) (+ column 1)))
                             (max (ref (+ row 1) column) (ref row (+ column 1)))))))
        (let loop ((row 0) (column 0) (edits '()))
          (cond ((and (< row rows) (< column columns)
                      (same? (vector-ref expected row) (vector-ref actual column)))
                 (loop (+ row 1) (+ column 1)
                       (cons (list 'keep (vector-ref expected row) (vector-ref actual column))
                             edits)))
                ((and (< row rows)
                      (or (= column columns) (>= (ref (+ row 1) column) (ref row (+ column 1)))))
                 (loop (+ row 1) column (cons (list 'remove (vector-ref expected row)) edits)))
                ((< column columns)
                 (loop row (+ column 1) (cons (list 'insert (vector-ref actual column)) edits)))
                (else (reverse edits))))))

    ;; Calls a procedure for each edit. Something removed and something inserted at the same place
    ;; are one change. Places count in the expected sequence, those of insertions in the actual one.
    (define (walk-edits edits index change! remove! insert!)
      (let loop ((edits edits) (row index) (column index) (removed '()) (inserted '()))
        (define (flush!)
          (let pairs ((removed (reverse removed)) (inserted (reverse inserted)))
            (cond ((and (pair? removed) (pair? inserted))
                   (change! (caar removed) (cdar removed) (cdar inserted))
                   (pairs (cdr removed) (cdr inserted)))
                  ((pair? removed)
                   (remove! (caar removed) (cdar removed))
                   (pairs (cdr removed) '()))
                  ((pair? inserted)
                   (insert! (caar inserted) (cdar inserted))
                   (pairs '() (cdr inserted))))))
        (cond ((null? edits) (flush!))
              ((eq? (caar edits) 'remove)
               (loop (cdr edits) (+ row 1) column
                     (cons (cons row (cadar edits)) removed)
                     inserted))
              ((eq? (caar edits) 'insert)
               (loop (cdr edits) row (+ column 1)
                     removed
                     (cons (cons column (cadar edits)) inserted)))
              (else
               (flush!)
               (if (not (same? (cadar edits) (car (cddar edits))))
                   (change! row (cadar edits) (car (cddar edits))))
               (loop (cdr edits) (+ row 1) (+ column 1) '() '())))))

    ;; Texts.

    (define (has-line-break? text)
      (let loop ((index 0))
        (and (< index (string-length text))
             (or (char=? (string-ref text index) #\newline)
                 (loop (+ index 1))))))

    (define (compare-strings finding path expected actual)
      (cond ((or (has-line-break? expected) (has-line-break? actual))
             (add! finding path (lambda () (line-differences expected actual))))
            ((and (< (string-length expected) small-value-characters)
                  (< (string-length actual) small-value-characters))
             (changed! finding path expected actual))
            (else
             (let ((at (first-difference expected actual)))
               (add! finding path
                     (lambda ()
                       (list (string-append "from character " (number->string at) " on")
                             (string-append "- " (excerpt expected at))
                             (string-append "+ " (excerpt actual at)))))))))

    (define (first-difference left right)
      (let loop ((index 0))
        (if (and (< index (string-length left))
                 (< index (string-length right))
                 (char=? (string-ref left index) (string-ref right index)))
            (loop (+ index 1))
            index)))

    ;; The context of a character, as a written string.
    (define (excerpt text at)
      (let ((start (max 0 (- at 20))) (end (min (string-length text) (+ at 40))))
        (string-append (if (> start 0) "..." "")
                       (written (substring text start end))
                       (if (< end (string-length text)) "..." ""))))

    (define (split-lines text)
      (let loop ((end (string-length text)) (at (- (string-length text) 1)) (lines '()))
        (cond ((< at 0) (cons (substring text 0 end) lines))
              ((char=? (string-ref text at) #\newline)
               (loop at (- at 1) (cons (substring text (+ at 1) end) lines)))
              (else (loop end (- at 1) lines)))))

    ;; Lines around a change that are shown.
    (define context-lines 2)

    ;; Lines of one text that are shown at most.
    (define lines-max 60)

    ;; A line without characters that a terminal would take as commands.
    (define (shown-line line)
      (let ((text (written line)))
        (let ((inner (substring text 1 (- (string-length text) 1))))
          (if (or (string-search inner "\\x") (string-search inner "\\a"))
              inner
              line))))

    (define (string-search text pattern)
      (let ((length (string-length pattern)))
        (let loop ((index 0))
          (and (<= (+ index length) (string-length text))
               (or (string=? (substring text index (+ index length)) pattern)
                   (loop (+ index 1)))))))

    (define (line-differences expected actual)
      (let loop ((left (split-lines expected)) (right (split-lines actual)) (line 1) (before '()))
        (if (and (pair? left) (pair? right) (string=? (car left) (car right)))
            (loop (cdr left) (cdr right) (+ line 1) (cons (car left) before))
            (let* ((ends (common-end left right))
                   (after (list-tail left (length (car ends))))
                   (changes (edits (car ends) (cdr ends)))
                   (kept-before (reverse (first-of before context-lines)))
                   (shown (append (map (lambda (line) (string-append "  " (shown-line line)))
                                       kept-before)
                                  (append-edits changes)
                                  (map (lambda (line) (string-append "  " (shown-line line)))
                                       (first-of after context-lines)))))
              (cons (string-append "from line " (number->string line) " on")
                    (if (> (length shown) lines-max)
                        (append (first-of shown lines-max)
                                (list (string-append (number->string (- (length shown) lines-max))
                                                     " lines more")))
                        shown))))))

    (define (first-of list count)
      (if (or (= count 0) (null? list))
          '()
          (cons (car list) (first-of (cdr list) (- count 1)))))

    (define (append-edits edits)
      (let loop ((edits edits) (inserted '()) (lines '()))
        ;; Inserted text is shown behind removed text.
        (define (flushed)
          (append inserted lines))
        (cond ((null? edits) (reverse (flushed)))
              ((eq? (caar edits) 'remove)
               (loop (cdr edits) inserted
                     (cons (string-append "- " (shown-line (cadar edits))) lines)))
              ((eq? (caar edits) 'insert)
               (loop (cdr edits)
                     (cons (string-append "+ " (shown-line (cadar edits))) inserted)
                     lines))
              ((string=? (cadar edits) (car (cddar edits)))
               (loop (cdr edits) '()
                     (cons (string-append "  " (shown-line (cadar edits))) (flushed))))
              (else
               (loop (cdr edits)
                     (cons (string-append "+ " (shown-line (car (cddar edits)))) inserted)
                     (cons (string-append "- " (shown-line (cadar edits))) lines))))))))
