;;; (canny regexp matching): the procedures of SRFI 115, on two engines.
;;;
;;; An SRE becomes a pattern of text for the fast engine of the machine, which takes time proportional to the string
;;; whatever the pattern.  What that has no form for (submatches that are referred to, looking around, graphemes, large
;;; character sets that are no named ones) goes to the engine here; both find the same matches.  Patterns of text go
;;; to the fast engine only.
;;;
;;; The engine here compiles an SRE to closures that match from left to right and backtrack; each takes the run, the
;;; place in the string, and gives the place behind the match or #f.  The first way that matches wins:
;;; alternatives in their order, repetitions as long as possible unless they are non-greedy.
;;;
;;; What has failed at a place fails there again, since without back references the rest of the match
;;; does not depend on how the place was reached.  So the places where a choice failed are remembered
;;; once a run has made many choices, and time is at most proportional to the size of the expression
;;; times the length of the string.  The memory is kept while the same string is searched on.
;;;
;;; Repetitions of single characters are loops, not recursion.  A search skips places whose character
;;; cannot begin a match.

(define-library (canny regexp matching)
  (export
   regexp regexp? valid-sre? rx regexp->sre char-set->sre
   regexp-matches regexp-matches? regexp-search regexp-fold regexp-extract regexp-split
   regexp-partition regexp-replace regexp-replace-all
   regexp-match? regexp-match-count regexp-match-submatch regexp-match-submatch-start
   regexp-match-submatch-end regexp-match->list
   pattern->regexp regexp-find-line regexp-test?)
  (import (canny primitives) (canny syntax)
          (only (canny data lists) map for-each)
          (only (canny machine control) raise with-exception-handler)
          (srfi 14))
  (begin

    ;; Objects.

    ;; `fast` is the expression of the machine and `pattern` its text, or both are #f; `whole` matches whole ranges
    ;; and is made when it is needed.  For the engine here `matcher` matches, `starters` is a set of the characters that matches begin with, or #f if one
    ;; may be empty; `names` maps names to lists of submatch numbers; `choices` counts what may be
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

    ;; Places are indexes of the string; submatch i begins at place 2i of the vector.
    (define-record-type <regexp-match>
      (make-match string places names)
      regexp-match?
      (string match-string)
      (places match-places)
      (names match-names))

    ;; What closures share while they match.  `budget` counts down the choices until the memory is made.
    (define-record-type <run>
      (make-run string start end places whole? memory budget choices)
      run?
      (string run-string)
      (start run-start)
      (end run-end)
      (places run-places)
      (whole? run-whole?)
      (memory run-memory set-run-memory!)
      (budget run-budget set-run-budget!)
      (choices run-choices))

    ;; A run of the fast engine; `state` is its memory of the string.
    (define-record-type <fast-run>
      (make-fast-run string start end state)
      fast-run?
      (string fast-run-string)
      (start fast-run-start)
      (end fast-run-end)
      (state fast-run-state))

    (define (bad-sre message . irritants)
      (raise (%make-condition 'regexp message irritants 'regexp)))

    ;; Contexts of compilation: how letters compare, and counters in a vector shared by all: submatches,
    ;; choices, names, whether there are back references, and the number of nodes.
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
              (else (lambda (other) (char-set-contains? set other))))))

    ;; Choices.  `try` is the work of the choice; a failure is remembered.
    (define (choice context try)
      (let ((id (next-counter! context 1)))
        (lambda (run place)
          (let ((memory (run-memory run)))
            (if memory
                (let ((index (+ (* id (+ 1 (- (run-end run) (run-start run))))
                                (- place (run-start run)))))
                  (if (eqv? 1 (bytevector-u8-ref memory index))
                      #f
                      (or (try run place)
                          (begin
                            (bytevector-u8-set! memory index 1)
                            #f))))
                (begin
                  (let ((budget (run-budget run)))
                    (if budget
                        (if (eqv? budget 0)
                            (make-memory! run)
                            (set-run-budget! run (- budget 1)))))
                  (try run place)))))))

    ;; A text for which the memory would be too large is searched without.
    (define memory-bytes-max 268435456)

    (define (make-memory! run)
      (let ((bytes (* (run-choices run) (+ 1 (- (run-end run) (run-start run))))))
        (if (<= bytes memory-bytes-max)
            (set-run-memory! run (make-bytevector bytes 0))
            (set-run-budget! run #f))))

    ;; Compilation.  `next` matches what follows.

    (define (compile-sequence sres context next)
      (if (null? sres)
          next
          ;; The first part is compiled first, since submatches are numbered from the left.
          (let* ((rest #f)
                 (first (compile (car sres) context
                                 (if (null? (cdr sres))
                                     next
                                     (lambda (run place) (rest run place))))))
            (set! rest (compile-sequence (cdr sres) context next))
            first)))

    (define (compile sre context next)
      (count-node! context)
      (cond ((and (string? sre) (not (= (string-length sre) 1)))
             (compile-string sre context next))
            ((sre->set sre context)
             => (lambda (set) (compile-set set next)))
            ((symbol? sre) (compile-symbol sre context next))
            ((regexp? sre) (compile (regexp-sre sre) context next))
            ((not (and (pair? sre) (list? sre))) (bad-sre "not a regular expression" sre))
            (else (compile-form sre context next))))

    (define (compile-set set next)
      (let ((in? (set->predicate set)))
        (lambda (run place)
          (and (< place (run-end run))
               (in? (string-ref (run-string run) place))
               (next run (+ place 1))))))

    (define (compile-string string context next)
      (let ((length (string-length string))
            (same? (cond ((not (context-nocase? context)) eq?)
                         ((context-ascii? context)
                          (lambda (left right)
                            (or (eq? left right)
                                (and (char<? left #\x80) (char<? right #\x80)
                                     (char-ci=? left right)))))
                         (else char-ci=?))))
        (lambda (run place)
          (let ((end (+ place length)))
            (and (<= end (run-end run))
                 (let ((text (run-string run)))
                   (let loop ((index 0))
                     (if (= index length)
                         (next run end)
                         (and (same? (string-ref string index)
                                     (string-ref text (+ place index)))
                              (loop (+ index 1)))))))))))

    (define-syntax when-at
      (syntax-rules ()
        ((_ next (run place) test)
         (lambda (run place)
           (and test (next run place))))))

    (define (word-char? char)
      (or (char-alphabetic? char) (char-numeric? char) (char=? char #\_)))

    (define (word-before? run place)
      (and (> place (run-start run))
           (word-char? (string-ref (run-string run) (- place 1)))))

    (define (word-after? run place)
      (and (< place (run-end run))
           (word-char? (string-ref (run-string run) place))))

    (define (line-end? char)
      (or (eq? char #\newline) (eq? char #\return)))

    (define (compile-symbol name context next)
      (case name
        ((bos) (when-at next (run place) (= place (run-start run))))
        ((eos) (when-at next (run place) (= place (run-end run))))
        ((bol) (when-at next (run place)
                 (or (= place (run-start run))
                     (line-end? (string-ref (run-string run) (- place 1))))))
        ((eol) (when-at next (run place)
                 (or (= place (run-end run))
                     (line-end? (string-ref (run-string run) place)))))
        ((bow) (when-at next (run place)
                 (and (word-after? run place) (not (word-before? run place)))))
        ((eow) (when-at next (run place)
                 (and (word-before? run place) (not (word-after? run place)))))
        ((nwb) (when-at next (run place)
                 (eq? (word-before? run place) (word-after? run place))))
        ((bog) (when-at next (run place)
                 (and (< place (run-end run)) (grapheme-boundary? run place))))
        ((eog) (when-at next (run place)
                 (and (> place (run-start run)) (grapheme-boundary? run place))))
        ((grapheme)
         (lambda (run place)
           (and (< place (run-end run))
                (let loop ((end (+ place 1)))
                  (if (grapheme-boundary? run end)
                      (next run end)
                      (loop (+ end 1)))))))
        ((word) (compile '(word+ any) context next))
        (else (bad-sre "not a regular expression" name))))

    (define (check-count sre object)
      (if (not (exact-nonnegative-integer? object))
          (bad-sre "a repetition is counted by exact integers" sre)))

    (define (compile-form sre context next)
      (define (body) (cdr sre))
      (define (needs count)
        (if (<= (length sre) count)
            (bad-sre "arguments are missing" sre)))
      (case (car sre)
        ((: seq) (compile-sequence (body) context next))
        ((or |\||) (compile-alternatives (body) context next))
        ((? optional) (repeat (body) 0 1 #t context next))
        ((* zero-or-more) (repeat (body) 0 #f #t context next))
        ((+ one-or-more) (repeat (body) 1 #f #t context next))
        ((?? non-greedy-optional) (repeat (body) 0 1 #f context next))
        ((*? non-greedy-zero-or-more) (repeat (body) 0 #f #f context next))
        ((>= at-least)
         (needs 1)
         (check-count sre (cadr sre))
         (repeat (cddr sre) (cadr sre) #f #t context next))
        ((= exactly)
         (needs 1)
         (check-count sre (cadr sre))
         (repeat (cddr sre) (cadr sre) (cadr sre) #t context next))
        ((** repeated **? non-greedy-repeated)
         (needs 2)
         (check-count sre (cadr sre))
         (if (caddr sre)
             (check-count sre (caddr sre)))
         (if (and (caddr sre) (< (caddr sre) (cadr sre)))
             (bad-sre "the greatest count is below the least" sre))
         (repeat (cdddr sre) (cadr sre) (caddr sre)
                 (if (memq (car sre) '(** repeated)) #t #f)
                 context next))
        (($ submatch)
         (if (context-capture? context)
             (submatch #f (body) context next)
             (compile-sequence (body) context next)))
        ((-> submatch-named)
         (needs 1)
         (if (not (symbol? (cadr sre)))
             (bad-sre "the name of a submatch is a symbol" sre))
         (if (context-capture? context)
             (submatch (cadr sre) (cddr sre) context next)
             (compile-sequence (cddr sre) context next)))
        ((w/case) (compile-sequence (body) (with-nocase context #f) next))
        ((w/nocase) (compile-sequence (body) (with-nocase context #t) next))
        ((w/ascii) (compile-sequence (body) (with-ascii context #t) next))
        ((w/unicode) (compile-sequence (body) (with-ascii context #f) next))
        ((w/nocapture) (compile-sequence (body) (without-capture context) next))
        ((word)
         (compile-sequence `(bow ,@(body) eow) context next))
        ((word+)
         (compile `(word (+ (and (or alphanumeric "_") (or ,@(body))))) context next))
        ((look-ahead) (look-ahead (body) #t context next))
        ((neg-look-ahead) (look-ahead (body) #f context next))
        ((look-behind) (look-behind (body) #t context next))
        ((neg-look-behind) (look-behind (body) #f context next))
        ((backref)
         (needs 1)
         (back-reference (cadr sre) context next))
        (else (bad-sre "not a regular expression" sre))))

    (define (compile-alternatives sres context next)
      (cond ((null? sres) (lambda (run place) #f))
            ((null? (cdr sres)) (compile (car sres) context next))
            (else
             (let ((matchers (let loop ((rest sres))
                               (if (null? rest)
                                   '()
                                   (let ((first (compile (car rest) context next)))
                                     (cons first (loop (cdr rest))))))))
               (choice context
                       (lambda (run place)
                         (let loop ((rest matchers))
                           (and (pair? rest)
                                (or ((car rest) run place)
                                    (loop (cdr rest)))))))))))

    ;; Repetition, `most` times at most unless it is #f.
    (define (repeat sres least most greedy? context next)
      (let ((set (and (pair? sres) (null? (cdr sres)) (sre->set (car sres) context))))
        (cond (set (repeat-set set least most greedy? context next))
              ((> least 0)
               ;; Written out; each submatch has one number in all copies.
               (let ((submatches (counter context 0)))
                 (compile-copy sres context
                               (lambda ()
                                 (set-counter! context 0 submatches)
                                 (repeat sres (- least 1) (and most (- most 1)) greedy?
                                         context next))
                               next
                               (or (> least 1) (not (eqv? most 1))))))
              ((eqv? most 0)
               ;; Submatches are numbered all the same.
               (compile-sequence sres context next)
               next)
              (most
               (let ((submatches (counter context 0)))
                 (let ((copy (compile-copy sres context
                                           (lambda ()
                                             (set-counter! context 0 submatches)
                                             (repeat sres 0 (- most 1) greedy? context next))
                                           next
                                           (> most 1))))
                   (choice context
                           (if greedy?
                               (lambda (run place) (or (copy run place) (next run place)))
                               (lambda (run place) (or (next run place) (copy run place))))))))
              (else (repeat-loop sres greedy? context next)))))

    ;; The expressions, followed by what `make-rest` compiles, if there is more, or by `next`.
    (define (compile-copy sres context make-rest next more?)
      (count-node! context)
      (if more?
          (let* ((rest #f)
                 (copy (compile-sequence sres context
                                         (lambda (run place) (rest run place)))))
            (set! rest (make-rest))
            copy)
          (compile-sequence sres context next)))

    ;; Any number of times.  A turn that matches nothing is no turn, else it could go on forever: the
    ;; place where a turn began is kept in the run's vector beside the submatches.
    (define (repeat-loop sres greedy? context next)
      (let* ((slot (next-counter! context 5))
             (loop #f)
             (turn (compile-sequence
                    sres context
                    (lambda (run place)
                      (and (not (eqv? place (vector-ref (vector-ref (run-places run) 0) slot)))
                           (loop run place)))))
             (start-turn (lambda (run place)
                           (let* ((slots (vector-ref (run-places run) 0))
                                  (before (vector-ref slots slot)))
                             (vector-set! slots slot place)
                             (or (turn run place)
                                 (begin
                                   (vector-set! slots slot before)
                                   #f))))))
        (set! loop
              (choice context
                      (if greedy?
                          (lambda (run place) (or (start-turn run place) (next run place)))
                          (lambda (run place) (or (next run place) (start-turn run place))))))
        loop))

    (define (repeat-set set least most greedy? context next)
      (let ((in? (set->predicate set)))
        (choice context
                (if greedy?
                    (lambda (run place)
                      (let* ((string (run-string run))
                             (least-place (+ place least))
                             (limit (if most
                                        (min (run-end run) (+ place most))
                                        (run-end run)))
                             (last (let forward ((place place))
                                     (if (and (< place limit) (in? (string-ref string place)))
                                         (forward (+ place 1))
                                         place))))
                        (let back ((place last))
                          (and (>= place least-place)
                               (or (next run place)
                                   (back (- place 1)))))))
                    (lambda (run place)
                      (let ((string (run-string run))
                            (least-place (+ place least))
                            (limit (if most
                                       (min (run-end run) (+ place most))
                                       (run-end run))))
                        (let forward ((place place))
                          (or (and (>= place least-place) (next run place))
                              (and (< place limit)
                                   (in? (string-ref string place))
                                   (forward (+ place 1)))))))))))

    ;; Submatches.  Places change back when the match fails.

    (define (set-place run index place next)
      (let* ((places (run-places run))
             (before (vector-ref places index)))
        (vector-set! places index place)
        (or (next run place)
            (begin
              (vector-set! places index before)
              #f))))

    ;; The start is kept aside until the end is known, so that the places of a submatch always belong
    ;; together.
    (define (submatch name sres context next)
      (let* ((number (+ 1 (next-counter! context 0)))
             (slot (next-counter! context 5))
             (start-index (* 2 number)))
        (if (> number (counter context 6))
            (set-counter! context 6 number))
        (if name
            (note-name! context name number))
        (let ((inner (compile-sequence
                      sres context
                      (lambda (run place)
                        (let* ((places (run-places run))
                               (start-before (vector-ref places start-index)))
                          (vector-set! places
                                       start-index
                                       (vector-ref (vector-ref places 0) slot))
                          (or (set-place run (+ start-index 1) place next)
                              (begin
                                (vector-set! places start-index start-before)
                                #f)))))))
          (lambda (run place)
            (let* ((slots (vector-ref (run-places run) 0))
                   (before (vector-ref slots slot)))
              (vector-set! slots slot place)
              (or (inner run place)
                  (begin
                    (vector-set! slots slot before)
                    #f)))))))

    (define (back-reference field context next)
      (set-counter! context 3 #t)
      (let ((same? (if (context-nocase? context) char-ci=? eq?))
            (numbers (cond ((and (exact-integer? field) (positive? field)) (list field))
                           ((and (symbol? field) (assq field (counter context 2))) => cdr)
                           (else (bad-sre "a back reference to no submatch" field)))))
        (lambda (run place)
          (let* ((places (run-places run))
                 (number (let loop ((rest numbers))
                           (cond ((null? rest) #f)
                                 ((and (< (+ 1 (* 2 (car rest))) (vector-length places))
                                       (vector-ref places (+ 1 (* 2 (car rest)))))
                                  (car rest))
                                 (else (loop (cdr rest)))))))
            (and number
                 (let* ((start (vector-ref places (* 2 number)))
                        (length (- (vector-ref places (+ 1 (* 2 number))) start))
                        (string (run-string run)))
                   (and (<= (+ place length) (run-end run))
                        (let loop ((index 0))
                          (if (= index length)
                              (next run (+ place length))
                              (and (same? (string-ref string (+ start index))
                                          (string-ref string (+ place index)))
                                   (loop (+ index 1))))))))))))

    ;; Looking around.  What is looked for is matched on its own, so nothing in it is tried again when
    ;; the rest fails.

    (define (found run place) place)

    (define (look-ahead sres wanted? context next)
      (let ((matcher (compile-sequence sres context found)))
        (if wanted?
            (lambda (run place)
              (and (matcher run place) (next run place)))
            ;; What the match has captured is forgotten.
            (lambda (run place)
              (let ((places (vector-copy (run-places run))))
                (if (matcher run place)
                    (begin
                      (vector-copy! (run-places run) 0 places)
                      #f)
                    (next run place)))))))

    ;; Every start is tried, nearest first.  Where the match has to end is kept in a slot, and what
    ;; fails depends on it: its choices are never remembered, see `choices` of the regexp.
    (define (look-behind sres wanted? context next)
      (set-counter! context 3 #t)
      (let* ((slot (next-counter! context 5))
             (matcher (compile-sequence
                       sres context
                       (lambda (run place)
                         (and (eqv? place (vector-ref (vector-ref (run-places run) 0) slot))
                              place)))))
        (lambda (run place)
          (let* ((slots (vector-ref (run-places run) 0))
                 (before (vector-ref slots slot)))
            (vector-set! slots slot place)
            (let ((matches? (let loop ((start place))
                              (and (>= start (run-start run))
                                   (or (matcher run start)
                                       (loop (- start 1)))))))
              (vector-set! slots slot before)
              (and (if wanted? matches? (not matches?))
                   (next run place)))))))

    ;; Graphemes: the rules of extended grapheme clusters (UAX #29), with emoji known by their blocks.

    (define (extends? char)
      (or (memq (char-general-category char) '(Mn Me Mc))
          (memv char '(#\x200C #\x200D))
          (char<=? #\x1F3FB char #\x1F3FF)))

    (define (pictograph? char)
      (or (char<=? #\x1F000 char #\x1FAFF)
          (char<=? #\x2600 char #\x27BF)
          (char<=? #\x2190 char #\x21FF)
          (char<=? #\x2B00 char #\x2BFF)))

    (define (regional? char)
      (char<=? #\x1F1E6 char #\x1F1FF))

    ;; Parts of Hangul syllables: l, v, t, lv, lvt or #f.
    (define (hangul char)
      (let ((code (char->integer char)))
        (cond ((< code #x1100) #f)
              ((<= code #x115F) 'l)
              ((<= code #x11A7) 'v)
              ((<= code #x11FF) 't)
              ((<= #xAC00 code #xD7A3) (if (eqv? 0 (remainder (- code #xAC00) 28)) 'lv 'lvt))
              (else #f))))

    (define (grapheme-boundary? run place)
      (or (= place (run-start run))
          (= place (run-end run))
          (let* ((string (run-string run))
                 (before (string-ref string (- place 1)))
                 (after (string-ref string place)))
            (cond ((and (eq? before #\return) (eq? after #\newline)) #f)
                  ((and (char<? before #\x300) (char<? after #\x300)) #t)
                  ((or (memq (char-general-category before) '(Cc Zl Zp))
                       (memq (char-general-category after) '(Cc Zl Zp)))
                   #t)
                  ((extends? after) #f)
                  ((and (regional? before) (regional? after))
                   (let loop ((index (- place 1)) (count 0))
                     (if (and (>= index (run-start run)) (regional? (string-ref string index)))
                         (loop (- index 1) (+ count 1))
                         (even? count))))
                  ((and (eq? before #\x200D) (pictograph? after))
                   (let loop ((index (- place 2)))
                     (cond ((< index (run-start run)) #t)
                           ((extends? (string-ref string index)) (loop (- index 1)))
                           (else (not (pictograph? (string-ref string index)))))))
                  (else
                   (case (hangul before)
                     ((l) (not (memq (hangul after) '(l v lv lvt))))
                     ((v lv) (not (memq (hangul after) '(v t))))
                     ((t lvt) (not (eq? (hangul after) 't)))
                     (else #t)))))))

    ;; The characters that a match may begin with, or #f if it may be empty or nothing is known.

    (define (starters sre context)
      (cond ((string? sre)
             (and (> (string-length sre) 0)
                  (fold-set (char-set (string-ref sre 0)) context)))
            ((sre->set sre context))
            ((not (pair? sre)) #f)
            (else
             (let ((sequence (lambda (sres context) (sequence-starters sres context))))
               (case (car sre)
                 ((: seq $ submatch) (sequence (cdr sre) context))
                 ((+ one-or-more) (sequence (cdr sre) context))
                 ((-> submatch-named) (sequence (cddr sre) context))
                 ((= exactly >= at-least)
                  (and (positive? (cadr sre)) (sequence (cddr sre) context)))
                 ((** repeated **? non-greedy-repeated)
                  (and (positive? (cadr sre)) (sequence (cdddr sre) context)))
                 ((w/nocase) (sequence (cdr sre) (with-nocase context #t)))
                 ((w/case) (sequence (cdr sre) (with-nocase context #f)))
                 ((w/ascii) (sequence (cdr sre) (with-ascii context #t)))
                 ((w/unicode) (sequence (cdr sre) (with-ascii context #f)))
                 ((w/nocapture) (sequence (cdr sre) context))
                 ((or |\||)
                  (let loop ((rest (cdr sre)) (set char-set:empty))
                    (if (null? rest)
                        set
                        (let ((first (starters (car rest) context)))
                          (and first (loop (cdr rest) (char-set-union set first)))))))
                 (else #f))))))

    ;; What matches no character is passed over.
    (define (sequence-starters sres context)
      (cond ((null? sres) #f)
            ((memq (car sres) '(bos bol bow bog nwb)) (sequence-starters (cdr sres) context))
            (else (starters (car sres) context))))

    ;; Translation to patterns of text.

    ;; The pattern of an SRE, or #f.  Numbers and names of submatches go to the context's counters.
    (define (sre->pattern sre context)
      (call-with-current-continuation
       (lambda (return)
         (let ((port (open-output-string)))
           (translate sre context port (lambda () (return #f)))
           (get-output-string port)))))

    (define (put-char char port)
      (let ((code (char->integer char)))
        (if (or (char<=? #\a char #\z) (char<=? #\A char #\Z) (char<=? #\0 char #\9)
                (> code 127))
            (write-char char port)
            (begin
              (write-string "\\x{" port)
              (write-string (number->string code 16) port)
              (write-char #\} port)))))

    (define (translate sre context port give-up)
      (define (sequence sres context)
        (for-each (lambda (sre) (translate sre context port give-up)) sres))
      (define (group prefix sres context)
        (write-string prefix port)
        (sequence sres context)
        (write-char #\) port))
      (define (count object)
        (if (exact-nonnegative-integer? object)
            (if (<= object 1000) object (give-up))
            (give-up)))
      (define (repeated sres suffix)
        (if (null? sres) (give-up))
        (group "(?:" sres context)
        (write-string suffix port))
      (define (least->suffix least most)
        (string-append "{" (number->string (count least))
                       (cond ((eq? most 'same) "}")
                             (most (string-append "," (number->string (count most)) "}"))
                             (else ",}"))))
      (define (arguments least)
        (if (< (length sre) (+ least 1)) (give-up))
        (list-tail sre (+ least 1)))
      (count-node! context)
      (cond ((and (string? sre) (not (= (string-length sre) 1)))
             (if (and (context-nocase? context) (context-ascii? context)) (give-up))
             (for-each (lambda (char) (put-char char port)) (string->list sre)))
            ((sre->class sre context give-up) => (lambda (class) (write-string class port)))
            ((symbol? sre)
             (case sre
               ((bos) (write-string "\\A" port))
               ((eos) (write-string "\\z" port))
               ((bol) (write-string "(?mR:^)" port))
               ((eol) (write-string "(?mR:$)" port))
               ((bow) (write-string "\\b{start}" port))
               ((eow) (write-string "\\b{end}" port))
               ((nwb) (write-string "\\B" port))
               ((word) (translate '(word+ any) context port give-up))
               (else (give-up))))
            ((regexp? sre)
             (let ((inner (regexp-sre sre)))
               (if (and (pair? inner) (eq? (car inner) 'pattern)) (give-up))
               (translate inner context port give-up)))
            ((not (and (pair? sre) (list? sre))) (give-up))
            (else
             (case (car sre)
               ((: seq) (group "(?:" (cdr sre) context))
               ((or |\||)
                (if (null? (cdr sre)) (give-up))
                (write-string "(?:" port)
                (let loop ((rest (cdr sre)))
                  (translate (car rest) context port give-up)
                  (if (pair? (cdr rest))
                      (begin
                        (write-char #\| port)
                        (loop (cdr rest)))))
                (write-char #\) port))
               ((? optional) (repeated (cdr sre) "?"))
               ((* zero-or-more) (repeated (cdr sre) "*"))
               ((+ one-or-more) (repeated (cdr sre) "+"))
               ((?? non-greedy-optional) (repeated (cdr sre) "??"))
               ((*? non-greedy-zero-or-more) (repeated (cdr sre) "*?"))
               ((>= at-least)
                (repeated (arguments 1) (least->suffix (cadr sre) #f)))
               ((= exactly)
                (repeated (arguments 1) (least->suffix (cadr sre) 'same)))
               ((** repeated **? non-greedy-repeated)
                (let ((sres (arguments 2)))
                  (if (and (caddr sre) (< (count (caddr sre)) (count (cadr sre)))) (give-up))
                  (repeated sres
                            (string-append (least->suffix (cadr sre) (caddr sre))
                                           (if (memq (car sre) '(** repeated)) "" "?")))))
               (($ submatch)
                (if (context-capture? context)
                    (begin
                      (next-counter! context 0)
                      (group "(" (cdr sre) context))
                    (group "(?:" (cdr sre) context)))
               ((-> submatch-named)
                (let ((sres (arguments 1)))
                  (if (not (symbol? (cadr sre))) (give-up))
                  (if (context-capture? context)
                      (begin
                        (note-name! context (cadr sre) (+ 1 (next-counter! context 0)))
                        (group "(" sres context))
                      (group "(?:" sres context))))
               ((w/case) (group "(?-i:" (cdr sre) (with-nocase context #f)))
               ((w/nocase) (group "(?i:" (cdr sre) (with-nocase context #t)))
               ((w/ascii) (group "(?:" (cdr sre) (with-ascii context #t)))
               ((w/unicode) (group "(?:" (cdr sre) (with-ascii context #f)))
               ((w/nocapture) (group "(?:" (cdr sre) (without-capture context)))
               ((word)
                (write-string "\\b{start}" port)
                (group "(?:" (cdr sre) context)
                (write-string "\\b{end}" port))
               ((word+)
                (translate `(word (+ (and (or alphanumeric "_") (or ,@(cdr sre)))))
                           context port give-up))
               (else (give-up))))))

    ;; Notes that a submatch has a name.
    (define (note-name! context name number)
      (let* ((names (counter context 2))
             (known (assq name names)))
        (cond ((not known)
               (set-counter! context 2 (append names (list (list name number)))))
              ((not (memv number (cdr known)))
               (append! known (list number))))))

    (define (code->class code)
      (string-append "\\x{" (number->string code 16) "}"))

    (define (range->class start end)
      (string-append (code->class start) "-" (code->class end)))

    (define (named-class name)
      (case name
        ((any) "[\\x{0}-\\x{10FFFF}]")
        ((nonl) "[^\\n\\r]")
        ((ascii) "[\\x{0}-\\x{7F}]")
        ((lower-case lower) "[\\p{Lowercase}]")
        ((upper-case upper) "[\\p{Uppercase}]")
        ((title-case title) "[\\p{Lt}]")
        ((alphabetic alpha) "[\\p{L}]")
        ((numeric num digit) "[\\p{Nd}]")
        ((alphanumeric alphanum alnum) "[\\p{L}\\p{Nd}]")
        ((punctuation punct) "[\\p{P}]")
        ((symbol) "[\\p{S}]")
        ((graphic graph) "[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}]")
        ((printing print) "[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Zs}\\p{Zl}\\p{Zp}\\x{9}-\\x{D}]")
        ((whitespace white space) "[\\p{Zs}\\p{Zl}\\p{Zp}\\x{9}-\\x{D}]")
        ((control cntrl) "[\\x{0}-\\x{1F}\\x{7F}-\\x{9F}]")
        ((hex-digit xdigit) "[0-9A-Fa-f]")
        (else #f)))

    ;; What a named set is among the ASCII characters.
    (define (ascii-class name)
      (case name
        ((any ascii) "[\\x{0}-\\x{7F}]")
        ((lower-case lower) "[a-z]")
        ((upper-case upper) "[A-Z]")
        ((alphabetic alpha) "[A-Za-z]")
        ((numeric num digit) "[0-9]")
        ((alphanumeric alphanum alnum) "[0-9A-Za-z]")
        ((whitespace white space) "[\\x{9}-\\x{D} ]")
        ((hex-digit xdigit) "[0-9A-Fa-f]")
        (else
         (let ((class (named-class name)))
           (and class
                (string-append "[" class "&&\\x{0}-\\x{7F}]"))))))

    ;; Characters in the set of an SRE that is written out.
    (define set-size-max 4000)

    (define (set->class set)
      (let ((size (char-set-size set)))
        (cond ((eqv? size 0) "[a&&b]")
              ((> size set-size-max) #f)
              (else
               (let loop ((codes (map char->integer (char-set->list set))) (parts (list "[")))
                 (if (null? codes)
                     (string-concatenate (reverse! (cons "]" parts)))
                     (let next ((last (car codes)) (rest (cdr codes)))
                       (if (and (pair? rest) (eqv? (car rest) (+ last 1)))
                           (next (car rest) (cdr rest))
                           (loop rest (cons (range->class (car codes) last) parts))))))))))

    ;; The bracketed class of an SRE, or #f if it does not match just one character of a set.
    (define (sre->class sre context give-up)
      ;; Letters of ASCII have relatives elsewhere: with ASCII only, those must not match.
      (define (literal set)
        (if (and (context-nocase? context) (context-ascii? context)) (give-up))
        (or (set->class set) (give-up)))
      (define (classes sres)
        (let loop ((rest sres) (classes '()))
          (if (null? rest)
              (reverse! classes)
              (let ((class (sre->class (car rest) context give-up)))
                (and class (loop (cdr rest) (cons class classes)))))))
      (define (in-ascii class)
        (if (context-ascii? context)
            (string-append "[" class "&&\\x{0}-\\x{7F}]")
            class))
      (define (joined parts separator)
        (if (null? (cdr parts))
            (car parts)
            (let loop ((rest (cdr parts)) (class (car parts)))
              (if (null? rest)
                  class
                  (loop (cdr rest) (string-append "[" class separator (car rest) "]"))))))
      (cond ((char? sre) (literal (char-set sre)))
            ((string? sre)
             (and (= (string-length sre) 1) (literal (string->char-set sre))))
            ((char-set? sre) (literal sre))
            ((symbol? sre)
             (if (context-ascii? context)
                 (and (named-class sre)
                      (if (context-nocase? context) (give-up) (ascii-class sre)))
                 (named-class sre)))
            ((not (and (pair? sre) (list? sre))) #f)
            ((string? (car sre))
             (and (null? (cdr sre)) (literal (string->char-set (car sre)))))
            (else
             (case (car sre)
               ((char-set)
                (if (not (and (pair? (cdr sre)) (null? (cddr sre)) (string? (cadr sre))))
                    (give-up))
                (literal (string->char-set (cadr sre))))
               ((/ char-range) (ranges->class sre context give-up))
               ((or |\||)
                (let ((classes (classes (cdr sre))))
                  (cond ((not classes) #f)
                        ((null? classes) "[a&&b]")
                        (else (string-append "[" (string-concatenate classes) "]")))))
               ((& and)
                (let ((classes (classes (cdr sre))))
                  (if (not (pair? classes)) (give-up))
                  (in-ascii (joined classes "&&"))))
               ((- difference)
                (let ((classes (classes (cdr sre))))
                  (if (not (pair? classes)) (give-up))
                  (joined classes "--")))
               ((~ complement)
                (let ((classes (classes (cdr sre))))
                  (if (not (pair? classes)) (give-up))
                  (in-ascii (string-append "[^" (string-concatenate classes) "]"))))
               ((w/case)
                (if (context-nocase? context) (give-up))
                (one-class sre context give-up))
               ((w/nocase)
                (if (not (context-nocase? context))
                    #f
                    (one-class sre context give-up)))
               ((w/ascii) (one-class sre (with-ascii context #t) give-up))
               ((w/unicode) (one-class sre (with-ascii context #f) give-up))
               (else #f)))))

    (define (one-class sre context give-up)
      (and (pair? (cdr sre))
           (null? (cddr sre))
           (sre->class (cadr sre) context give-up)))

    (define (ranges->class sre context give-up)
      (if (and (context-nocase? context) (context-ascii? context)) (give-up))
      (let loop ((chars (concatenate
                         (map (lambda (spec)
                                (cond ((char? spec) (list spec))
                                      ((string? spec) (string->list spec))
                                      (else (give-up))))
                              (cdr sre))))
                 (parts (list "[")))
        (cond ((null? chars)
               (if (null? (cdr parts))
                   "[a&&b]"
                   (string-concatenate (reverse! (cons "]" parts)))))
              ((or (null? (cdr chars)) (char<? (cadr chars) (car chars))) (give-up))
              (else
               (loop (cddr chars)
                     (cons (range->class (char->integer (car chars))
                                         (char->integer (cadr chars)))
                           parts))))))

    ;; Regexps.

    ;; Counters of a context: submatches, choices, names, whether there are back references, nodes, slots and the
    ;; greatest submatch.
    (define (new-context)
      (make-context #f #f #t (vector 0 0 '() #f 0 0 0)))

    (define (regexp object)
      (cond ((regexp? object) object)
            ((compile-fast object))
            (else (compile-here object))))

    (define (compile-here object)
      (let* ((context (new-context))
             (matcher (compile object context
                               (lambda (run place)
                                 (and (or (not (run-whole? run)) (= place (run-end run)))
                                      place)))))
        (make-regexp object #f #f #f
                     matcher
                     (starters object context)
                     (cons (counter context 6) (counter context 5))
                     (counter context 2)
                     (and (not (counter context 3)) (counter context 1)))))

    ;; The regexp of the fast engine, or #f.
    (define (compile-fast sre)
      (let* ((context (new-context))
             (pattern (sre->pattern sre context))
             (fast (and pattern (%regex-compile pattern))))
        (and fast
             (not (string? fast))
             (make-regexp sre fast pattern #f #f #f #f (counter context 2) #f))))

    ;; A regexp of a pattern of text.
    (define (pattern->regexp text)
      (if (not (string? text))
          (%type-error 'regexp 1 "pattern, a string" text))
      (let ((fast (%regex-compile text)))
        (if (string? fast)
            (bad-sre (string-append "malformed pattern: " fast) text))
        (make-regexp (list 'pattern text) fast text #f #f #f #f
                     (let loop ((groups (%regex-groups fast)) (number 0) (names '()))
                       (cond ((null? groups) (reverse! names))
                             ((car groups)
                              (loop (cdr groups) (+ number 1)
                                    (cons (list (string->symbol (car groups)) number) names)))
                             (else (loop (cdr groups) (+ number 1) names))))
                     #f)))

    ;; The expression that matches only whole ranges.
    (define (whole-of re)
      (or (regexp-whole re)
          ;; A comment at the end of a pattern would hide the parenthesis.
          (let* ((pattern (regexp-pattern re))
                 (first (%regex-compile (string-append "\\A(?:" pattern ")\\z")))
                 (whole (if (string? first)
                            (%regex-compile (string-append "\\A(?:" pattern "\n)\\z"))
                            first)))
            (if (string? whole)
                (bad-sre whole (regexp-sre re)))
            (set-regexp-whole! re whole)
            whole)))

    (define-syntax rx
      (syntax-rules ()
        ((_ sre ...) (regexp `(: sre ...)))))

    (define (valid-sre? object)
      (call-with-current-continuation
       (lambda (return)
         (with-exception-handler
           (lambda (condition) (return #f))
           (lambda ()
             (regexp object)
             #t)))))

    (define (regexp->sre re)
      (regexp-sre (regexp re)))

    (define (char-set->sre set)
      (if (not (char-set? set))
          (%type-error 'char-set->sre 1 "character set" set))
      (list (char-set->string set)))

    ;; Matching.

    (define (check-range who position string start end)
      (if (not (string? string))
          (%type-error who (- position 1) "string" string))
      (if (not (and (exact-nonnegative-integer? end) (<= end (string-length string))))
          (%range-error who (+ position 1) "an index of the string" end))
      (if (not (and (exact-nonnegative-integer? start) (<= start end)))
          (%range-error who position "an index not above the end" start)))

    ;; Calls `work` with the regexp, start and end; the string is argument `position` - 1.
    (define (with-range who position re string range work)
      (if (not (string? string))
          (%type-error who (- position 1) "string" string))
      (let* ((start (if (pair? range) (car range) 0))
             (end (or (and (pair? range) (pair? (cdr range)) (cadr range))
                      (string-length string))))
        (check-range who position string start end)
        (work (regexp re) start end)))

    ;; The first word of the places holds the slots of loops and submatches.
    (define (new-run re string start end whole?)
      (if (regexp-fast re)
          (make-fast-run string start end (vector #f 0 0))
          (new-run-here re string start end whole?)))

    (define (new-run-here re string start end whole?)
      (let ((places (make-vector (+ 2 (* 2 (car (regexp-count re)))) #f)))
        (vector-set! places 0 (make-vector (cdr (regexp-count re)) #f))
        (make-run string start end places whole?
                  #f
                  (and (regexp-choices re) (+ 64 (* 8 (- end start))))
                  (regexp-choices re))))

    ;; A match that begins at `start` and ends at `end`, from the places of the run.
    (define (run->match re run start end)
      (let ((places (vector-copy (run-places run))))
        (vector-set! places 0 start)
        (vector-set! places 1 end)
        (make-match (run-string run) places (regexp-names re))))

    ;; Searches from `place` on.
    (define (search re run place)
      (if (regexp-fast re)
          (search-fast re (regexp-fast re) run place)
          (search-here re run place)))

    (define (search-fast re fast run place)
      (let* ((string (fast-run-string run))
             (places (%regex-search fast string (fast-run-start run) (fast-run-end run) place
                                    (fast-run-state run))))
        (and places
             (make-match string places (regexp-names re)))))

    (define (search-here re run place)
      (let ((matcher (regexp-matcher re))
            (starters (regexp-starters re))
            (string (run-string run))
            (end (run-end run)))
        (if starters
            (let loop ((place place))
              (cond ((>= place end) #f)
                    ((and (char-set-contains? starters (string-ref string place))
                          (matcher run place))
                     => (lambda (match-end) (run->match re run place match-end)))
                    (else (loop (+ place 1)))))
            (let loop ((place place))
              (cond ((> place end) #f)
                    ((matcher run place)
                     => (lambda (match-end) (run->match re run place match-end)))
                    (else (loop (+ place 1))))))))

    ;; The run for the next search of the same string: the memory stays.
    (define (next-run re run)
      (if (regexp-fast re)
          run
          (next-run-here re run)))

    (define (next-run-here re run)
      (let ((next (new-run re (run-string run) (run-start run) (run-end run) #f)))
        (set-run-memory! next (run-memory run))
        (set-run-budget! next (run-budget run))
        next))

    (define (regexp-matches re string . range)
      (with-range 'regexp-matches 3 re string range
        (lambda (re start end)
          (let ((run (new-run re string start end #t)))
            (if (regexp-fast re)
                (search-fast re (whole-of re) run start)
                (let ((match-end ((regexp-matcher re) run start)))
                  (and match-end (run->match re run start match-end))))))))

    (define (regexp-matches? re string . range)
      (if (apply regexp-matches re string range) #t #f))

    ;; Whether there is a match at all.
    (define regexp-test?
      (case-lambda
        ((re string)
         (let ((fast (and (regexp? re) (string? string) (regexp-fast re))))
           (if fast
               (%regex-search fast string 0 (string-length string) 0 #f)
               (test-range re string '()))))
        ((re string . range)
         (test-range re string range))))

    (define (test-range re string range)
      (with-range 'regexp-test? 3 re string range
        (lambda (re start end)
          (if (regexp-fast re)
              (%regex-search (regexp-fast re) string start end start #f)
              (and (search re (new-run re string start end #f) start) #t)))))

    ;; The next line of a port with a match, or the end-of-file object.
    (define (regexp-find-line re port)
      (let* ((re (regexp re)) (fast (regexp-fast re)))
        (let loop ()
          (if fast
              (or (%regex-find-line fast port) (loop))
              (let ((line (read-line port)))
                (if (or (eof-object? line) (regexp-search re line))
                    line
                    (loop)))))))

    (define regexp-search
      (case-lambda
        ((re string)
         (let ((fast (and (regexp? re) (string? string) (regexp-fast re))))
           (if fast
               (search-once re fast string 0 (string-length string))
               (search-range re string '()))))
        ((re string . range)
         (search-range re string range))))

    (define (search-range re string range)
      (with-range 'regexp-search 3 re string range
        (lambda (re start end)
          (if (regexp-fast re)
              (search-once re (regexp-fast re) string start end)
              (search re (new-run re string start end #f) start)))))

    ;; A search that nothing is remembered of.
    (define (search-once re fast string start end)
      (let ((places (%regex-search fast string start end start '())))
        (and places
             (make-match string places (regexp-names re)))))

    ;; Calls `found` with the state, the match and where the last one ended, for each match in turn; an
    ;; empty match right behind the last one is none.
    (define (fold-matches re string start end state found finish)
      (let loop ((place start) (last start) (run (new-run re string start end #f)) (state state))
        (let ((match (and (<= place end) (search re run place))))
          (if (not match)
              (finish last state)
              (let ((match-start (vector-ref (match-places match) 0))
                    (match-end (vector-ref (match-places match) 1)))
                (if (= match-start match-end)
                    (if (and (= match-end last) (> last start))
                        (loop (+ place 1) last (next-run re run) state)
                        (loop (+ match-end 1)
                              match-end
                              (next-run re run)
                              (found state match last)))
                    (loop match-end match-end (next-run re run) (found state match last))))))))

    (define (regexp-fold re kons knil string . options)
      (if (not (procedure? kons))
          (%type-error 'regexp-fold 2 "procedure" kons))
      (let ((finish (if (pair? options) (car options) #f))
            (range (if (pair? options) (cdr options) '())))
        (with-range 'regexp-fold 6 re string range
          (lambda (re start end)
            (fold-matches re string start end knil
                          (lambda (state match last) (kons last match string state))
                          (lambda (last state)
                            (if finish
                                (finish last #f string state)
                                state)))))))

    (define (empty-match? match)
      (let ((places (match-places match)))
        (= (vector-ref places 0) (vector-ref places 1))))

    (define (regexp-extract re string . range)
      (with-range 'regexp-extract 3 re string range
        (lambda (re start end)
          (fold-matches re string start end '()
                        (lambda (found match last)
                          (if (empty-match? match)
                              found
                              (cons (regexp-match-submatch match 0) found)))
                        (lambda (last found) (reverse! found))))))

    ;; The pieces between matches, and the matches if `keep?`; the state holds where the last match
    ;; that was not empty ended.
    (define (split who keep? re string range)
      (with-range who 3 re string range
        (lambda (re start end)
          (fold-matches re string start end (cons start '())
                        (lambda (state match last)
                          (if (empty-match? match)
                              state
                              (let* ((places (match-places match))
                                     (piece (substring string (car state) (vector-ref places 0))))
                                (cons (vector-ref places 1)
                                      (if keep?
                                          (cons* (regexp-match-submatch match 0)
                                                 piece
                                                 (cdr state))
                                          (cons piece (cdr state)))))))
                        (lambda (last state)
                          (reverse! (if (and keep? (= (car state) end) (pair? (cdr state)))
                                        (cdr state)
                                        (cons (substring string (car state) end)
                                              (cdr state)))))))))

    (define (regexp-split re string . range)
      (split 'regexp-split #f re string range))

    (define (regexp-partition re string . range)
      (split 'regexp-partition #t re string range))

    ;; The text of a template, from the end: a list of strings.
    (define (expand template match start end texts)
      (let ((string (match-string match)) (places (match-places match)))
        (cond ((string? template) (cons template texts))
              ((exact-integer? template)
               (cons (or (regexp-match-submatch match template) "") texts))
              ((eq? template 'pre) (cons (substring string start (vector-ref places 0)) texts))
              ((eq? template 'post) (cons (substring string (vector-ref places 1) end) texts))
              ((symbol? template) (cons (or (regexp-match-submatch match template) "") texts))
              ((procedure? template) (expand (template match) match start end texts))
              ((null? template) texts)
              ((pair? template)
               (expand (cdr template) match start end
                       (expand (car template) match start end texts)))
              (else (%type-error 'regexp-replace 3 "template for a replacement" template)))))

    (define (regexp-replace re string template . options)
      (let ((range (if (and (pair? options) (pair? (cdr options)))
                       (list (car options) (cadr options))
                       options))
            (wanted (if (and (pair? options) (pair? (cdr options)) (pair? (cddr options)))
                        (caddr options)
                        0)))
        (if (not (exact-nonnegative-integer? wanted))
            (%type-error 'regexp-replace 6 "index" wanted))
        (with-range 'regexp-replace 4 re string
          (if (pair? range) range '())
          (lambda (re start end)
            (let loop ((place start) (run (new-run re string start end #f)) (count 0))
              (let ((match (and (<= place end) (search re run place))))
                (if (not match)
                    (substring string start end)
                    (let* ((places (match-places match))
                           (match-start (vector-ref places 0))
                           (match-end (vector-ref places 1)))
                      (if (= count wanted)
                          (string-append
                           (substring string start match-start)
                           (string-concatenate
                            (reverse! (expand template match start end '())))
                           (substring string match-end end))
                          (loop (if (= match-start match-end) (+ match-end 1) match-end)
                                (next-run re run)
                                (+ count 1)))))))))))

    (define (regexp-replace-all re string template . range)
      (with-range 'regexp-replace-all 4 re string range
        (lambda (re start end)
          (fold-matches re string start end (cons start '())
                        (lambda (state match last)
                          (let ((places (match-places match)))
                            (cons (vector-ref places 1)
                                  (expand template match start end
                                          (cons (substring string (car state)
                                                           (vector-ref places 0))
                                                (cdr state))))))
                        (lambda (last state)
                          (string-concatenate
                           (reverse! (cons (substring string (car state) end)
                                           (cdr state)))))))))

    ;; Matches.

    (define (check-match who object)
      (if (not (regexp-match? object))
          (%type-error who 1 "match of a regular expression" object)))

    (define (regexp-match-count match)
      (check-match 'regexp-match-count match)
      (- (quotient (vector-length (match-places match)) 2) 1))

    ;; The number of a field, of a name the first one that matched.
    (define (field-number who match field)
      (check-match who match)
      (let ((places (match-places match)))
        (cond ((exact-integer? field)
               (if (not (< -1 (* 2 field) (vector-length places)))
                   (%range-error who 2 "the number of a submatch" field))
               field)
              ((and (symbol? field) (assq field (match-names match)))
               => (lambda (known)
                    (let loop ((rest (cdr known)))
                      (cond ((null? rest) (cadr known))
                            ((vector-ref places (+ 1 (* 2 (car rest)))) (car rest))
                            (else (loop (cdr rest)))))))
              (else (%range-error who 2 "the number or name of a submatch" field)))))

    (define (regexp-match-submatch-start match field)
      (let ((number (field-number 'regexp-match-submatch-start match field))
            (places (match-places match)))
        (and (vector-ref places (+ 1 (* 2 number)))
             (vector-ref places (* 2 number)))))

    (define (regexp-match-submatch-end match field)
      (vector-ref (match-places match)
                  (+ 1 (* 2 (field-number 'regexp-match-submatch-end match field)))))

    (define (regexp-match-submatch match field)
      (let* ((number (field-number 'regexp-match-submatch match field))
             (places (match-places match))
             (end (vector-ref places (+ 1 (* 2 number)))))
        (and end
             (substring (match-string match) (vector-ref places (* 2 number)) end))))

    (define (regexp-match->list match)
      (let loop ((number (regexp-match-count match)) (list '()))
        (if (< number 0)
            list
            (loop (- number 1) (cons (regexp-match-submatch match number) list)))))))
