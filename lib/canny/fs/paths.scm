;;; Part of (canny fs): names of files, taken apart and put together.
;;;
;;; Only `path-absolute`, `path-relative`, `expand-user` and the conversions to bytes call the
;;; system.

(define (check-string who position object)
  (if (not (string? object))
      (%type-error who position "string" object)))

(define (check-procedure who position object)
  (if (not (procedure? object))
      (%type-error who position "procedure" object)))

;; Whether a name begins at the root.
(define (path-absolute? path)
  (check-string 'path-absolute? 1 path)
  (and (not (string-null? path))
       (eqv? (string-ref path 0) #\/)))

;; The name that leads along several ones; an absolute one replaces those before it.
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

;; The start and the end of the last part of a name; slashes at the end do not count.
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

;; The start of the extension of a name: its last dot, unless that is the first character.
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
                           (home-of (list-ref (%user-ids) user-id/user)))
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
