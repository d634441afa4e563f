;;; (canny fs): files and directories.
;;;
;;; Names of files are strings. Bytes of a name that are not UTF-8 become characters U+10FF80 to
;;; U+10FFFF, which become the same bytes again. Times are exact numbers of nanoseconds since 1970.
;;;
;;; An operation that fails raises a condition that satisfies `file-error?`. Its message ends with
;;; the words of the system; its irritants are the names.
;;;
;;; Kinds of files, names, patterns and watchers are in files that it includes.
;;;
;;; Invariants:
;;; - Only procedures with the option `#:replace` overwrite a file.
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
  (include "fs/types.scm" "fs/paths.scm" "fs/patterns.scm" "fs/watchers.scm")
  (begin

    ;; Directories.

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

    ;; The identity of a directory, which no other one has, or #f.
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
    ;; that cannot be read is reported to the procedure `#:on-error`, as a condition. Without one
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

    ;; Moves a file or directory, to another file system as well. A file that has the new name is
    ;; replaced only with `#:replace #t`.
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

    ;; Calls a procedure with an output port and replaces a file by what it writes, when it returns.
    ;; Others see the old contents or the new ones, never a part. The bytes are written to a file
    ;; beside it, which is synced and renamed. When the procedure raises or is left, the old file
    ;; stays and nothing else does.
    ;;
    ;; The port is textual unless `#:binary #t`. The permissions are `#:permissions`, else those of
    ;; the old file. `#:sync #f` does not wait for the disk.
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

    ;; Calls a procedure with the name of a new temporary directory. That is deleted with all that
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
      (%list->values (%disk-space path)))))
