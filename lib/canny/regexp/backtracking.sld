;;; (canny regexp backtracking): an engine for all SREs, in Scheme.
;;;
;;; An SRE is compiled to closures that match from left to right and backtrack. Each takes the run,
;;; the place in the string, and gives the place behind the match or #f.  The first way that matches
;;; wins: alternatives in their order, repetitions as long as possible unless they are non-greedy.
;;;
;;; A choice that failed at a place fails there again. Without back references the rest of the match
;;; does not depend on the path to the place. So the places where a choice failed are remembered
;;; once a run has made many choices. Time is at most proportional to the size of the expression
;;; times the length of the string. The memory is kept while the same string is searched on.
;;;
;;; Repetitions of single characters are loops, not recursion.  A search skips places whose
;;; character cannot begin a match.

(define-library (canny regexp backtracking)
  (export
   make-run run-string run-start run-end run-places run-whole? run-memory set-run-memory!
   run-budget set-run-budget! compile starters)
  (import (canny primitives) (canny syntax) (canny regexp expressions)
          (srfi 14))
  (begin

    ;; The state that closures share while they match. `budget` counts down the choices until the
    ;; memory is made.
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

    ;; Any number of times.  A turn that matches nothing is no turn, else it could match forever.
    ;; The place where a turn began is kept in the run's vector beside the submatches.
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

    ;; The start is kept aside until the end is known, so that the places of a submatch always
    ;; belong together.
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

    ;; Looking around. The expression is matched on its own, so nothing in it is tried again when
    ;; the rest fails.

    (define (found run place) place)

    (define (look-ahead sres wanted? context next)
      (let ((matcher (compile-sequence sres context found)))
        (if wanted?
            (lambda (run place)
              (and (matcher run place) (next run place)))
            ;; Captures of the match are dropped.
            (lambda (run place)
              (let ((places (vector-copy (run-places run))))
                (if (matcher run place)
                    (begin
                      (vector-copy! (run-places run) 0 places)
                      #f)
                    (next run place)))))))

    ;; Every start is tried, nearest first. A slot keeps the required end of the match, and failures
    ;; depend on it: its choices are never remembered, see `choices` of the regexp.
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

    ;; Graphemes: the rules of extended grapheme clusters (UAX #29), with emoji known by their
    ;; blocks.

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

    ;; An empty match is skipped.
    (define (sequence-starters sres context)
      (cond ((null? sres) #f)
            ((memq (car sres) '(bos bol bow bog nwb)) (sequence-starters (cdr sres) context))
            (else (starters (car sres) context))))))
