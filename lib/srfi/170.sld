;;; (srfi 170): the interface to POSIX.
;;;
;;; Names of files are strings; a port stands for the file that it was opened with.  Users and groups
;;; come from /etc/passwd and /etc/group.  A changed environment variable is seen by the program, not
;;; by others.  `fd->port` opens the file of a descriptor a second time, and there are no ports
;;; for both input and output.  The mode of buffering has no effect.
;;;
;;; A POSIX error is a condition of the file system whose message ends with the words of the system.

(define-library (srfi 170)
  (export posix-error? posix-error-name posix-error-message
          open-file fd->port
          binary-input textual-input binary-output textual-output binary-input/output
          buffer-none buffer-block buffer-line
          open/append open/create open/exclusive open/nofollow open/truncate
          create-directory create-fifo create-hard-link create-symlink read-symlink rename-file
          delete-directory set-file-owner owner/unchanged group/unchanged
          set-file-times time/now time/unchanged truncate-file
          file-info file-info? file-info:device file-info:inode file-info:mode file-info:nlinks
          file-info:uid file-info:gid file-info:rdev file-info:size file-info:blksize
          file-info:blocks file-info:atime file-info:mtime file-info:ctime
          file-info-directory? file-info-fifo? file-info-symlink? file-info-regular?
          file-info-socket? file-info-device?
          set-file-mode directory-files make-directory-files-generator
          open-directory read-directory close-directory
          real-path file-space temp-file-prefix create-temp-file call-with-temporary-filename
          umask set-umask! current-directory set-current-directory! pid nice
          user-uid user-gid user-effective-uid user-effective-gid user-supplementary-gids
          user-info user-info? user-info:name user-info:uid user-info:gid user-info:home-dir
          user-info:shell user-info:full-name user-info:parsed-full-name
          group-info group-info? group-info:name group-info:gid
          posix-time monotonic-time
          set-environment-variable! delete-environment-variable!
          terminal?)
  (import (canny syntax) (canny primitives) (only (canny lists) map)
          (only (canny control) guard raise make-parameter error)
          (only (canny ports) call-with-port)
          (only (srfi 1) filter)
          (only (srfi 19) make-time time? time-type time-second time-nanosecond time-utc
                time-monotonic current-time))
  (begin

    ;; Errors.

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

    ;; Ports.

    (define binary-input 0)
    (define textual-input 1)
    (define binary-output 2)
    (define textual-output 3)
    (define binary-input/output 4)

    (define buffer-none 'buffer-none)
    (define buffer-block 'buffer-block)
    (define buffer-line 'buffer-line)

    (define open/append 1)
    (define open/create 2)
    (define open/exclusive 4)
    (define open/nofollow 8)
    (define open/truncate 16)

    (define (check-kind who kind)
      (if (not (and (exact-nonnegative-integer? kind) (< kind 4)))
          (%type-error who 2 "type of a port for input or for output" kind)))

    (define open-file
      (case-lambda
        ((name kind flags) (open-file name kind flags #o666))
        ((name kind flags permissions) (open-file name kind flags permissions buffer-block))
        ((name kind flags permissions buffering)
         (check-kind 'open-file kind)
         (%open-file name kind flags permissions))))

    (define fd->port
      (case-lambda
        ((descriptor kind) (fd->port descriptor kind buffer-block))
        ((descriptor kind buffering)
         (if (not (exact-nonnegative-integer? descriptor))
             (%type-error 'fd->port 1 "file descriptor" descriptor))
         (check-kind 'fd->port kind)
         (%open-file (string-append "/dev/fd/" (number->string descriptor)) kind 0 #o666))))

    (define (terminal? port)
      (%terminal? port))

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

    (define time/now 'time/now)
    (define time/unchanged 'time/unchanged)

    (define (time->argument time position)
      (cond ((eq? time time/now) #t)
            ((eq? time time/unchanged) #f)
            ((and (time? time) (eq? (time-type time) time-utc))
             (+ (* 1000000000 (time-second time)) (time-nanosecond time)))
            (else (%type-error 'set-file-times position "time of the type time-utc" time))))

    (define set-file-times
      (case-lambda
        ((name) (%set-file-times name #t #t))
        ((name access-time modification-time)
         (%set-file-times name
                          (time->argument access-time 2)
                          (time->argument modification-time 3)))))

    (define-record-type file-info-record
      (make-file-info device inode mode nlinks uid gid rdev size blksize blocks atime mtime ctime)
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
      (atime file-info:atime)
      (mtime file-info:mtime)
      (ctime file-info:ctime))

    (define (nanoseconds->time type nanoseconds)
      (make-time type
                 (floor-remainder nanoseconds 1000000000)
                 (floor-quotient nanoseconds 1000000000)))

    (define (file-info file follow?)
      (let* ((numbers (%file-info (file-name file) (or (port? file) (if follow? #t #f))))
             (times (map (lambda (nanoseconds) (nanoseconds->time time-utc nanoseconds))
                         (list-tail numbers 10))))
        (let loop ((rest numbers) (count 10) (first '()))
          (if (= count 0)
              (%apply make-file-info (append (reverse first) times))
              (loop (cdr rest) (- count 1) (cons (car rest) first))))))

    (define (file-type info)
      (bitwise-and #o170000 (file-info:mode info)))

    (define (file-info-directory? info) (= (file-type info) #o40000))
    (define (file-info-fifo? info) (= (file-type info) #o10000))
    (define (file-info-symlink? info) (= (file-type info) #o120000))
    (define (file-info-regular? info) (= (file-type info) #o100000))
    (define (file-info-socket? info) (= (file-type info) #o140000))
    (define (file-info-device? info)
      (let ((type (file-type info)))
        (or (= type #o20000) (= type #o60000))))

    ;; Directories.

    (define directory-files
      (case-lambda
        ((name) (directory-files name #f))
        ((name dot-files?)
         (let ((names (%directory-files name)))
           (if dot-files?
               names
               (filter (lambda (name) (not (eqv? #\. (string-ref name 0)))) names))))))

    (define (make-directory-files-generator name . dot-files?)
      (let ((directory (%apply open-directory (cons name dot-files?))))
        (lambda () (read-directory directory))))

    ;; The names that are left, or #f when it is closed.
    (define-record-type directory-record
      (make-directory names)
      directory?
      (names directory-names set-directory-names!))

    (define (open-directory name . dot-files?)
      (make-directory (%apply directory-files (cons name dot-files?))))

    (define (read-directory directory)
      (let ((names (directory-names directory)))
        (cond ((not names)
               (%range-error 'read-directory 1 "an open directory" directory))
              ((null? names) (eof-object))
              (else
               (set-directory-names! directory (cdr names))
               (car names)))))

    (define (close-directory directory)
      (set-directory-names! directory #f))

    ;; Temporary files.

    (define temp-file-prefix
      (make-parameter
       (string-append (or (get-environment-variable "TMPDIR") "/tmp")
                      "/" (number->string (%process-id)))
       (lambda (prefix)
         (if (not (string? prefix))
             (%type-error 'temp-file-prefix 1 "string" prefix))
         prefix)))

    (define (create-temp-file . prefix)
      (%apply call-with-temporary-filename
              (cons (lambda (name)
                      (close-port
                       (%open-file name binary-output (+ open/create open/exclusive) #o600))
                      name)
                    prefix)))

    (define call-with-temporary-filename
      (case-lambda
        ((maker) (call-with-temporary-filename maker (temp-file-prefix)))
        ((maker prefix)
         (if (not (procedure? maker))
             (%type-error 'call-with-temporary-filename 1 "procedure" maker))
         (if (not (string? prefix))
             (%type-error 'call-with-temporary-filename 2 "string" prefix))
         (let loop ((tries 1000))
           (if (= tries 0)
               (error "call-with-temporary-filename: no name was good" prefix))
           (let* ((name (string-append prefix (number->string (random-integer 1000000000) 36)))
                  (results
                   (guard (object ((and (posix-error? object)
                                        (eq? (posix-error-name object) 'EEXIST))
                                   '(#f)))
                     (%values->list (maker name)))))
             (if (and (pair? results) (car results))
                 (%list->values results)
                 (loop (- tries 1))))))))

    ;; The process.

    ;; The mask can only be read by replacing it.
    (define (umask)
      (let ((mask (%umask 0)))
        (%umask mask)
        mask))

    (define (set-umask! mask)
      (%umask mask)
      (void))

    (define (current-directory) (%current-directory))
    (define (set-current-directory! name) (%set-current-directory! name))
    (define (pid) (%process-id))

    (define nice
      (case-lambda
        (() (%nice 1))
        ((delta) (%nice delta))))

    (define (user-uid) (car (%user-ids)))
    (define (user-gid) (cadr (%user-ids)))
    (define (user-effective-uid) (caddr (%user-ids)))
    (define (user-effective-gid) (cadddr (%user-ids)))
    (define (user-supplementary-gids) (%supplementary-groups))

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
                              (string->number (list-ref fields 2))))))

    (define (user-info:parsed-full-name info)
      (let* ((name (user-info:name info))
             (capitalized
              (if (and (not (string-null? name)) (char<=? #\a (string-ref name 0) #\z))
                  (string-append (string-upcase (substring name 0 1)) (substring name 1))
                  name))
             (parts (string-split (user-info:full-name info) ",")))
        (if (null? parts)
            '("")
            (cons (string-join (string-split (car parts) "&") capitalized)
                  (cdr parts)))))

    ;; Time and environment.

    (define (posix-time)
      (current-time time-utc))

    (define (monotonic-time)
      (nanoseconds->time time-monotonic (%clock-nanoseconds 1)))

    (define (set-environment-variable! name value)
      (if (not (string? value))
          (%type-error 'set-environment-variable! 2 "string" value))
      (%set-environment-variable! name value))

    (define (delete-environment-variable! name)
      (%set-environment-variable! name #f))))
