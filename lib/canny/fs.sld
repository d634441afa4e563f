;;; (canny fs): files and directories.
;;;
;;; Names of files are strings. What the system has as bytes that are not UTF-8 comes as
;;; characters U+10FF80 to U+10FFFF and goes back as what it was. Times are exact numbers of
;;; nanoseconds since 1970.
;;;
;;; What fails raises a condition that satisfies `file-error?`; its message ends with the words of
;;; the system, its irritants are the names.
;;;
;;; Invariants:
;;; - What replaces something says so by `#:replace`; nothing else overwrites a file.
;;; - Nothing but `follow` looks through symbolic links in trees.
;;; - A file that is written but not finished is deleted, at the latest when the program ends.

(define-library (canny fs)
  (export file-info file-info? file-info-type file-info-permissions file-info-accessed
          file-info-modified file-info-changed
          (rename file-info:size file-info-size) (rename file-info:uid file-info-owner)
          (rename file-info:gid file-info-group) (rename file-info:nlinks file-info-links)
          (rename file-info:inode file-info-inode) (rename file-info:device file-info-device)
          file-type file-exists? regular-file? directory? symlink? same-file?
          file-size file-permissions file-modified
          file-readable? file-writable? file-executable?
          path-join path-split path-directory path-file-name path-extension path-stem
          path-with-extension path-normalize path-absolute path-relative path-absolute?
          expand-user real-path path->bytevector bytevector->path
          current-directory set-current-directory!
          directory-list directory-walk glob glob-match?
          create-directory create-directories delete-file delete-directory delete-tree
          copy-file copy-tree move-file rename-file truncate-file touch-file sync-file
          create-symlink create-hard-link create-fifo read-symlink
          (rename set-file-mode set-file-permissions)
          set-file-owner owner/unchanged group/unchanged
          call-with-atomic-output-file
          temporary-directory make-temporary-file make-temporary-directory
          call-with-temporary-file call-with-temporary-directory
          disk-space
          open-watcher watcher? watcher-next close-watcher for-each-change
          change? change-path change-kind change-directory? change-move)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny data lists)
          (canny machine posix)
          (only (canny data sorting) list-sort)
          (only (canny data hash-tables)
                make-hash-table hash-table-ref/default hash-table-set! hash-table-delete!))
  (begin

    (define (check-string who position object)
      (if (not (string? object))
          (%type-error who position "string" object)))

    (define (check-procedure who position object)
      (if (not (procedure? object))
          (%type-error who position "procedure" object)))

    ;; Kinds of files.

    (define kinds
      '((#o100000 . regular) (#o040000 . directory) (#o120000 . symlink) (#o010000 . fifo)
        (#o140000 . socket) (#o020000 . character-device) (#o060000 . block-device)))

    (define (kind->symbol bits)
      (let ((entry (assv bits kinds)))
        (if entry (cdr entry) 'unknown)))

    ;; The type of a file: `regular`, `directory`, `symlink`, `fifo`, `socket`, `character-device`
    ;; or `block-device`; `#f` if there is none. With `#:follow #t` that of the target of a symbolic
    ;; link.
    (define* (file-type path #:key (follow #f))
      (let ((bits (%file-type path follow)))
        (and bits (kind->symbol bits))))

    (define (has-type? path type)
      (let ((bits (%file-type path #t)))
        (and bits (eq? (kind->symbol bits) type))))

    ;; Whether there is a regular file, or a symbolic link to one.
    (define (regular-file? path) (has-type? path 'regular))

    ;; Whether there is a directory, or a symbolic link to one.
    (define (directory? path) (has-type? path 'directory))

    ;; Whether there is a symbolic link, even one that leads nowhere.
    (define (symlink? path) (eq? (file-type path) 'symlink))

    ;; Whether two names are those of one file.
    (define (same-file? first second)
      (let ((first (file-info first))
            (second (file-info second)))
        (and (= (file-info:inode first) (file-info:inode second))
             (= (file-info:device first) (file-info:device second)))))

    ;; The type of what `file-info` tells about.
    (define (file-info-type info)
      (kind->symbol (file-info-kind-bits info)))

    ;; The permission bits of what `file-info` tells about.
    (define (file-info-permissions info)
      (bitwise-and #o7777 (file-info:mode info)))

    ;; The number of bytes of a file.
    (define (file-size path) (file-info:size (file-info path)))

    ;; The permission bits of a file.
    (define (file-permissions path) (file-info-permissions (file-info path)))

    ;; When a file was changed, in nanoseconds since 1970.
    (define (file-modified path) (file-info-modified (file-info path)))

    ;; Whether this program may read a file.
    (define (file-readable? path) (%file-access? path file-access/read))

    ;; Whether this program may write a file.
    (define (file-writable? path) (%file-access? path file-access/write))

    ;; Whether this program may execute a file, or use names in a directory.
    (define (file-executable? path) (%file-access? path file-access/execute))

    ;; Names.

    ;; Whether a name begins at the root.
    (define (path-absolute? path)
      (check-string 'path-absolute? 1 path)
      (and (not (string-null? path))
           (eqv? (string-ref path 0) #\/)))

    ;; The name that leads along several ones; an absolute one starts anew.
    (define (path-join path . paths)
      (check-string 'path-join 1 path)
      (let loop ((path path) (rest paths) (position 2))
        (if (null? rest)
            path
            (begin
              (check-string 'path-join position (car rest))
              (loop (join2 path (car rest)) (cdr rest) (+ position 1))))))

    (define (join2 first second)
      (cond ((string-null? first) second)
            ((string-null? second) first)
            ((path-absolute? second) second)
            ((string-suffix? "/" first) (string-append first second))
            (else (string-append first "/" second))))

    ;; The parts of a name between slashes; the first is `"/"` if the name is absolute.
    (define (path-split path)
      (check-string 'path-split 1 path)
      (let ((parts (filter-parts (string-split path #\/))))
        (if (path-absolute? path)
            (cons "/" parts)
            parts)))

    (define (filter-parts parts)
      (let loop ((rest parts) (kept '()))
        (cond ((null? rest) (reverse kept))
              ((string-null? (car rest)) (loop (cdr rest) kept))
              (else (loop (cdr rest) (cons (car rest) kept))))))

    ;; Where the last part of a name starts and ends; slashes at the end do not count.
    (define (last-part path)
      (let find-end ((end (string-length path)))
        (if (and (> end 0) (eqv? (string-ref path (- end 1)) #\/))
            (find-end (- end 1))
            (let find-start ((start end))
              (if (and (> start 0) (not (eqv? (string-ref path (- start 1)) #\/)))
                  (find-start (- start 1))
                  (cons start end))))))

    ;; The last part of a name.
    (define (path-file-name path)
      (check-string 'path-file-name 1 path)
      (let ((part (last-part path)))
        (substring path (car part) (cdr part))))

    ;; A name without its last part: `"."` when it has only one.
    (define (path-directory path)
      (check-string 'path-directory 1 path)
      (let ((start (car (last-part path))))
        (cond ((= start 0) (if (path-absolute? path) "/" "."))
              (else
               (let loop ((end start))
                 (cond ((= end 0) "/")
                       ((eqv? (string-ref path (- end 1)) #\/) (loop (- end 1)))
                       (else (substring path 0 end))))))))

    ;; Where the extension of a name starts: at its last dot, unless that is the first character.
    (define (extension-start name)
      (let loop ((index (- (string-length name) 1)))
        (cond ((<= index 0) (string-length name))
              ((and (eqv? (string-ref name index) #\.)
                    (not (all-dots? name index)))
               index)
              (else (loop (- index 1))))))

    (define (all-dots? name end)
      (let loop ((index 0))
        (or (= index end)
            (and (eqv? (string-ref name index) #\.)
                 (loop (+ index 1))))))

    ;; The last part of a name from its last dot on, or an empty string.
    (define (path-extension path)
      (check-string 'path-extension 1 path)
      (let ((name (path-file-name path)))
        (substring name (extension-start name) (string-length name))))

    ;; The last part of a name without its extension.
    (define (path-stem path)
      (check-string 'path-stem 1 path)
      (let ((name (path-file-name path)))
        (substring name 0 (extension-start name))))

    ;; A name with another extension, which begins with a dot or is empty.
    (define (path-with-extension path extension)
      (check-string 'path-with-extension 1 path)
      (check-string 'path-with-extension 2 extension)
      (let ((part (last-part path)))
        (string-append (substring path 0 (car part)) (path-stem path) extension)))

    ;; A name without `.`, `..` and needless slashes. Symbolic links are not looked at; `real-path`
    ;; does that.
    (define (path-normalize path)
      (check-string 'path-normalize 1 path)
      (let* ((absolute? (path-absolute? path))
             (parts
              (let loop ((rest (string-split path #\/)) (kept '()))
                (cond ((null? rest) (reverse kept))
                      ((member (car rest) '("" ".")) (loop (cdr rest) kept))
                      ((not (string=? (car rest) "..")) (loop (cdr rest) (cons (car rest) kept)))
                      ((and (pair? kept) (not (string=? (car kept) "..")))
                       (loop (cdr rest) (cdr kept)))
                      (absolute? (loop (cdr rest) kept))
                      (else (loop (cdr rest) (cons ".." kept))))))
             (joined (string-join parts "/")))
        (cond (absolute? (string-append "/" joined))
              ((null? parts) ".")
              (else joined))))

    ;; The absolute, normalized name for one that is relative to a directory, the current one unless
    ;; given.
    (define path-absolute
      (case-lambda
        ((path) (path-absolute path (current-directory)))
        ((path directory)
         (path-normalize
          (if (path-absolute? directory)
              (path-join directory path)
              (path-join (current-directory) directory path))))))

    ;; How to get to a name from a directory, the current one unless given.
    (define path-relative
      (case-lambda
        ((path) (path-relative path (current-directory)))
        ((path directory)
         (let loop ((to (path-split (path-absolute path)))
                    (from (path-split (path-absolute directory))))
           (cond ((and (pair? to) (pair? from) (string=? (car to) (car from)))
                  (loop (cdr to) (cdr from)))
                 ((and (null? to) (null? from)) ".")
                 (else (string-join (append (map (lambda (part) "..") from) to) "/")))))))

    ;; A name whose `~` or `~user` at the start is replaced by the home directory.
    (define (expand-user path)
      (check-string 'expand-user 1 path)
      (if (or (string-null? path) (not (eqv? (string-ref path 0) #\~)))
          path
          (let* ((end (let loop ((index 1))
                        (if (or (= index (string-length path))
                                (eqv? (string-ref path index) #\/))
                            index
                            (loop (+ index 1)))))
                 (name (substring path 1 end))
                 (rest (substring path end (string-length path)))
                 (home (if (string-null? name)
                           (or (get-environment-variable "HOME")
                               (home-of (car (%user-ids))))
                           (home-of name))))
            (if home
                (string-append (if (string=? home "/") "" home) rest)
                path))))

    (define (home-of key)
      (let ((info (user-info key)))
        (and info (user-info:home-dir info))))

    ;; The bytes that the system has for a name.
    (define (path->bytevector path)
      (%name->bytevector path))

    ;; The name for bytes of the system's.
    (define (bytevector->path bytes)
      (%bytevector->name bytes))

    ;; Directories.

    (define (hidden-name? name)
      (eqv? (string-ref name 0) #\.))

    ;; A sorted list of the names in a directory. Hidden ones, with a dot first, are among them
    ;; unless `#:hidden` is false; with `#:full #t` the directory's name stands before each.
    (define* (directory-list path #:key (hidden #t) (full #f))
      (let loop ((rest (reverse (%directory-list path))) (names '()))
        (cond ((null? rest) names)
              ((and (not hidden) (hidden-name? (caar rest))) (loop (cdr rest) names))
              (else
               (loop (cdr rest)
                     (cons (if full (join2 path (caar rest)) (caar rest)) names))))))

    (define-record-type walk-item
      (make-item path type depth ancestors)
      item?
      (path item-path)
      (type item-type)
      (depth item-depth)
      (ancestors item-ancestors))

    (define (entry-type path bits)
      (if (= bits 0)
          (or (file-type path) 'unknown)
          (kind->symbol bits)))

    ;; What tells a directory from all others, or #f.
    (define (identity-of path)
      (guard (object ((file-error? object) #f))
        (let ((info (file-info path)))
          (cons (file-info:device info) (file-info:inode info)))))

    ;; A generator of the names below a directory, itself first, in depth-first order; it ends with
    ;; an end-of-file object.
    ;;
    ;; `#:order 'after` gives a directory behind what is in it. `#:hidden #f` leaves out names with
    ;; a dot first. `#:select`, a procedure of name and type, says which names are given;
    ;; `#:descend`, the same, which directories are looked into, `#:depth` how deep. `#:follow #t`
    ;; looks through symbolic links, but never into a directory that it is in already. A directory
    ;; that cannot be read is reported to the procedure `#:on-error`, as a condition; without one
    ;; the condition is raised, and the generator can be called again for the rest.
    (define* (directory-walk root #:key (order 'before) (hidden #t) (select #f) (descend #f)
                             (depth #f) (follow #f) (on-error #f))
      (check-string 'directory-walk 1 root)
      (if (not (memq order '(before after)))
          (%range-error 'directory-walk 2 "the order is before or after" order))
      (let ((stack (list (make-item root #f 0 '()))))
        (define (push! item) (set! stack (cons item stack)))
        (define (selected? path type)
          (or (not select) (select path type)))
        (define (failed condition)
          (if on-error
              (on-error condition)
              (raise condition))
          '())
        ;; Puts what is in a directory on the stack.
        (define (expand! item type ancestors)
          (let ((path (item-path item)))
            (for-each
             (lambda (entry)
               (if (or hidden (not (hidden-name? (car entry))))
                   (let ((path (join2 path (car entry))))
                     (push! (make-item path (entry-type path (cdr entry))
                                       (+ (item-depth item) 1) ancestors)))))
             (reverse
              (let ((outcome
                     (guard (object ((file-error? object) object))
                       (%directory-list path))))
                (if (error-object? outcome)
                    (failed outcome)
                    outcome))))))
        (define (enter? item type)
          (and (eq? type 'directory)
               (or (not depth) (< (item-depth item) depth))
               (or (not descend) (descend (item-path item) type))))
        (define (visit item)
          (let* ((path (item-path item))
                 (type (or (item-type item)
                           (file-type path #:follow #t)
                           'unknown))
                 (target (if (and follow (eq? type 'symlink))
                             (or (file-type path #:follow #t) type)
                             type)))
            (if (and (not (item-type item)) (eq? type 'unknown))
                (let ((outcome (guard (object (#t object)) (file-info path))))
                  (if (error-object? outcome) (failed outcome))))
            (if (enter? item target)
                (let ((identity (and follow (identity-of path))))
                  (if (and identity (member identity (item-ancestors item)))
                      (if (selected? path type) path (next))
                      (let ((ancestors (if identity
                                           (cons identity (item-ancestors item))
                                           '())))
                        (if (eq? order 'after)
                            (begin
                              (push! (cons path type))
                              (expand! item target ancestors)
                              (next))
                            (begin
                              (expand! item target ancestors)
                              (if (selected? path type) path (next)))))))
                (if (and (or (item-type item) (not (eq? type 'unknown)))
                         (selected? path type))
                    path
                    (next)))))
        (define (next)
          (if (null? stack)
              (eof-object)
              (let ((item (car stack)))
                (set! stack (cdr stack))
                (cond ((item? item) (visit item))
                      ((selected? (car item) (cdr item)) (car item))
                      (else (next))))))
        next))

    ;; Makes a directory and those above it, as far as they are missing.
    (define* (create-directories path #:optional (permissions #o777))
      (check-string 'create-directories 1 path)
      (if (not (directory? path))
          (let ((parent (path-directory path)))
            (if (not (string=? parent path))
                (create-directories parent permissions))
            (guard (object ((and (posix-error? object)
                                 (eq? (posix-error-name object) 'EEXIST)
                                 (directory? path))
                            (void)))
              (%create-directory path permissions)))))

    ;; Deletes a file, or a directory with everything in it.  Targets of symbolic links stay.
    (define (delete-tree path)
      (%delete-tree path))

    ;; Patterns.

    ;; A pattern is expanded into patterns without braces, and each is split at slashes. A part is a
    ;; string, the symbol `deep` for `**`, or a vector of tokens: characters, `one`, `many`, and
    ;; lists for sets, `(#t . items)` or, with ^ or ! first, `(#f . items)`, each item a character
    ;; or a pair of first and last.

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
    ;; `[a-z]` and `[!a-z]` one of a set or none of it, `**` any directories, `{a,b}` is one or the
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

    ;; Copies and moves.

    (define (copy-times from to)
      (let ((info (file-info from)))
        (%set-file-times to (file-info-accessed info) (file-info-modified info))))

    ;; Copies the contents and permissions of a regular file; the kernel does it where it can. A
    ;; file with the new name is replaced only with `#:replace #t`. With `#:times #t` the times are
    ;; copied, too.
    (define* (copy-file from to #:key (replace #f) (times #f))
      (%copy-file from to (if replace #t #f))
      (if times (copy-times from to)))

    ;; Copies a file, a symbolic link or a directory with everything in it. With `#:replace #t`,
    ;; files are replaced and directories that are there filled up. A failure is reported to the
    ;; procedure `#:on-error`, as a condition, and the rest copies the rest; without one the
    ;; condition is raised.
    (define* (copy-tree from to #:key (replace #f) (times #f) (on-error #f))
      (check-string 'copy-tree 1 from)
      (check-string 'copy-tree 2 to)
      (define (attempt thunk)
        (if on-error
            (guard (object ((file-error? object) (on-error object)))
              (thunk))
            (thunk)))
      (define (copy from to)
        (case (file-type from)
          ((directory)
           (attempt
            (lambda ()
              (if (not (and replace (directory? to)))
                  (%create-directory to #o700))
              (for-each (lambda (entry)
                          (copy (join2 from (car entry)) (join2 to (car entry))))
                        (%directory-list from))
              (%set-file-mode to (file-permissions from))
              (if times (copy-times from to)))))
          ((symlink)
           (attempt
            (lambda ()
              (if (and replace (file-type to) (not (eq? (file-type to) 'directory)))
                  (delete-file to))
              (%create-symlink (%read-symlink from) to))))
          ((fifo)
           (attempt (lambda () (%create-fifo to (file-info-permissions (file-info from #f))))))
          (else
           (attempt (lambda () (copy-file from to #:replace replace #:times times))))))
      (if (and (eq? (file-type from) 'directory)
               (inside? to from))
          (raise (%make-condition 'file "cannot copy a directory into itself" (list from to)
                                  'copy-tree)))
      (copy from to))

    ;; Whether a new name is in a directory, or the directory itself.
    (define (inside? path directory)
      (let loop ((path (path-absolute path)))
        (cond ((and (file-exists? path) (same-file? path directory)) #t)
              ((string=? path "/") #f)
              (else (loop (path-directory path))))))

    ;; Moves a file or directory, to another file system as well. What has the new name is replaced
    ;; only with `#:replace #t`.
    (define* (move-file from to #:key (replace #f))
      (guard (object ((and (posix-error? object)
                           (eq? (posix-error-name object) 'EXDEV))
                      (copy-tree from to #:replace replace #:times #t)
                      (delete-tree from)))
        (%rename-file from to (if replace #t #f))))

    ;; Sets the times of access and change of a file to now, after making an empty one if there is
    ;; none. The times can be given: nanoseconds since 1970, or `#f` for no change.
    (define* (touch-file path #:key (accessed #t) (modified #t))
      (if (not (file-type path))
          (close-port (%open-file path port-kind/binary-output
                                  (+ open-flag/append open-flag/create)
                                  #o666)))
      (%set-file-times path accessed modified))

    ;; Waits until what a file or directory has is on the disk.
    (define (sync-file path)
      (%sync-file path))

    ;; Files that are finished or gone.

    ;; Calls `make` with new names until one is free.
    (define (with-new-name directory prefix suffix make)
      (let loop ((tries 100))
        (let ((name (join2 directory
                           (string-append prefix
                                          (number->string (random-integer 1000000000000) 36)
                                          suffix))))
          (let ((outcome
                 (guard (object ((and (posix-error? object)
                                      (eq? (posix-error-name object) 'EEXIST)
                                      (> tries 0))
                                 %absent))
                   (make name))))
            (if (eq? outcome %absent)
                (loop (- tries 1))
                outcome)))))

    (define %absent (list 'absent))

    (define (quietly thunk)
      (guard (object (#t #f))
        (thunk)))

    ;; Calls a procedure with an output port and replaces a file by what it writes, when it returns:
    ;; others see the old contents or the new ones, never a part. The bytes are written to a file
    ;; beside it, which is synced and renamed; when the procedure raises or is left, the old file
    ;; stays and nothing else does.
    ;;
    ;; The port is textual unless `#:binary #t`.  The permissions are `#:permissions`, else those of the old file.  `#:sync
    ;; #f` does not wait for the disk.
    (define* (call-with-atomic-output-file path procedure
               #:key (binary #f) (permissions #f) (sync #t))
      (check-string 'call-with-atomic-output-file 1 path)
      (check-procedure 'call-with-atomic-output-file 2 procedure)
      (let* ((target (if (and (symlink? path) (file-exists? path)) (real-path path) path))
             (permissions (or permissions
                              (and (regular-file? target) (file-permissions target))))
             (directory (path-directory target))
             (finished? #f)
             (port #f))
        (if (directory? target)
            (raise (%make-condition 'file "cannot open file: Is a directory" (list path)
                                    'call-with-atomic-output-file)))
        (let ((name (with-new-name directory
                      (string-append "." (short-name (path-file-name target)) ".")
                      ".new"
                      (lambda (name)
                        (set! port (open-new path name (if binary 2 3)))
                        name))))
          (%delete-at-exit name #t)
          (dynamic-wind
           void
           (lambda ()
             (let ((result (procedure port)))
               (close-port port)
               (if sync (%sync-file name))
               (if permissions (%set-file-mode name permissions))
               (%rename-file name target)
               (set! finished? #t)
               (if sync (quietly (lambda () (%sync-file directory))))
               result))
           (lambda ()
             (if (not finished?)
                 (begin
                   (quietly (lambda () (close-port port)))
                   (quietly (lambda () (delete-file name)))))
             (%delete-at-exit name #f))))))

    ;; Opens a new file for another, whose name the error has when that fails.
    (define (open-new path name kind)
      (guard (object ((and (posix-error? object)
                           (not (eq? (posix-error-name object) 'EEXIST)))
                      (raise (%make-condition 'file (error-object-message object) (list path)
                                              'call-with-atomic-output-file))))
        (%open-file name kind (+ open-flag/create open-flag/exclusive) #o666)))

    ;; Names have at most 255 bytes.
    (define (short-name name)
      (if (> (string-length name) 40)
          (substring name 0 40)
          name))

    ;; The directory for temporary files: that of the variable `TMPDIR`, or `/tmp`.
    (define (temporary-directory)
      (let ((directory (get-environment-variable "TMPDIR")))
        (if (and directory (not (string-null? directory)))
            directory
            "/tmp")))

    ;; Makes an empty file that only its owner may use, and returns its name. It is deleted when the
    ;; program ends, unless `#:keep` is true.
    (define* (make-temporary-file #:key (directory (temporary-directory)) (prefix "canny-")
                                  (suffix "") (keep #f))
      (let ((name (with-new-name directory prefix suffix
                    (lambda (name)
                      (close-port (%open-file name port-kind/binary-output
                                              (+ open-flag/create open-flag/exclusive)
                                              #o600))
                      name))))
        (if (not keep) (%delete-at-exit name #t))
        name))

    ;; Makes a directory that only its owner may use, and returns its name. It is deleted with all
    ;; that is in it when the program ends, unless `#:keep` is true.
    (define* (make-temporary-directory #:key (directory (temporary-directory)) (prefix "canny-")
                                       (suffix "") (keep #f))
      (let ((name (with-new-name directory prefix suffix
                    (lambda (name)
                      (%create-directory name #o700)
                      name))))
        (if (not keep) (%delete-at-exit name #t))
        name))

    (define (call-with-temporary name procedure)
      (dynamic-wind
       void
       (lambda () (procedure name))
       (lambda ()
         (if (file-type name)
             (quietly (lambda () (%delete-tree name))))
         (%delete-at-exit name #f))))

    ;; Calls a procedure with the name of a new temporary file, which is deleted when the procedure
    ;; returns or is left.
    (define* (call-with-temporary-file procedure #:key (directory (temporary-directory))
               (prefix "canny-") (suffix ""))
      (check-procedure 'call-with-temporary-file 1 procedure)
      (call-with-temporary (make-temporary-file #:directory directory
                                                #:prefix prefix
                                                #:suffix suffix)
        procedure))

    ;; Calls a procedure with the name of a new temporary directory, which is deleted with all that
    ;; is in it when the procedure returns or is left.
    (define* (call-with-temporary-directory procedure #:key (directory (temporary-directory))
               (prefix "canny-") (suffix ""))
      (check-procedure 'call-with-temporary-directory 1 procedure)
      (call-with-temporary (make-temporary-directory #:directory directory
                                                     #:prefix prefix
                                                     #:suffix suffix)
        procedure))

    ;; The bytes of the file system that a file is on: all, the free ones, and those free for this
    ;; user.
    (define (disk-space path)
      (%list->values (%disk-space path)))

    ;; Changes.

    (define-record-type change
      (make-change path kind directory? move)
      change?
      (path change-path)
      (kind change-kind)
      (directory? change-directory?)
      (move change-move))

    (define-record-type watcher
      (make-watcher handle paths recursive? pending open?)
      watcher?
      (handle watcher-handle)
      (paths watcher-paths)
      (recursive? watcher-recursive?)
      (pending watcher-pending set-watcher-pending!)
      (open? watcher-open? set-watcher-open!))

    (define (check-watcher who object)
      (if (not (watcher? object))
          (%type-error who 1 "watcher" object))
      (if (not (watcher-open? object))
          (%range-error who 1 "the watcher is closed" object)))

    ;; Watches a file or directory; with `#:recursive #t` the directories below it as well, those
    ;; that come later included.
    (define* (open-watcher path #:key (recursive #f))
      (check-string 'open-watcher 1 path)
      (let ((watcher (make-watcher (%watch-open) (make-hash-table) recursive '() #t)))
        (guard (object (#t (close-watcher watcher) (raise object)))
          (add-watch watcher path))
        (if (and recursive (directory? path))
            (watch-below watcher path #f))
        watcher))

    (define (add-watch watcher path)
      (hash-table-set! (watcher-paths watcher)
                       (%open-watcher (watcher-handle watcher) path)
                       path))

    ;; Watches the directories below one. The contents of a directory that came later are reported
    ;; as new, since the system may not have told it.
    (define (watch-below watcher path new?)
      (for-each
       (lambda (entry)
         (let* ((path (join2 path (car entry)))
                (directory? (eq? (entry-type path (cdr entry)) 'directory)))
           (if new?
               (set-watcher-pending! watcher
                                     (append (watcher-pending watcher)
                                             (list (make-change path 'created directory? #f)))))
           (if directory?
               ;; It may be gone already.
               (quietly (lambda ()
                          (add-watch watcher path)
                          (watch-below watcher path new?))))))
       (guard (object ((file-error? object) '()))
         (%directory-list path))))

    (define bits->kind
      '((#x100 . created) (#x2 . modified) (#x8 . written) (#x4 . attributes)
        (#x40 . moved-from) (#x80 . moved-to) (#x200 . deleted) (#x400 . deleted)
        (#x800 . moved-from) (#x2000 . deleted) (#x4000 . overflow)))

    ;; Puts an event of the system's among those to be reported.
    (define (take-event! watcher number bits move name)
      (let* ((paths (watcher-paths watcher))
             (base (hash-table-ref/default paths number #f))
             (directory? (not (= 0 (bitwise-and bits #x40000000))))
             (kind (let loop ((rest bits->kind))
                     (cond ((null? rest) #f)
                           ((= 0 (bitwise-and bits (caar rest))) (loop (cdr rest)))
                           (else (cdar rest))))))
        (if (not (= 0 (bitwise-and bits #x8000)))
            (hash-table-delete! paths number))
        (if (and kind (or base (eq? kind 'overflow)))
            (let ((path (cond ((not base) #f)
                              ((string-null? name) base)
                              (else (join2 base name)))))
              (set-watcher-pending!
               watcher
               (append (watcher-pending watcher)
                       (list (make-change path kind directory? (and (> move 0) move)))))
              (if (and directory? (watcher-recursive? watcher) (memq kind '(created moved-to)))
                  (quietly (lambda ()
                             (add-watch watcher path)
                             (watch-below watcher path #t))))))))

    ;; Waits for the next change, at most `#:timeout` seconds, and returns it; `#f` when the time is
    ;; over.
    (define* (watcher-next watcher #:key (timeout #f))
      (check-watcher 'watcher-next watcher)
      (let ((end (and timeout
                      (+ (%clock-nanoseconds clock/monotonic)
                         (seconds->nanoseconds 'watcher-next timeout)))))
        (let loop ()
          (if (pair? (watcher-pending watcher))
              (let ((change (car (watcher-pending watcher))))
                (set-watcher-pending! watcher (cdr (watcher-pending watcher)))
                change)
              (let ((events (%watch-read (watcher-handle watcher)
                                         (and end
                                              (max 0 (/ (- end (%clock-nanoseconds clock/monotonic))
                                                        1000000000))))))
                (if (not events)
                    #f
                    (begin
                      (for-each (lambda (event)
                                  (%apply take-event! (cons watcher event)))
                                events)
                      (loop))))))))

    (define (seconds->nanoseconds who seconds)
      (if (not (and (real? seconds) (>= seconds 0) (< seconds 1e9)))
          (%type-error who 2 "number of seconds" seconds))
      (exact (floor (* seconds 1000000000))))

    ;; Closes a watcher; a second time does nothing.
    (define (close-watcher watcher)
      (if (not (watcher? watcher))
          (%type-error 'close-watcher 1 "watcher" watcher))
      (set-watcher-open! watcher #f)
      (%watch-close (watcher-handle watcher)))

    ;; Calls a procedure with each change of a file or directory, until it returns a false value or,
    ;; with `#:timeout`, nothing changed for so many seconds.
    (define* (for-each-change procedure path #:key (recursive #f) (timeout #f))
      (check-procedure 'for-each-change 1 procedure)
      (let ((watcher (open-watcher path #:recursive recursive)))
        (dynamic-wind
         void
         (lambda ()
           (let loop ()
             (let ((change (watcher-next watcher #:timeout timeout)))
               (if (and change (procedure change))
                   (loop)))))
         (lambda () (close-watcher watcher)))))))
