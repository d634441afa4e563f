;;; (srfi 166 base): monadic formatting, the core.
;;;
;;; A formatter is a computation of (srfi 165), a procedure of an environment that has the state
;;; variables.  All output goes through the state variable `output`; the default writes to the port
;;; and keeps track of row and column.
;;;
;;; Numbers with a precision are rounded from their exact value, halves to even digits.

(define-library (srfi 166 base)
  (export show displayed written written-shared written-simply escaped maybe-escaped
          numeric numeric/comma numeric/si numeric/fitted
          nl fl space-to tab-to nothing
          each each-in-list joined joined/prefix joined/suffix joined/last joined/dot
          joined/range
          padded padded/right padded/both trimmed trimmed/right trimmed/both trimmed/lazy
          fitted fitted/right fitted/both
          fn with with! forked call-with-output make-state-variable
          port row col width output output-default writer string-width substring/width
          substring/preserve pad-char ellipsis radix precision decimal-sep decimal-align sign-rule
          comma-rule comma-sep word-separator? ambiguous-is-wide? pretty-environment
          %run %ref %emit %extend %find-labels)
  (import (canny syntax) (canny primitives)
          (only (canny machine control) current-output-port call-with-escape-continuation)
          (only (canny data lists) for-each map)
          (only (canny machine ports) call-with-output-string)
          (only (canny data sequences) string-any)
          (rename (srfi 165)
                  (computation-environment-ref %ref)
                  (computation-environment-update %extend)
                  (computation-environment-copy copy-state)
                  (computation-fn fn)
                  (computation-with with)
                  (computation-with! with!)))
  (begin

    ;; State.

    (define (make-state-variable name default . immutable?)
      (make-computation-environment-variable name default
                                             (and (pair? immutable?) (car immutable?))))

    (define default-string-width
      (case-lambda
        ((string) (string-length string))
        ((string start) (- (string-length string) start))
        ((string start end) (- end start))))

    ;; As with other widths, a start below 0 is the start of the string.
    (define (default-substring/width string from to)
      (substring string (max 0 from) to))

    (define-computation-type make-state run-state
      (port #f)
      (row 0)
      (col 0)
      (width 79)
      (output (lambda (string) (output-default string)))
      (writer (lambda (object) (written object)))
      (string-width default-string-width)
      (substring/width default-substring/width)
      (substring/preserve #f)
      (pad-char #\space)
      (ellipsis "")
      (radix 10)
      (precision #f)
      (decimal-sep #f)
      (decimal-align #f)
      (sign-rule #f)
      (comma-rule #f)
      (comma-sep #f)
      (word-separator? char-whitespace?)
      (ambiguous-is-wide? #f)
      (pretty-environment (interaction-environment)))

    (define (%run formatter state)
      (cond ((procedure? formatter) (formatter state))
            ((string? formatter) (%emit formatter state))
            ((char? formatter) (%emit (string formatter) state))
            (else (%run ((%ref state writer) formatter) state))))

    (define (%emit string state)
      (%run ((%ref state output) string) state))

    (define (output-default string)
      (lambda (state)
        (write-string string (%ref state port))
        (let ((newline-index (%string-rindex string #\newline)))
          (if newline-index
              (begin
                (computation-environment-update!
                 state row
                 (let loop ((index 0) (count (%ref state row)))
                   (let ((found (%string-index string #\newline index)))
                     (if found
                         (loop (+ found 1) (+ count 1))
                         count))))
                (computation-environment-update!
                 state col
                 ((%ref state string-width) string (+ newline-index 1) (string-length string))))
              (computation-environment-update!
               state col
               (+ (%ref state col)
                  ((%ref state string-width) string 0 (string-length string))))))))

    (define (show destination . formatters)
      (define (show-on destination)
        (let ((state (make-state)))
          (computation-environment-update! state port destination)
          (computation-environment-update! state default-computation displayed)
          (run-list formatters state)))
      (cond ((not destination) (call-with-output-string show-on))
            ((eq? destination #t) (show-on (current-output-port)) (void))
            ((output-port? destination) (show-on destination) (void))
            (else (%type-error 'show 1 "output port or boolean" destination))))

    (define (run-list formatters state)
      (let loop ((rest formatters))
        (if (pair? rest)
            (begin
              (%run (car rest) state)
              (loop (cdr rest))))))

    (define (each . formatters)
      (each-in-list formatters))

    (define (each-in-list formatters)
      (lambda (state) (run-list formatters state)))

    (define (nothing state)
      (void))

    (define (forked formatter1 formatter2)
      (lambda (state)
        (%run formatter1 (copy-state state))
        (%run formatter2 state)))

    (define (call-with-output formatter mapper)
      (lambda (state)
        (let ((string (open-output-string)) (inner (copy-state state)))
          (computation-environment-update! inner port string)
          (computation-environment-update! inner output output-default)
          (%run formatter inner)
          (%run (mapper (get-output-string string)) state))))

    ;; Objects.

    (define (displayed object)
      (if (or (procedure? object) (string? object) (char? object))
          (lambda (state) (%run object state))
          (lambda (state) (%run ((%ref state writer) object) state))))

    ;; The numbers of labels by object. Pairs and vectors have one that are reached from inside of
    ;; themselves, or with `shared?` all that occur more often than once.  The value is #t until a
    ;; label is given.
    (define (%find-labels object shared?)
      (let ((seen (%make-hash-table 'eq #f 16)) (labels (%make-hash-table 'eq #f 8)))
        (define (enter object walk-parts)
          (let ((state (%hash-table-ref seen object #f)))
            (if (not state)
                (begin
                  (%hash-table-set! seen object 'open)
                  (walk-parts)
                  (%hash-table-set! seen object 'done))
                (if (or shared? (eq? state 'open))
                    (%hash-table-set! labels object #t)))))
        (let walk ((object object))
          (cond ((pair? object)
                 (enter object (lambda ()
                                 (walk (car object))
                                 (walk (cdr object)))))
                ((and (vector? object) (> (vector-length object) 0))
                 (enter object (lambda ()
                                 (let loop ((index 0))
                                   (if (< index (vector-length object))
                                       (begin
                                         (walk (vector-ref object index))
                                         (loop (+ index 1))))))))))
        labels))

    (define (atom? object)
      (not (or (pair? object) (vector? object))))

    (define (write-with object labels)
      (lambda (state)
        (let ((next-label 0))
          (define (labelled? object)
            (and labels (%hash-table-ref labels object #f)))
          (define (write-part object)
            (if (atom? object)
                (write-atom object state)
                (let ((label (labelled? object)))
                  (cond ((not label)
                         (write-contents object))
                        ((eq? label #t)
                         (%emit (string-append "#" (number->string next-label) "=") state)
                         (%hash-table-set! labels object next-label)
                         (set! next-label (+ next-label 1))
                         (write-contents object))
                        (else
                         (%emit (string-append "#" (number->string label) "#") state))))))
          (define (write-contents object)
            (if (pair? object)
                (let ((prefix (abbreviation object)))
                  (if (and prefix (not (labelled? (cdr object))))
                      (begin
                        (%emit prefix state)
                        (write-part (cadr object)))
                      (begin
                        (%emit "(" state)
                        (write-part (car object))
                        (let loop ((rest (cdr object)))
                          (cond ((null? rest)
                                 (%emit ")" state))
                                ((and (pair? rest) (not (labelled? rest)))
                                 (%emit " " state)
                                 (write-part (car rest))
                                 (loop (cdr rest)))
                                (else
                                 (%emit " . " state)
                                 (write-part rest)
                                 (%emit ")" state)))))))
                (let ((length (vector-length object)))
                  (%emit "#(" state)
                  (let loop ((index 0))
                    (if (< index length)
                        (begin
                          (if (> index 0) (%emit " " state))
                          (write-part (vector-ref object index))
                          (loop (+ index 1)))))
                  (%emit ")" state))))
          (write-part object))))

    (define (abbreviation object)
      (and (pair? (cdr object))
           (null? (cddr object))
           (case (car object)
             ((quote) "'")
             ((quasiquote) "`")
             ((unquote) ",")
             ((unquote-splicing) ",@")
             (else #f))))

    (define (write-atom object state)
      (if (number? object)
          (let ((radix (%ref state radix)) (precision (%ref state precision)))
            (%emit (cond ((and (eqv? radix 10) (not precision)) (number->string object))
                         ((eqv? radix 10) (number->text object 10 precision #f #f #f #f))
                         ((assv radix '((2 . "#b") (8 . "#o") (16 . "#x")))
                          => (lambda (entry)
                               (string-append (cdr entry) (number->string object radix))))
                         (else (number->string object)))
                   state))
          (%emit (call-with-output-string (lambda (port) (write object port))) state)))

    (define (written object)
      (lambda (state)
        (if (atom? object)
            (write-atom object state)
            (%run (write-with object (%find-labels object #f)) state))))

    (define (written-shared object)
      (lambda (state)
        (if (atom? object)
            (write-atom object state)
            (%run (write-with object (%find-labels object #t)) state))))

    (define (written-simply object)
      (write-with object #f))

    (define (escape-string string quote escape renamer)
      (call-with-output-string
        (lambda (port)
          (let loop ((index 0))
            (if (< index (string-length string))
                (let* ((char (string-ref string index)) (renamed (and renamer (renamer char))))
                  (cond ((or (eqv? char quote) (eqv? char escape))
                         (write-char (or escape quote) port)
                         (write-char char port))
                        ((and renamed escape)
                         (write-char escape port)
                         (write-char renamed port))
                        (else (write-char char port)))
                  (loop (+ index 1))))))))

    (define escaped
      (case-lambda
        ((string) (escaped string #\" #\\ #f))
        ((string quote) (escaped string quote #\\ #f))
        ((string quote escape) (escaped string quote escape #f))
        ((string quote escape renamer)
         (displayed (escape-string string quote escape renamer)))))

    (define maybe-escaped
      (case-lambda
        ((string wanted?) (maybe-escaped string wanted? #\" #\\ #f))
        ((string wanted? quote) (maybe-escaped string wanted? quote #\\ #f))
        ((string wanted? quote escape) (maybe-escaped string wanted? quote escape #f))
        ((string wanted? quote escape renamer)
         (if (string-any (lambda (char)
                           (or (eqv? char quote) (eqv? char escape) (wanted? char)))
                         string)
             (each quote (escape-string string quote escape renamer) quote)
             (displayed string)))))

    ;; Numbers.

    ;; The digits of a number that is not negative, with so many after the point.
    (define (fixed-digits number radix precision separator)
      (let* ((scale (expt radix precision))
             (digits (number->string (round (* (exact number) scale)) radix))
             (digits (string-pad-left* digits (+ precision 1) #\0))
             (point (- (string-length digits) precision)))
        (if (= precision 0)
            digits
            (string-append (substring digits 0 point) separator (substring digits point)))))

    (define (string-pad-left* string least char)
      (if (< (string-length string) least)
          (string-pad-left string least char)
          string))

    ;; Inserts separators in a run of digits; the rule is a number or a list of numbers.
    (define (insert-commas digits rule separator)
      (let loop ((end (string-length digits))
                 (rule (if (pair? rule) rule (list rule)))
                 (parts '()))
        (let ((size (car rule)))
          (if (or (<= end size) (<= size 0))
              (string-join (cons (substring digits 0 end) parts) separator)
              (loop (- end size)
                    (if (pair? (cdr rule)) (cdr rule) rule)
                    (cons (substring digits (- end size) end) parts))))))

    (define (number->text number radix precision sign-rule comma-rule comma-sep decimal-sep)
      (define (->string object)
        (if (char? object) (string object) object))
      (let* ((comma-text
              (->string (or comma-sep
                            (if (and decimal-sep (equal? (->string decimal-sep) ",")) "." ","))))
             (decimal-text (->string (or decimal-sep (if (equal? comma-text ".") "," ".")))))

        ;; The text of a number that is not negative.
        (define (magnitude-text number)
          (let* ((text (if precision
                           (fixed-digits number radix precision decimal-text)
                           (let ((text (number->string number radix)))
                             (if (equal? decimal-text ".")
                                 text
                                 (string-join (string-split text ".") decimal-text)))))
                 (end (let loop ((index 0))
                        (if (and (< index (string-length text))
                                 (string->number (string (string-ref text index)) radix))
                            (loop (+ index 1))
                            index))))
            (if comma-rule
                (string-append (insert-commas (substring text 0 end) comma-rule comma-text)
                               (substring text end))
                text)))

        (define (negative-zero? number)
          (and (inexact? number) (eqv? number -0.0)))

        (define (real-text number)
          (cond ((not (rational? number))
                 (number->string number))
                ((or (negative? number) (negative-zero? number))
                 (let ((text (magnitude-text (- number))))
                   (if (pair? sign-rule)
                       (string-append (car sign-rule) text (cdr sign-rule))
                       (string-append "-" text))))
                ((eq? sign-rule #t)
                 (string-append "+" (magnitude-text number)))
                (else (magnitude-text number))))

        (if (real? number)
            (real-text number)
            (let ((imaginary (let ((text (number->text (imag-part number) radix precision #t
                                                       comma-rule comma-sep decimal-sep)))
                               (string-append text "i"))))
              (if (eqv? 0 (real-part number))
                  imaginary
                  (string-append (real-text (real-part number)) imaginary))))))

    ;; Pads so that the point, or the end of an integer, comes before the column.
    (define (align-decimal text align separator)
      (if align
          (let* ((point (or (string-contains text separator) (string-length text)))
                 (missing (- align point 1)))
            (if (> missing 0)
                (string-append (make-string missing #\space) text)
                text))
          text))

    (define (numeric number . options)
      (if (not (number? number))
          (%type-error 'numeric 1 "number" number))
      (lambda (state)
        (define (option index variable)
          (if (> (length options) index)
              (list-ref options index)
              (%ref state variable)))
        (let* ((comma-sep (option 4 comma-sep))
               (decimal-sep (option 5 decimal-sep))
               (text (number->text number (option 0 radix) (option 1 precision)
                                   (option 2 sign-rule) (option 3 comma-rule)
                                   comma-sep decimal-sep)))
          (%emit (align-decimal text (%ref state decimal-align)
                                (cond ((char? decimal-sep) (string decimal-sep))
                                      (decimal-sep decimal-sep)
                                      ((eqv? comma-sep #\.) ",")
                                      (else ".")))
                 state))))

    (define (numeric/comma number . options)
      (lambda (state)
        (define (option index default)
          (if (> (length options) index)
              (list-ref options index)
              default))
        (%run (numeric number
                       (option 1 (%ref state radix))
                       (option 2 (%ref state precision))
                       (option 3 (%ref state sign-rule))
                       (option 0 (or (%ref state comma-rule) 3)))
              state)))

    (define large-names '("" "k" "M" "G" "T" "P" "E" "Z" "Y" "R" "Q"))
    (define binary-names '("" "Ki" "Mi" "Gi" "Ti" "Pi" "Ei" "Zi" "Yi" "Ri" "Qi"))
    (define small-names '("" "m" "µ" "n" "p" "f" "a" "z" "y" "r" "q"))

    (define numeric/si
      (case-lambda
        ((number) (numeric/si number 1000 ""))
        ((number base) (numeric/si number base ""))
        ((number base separator)
         (if (not (and (real? number) (rational? number)))
             (%type-error 'numeric/si 1 "finite real number" number))
         (if (not (memv base '(1000 1024)))
             (%range-error 'numeric/si 2 "1000 or 1024" base))
         (let ((magnitude (abs (exact number))))
           ;; Once the number has one digit after the point, it may have become the base.
           (define (finish scaled names)
             (let* ((tenths (round (* 10 scaled)))
                    (text (if (= 0 (modulo tenths 10))
                              (number->string (quotient tenths 10))
                              (string-append (number->string (quotient tenths 10))
                                             "."
                                             (number->string (modulo tenths 10))))))
               (each (if (negative? number) "-" "") text separator (car names))))
           (define (scale-down scaled names)
             (if (and (>= (/ (round (* 10 scaled)) 10) base) (pair? (cdr names)))
                 (scale-down (/ scaled base) (cdr names))
                 (finish scaled names)))
           (define (scale-up scaled names)
             (if (and (< scaled 1) (pair? (cdr names)))
                 (scale-up (* scaled base) (cdr names))
                 (finish scaled names)))
           (if (or (= magnitude 0) (>= magnitude 1))
               (scale-down magnitude (if (= base 1000) large-names binary-names))
               (scale-up magnitude small-names))))))

    (define (numeric/fitted width number . options)
      (call-with-output
        (%apply numeric (cons number options))
        (lambda (text)
          (if (<= (string-length text) width)
              (displayed text)
              (lambda (state)
                (let ((precision (if (and (pair? options) (pair? (cdr options)))
                                     (cadr options)
                                     (%ref state precision))))
                  (%emit (if (and precision (< 0 precision (- width 1)))
                             (string-append (make-string (- width precision 1) #\#)
                                            "."
                                            (make-string precision #\#))
                             (make-string width #\#))
                         state)))))))

    ;; Space.

    (define (nl state)
      (%emit "\n" state))

    (define (fl state)
      (if (not (= 0 (%ref state col)))
          (%emit "\n" state)))

    (define (emit-padding count state)
      (if (> count 0)
          (%emit (make-string count (%ref state pad-char)) state)))

    (define (space-to column)
      (lambda (state)
        (emit-padding (- column (%ref state col)) state)))

    (define tab-to
      (case-lambda
        (() (tab-to 8))
        ((tab-width)
         (lambda (state)
           (emit-padding (modulo (- (%ref state col)) tab-width) state)))))

    ;; Lists.

    (define joined
      (case-lambda
        ((mapper list) (joined mapper list ""))
        ((mapper list separator)
         (lambda (state)
           (let loop ((rest list) (first? #t))
             (if (pair? rest)
                 (begin
                   (if (not first?) (%run separator state))
                   (%run (mapper (car rest)) state)
                   (loop (cdr rest) #f))))))))

    (define joined/prefix
      (case-lambda
        ((mapper list) (joined/prefix mapper list ""))
        ((mapper list separator)
         (joined (lambda (element) (each separator (mapper element))) list))))

    (define joined/suffix
      (case-lambda
        ((mapper list) (joined/suffix mapper list ""))
        ((mapper list separator)
         (joined (lambda (element) (each (mapper element) separator)) list))))

    (define joined/last
      (case-lambda
        ((mapper last-mapper list) (joined/last mapper last-mapper list ""))
        ((mapper last-mapper list separator)
         (lambda (state)
           (let loop ((rest list) (first? #t))
             (if (pair? rest)
                 (begin
                   (if (not first?) (%run separator state))
                   (%run ((if (pair? (cdr rest)) mapper last-mapper) (car rest)) state)
                   (loop (cdr rest) #f))))))))

    (define joined/dot
      (case-lambda
        ((mapper dot-mapper list) (joined/dot mapper dot-mapper list ""))
        ((mapper dot-mapper list separator)
         (lambda (state)
           (let loop ((rest list) (first? #t))
             (cond ((pair? rest)
                    (if (not first?) (%run separator state))
                    (%run (mapper (car rest)) state)
                    (loop (cdr rest) #f))
                   ((not (null? rest))
                    (if (not first?) (%run separator state))
                    (%run (dot-mapper rest) state))))))))

    (define joined/range
      (case-lambda
        ((mapper start) (joined/range mapper start #f ""))
        ((mapper start end) (joined/range mapper start end ""))
        ((mapper start end separator)
         (lambda (state)
           (let loop ((number start))
             (if (or (not end) (< number end))
                 (begin
                   (if (not (= number start)) (%run separator state))
                   (%run (mapper number) state)
                   (loop (+ number 1)))))))))

    ;; Padding and trimming.

    (define (padded width . formatters)
      (call-with-output
        (each-in-list formatters)
        (lambda (text)
          (lambda (state)
            (emit-padding (- width ((%ref state string-width) text)) state)
            (%emit text state)))))

    (define (padded/right width . formatters)
      (lambda (state)
        (let ((start (%ref state col)))
          (run-list formatters state)
          (emit-padding (- width (- (%ref state col) start)) state))))

    (define (padded/both width . formatters)
      (call-with-output
        (each-in-list formatters)
        (lambda (text)
          (lambda (state)
            (let* ((missing (max 0 (- width ((%ref state string-width) text))))
                   (left (quotient missing 2)))
              (emit-padding left state)
              (%emit text state)
              (emit-padding (- missing left) state))))))

    ;; Calls `trim` with the text, its width, the state, and a procedure for what is left out.
    (define (call-with-trimmed width formatters trim)
      (call-with-output
        (each-in-list formatters)
        (lambda (text)
          (lambda (state)
            (let ((text-width ((%ref state string-width) text)))
              (if (<= text-width width)
                  (%emit text state)
                  (let ((preserve (%ref state substring/preserve))
                        (part (%ref state substring/width)))
                    (trim (lambda (from to) (%emit (part text from to) state))
                          (lambda (from to)
                            (if preserve
                                (let ((kept (preserve (part text from to))))
                                  (if (string? kept) (%emit kept state)))))
                          (lambda () (%emit (%ref state ellipsis) state))
                          text-width
                          ((%ref state string-width) (%ref state ellipsis))))))))))

    (define (trimmed width . formatters)
      (call-with-trimmed width formatters
        (lambda (emit-part emit-kept emit-ellipsis text-width ellipsis-width)
          (let ((cut (min text-width (+ (- text-width width) ellipsis-width))))
            (emit-kept -1 cut)
            (emit-ellipsis)
            (emit-part cut text-width)))))

    (define (trimmed/right width . formatters)
      (call-with-trimmed width formatters
        (lambda (emit-part emit-kept emit-ellipsis text-width ellipsis-width)
          (let ((end (max 0 (- width ellipsis-width))))
            (emit-part -1 end)
            (emit-ellipsis)
            (emit-kept end text-width)))))

    (define (trimmed/both width . formatters)
      (call-with-trimmed width formatters
        (lambda (emit-part emit-kept emit-ellipsis text-width ellipsis-width)
          (let* ((cut (min text-width (+ (- text-width width) (* 2 ellipsis-width))))
                 (left (quotient cut 2))
                 (right (- text-width (- cut left))))
            (emit-kept -1 left)
            (emit-ellipsis)
            (emit-part left right)
            (emit-ellipsis)
            (emit-kept right text-width)))))

    (define (trimmed/lazy width . formatters)
      (lambda (state)
        (call-with-escape-continuation
         (lambda (leave)
           (let* ((outer (%ref state output)) (left width))
             (define (limited text)
               (lambda (inner)
                 (let ((text-width ((%ref inner string-width) text)))
                   (if (> text-width left)
                       (begin
                         (%run (outer ((%ref inner substring/width) text -1 left)) state)
                         (leave #t))
                       (begin
                         (set! left (- left text-width))
                         (%run (outer text) inner))))))
             (run-list formatters (%extend state output limited)))))))

    (define (fitted width . formatters)
      (padded width (%apply trimmed (cons width formatters))))

    (define (fitted/right width . formatters)
      (padded/right width (%apply trimmed/right (cons width formatters))))

    (define (fitted/both width . formatters)
      (padded/both width (%apply trimmed/both (cons width formatters))))))
