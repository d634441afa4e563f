;;; Part of (canny fs): names that fit a pattern, `glob` and `glob-match?`.

;; A pattern is expanded into patterns without braces, and each is split at slashes. A part is a
;; string, the symbol `deep` for `**`, or a vector of tokens. Tokens are characters, `one`,
;; `many`, and lists for sets, `(#t . items)` or, with ^ or ! first, `(#f . items)`. Each item
;; is a character or a pair of first and last.

(define (expand-braces pattern)
  (let ((length (string-length pattern)))
    ;; The end of the group that begins at `start`, and its commas.
    (define (group start)
      (let loop ((index (+ start 1)) (level 0) (commas '()))
        (if (>= index length)
            #f
            (case (string-ref pattern index)
              ((#\\) (loop (+ index 2) level commas))
              ((#\{) (loop (+ index 1) (+ level 1) commas))
              ((#\,) (loop (+ index 1) level (if (= level 0) (cons index commas) commas)))
              ((#\})
               (cond ((> level 0) (loop (+ index 1) (- level 1) commas))
                     ((null? commas) #f)
                     (else (reverse (cons index commas)))))
              (else (loop (+ index 1) level commas))))))
    (let loop ((index 0))
      (cond ((>= index length) (list pattern))
            ((eqv? (string-ref pattern index) #\\) (loop (+ index 2)))
            ((and (eqv? (string-ref pattern index) #\{) (group index))
             => (lambda (ends)
                  (let ((before (substring pattern 0 index))
                        (after (substring pattern (+ 1 (car (reverse ends))) length)))
                    (let next ((start (+ index 1)) (ends ends) (patterns '()))
                      (if (null? ends)
                          patterns
                          (next (+ (car ends) 1)
                                (cdr ends)
                                (append patterns
                                        (expand-braces
                                         (string-append before
                                                        (substring pattern start (car ends))
                                                        after)))))))))
            (else (loop (+ index 1)))))))

(define (parse-part part)
  (if (string=? part "**")
      'deep
      (let ((length (string-length part)))
        (let loop ((index 0) (tokens '()))
          (if (>= index length)
              (finish-part (reverse tokens))
              (let ((character (string-ref part index)))
                (cond ((eqv? character #\*)
                       (loop (+ index 1)
                             (if (and (pair? tokens) (eq? (car tokens) 'many))
                                 tokens
                                 (cons 'many tokens))))
                      ((eqv? character #\?) (loop (+ index 1) (cons 'one tokens)))
                      ((and (eqv? character #\[) (parse-set part (+ index 1)))
                       => (lambda (set) (loop (cdr set) (cons (car set) tokens))))
                      ((and (eqv? character #\\) (< (+ index 1) length))
                       (loop (+ index 2) (cons (string-ref part (+ index 1)) tokens)))
                      (else (loop (+ index 1) (cons character tokens))))))))))

(define (finish-part tokens)
  (if (let loop ((rest tokens))
        (or (null? rest) (and (char? (car rest)) (loop (cdr rest)))))
      (list->string tokens)
      (list->vector tokens)))

;; A pair of the set that begins behind a bracket and the place behind it, or #f.
(define (parse-set part start)
  (let* ((length (string-length part))
         (negated? (and (< start length) (memv (string-ref part start) '(#\! #\^)) #t))
         (first (if negated? (+ start 1) start)))
    (let loop ((index first) (items '()))
      (if (>= index length)
          #f
          (let ((character (string-ref part index)))
            (cond ((and (eqv? character #\]) (> index first))
                   (cons (cons (not negated?) items) (+ index 1)))
                  ((and (< (+ index 2) length)
                        (eqv? (string-ref part (+ index 1)) #\-)
                        (not (eqv? (string-ref part (+ index 2)) #\])))
                   (loop (+ index 3)
                         (cons (cons character (string-ref part (+ index 2))) items)))
                  ((and (eqv? character #\\) (< (+ index 1) length))
                   (loop (+ index 2) (cons (string-ref part (+ index 1)) items)))
                  (else (loop (+ index 1) (cons character items)))))))))

(define (in-set? character set)
  (eq? (car set)
       (let loop ((items (cdr set)))
         (cond ((null? items) #f)
               ((if (pair? (car items))
                    (char<=? (caar items) character (cdar items))
                    (eqv? (car items) character))
                #t)
               (else (loop (cdr items)))))))

(define (part-matches? part name hidden?)
  (cond ((string? part) (string=? part name))
        ((and (not hidden?)
              (hidden-name? name)
              (not (eqv? (vector-ref part 0) #\.)))
         #f)
        (else
         (let ((token-count (vector-length part))
               (length (string-length name)))
           ;; `star` and `mark`: the last star, and how far it has to reach if what follows does
           ;; not fit.
           (let loop ((token 0) (index 0) (star #f) (mark 0))
             (cond ((and (< token token-count) (eq? (vector-ref part token) 'many))
                    (loop (+ token 1) index token index))
                   ((and (< index length)
                         (< token token-count)
                         (let ((wanted (vector-ref part token))
                               (character (string-ref name index)))
                           (cond ((char? wanted) (eqv? wanted character))
                                 ((pair? wanted) (in-set? character wanted))
                                 (else #t))))
                    (loop (+ token 1) (+ index 1) star mark))
                   ((and (= index length) (= token token-count)) #t)
                   ((and star (< mark length))
                    (loop (+ star 1) (+ mark 1) star (+ mark 1)))
                   (else #f)))))))

;; The parts of a pattern without braces; several `**` in a row are one.
(define (pattern-parts pattern)
  (let loop ((rest (string-split pattern #\/)) (parts '()) (first? #t))
    (cond ((null? rest) (reverse parts))
          ;; Slashes in a row; one at the end is a part of its own.
          ((and (string-null? (car rest)) (pair? (cdr rest))) (loop (cdr rest) parts #f))
          (else
           (let ((part (parse-part (car rest))))
             (loop (cdr rest)
                   (if (and (eq? part 'deep) (pair? parts) (eq? (car parts) 'deep))
                       parts
                       (cons part parts))
                   #f))))))

(define any-name (vector 'many))

;; Names of files that fit a pattern, sorted. `*` fits any characters but slashes, `?` one,
;; `[a-z]` and `[!a-z]` one of a set or none of it, `**` any directories. `{a,b}` is one or the
;; other; `\` takes the meaning away. Names with a dot first are fitted by a dot only, unless
;; `#:hidden` is true. Relative patterns begin at `#:directory`. Directories that cannot be read
;; count as empty.
(define* (glob pattern #:key (directory #f) (hidden #f))
  (check-string 'glob 1 pattern)
  (let ((found '()))
    (define (collect! path)
      (set! found (cons path found)))
    (define (in-directory path)
      (let ((path (if (string-null? path) "." path)))
        (if directory (join2 directory path) path)))
    (define (entries path)
      (guard (object ((file-error? object) '()))
        (%directory-list (in-directory path))))
    (define (search base parts)
      (let ((part (car parts))
            (rest (cdr parts)))
        (cond ((eq? part 'deep)
               (if (null? rest)
                   (search base (list part any-name))
                   (begin
                     (search base rest)
                     (for-each
                      (lambda (entry)
                        (if (or hidden (not (hidden-name? (car entry))))
                            (let ((path (join2 base (car entry))))
                              (if (eq? (entry-type (in-directory path) (cdr entry)) 'directory)
                                  (search path parts)))))
                      (entries base)))))
              ((and (string? part) (string-null? part))
               (if (and (not (string-null? base)) (directory? (in-directory base)))
                   (collect! (if (string-suffix? "/" base) base (string-append base "/")))))
              ((string? part)
               (let ((path (join2 base part)))
                 (if (null? rest)
                     (if (file-type (in-directory path)) (collect! path))
                     (search path rest))))
              (else
               (for-each
                (lambda (entry)
                  (if (part-matches? part (car entry) hidden)
                      (let ((path (join2 base (car entry))))
                        (cond ((null? rest) (collect! path))
                              ((directory? (in-directory path)) (search path rest))))))
                (entries base))))))
    (for-each
     (lambda (pattern)
       (if (not (string-null? pattern))
           (let ((parts (pattern-parts pattern)))
             (search (if (path-absolute? pattern) "/" "")
                     (if (null? parts) '("") parts)))))
     (expand-braces pattern))
    (without-repetitions (list-sort string<? found))))

(define (without-repetitions sorted)
  (let loop ((rest sorted) (kept '()))
    (cond ((null? rest) (reverse kept))
          ((and (pair? kept) (string=? (car kept) (car rest))) (loop (cdr rest) kept))
          (else (loop (cdr rest) (cons (car rest) kept))))))

;; Whether a name fits a pattern of `glob`; no file is looked at.
(define* (glob-match? pattern path #:key (hidden #f))
  (check-string 'glob-match? 1 pattern)
  (check-string 'glob-match? 2 path)
  (let ((names (filter-parts (string-split path #\/))))
    (define (fits? parts names)
      (cond ((null? parts) (null? names))
            ((eq? (car parts) 'deep)
             (if (null? (cdr parts))
                 (and (pair? names) (every-fits? names))
                 (let loop ((names names))
                   (or (fits? (cdr parts) names)
                       (and (pair? names)
                            (part-matches? any-name (car names) hidden)
                            (loop (cdr names)))))))
            ((and (string? (car parts)) (string-null? (car parts)))
             (fits? (cdr parts) names))
            (else
             (and (pair? names)
                  (part-matches? (car parts) (car names) hidden)
                  (fits? (cdr parts) (cdr names))))))
    (define (every-fits? names)
      (or (null? names)
          (and (part-matches? any-name (car names) hidden)
               (every-fits? (cdr names)))))
    (let loop ((patterns (expand-braces pattern)))
      (and (pair? patterns)
           (or (and (eq? (path-absolute? (car patterns)) (path-absolute? path))
                    (fits? (pattern-parts (car patterns)) names))
               (loop (cdr patterns)))))))
