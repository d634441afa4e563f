;;; (srfi 166 columnar): text in columns, wrapped and justified text.
;;;
;;; The formatter of a column runs in a coroutine, which gives a line at a time: columns may be
;;; endless.

(define-library (srfi 166 columnar)
  (export columnar tabular wrapped wrapped/list wrapped/char justified from-file line-numbers)
  (import (canny syntax) (canny primitives)
          (only (canny machine control) call-with-current-continuation)
          (only (canny data lists) map) (only (canny machine ports) call-with-port)
          (srfi 166 base))
  (begin

    ;; Lines.

    ;; A thunk that gives the next line of what a formatter writes, without its newline, and #f at
    ;; the end.  A last line without a newline counts when there is something in it.
    (define (line-generator formatter state)
      (define return #f)
      (define resume #f)
      (define parts '())
      (define (line)
        (let ((text (string-concatenate (reverse parts))))
          (set! parts '())
          text))
      (define (yield text)
        (call-with-current-continuation
         (lambda (continue)
           (set! resume (lambda () (continue #t)))
           (return text))))
      (define (collect inner text)
        (let loop ((start 0))
          (let ((end (%string-index text #\newline start)))
            (if end
                (begin
                  (set! parts (cons (substring text start end) parts))
                  (%run (with! (col 0)) inner)
                  (yield (line))
                  (loop (+ end 1)))
                (let ((rest (substring text start)))
                  (if (not (string-null? rest))
                      (begin
                        (set! parts (cons rest parts))
                        (%run (with! (col (+ (%ref inner col)
                                             ((%ref inner string-width) rest))))
                              inner))))))))
      (let ((inner (%extend state
                            col 0
                            output (lambda (text)
                                     (lambda (inner) (collect inner text))))))
        (set! resume
              (lambda ()
                (%run formatter inner)
                (set! resume (lambda () (return #f)))
                (return (if (null? parts) #f (line)))))
        (lambda ()
          (call-with-current-continuation
           (lambda (k)
             (set! return k)
             (resume))))))

    ;; Columns.

    ;; `width` is a number of columns, a fraction below 1, or #f.
    (define-record-type column
      (make-column formatter width justification infinite?)
      column?
      (formatter column-formatter)
      (width column-width)
      (justification column-justification)
      (infinite? column-infinite?))

    ;; A list of strings, for borders, and of columns.
    (define (parse-columns who arguments)
      (let loop ((rest arguments) (width #f) (justification 'left) (infinite? #f) (items '()))
        (cond ((null? rest) (reverse items))
              ((string? (car rest))
               (loop (cdr rest) width justification infinite? (cons (car rest) items)))
              ((char? (car rest))
               (loop (cdr rest) width justification infinite? (cons (string (car rest)) items)))
              ((memq (car rest) '(left right center))
               (loop (cdr rest) width (car rest) infinite? items))
              ((eq? (car rest) 'infinite)
               (loop (cdr rest) width justification #t items))
              ((and (real? (car rest)) (> (car rest) 0))
               (loop (cdr rest) (car rest) justification infinite? items))
              ((procedure? (car rest))
               (loop (cdr rest) #f 'left #f
                     (cons (make-column (car rest) width justification infinite?) items)))
              (else
               (%type-error who 1 "formatter, border or what belongs to a column" (car rest))))))

    ;; The widths of the columns of a list of items.
    (define (column-widths items state)
      (let* ((measure (%ref state string-width))
             (columns (let loop ((rest items) (columns '()))
                        (cond ((null? rest) (reverse columns))
                              ((column? (car rest)) (loop (cdr rest) (cons (car rest) columns)))
                              (else (loop (cdr rest) columns)))))
             (borders (let loop ((rest items) (sum 0))
                        (cond ((null? rest) sum)
                              ((string? (car rest)) (loop (cdr rest) (+ sum (measure (car rest)))))
                              (else (loop (cdr rest) sum)))))
             (fixed? (lambda (width) (and width (exact-integer? width))))
             (fixed (let loop ((rest columns) (sum 0))
                      (cond ((null? rest) sum)
                            ((fixed? (column-width (car rest)))
                             (loop (cdr rest) (+ sum (column-width (car rest)))))
                            (else (loop (cdr rest) sum)))))
             (available (max 0 (- (%ref state width) borders fixed)))
             (fraction (lambda (width)
                         (if (< width 1)
                             (exact (truncate (* available width)))
                             (exact (round width)))))
             (explicit (map (lambda (column)
                              (let ((width (column-width column)))
                                (cond ((not width) #f)
                                      ((fixed? width) width)
                                      (else (fraction width)))))
                            columns))
             (open-count (let loop ((rest explicit) (count 0))
                           (cond ((null? rest) count)
                                 ((car rest) (loop (cdr rest) count))
                                 (else (loop (cdr rest) (+ count 1))))))
             (left (let loop ((columns columns) (widths explicit) (left available))
                     (cond ((null? columns) (max 0 left))
                           ((or (not (car widths)) (fixed? (column-width (car columns))))
                            (loop (cdr columns) (cdr widths) left))
                           (else
                            (loop (cdr columns) (cdr widths) (- left (car widths))))))))
        (let loop ((rest explicit) (index 0) (widths '()))
          (cond ((null? rest) (reverse widths))
                ((car rest) (loop (cdr rest) index (cons (car rest) widths)))
                (else
                 (loop (cdr rest)
                       (+ index 1)
                       (cons (+ (quotient left open-count)
                                (if (< index (remainder left open-count)) 1 0))
                             widths)))))))

    (define (justify text justification width last? state)
      (let ((missing (max 0 (- width ((%ref state string-width) text))))
            (spaces (lambda (count) (make-string count (%ref state pad-char)))))
        (case justification
          ((right) (string-append (spaces missing) text))
          ((center)
           (let ((left (quotient missing 2)))
             (string-append (spaces left) text (if last? "" (spaces (- missing left))))))
          (else
           (if last?
               text
               (string-append text (spaces missing)))))))

    ;; Writes the lines of columns side by side.  `sources` has for each item its border, or a list
    ;; of line generator, width, justification and whether it is endless.
    (define (write-rows sources state)
      (let next-row ()
        (let* ((lines (map (lambda (source) (if (string? source) source ((car source)))) sources))
               (going? (let loop ((sources sources) (lines lines))
                         (and (pair? sources)
                              (or (and (pair? (car sources))
                                       (car lines)
                                       (not (cadddr (car sources))))
                                  (loop (cdr sources) (cdr lines)))))))
          (if going?
              (begin
                (let loop ((sources sources) (lines lines))
                  (if (pair? sources)
                      (let ((source (car sources)))
                        (%emit (if (string? source)
                                   source
                                   (justify (or (car lines) "") (caddr source) (cadr source)
                                            (null? (cdr sources))
                                            state))
                               state)
                        (loop (cdr sources) (cdr lines)))))
                (%emit "\n" state)
                (next-row))))))

    ;; Calls a procedure with each item and, for a column, its width.
    (define (map-items procedure items widths)
      (let loop ((items items) (widths widths) (results '()))
        (cond ((null? items) (reverse results))
              ((string? (car items)) (loop (cdr items) widths (cons (car items) results)))
              (else
               (loop (cdr items) (cdr widths)
                     (cons (procedure (car items) (car widths)) results))))))

    (define (all-endless? items)
      (let loop ((rest items) (any? #f))
        (cond ((null? rest) any?)
              ((string? (car rest)) (loop (cdr rest) any?))
              (else (and (column-infinite? (car rest)) (loop (cdr rest) #t))))))

    (define (columnar . arguments)
      (let ((items (parse-columns 'columnar arguments)))
        (lambda (state)
          (if (let loop ((rest items))
                (or (null? rest) (and (string? (car rest)) (loop (cdr rest)))))
              (%emit "\n" state)
              (let ((endless? (all-endless? items)))
                (write-rows
                 (map-items (lambda (column column-width)
                              (list (line-generator (column-formatter column)
                                                    (%extend state width column-width))
                                    column-width
                                    (column-justification column)
                                    (and (column-infinite? column) (not endless?))))
                            items
                            (column-widths items state))
                 state))))))

    ;; Every column is formatted before its width is known.
    (define (tabular . arguments)
      (let ((items (parse-columns 'tabular arguments)))
        (lambda (state)
          (write-rows
           (map-items
            (lambda (column allotted)
              (let* ((next (line-generator (column-formatter column)
                                           (%extend state width allotted)))
                     (lines (let loop ((lines '()))
                              (let ((line (next)))
                                (if line
                                    (loop (cons line lines))
                                    (reverse lines)))))
                     (least (let loop ((rest lines) (least 0))
                              (if (null? rest)
                                  least
                                  (loop (cdr rest)
                                        (max least ((%ref state string-width) (car rest)))))))
                     (given (let ((width (column-width column)))
                              (if (exact-integer? width) width 0))))
                (list (lambda ()
                        (and (pair? lines)
                             (let ((line (car lines)))
                               (set! lines (cdr lines))
                               line)))
                      (max least given)
                      (column-justification column)
                      #f)))
            items
            (column-widths items state))
           state))))

    ;; Wrapping.

    (define (words-of text separator?)
      (let ((end (string-length text)))
        (let loop ((start 0) (index 0) (words '()))
          (define (with-word)
            (if (< start index)
                (cons (substring text start index) words)
                words))
          (cond ((= index end) (reverse (with-word)))
                ((separator? (string-ref text index))
                 (loop (+ index 1) (+ index 1) (with-word)))
                (else (loop start (+ index 1) words))))))

    ;; The lines, as lists of words, that have the least sum of cubes of the space at their ends.
    ;; The last line does not count.  A word that is too wide is a line of its own.
    (define (break-lines words measure line-width)
      (let* ((words (list->vector words))
             (count (vector-length words))
             (widths (make-vector count 0))
             ;; The least cost of the words from an index on, and the end of their first line.
             (costs (make-vector (+ count 1) 0))
             (ends (make-vector (+ count 1) count)))
        (let loop ((index 0))
          (if (< index count)
              (begin
                (vector-set! widths index (measure (vector-ref words index)))
                (loop (+ index 1)))))
        (let from-last ((start (- count 1)))
          (if (>= start 0)
              (begin
                (let try ((end (+ start 1)) (line (vector-ref widths start)) (best #f))
                  (let* ((space (- line-width line))
                         (cost (+ (cond ((= end count) 0)
                                        ((< space 0) 0)
                                        (else (* space space space)))
                                  (vector-ref costs end)))
                         (better? (or (not best) (< cost best))))
                    (if better?
                        (begin
                          (vector-set! costs start cost)
                          (vector-set! ends start end)))
                    (if (< end count)
                        (let ((longer (+ line 1 (vector-ref widths end))))
                          (if (<= longer line-width)
                              (try (+ end 1) longer (if better? cost best)))))))
                (from-last (- start 1)))))
        (let loop ((start 0) (lines '()))
          (if (>= start count)
              (reverse lines)
              (let ((end (vector-ref ends start)))
                (loop end (cons (vector->list words start end) lines)))))))

    (define (wrapped/list words)
      (lambda (state)
        (%run (joined (lambda (line) (string-join line " "))
                      (break-lines words (%ref state string-width) (%ref state width))
                      "\n")
              state)))

    (define (wrapped . formatters)
      (call-with-output
        (each-in-list formatters)
        (lambda (text)
          (lambda (state)
            (%run (wrapped/list (words-of text (%ref state word-separator?))) state)))))

    (define (justified . formatters)
      (call-with-output
        (each-in-list formatters)
        (lambda (text)
          (lambda (state)
            (let* ((measure (%ref state string-width))
                   (line-width (%ref state width))
                   (lines (break-lines (words-of text (%ref state word-separator?))
                                       measure line-width)))
              (%run (joined/last (lambda (line) (spread line measure line-width))
                                 (lambda (line) (string-join line " "))
                                 lines
                                 "\n")
                    state)
              (if (pair? lines) (%emit "\n" state)))))))

    ;; The gaps that get one space more are the first ones.
    (define (spread words measure line-width)
      (let* ((gaps (- (length words) 1))
             (space (- line-width (let loop ((rest words) (sum 0))
                                    (if (null? rest)
                                        sum
                                        (loop (cdr rest) (+ sum (measure (car rest)))))))))
        (if (<= gaps 0)
            (car words)
            (let ((each-gap (max 1 (quotient space gaps)))
                  (longer (if (< space gaps) 0 (remainder space gaps))))
              (let loop ((rest (cdr words)) (index 0) (parts (list (car words))))
                (if (null? rest)
                    (string-concatenate (reverse parts))
                    (loop (cdr rest)
                          (+ index 1)
                          (cons (car rest)
                                (cons (make-string (+ each-gap (if (< index longer) 1 0))
                                                   #\space)
                                      parts)))))))))

    (define (wrapped/char . formatters)
      (lambda (state)
        (let ((outer (%ref state output)))
          (%run (each-in-list formatters)
                (%extend state output
                         (lambda (text)
                           (lambda (inner)
                             (let loop ((index 0))
                               (if (< index (string-length text))
                                   (let* ((char (string (string-ref text index)))
                                          (char-width ((%ref inner string-width) char)))
                                     (if (and (not (string=? char "\n"))
                                              (> (+ (%ref inner col) char-width)
                                                 (%ref inner width)))
                                         (%run (outer "\n") inner))
                                     (%run (outer char) inner)
                                     (loop (+ index 1))))))))))))

    (define (from-file name)
      (lambda (state)
        (call-with-port (open-input-file name)
          (lambda (port)
            (let loop ()
              (let ((line (read-line port)))
                (if (not (eof-object? line))
                    (begin
                      (%emit line state)
                      (%emit "\n" state)
                      (loop)))))))))

    (define line-numbers
      (case-lambda
        (() (line-numbers 1))
        ((start) (joined/range (lambda (number) (each (numeric number) nl)) start))))))
