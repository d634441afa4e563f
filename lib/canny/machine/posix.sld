;;; (canny machine posix): what `(srfi 170)` and `(canny fs)` share.
;;;
;;; Names of files are strings; a port stands for the file that it was opened with. Bytes of a name
;;; that are not UTF-8 are characters of their own, U+10FF80 to U+10FFFF. Times are nanoseconds
;;; since 1970. Users and groups come from /etc/passwd and /etc/group.
;;;
;;; A POSIX error is a condition of the file system whose message ends with the words of the system.

(define-library (canny machine posix)
  (export posix-error? posix-error-name posix-error-message
          condition-of-kind? timeout-error?
          file-name
          create-directory create-fifo create-hard-link create-symlink read-symlink rename-file
          delete-directory set-file-mode truncate-file real-path file-space
          owner/unchanged group/unchanged set-file-owner
          file-info file-info? file-info:device file-info:inode file-info:mode file-info:nlinks
          file-info:uid file-info:gid file-info:rdev file-info:size file-info:blksize
          file-info:blocks file-info-accessed file-info-modified file-info-changed
          file-info-directory? file-info-fifo? file-info-symlink? file-info-regular?
          file-info-socket? file-info-device? file-info-kind-bits
          directory-files
          current-directory set-current-directory!
          user-info user-info? user-info:name user-info:uid user-info:gid user-info:home-dir
          user-info:shell user-info:full-name
          group-info group-info? group-info:name group-info:gid)
  (import (canny syntax) (canny primitives)
          (only (canny machine ports) call-with-port)
          (only (srfi 1) filter))
  (begin

    ;; Errors.

    (define (condition-of-kind? object kind)
      (and (error-object? object)
           (eq? (condition-kind object) kind)))

    ;; Whether an object says that the time was over.
    (define (timeout-error? object)
      (condition-of-kind? object 'timeout))

    (define (posix-error? object)
      (and (file-error? object)
           (find-error (error-object-message object))
           #t))

    (define (find-error message)
      (let loop ((rest error-names))
        (and (pair? rest)
             (if (string-suffix? (caar rest) message)
                 (car rest)
                 (loop (cdr rest))))))

    (define (posix-error-name object)
      (if (not (posix-error? object))
          (%type-error 'posix-error-name 1 "POSIX error" object))
      (cdr (find-error (error-object-message object))))

    (define (posix-error-message object)
      (if (not (posix-error? object))
          (%type-error 'posix-error-message 1 "POSIX error" object))
      (car (find-error (error-object-message object))))

    (define error-names
      '(("Operation not permitted" . EPERM)
        ("No such file or directory" . ENOENT)
        ("No such process" . ESRCH)
        ("Interrupted system call" . EINTR)
        ("Input/output error" . EIO)
        ("No such device or address" . ENXIO)
        ("Bad file descriptor" . EBADF)
        ("Cannot allocate memory" . ENOMEM)
        ("Permission denied" . EACCES)
        ("Device or resource busy" . EBUSY)
        ("File exists" . EEXIST)
        ("Invalid cross-device link" . EXDEV)
        ("Cross-device link" . EXDEV)
        ("No such device" . ENODEV)
        ("Not a directory" . ENOTDIR)
        ("Is a directory" . EISDIR)
        ("Invalid argument" . EINVAL)
        ("Too many open files in system" . ENFILE)
        ("Too many open files" . EMFILE)
        ("Text file busy" . ETXTBSY)
        ("File too large" . EFBIG)
        ("No space left on device" . ENOSPC)
        ("Illegal seek" . ESPIPE)
        ("Read-only file system" . EROFS)
        ("Too many links" . EMLINK)
        ("Broken pipe" . EPIPE)
        ("File name too long" . ENAMETOOLONG)
        ("Function not implemented" . ENOSYS)
        ("Directory not empty" . ENOTEMPTY)
        ("Too many levels of symbolic links" . ELOOP)
        ("Operation not supported" . ENOTSUP)
        ("Resource temporarily unavailable" . EAGAIN)
        ("Disk quota exceeded" . EDQUOT)
        ;; A name with a null character does not reach the system.
        ("file name contained an unexpected NUL byte" . EINVAL)))

    ;; The name of a file that is given by a name or a port.
    (define (file-name object)
      (if (port? object)
          (port-name object)
          object))

    ;; Files.

    (define create-directory
      (case-lambda
        ((name) (%create-directory name #o775))
        ((name permissions) (%create-directory name permissions))))

    (define create-fifo
      (case-lambda
        ((name) (%create-fifo name #o664))
        ((name permissions) (%create-fifo name permissions))))

    (define (create-hard-link old new) (%create-hard-link old new))
    (define (create-symlink old new) (%create-symlink old new))
    (define (read-symlink name) (%read-symlink name))
    (define (rename-file old new) (%rename-file old new))
    (define (delete-directory name) (%delete-directory name))
    (define (set-file-mode name mode) (%set-file-mode name mode))
    (define (truncate-file file length) (%truncate-file (file-name file) length))
    (define (real-path name) (%real-path name))
    (define (file-space file) (%file-space (file-name file)))

    (define owner/unchanged 'owner/unchanged)
    (define group/unchanged 'group/unchanged)

    (define (set-file-owner name user group)
      (%set-file-owner name
                       (if (eq? user owner/unchanged) #f user)
                       (if (eq? group group/unchanged) #f group)))

    (define-record-type file-info-record
      (make-file-info device inode mode nlinks uid gid rdev size blksize blocks accessed modified
                      changed)
      file-info?
      (device file-info:device)
      (inode file-info:inode)
      (mode file-info:mode)
      (nlinks file-info:nlinks)
      (uid file-info:uid)
      (gid file-info:gid)
      (rdev file-info:rdev)
      (size file-info:size)
      (blksize file-info:blksize)
      (blocks file-info:blocks)
      (accessed file-info-accessed)
      (modified file-info-modified)
      (changed file-info-changed))

    ;; Information on a file, or on what a port was opened with. Of a symbolic link it is that on
    ;; its target, unless the second argument is given and false.
    (define file-info
      (case-lambda
        ((file) (file-info file #t))
        ((file follow?)
         (%apply make-file-info
                 (%file-info (file-name file) (or (port? file) (if follow? #t #f)))))))

    (define (file-info-kind-bits info)
      (bitwise-and #o170000 (file-info:mode info)))

    (define (file-info-directory? info) (= (file-info-kind-bits info) #o40000))
    (define (file-info-fifo? info) (= (file-info-kind-bits info) #o10000))
    (define (file-info-symlink? info) (= (file-info-kind-bits info) #o120000))
    (define (file-info-regular? info) (= (file-info-kind-bits info) #o100000))
    (define (file-info-socket? info) (= (file-info-kind-bits info) #o140000))
    (define (file-info-device? info)
      (let ((type (file-info-kind-bits info)))
        (or (= type #o20000) (= type #o60000))))

    (define directory-files
      (case-lambda
        ((name) (directory-files name #f))
        ((name dot-files?)
         (let ((names (%directory-files name)))
           (if dot-files?
               names
               (filter (lambda (name) (not (eqv? #\. (string-ref name 0)))) names))))))

    (define (current-directory) (%current-directory))
    (define (set-current-directory! name) (%set-current-directory! name))

    ;; Users and groups.

    (define-record-type user-info-record
      (make-user-info name uid gid full-name home-dir shell)
      user-info?
      (name user-info:name)
      (uid user-info:uid)
      (gid user-info:gid)
      (full-name user-info:full-name)
      (home-dir user-info:home-dir)
      (shell user-info:shell))

    (define-record-type group-info-record
      (make-group-info name gid)
      group-info?
      (name group-info:name)
      (gid group-info:gid))

    ;; The fields of the first line of a database whose name or number, the third field, is the key.
    (define (find-entry who file key field-count)
      (if (not (or (string? key) (exact-nonnegative-integer? key)))
          (%type-error who 1 "name or number" key))
      (and (file-exists? file)
           (call-with-port (open-input-file file)
             (lambda (port)
               (let loop ()
                 (let ((line (read-line port)))
                   (if (eof-object? line)
                       #f
                       (let ((fields (string-split line ":")))
                         (if (and (>= (length fields) field-count)
                                  (if (string? key)
                                      (string=? key (car fields))
                                      (equal? key (string->number (caddr fields)))))
                             fields
                             (loop))))))))))

    (define (user-info key)
      (let ((fields (find-entry 'user-info "/etc/passwd" key 7)))
        (and fields
             (make-user-info (list-ref fields 0)
                             (string->number (list-ref fields 2))
                             (string->number (list-ref fields 3))
                             (list-ref fields 4)
                             (list-ref fields 5)
                             (list-ref fields 6)))))

    (define (group-info key)
      (let ((fields (find-entry 'group-info "/etc/group" key 4)))
        (and fields
             (make-group-info (list-ref fields 0)
                              (string->number (list-ref fields 2))))))))
