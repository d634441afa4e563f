;;; (srfi 170): the interface to POSIX.
;;;
;;; Most of it is that of `(canny machine posix)`. A changed environment variable is seen by the
;;; program and by the processes that it starts. Programs that read the variables of this
;;; process from the system do not see it.

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
  (import (canny machine protocols) (canny syntax) (canny primitives) (canny machine posix)
          (only (canny machine control) guard raise make-parameter error)
          (only (srfi 19) make-time time? time-type time-second time-nanosecond time-utc
                time-monotonic current-time))
  (begin

    ;; Ports.

    (define binary-input port-kind/binary-input)
    (define textual-input port-kind/textual-input)
    (define binary-output port-kind/binary-output)
    (define textual-output port-kind/textual-output)
    (define binary-input/output port-kind/both)

    (define buffer-none 'buffer-none)
    (define buffer-block 'buffer-block)
    (define buffer-line 'buffer-line)

    (define open/append open-flag/append)
    (define open/create open-flag/create)
    (define open/exclusive open-flag/exclusive)
    (define open/nofollow open-flag/no-follow)
    (define open/truncate open-flag/truncate)

    (define (check-kind who kind)
      (if (not (memv kind
                     (list binary-input textual-input binary-output textual-output
                           binary-input/output)))
          (%type-error who 2 "type of a port" kind)))

    (define (buffered who position port buffering)
      (let ((mode (cond ((eq? buffering buffer-none) 'none)
                        ((eq? buffering buffer-block) 'block)
                        ((eq? buffering buffer-line) 'line)
                        (else (%type-error who position "mode of buffering" buffering)))))
        (if (output-port? port)
            (%set-port-buffering! port mode))
        port))

    (define open-file
      (case-lambda
        ((name kind flags) (open-file name kind flags #o666))
        ((name kind flags permissions) (open-file name kind flags permissions buffer-block))
        ((name kind flags permissions buffering)
         (check-kind 'open-file kind)
         (buffered 'open-file 5 (%open-file name kind flags permissions) buffering))))

    (define fd->port
      (case-lambda
        ((descriptor kind) (fd->port descriptor kind buffer-block))
        ((descriptor kind buffering)
         (if (not (exact-nonnegative-integer? descriptor))
             (%type-error 'fd->port 1 "file descriptor" descriptor))
         (check-kind 'fd->port kind)
         (buffered 'fd->port 3 (%descriptor-port descriptor kind) buffering))))

    (define (terminal? port)
      (%terminal? port))

    ;; Times.

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

    (define (nanoseconds->time type nanoseconds)
      (make-time type
                 (floor-remainder nanoseconds 1000000000)
                 (floor-quotient nanoseconds 1000000000)))

    (define (file-info:atime info) (nanoseconds->time time-utc (file-info-accessed info)))
    (define (file-info:mtime info) (nanoseconds->time time-utc (file-info-modified info)))
    (define (file-info:ctime info) (nanoseconds->time time-utc (file-info-changed info)))

    ;; Directories.

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

    (define (pid) (%process-id))

    (define nice
      (case-lambda
        (() (%nice 1))
        ((delta) (%nice delta))))

    (define (user-uid) (list-ref (%user-ids) user-id/user))
    (define (user-gid) (list-ref (%user-ids) user-id/group))
    (define (user-effective-uid) (list-ref (%user-ids) user-id/effective-user))
    (define (user-effective-gid) (list-ref (%user-ids) user-id/effective-group))
    (define (user-supplementary-gids) (%supplementary-groups))

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
      (nanoseconds->time time-monotonic (%clock-nanoseconds clock/monotonic)))

    (define (set-environment-variable! name value)
      (if (not (string? value))
          (%type-error 'set-environment-variable! 2 "string" value))
      (%set-environment-variable! name value))

    (define (delete-environment-variable! name)
      (%set-environment-variable! name #f))))
