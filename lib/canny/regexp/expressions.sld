;;; (canny regexp expressions): what both engines for regular expressions read SREs with.
;;;
;;; A *context* says how letters compare while an SRE is compiled, and counts its submatches, names
;;; and nodes. An SRE that matches just one character is a character set.  How anything is matched
;;; is not known here.

(define-library (canny regexp expressions)
  (export
   make-regexp regexp? regexp-sre regexp-fast regexp-pattern regexp-whole set-regexp-whole!
   regexp-matcher regexp-starters regexp-count regexp-names regexp-choices
   bad-sre new-context context-nocase? context-ascii? context-capture? with-nocase with-ascii
   without-capture counter set-counter! next-counter! count-node! note-name!
   sre->set fold-set set->predicate)
  (import (canny primitives) (canny syntax)
          (only (canny data lists) map)
          (only (canny machine control) raise)
          (srfi 14))
  (begin

    ;; `fast` is the expression of the machine and `pattern` its text, or both are #f. `whole`
    ;; matches whole ranges and is made when it is needed.  For the backtracking engine `matcher`
    ;; matches, `starters` is a set of the characters that matches begin with, or #f if one may be
    ;; empty. `names` maps names to lists of submatch numbers. `choices` counts what may be
    ;; remembered, or is #f if nothing may.
    (define-record-type <regexp>
      (make-regexp sre fast pattern whole matcher starters count names choices)
      regexp?
      (sre regexp-sre)
      (fast regexp-fast)
      (pattern regexp-pattern)
      (whole regexp-whole set-regexp-whole!)
      (matcher regexp-matcher)
      (starters regexp-starters)
      (count regexp-count)
      (names regexp-names)
      (choices regexp-choices))

    (define (bad-sre message . irritants)
      (raise (%make-condition 'regexp message irritants 'regexp)))

    ;; Contexts of compilation: how letters compare, and counters in a vector shared by all.
    ;; The counters are of submatches, choices, names, whether there are back references, and
    ;; the number of nodes.
    (define-record-type <context>
      (make-context nocase? ascii? capture? counters)
      context?
      (nocase? context-nocase?)
      (ascii? context-ascii?)
      (capture? context-capture?)
      (counters context-counters))

    (define (with-nocase context nocase?)
      (make-context nocase? (context-ascii? context) (context-capture? context)
                    (context-counters context)))
    (define (with-ascii context ascii?)
      (make-context (context-nocase? context) ascii? (context-capture? context)
                    (context-counters context)))
    (define (without-capture context)
      (make-context (context-nocase? context) (context-ascii? context) #f
                    (context-counters context)))

    (define (counter context index)
      (vector-ref (context-counters context) index))
    (define (set-counter! context index value)
      (vector-set! (context-counters context) index value))
    (define (next-counter! context index)
      (let ((value (counter context index)))
        (set-counter! context index (+ value 1))
        value))

    ;; A fresh context. Its counters: submatches, choices, names, whether there are back references,
    ;; nodes, slots and the greatest submatch.
    (define (new-context)
      (make-context #f #f #t (vector 0 0 '() #f 0 0 0)))

    ;; Notes that a submatch has a name.
    (define (note-name! context name number)
      (let* ((names (counter context 2))
             (known (assq name names)))
        (cond ((not known)
               (set-counter! context 2 (append names (list (list name number)))))
              ((not (memv number (cdr known)))
               (append! known (list number))))))

    ;; An expression that repeats others many times is written out; this keeps it finite.
    (define nodes-max 200000)

    (define (count-node! context)
      (if (> (next-counter! context 4) nodes-max)
          (bad-sre "the regular expression is too large")))

    ;; Character sets.

    (define set:nonl (char-set-complement (char-set #\newline #\return)))

    (define (named-set name)
      (case name
        ((any) char-set:full)
        ((nonl) set:nonl)
        ((ascii) char-set:ascii)
        ((lower-case lower) char-set:lower-case)
        ((upper-case upper) char-set:upper-case)
        ((title-case title) char-set:title-case)
        ((alphabetic alpha) char-set:letter)
        ((numeric num digit) char-set:digit)
        ((alphanumeric alphanum alnum) char-set:letter+digit)
        ((punctuation punct) char-set:punctuation)
        ((symbol) char-set:symbol)
        ((graphic graph) char-set:graphic)
        ((printing print) char-set:printing)
        ((whitespace white space) char-set:whitespace)
        ((control cntrl) char-set:iso-control)
        ((hex-digit xdigit) char-set:hex-digit)
        (else #f)))

    (define cased-memo #f)

    (define (cased)
      (or cased-memo
          (begin
            (set! cased-memo
                  (char-set-union char-set:lower-case char-set:upper-case char-set:title-case))
            cased-memo)))

    ;; With the other case of its letters.
    (define (fold-set set context)
      (if (context-nocase? context)
          (let ((letters (char-set-intersection
                          set
                          (if (context-ascii? context)
                              (char-set-intersection char-set:ascii char-set:letter)
                              (cased)))))
            (char-set-union set
                            (char-set-map char-upcase letters)
                            (char-set-map char-titlecase letters)
                            (char-set-map char-downcase letters)))
          set))

    (define (in-context set context)
      (if (context-ascii? context)
          (char-set-intersection set char-set:ascii)
          set))

    ;; The set that an SRE denotes, or #f if it does not match just one character of a set.
    (define (sre->set sre context)
      (cond ((char? sre) (fold-set (char-set sre) context))
            ((string? sre)
             (and (= (string-length sre) 1)
                  (fold-set (string->char-set sre) context)))
            ((char-set? sre) (fold-set sre context))
            ((symbol? sre)
             (let ((set (named-set sre)))
               (and set
                    (in-context (if (memq sre '(lower-case lower upper-case upper))
                                    (fold-set set context)
                                    set)
                                context))))
            ((not (and (pair? sre) (list? sre))) #f)
            ((string? (car sre))
             (and (null? (cdr sre))
                  (fold-set (string->char-set (car sre)) context)))
            (else
             (let ((sets (lambda (sres) (all-sets sres context))))
               (case (car sre)
                 ((char-set)
                  (if (not (and (pair? (cdr sre)) (null? (cddr sre)) (string? (cadr sre))))
                      (bad-sre "char-set takes one string" sre))
                  (fold-set (string->char-set (cadr sre)) context))
                 ((/ char-range) (fold-set (ranges sre) context))
                 ((or |\||)
                  (let ((sets (sets (cdr sre))))
                    (and sets (apply char-set-union sets))))
                 ((& and)
                  (let ((sets (sets (cdr sre))))
                    (if (not sets)
                        (bad-sre "the parts of an intersection are character sets" sre))
                    (in-context (apply char-set-intersection sets) context)))
                 ((- difference)
                  (let ((sets (sets (cdr sre))))
                    (if (not (pair? sets))
                        (bad-sre "the parts of a difference are character sets" sre))
                    (apply char-set-difference sets)))
                 ((~ complement)
                  (let ((sets (sets (cdr sre))))
                    (if (not sets)
                        (bad-sre "the parts of a complement are character sets" sre))
                    (in-context (char-set-complement (apply char-set-union sets)) context)))
                 ((w/case) (one-set sre (with-nocase context #f)))
                 ((w/nocase) (one-set sre (with-nocase context #t)))
                 ((w/ascii) (one-set sre (with-ascii context #t)))
                 ((w/unicode) (one-set sre (with-ascii context #f)))
                 (else #f))))))

    (define (one-set sre context)
      (and (pair? (cdr sre))
           (null? (cddr sre))
           (sre->set (cadr sre) context)))

    ;; The sets of a list of SREs, or #f if one is no set.
    (define (all-sets sres context)
      (let loop ((rest sres) (sets '()))
        (if (null? rest)
            (reverse! sets)
            (let ((set (sre->set (car rest) context)))
              (and set (loop (cdr rest) (cons set sets)))))))

    (define (ranges sre)
      (let ((chars (concatenate
                    (map (lambda (spec)
                           (cond ((char? spec) (list spec))
                                 ((string? spec) (string->list spec))
                                 (else (bad-sre "not a range of characters" spec))))
                         (cdr sre)))))
        (let loop ((rest chars) (set char-set:empty))
          (cond ((null? rest) set)
                ((null? (cdr rest)) (bad-sre "a range needs two ends" sre))
                ((char<? (cadr rest) (car rest))
                 (bad-sre "the end of a range is below its start" sre))
                (else
                 (loop (cddr rest)
                       (char-set-union set
                                       (ucs-range->char-set
                                        (char->integer (car rest))
                                        (+ 1 (char->integer (cadr rest)))))))))))

    ;; A predicate for a set: quick where the set is one character or everything.
    (define (set->predicate set)
      (let ((size (char-set-size set)))
        (cond ((= size 1)
               (let ((char (char-set-ref set (char-set-cursor set))))
                 (lambda (other) (eq? other char))))
              ((= size 1112064) (lambda (other) #t))
              (else (lambda (other) (char-set-contains? set other))))))))
