;;; (canny regexp matching): the procedures of SRFI 115, on two engines.
;;;
;;; An SRE becomes a pattern of text for the fast engine of the machine, which takes time
;;; proportional to the string for every pattern (`(canny regexp patterns)`). An SRE without such a
;;; pattern goes to the engine of `(canny regexp backtracking)`; both find the same matches.
;;; Patterns of text go to the fast engine only.

(define-library (canny regexp matching)
  (export
   regexp regexp? valid-sre? rx regexp->sre char-set->sre
   regexp-matches regexp-matches? regexp-search regexp-fold regexp-extract regexp-split
   regexp-partition regexp-replace regexp-replace-all
   regexp-match? regexp-match-count regexp-match-submatch regexp-match-submatch-start
   regexp-match-submatch-end regexp-match->list
   pattern->regexp regexp-find-line regexp-test?)
  (import (canny primitives) (canny syntax)
          (canny regexp expressions) (canny regexp backtracking) (canny regexp patterns)
          (only (canny machine control) with-exception-handler)
          (srfi 14))
  (begin

    ;; Regexps.

    ;; Places are indexes of the string; submatch i begins at place 2i of the vector.
    (define-record-type <regexp-match>
      (make-match string places names)
      regexp-match?
      (string match-string)
      (places match-places)
      (names match-names))

    ;; A run of the fast engine; `state` is its memory of the string.
    (define-record-type <fast-run>
      (make-fast-run string start end state)
      fast-run?
      (string fast-run-string)
      (start fast-run-start)
      (end fast-run-end)
      (state fast-run-state))

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

    ;; Calls `found` with the state, the match and where the last one ended, for each match in turn.
    ;; An empty match right behind the last one is none.
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
