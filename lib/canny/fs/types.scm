;;; Part of (canny fs): the kinds of files, and the system's answers about a file.

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

;; The type of the file of a `file-info`.
(define (file-info-type info)
  (kind->symbol (file-info-kind-bits info)))

;; The permission bits of the file of a `file-info`.
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

(define (hidden-name? name)
  (eqv? (string-ref name 0) #\.))

(define (entry-type path bits)
  (if (= bits 0)
      (or (file-type path) 'unknown)
      (kind->symbol bits)))

;; The result of a procedure, or #f if it raises.
(define (quietly thunk)
  (guard (object (#t #f))
    (thunk)))
