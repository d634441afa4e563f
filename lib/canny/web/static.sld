;;; (canny web static): files of a directory as answers.
;;;
;;;     (define-routes app
;;;       (GET "/" home)
;;;       (mount "/assets" (static-files "public" #:max-age 3600)))
;;;
;;; A file is found by segments that were decoded once. None of them has a slash, a backslash or a
;;; control character, or begins with a dot. Then its real name, without symbolic links, has to be
;;; below the real name of the root. Both together are why no request gets out of it. The file that
;;; is sent is the one that was checked, or one that took its place meanwhile.

(define-library (canny web static)
  (export static-files file-response media-type-of)
  (import (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny data lists) assoc for-each map member)
          (only (canny data sorting) list-sort)
          (only (canny machine control) raise guard)
          (only (canny io) make-binary-input set-port-position!)
          (only (canny fs)
                real-path file-info file-info-type file-info-size file-info-modified file-readable?
                directory-list path-join)
          (only (canny sxml) sxml->html)
          (only (canny web headers) choose-encoding entity-tag-matches?)
          (only (canny web uri) percent-encode)
          (canny web message)
          (only (canny web router) path-segments route-parameters)
          (only (canny web password) random-token))
  (begin

    (define (option who message object)
      (raise (%make-condition 'range message (list object) who)))

    (define (plain status text . headers)
      (make-response #:status status
                     #:headers (cons '(content-type . (text/plain (charset . "utf-8"))) headers)
                     #:body (string-append text "\n")))

    ;;; Types

    (define known-types
      '(("html" . text/html) ("htm" . text/html) ("css" . text/css) ("js" . text/javascript)
        ("mjs" . text/javascript) ("txt" . text/plain) ("md" . text/markdown) ("csv" . text/csv)
        ("xml" . application/xml) ("json" . application/json) ("map" . application/json)
        ("jsonld" . application/ld+json) ("webmanifest" . application/manifest+json)
        ("atom" . application/atom+xml) ("rss" . application/rss+xml)
        ("xhtml" . application/xhtml+xml)
        ("svg" . image/svg+xml) ("png" . image/png) ("jpg" . image/jpeg) ("jpeg" . image/jpeg)
        ("gif" . image/gif) ("webp" . image/webp) ("avif" . image/avif)
        ("ico" . image/vnd.microsoft.icon)
        ("bmp" . image/bmp) ("tif" . image/tiff) ("tiff" . image/tiff)
        ("woff" . font/woff) ("woff2" . font/woff2) ("ttf" . font/ttf) ("otf" . font/otf)
        ("mp3" . audio/mpeg) ("ogg" . audio/ogg) ("oga" . audio/ogg) ("wav" . audio/wav)
        ("flac" . audio/flac) ("m4a" . audio/mp4) ("opus" . audio/opus)
        ("mp4" . video/mp4) ("webm" . video/webm) ("ogv" . video/ogg) ("mov" . video/quicktime)
        ("pdf" . application/pdf) ("zip" . application/zip) ("gz" . application/gzip)
        ("zst" . application/zstd) ("tar" . application/x-tar) ("7z" . application/x-7z-compressed)
        ("wasm" . application/wasm) ("epub" . application/epub+zip) ("ics" . text/calendar)
        ("vtt" . text/vtt) ("scm" . text/x-scheme) ("sld" . text/x-scheme)
        ("doc" . application/msword) ("rtf" . application/rtf)))

    (define (extension name)
      (let loop ((index (- (string-length name) 1)))
        (cond ((< index 0) "")
              ((char=? #\. (string-ref name index))
               (string-downcase (substring name (+ index 1) (string-length name))))
              ((char=? #\/ (string-ref name index)) "")
              (else (loop (- index 1))))))

    ;; The media type of a file by its name, as the value of `content-type`. `#:types` is an
    ;; association list of extensions and symbols that counts for more than the table of the
    ;; library.
    (define* (media-type-of name #:key (types '()))
      (check-argument 'media-type-of 1 string? "string" name)
      (let* ((extension (extension name))
             (entry (or (assoc extension types) (assoc extension known-types)))
             (type (if entry (cdr entry) 'application/octet-stream))
             (text (symbol->string type)))
        (if (or (string-prefix? "text/" text)
                (memq type '(application/json application/xml application/manifest+json
                             image/svg+xml)))
            (list type '(charset . "utf-8"))
            (list type))))

    ;;; Answers

    (define (hexadecimal number) (number->string number 16))

    ;; Seconds since 1970; files have nanoseconds.
    (define (modified-of info)
      (floor-quotient (file-info-modified info) 1000000000))

    (define (entity-tag info)
      (cons (string-append (hexadecimal (file-info-size info)) "-"
                           (hexadecimal (file-info-modified info)))
            #t))

    ;; The answer that the conditions of a request demand: 304, 412 or `#f`.
    (define (condition-status request tag modified)
      (let ((if-match (request-header request 'if-match
                                      ;; A malformed condition matches nothing.
                                      (and (request-field request 'if-match) '())))
            (if-unmodified (request-header request 'if-unmodified-since))
            (if-none (request-header request 'if-none-match))
            (if-modified (request-header request 'if-modified-since)))
        (cond ((if if-match
                   (not (entity-tag-matches? tag if-match))
                   (and if-unmodified (> modified if-unmodified)))
               412)
              (if-none (and (entity-tag-matches? tag if-none #:weak? #t) 304))
              ((and if-modified (<= modified if-modified)) 304)
              (else #f))))

    ;; More ranges than that, or more bytes than the file has in all, are an attack or a mistake.
    (define ranges-max 16)

    ;; The ranges that are to be sent, pairs of the first byte and the length. Gives `#f` for the
    ;; whole file and `()` for none that there is.
    (define (wanted-ranges request tag modified size)
      (let ((range (request-header request 'range))
            (if-range (request-header request 'if-range
                                      ;; A range is for a client that has the rest of the same file:
                                      ;; that has to be known.
                                      (and (request-field request 'if-range) 'malformed))))
        (and (pair? range)
             (eq? 'bytes (car range))
             (eq? 'GET (request-method request))
             (or (not if-range)
                 (if (pair? if-range)
                     (entity-tag-matches? tag (list if-range))
                     (and (number? if-range) (= modified if-range))))
             (<= (length (cdr range)) ranges-max)
             (let ((ranges (let loop ((specs (cdr range)) (found '()))
                             (if (null? specs)
                                 (reverse found)
                                 (let ((one (resolve-range (car specs) size)))
                                   (loop (cdr specs) (if one (cons one found) found)))))))
               (and (<= (let sum ((ranges ranges) (total 0))
                          (if (null? ranges) total (sum (cdr ranges) (+ total (cdar ranges)))))
                        size)
                    ranges)))))

    (define (resolve-range spec size)
      (let ((first (car spec)) (last (cdr spec)))
        (cond ((not first)
               (let ((count (min last size)))
                 (and (> count 0) (cons (- size count) count))))
              ((>= first size) #f)
              (else (cons first (- (min (+ 1 (or last (- size 1))) size) first))))))

    ;; A body of up to so many bytes is read at once.
    (define in-memory-max 65536)

    (define (bytes-of-file path start length)
      (let ((port (open-binary-input-file path)))
        (if (> start 0) (set-port-position! port start))
        (let ((bytes (read-bytevector length port)))
          (close-port port)
          (if (eof-object? bytes) (bytevector) bytes))))

    ;; A body of pieces: bytevectors, and pairs of the first byte and the length of what the file
    ;; has.
    (define (pieces-body path pieces size)
      (if (<= size in-memory-max)
          (let loop ((pieces pieces) (parts '()))
            (if (null? pieces)
                (apply bytevector-append (reverse parts))
                (loop (cdr pieces)
                      (cons (if (pair? (car pieces))
                                (bytes-of-file path (caar pieces) (cdar pieces))
                                (car pieces))
                            parts))))
          (let ((port (open-binary-input-file path))
                (pieces pieces)
                ;; Bytes that were not handed out yet, and how many the file has still to give.
                (rest (bytevector))
                (start 0)
                (left 0))
            (define (next-piece!)
              (let ((piece (car pieces)))
                (set! pieces (cdr pieces))
                (if (pair? piece)
                    (begin
                      (set-port-position! port (car piece))
                      (set! left (cdr piece)))
                    (begin
                      (set! rest piece)
                      (set! start 0)))))
            (define (read! bytes from count)
              (cond ((< start (bytevector-length rest))
                     (let ((count (min count (- (bytevector-length rest) start))))
                       (bytevector-copy! bytes from rest start (+ start count))
                       (set! start (+ start count))
                       count))
                    ((> left 0)
                     (let ((part (read-bytevector! bytes port from (+ from (min count left)))))
                       (if (eof-object? part)
                           0
                           (begin
                             (set! left (- left part))
                             part))))
                    ((pair? pieces)
                     (next-piece!)
                     (read! bytes from count))
                    (else 0)))
            (make-binary-input "file" read! #:close (lambda () (close-port port))))))

    ;; The answer with a file, whose name the program chose: conditions, ranges, `HEAD`, and what
    ;; `#:headers` has more. `#:type` is the value of `content-type`.
    (define* (file-response request path #:key (type #f) (headers '()))
      (check-argument 'file-response 1 request? "request" request)
      (check-argument 'file-response 2 string? "string" path)
      (answer-with request path (file-info path) (or type (media-type-of path)) headers))

    (define (answer-with request path info type headers)
      (let* ((size (file-info-size info))
             (modified (modified-of info))
             (tag (entity-tag info))
             (common `((etag . ,tag)
                       (last-modified . ,modified)
                       (accept-ranges . (bytes))
                       ,@headers))
             (head? (eq? 'HEAD (request-method request))))
        (define (respond status more pieces length)
          (make-response #:status status
                         #:headers (append more `((content-length . ,length)) common)
                         #:body (and (not head?) (pieces-body path pieces length))))
        (case (condition-status request tag modified)
          ((304) (make-response #:status 304 #:headers common))
          ((412) (plain 412 "Precondition Failed"))
          (else
           (let ((ranges (wanted-ranges request tag modified size)))
             (cond ((not ranges)
                    (respond 200 `((content-type . ,type)) (list (cons 0 size)) size))
                   ((null? ranges)
                    (plain 416 "Range Not Satisfiable"
                           `(content-range . (bytes #f ,size))))
                   ((null? (cdr ranges))
                    (let ((range (car ranges)))
                      (respond 206
                               `((content-type . ,type)
                                 (content-range . (bytes ,(place range) ,size)))
                               ranges
                               (cdr range))))
                   (else (several-ranges respond ranges type size))))))))

    (define (place range)
      (cons (car range) (+ (car range) (cdr range) -1)))

    (define (type-text type)
      (string-append (symbol->string (car type))
                     (if (pair? (cdr type)) "; charset=utf-8" "")))

    (define (several-ranges respond ranges type size)
      (let* ((boundary (random-token 16))
             (pieces
              (append
               (apply append
                      (map (lambda (range)
                             (let ((place (place range)))
                               (list (string->utf8
                                      (string-append "--" boundary "\r\nContent-Type: "
                                                     (type-text type)
                                                     "\r\nContent-Range: bytes "
                                                     (number->string (car place)) "-"
                                                     (number->string (cdr place)) "/"
                                                     (number->string size) "\r\n\r\n"))
                                     range
                                     (string->utf8 "\r\n"))))
                           ranges))
               (list (string->utf8 (string-append "--" boundary "--\r\n")))))
             (length (let sum ((pieces pieces) (total 0))
                       (if (null? pieces)
                           total
                           (sum (cdr pieces)
                                (+ total (if (pair? (car pieces))
                                             (cdar pieces)
                                             (bytevector-length (car pieces)))))))))
        (respond 206 `((content-type . (multipart/byteranges (boundary . ,boundary))))
                 pieces length)))

    ;;; Directories

    (define (suitable? segment dotfiles?)
      (and (not (%string-index segment #\/ 0))
           (not (%string-index segment #\\ 0))
           (not (and (> (string-length segment) 0)
                     (char=? #\. (string-ref segment 0))
                     (not dotfiles?)))))

    ;; The segments of the requested file, or `#f`; an empty one at the end means a directory.
    (define (file-segments request dotfiles?)
      (let* ((rest (assq 'rest (route-parameters request)))
             (segments (if rest (cdr rest) (path-segments (request-path request)))))
        (and segments
             (let loop ((rest segments))
               (cond ((null? rest) #t)
                     ((not (suitable? (car rest) dotfiles?)) #f)
                     ((string=? "" (car rest)) (null? (cdr rest)))
                     (else (loop (cdr rest)))))
             segments)))

    (define (info-of path)
      (guard (object ((error-object? object) #f))
        (file-info path)))

    (define (real-name path)
      (guard (object ((error-object? object) #f))
        (real-path path)))

    (define (below? path root)
      (or (string=? path root)
          (string-prefix? (if (string=? root "/") root (string-append root "/")) path)))

    ;; Names that change with their content. A part of eight hexadecimal digits and more, one of
    ;; which is a digit, stands between dots or hyphens before the extension.
    (define (fingerprinted? name)
      (let ((length (string-length name)))
        (let loop ((index 0) (count 0) (digits 0))
          (and (< index length)
               (let ((char (string-ref name index)))
                 (cond ((or (char=? char #\.) (char=? char #\-))
                        (or (and (>= count 8) (> digits 0) (char=? char #\.))
                            (loop (+ index 1) 0 0)))
                       ((and (char<=? #\0 char) (char<=? char #\9))
                        (loop (+ index 1) (+ count 1) (+ digits 1)))
                       ((or (and (char<=? #\a char) (char<=? char #\f))
                            (and (char<=? #\A char) (char<=? char #\F)))
                        (loop (+ index 1) (+ count 1) digits))
                       ;; So long a part is none.
                       (else (loop (+ index 1) -1000000 digits))))))))

    ;; A handler that answers with the files below a directory: by the parameter `rest` of `mount`,
    ;; or else by the whole path.
    (define* (static-files root
                           #:key (index '("index.html")) (listing? #f) (dotfiles? #f) (max-age #f)
                           (immutable? fingerprinted?)
                           (codings '(("br" . ".br") ("zstd" . ".zst") ("gzip" . ".gz")))
                           (types '()) (headers '()))
      (check-argument 'static-files 1 string? "string" root)
      (let ((root (or (real-name root)
                      (option 'static-files "there is no such directory" root))))
        (define not-found (plain 404 "Not Found"))

        ;; The name of a file that may be sent, or `#f`.
        (define (admitted path)
          (let ((real (real-name path)))
            (and real (below? real root) real)))

        (define (send request path name info)
          (let* ((variants (available path))
                 (coding (if (null? variants)
                             "identity"
                             (or (choose-encoding (request-field request 'accept-encoding)
                                                  (map car variants))
                                 "identity")))
                 (variant (assoc coding variants))
                 (type (media-type-of name #:types types))
                 (cache (cond ((immutable? name)
                               '((public . #t) (max-age . 31536000) (immutable . #t)))
                              (max-age `((max-age . ,max-age)))
                              (else '((no-cache . #t)))))
                 (headers `((cache-control . ,cache)
                            (x-content-type-options . nosniff)
                            ,@(if (null? variants) '() '((vary . (accept-encoding))))
                            ,@(if variant
                                  `((content-encoding . (,(string->symbol coding))))
                                  '())
                            ,@headers)))
            (if variant
                (answer-with request (cadr variant) (car (cddr variant)) type headers)
                (answer-with request path info type headers))))

        ;; Codings with the names of files that have the same in them.
        (define (available path)
          (let loop ((codings codings) (found '()))
            (if (null? codings)
                (reverse found)
                (let* ((file (admitted (string-append path (cdar codings))))
                       (info (and file (info-of file))))
                  (loop (cdr codings)
                        (if (and info (eq? 'regular (file-info-type info)))
                            (cons (list (caar codings) file info) found)
                            found))))))

        (define (directory request path segments)
          (let ((slash? (or (null? segments) (string=? "" (last-of segments)))))
            (cond ((not slash?) (redirect request))
                  ((let loop ((names index))
                     (and (pair? names)
                          (let* ((file (admitted (path-join path (car names))))
                                 (info (and file (info-of file))))
                            (if (and info (eq? 'regular (file-info-type info)))
                                (list file (car names) info)
                                (loop (cdr names))))))
                   => (lambda (found) (send request (car found) (cadr found) (car (cddr found)))))
                  (listing? (list-directory request path))
                  (else not-found))))

        (lambda (request body)
          (if (not (memq (request-method request) '(GET HEAD)))
              (plain 405 "Method Not Allowed" '(allow . (GET HEAD)))
              (let* ((segments (file-segments request dotfiles?))
                     (names (and segments (without-empty segments)))
                     (path (and segments (admitted (apply path-join root names))))
                     (info (and path (info-of path))))
                (cond ((not info) not-found)
                      ((eq? 'directory (file-info-type info))
                       (directory request path segments))
                      ((or (not (eq? 'regular (file-info-type info)))
                           (not (= (length names) (length segments)))
                           (not (file-readable? path)))
                       not-found)
                      (else (send request path (last-of names) info))))))))

    (define (last-of list)
      (if (pair? (cdr list)) (last-of (cdr list)) (car list)))

    (define (without-empty segments)
      (cond ((null? segments) '())
            ((string=? "" (car segments)) (without-empty (cdr segments)))
            (else (cons (car segments) (without-empty (cdr segments))))))

    ;; A directory's address ends with a slash. No other host can be in the answer: a path with two
    ;; slashes at its beginning has none.
    (define (redirect request)
      (let ((path (request-path request))
            (query (request-query request)))
        (if (string-prefix? "//" path)
            (plain 404 "Not Found")
            (plain 308 "Permanent Redirect"
                   (cons 'location
                         (string-append path "/" (if query (string-append "?" query) "")))))))

    (define (list-directory request path)
      (let ((names (list-sort string<? (directory-list path #:hidden #f))))
        (make-response
         #:headers '((content-type . (text/html (charset . "utf-8")))
                     (x-content-type-options . nosniff)
                     (content-security-policy . (((default-src "'none'")))))
         #:body
         (sxml->html
          `(html
            (head (title ,(request-path request)))
            (body
             (h1 ,(request-path request))
             (ul ,@(map (lambda (name)
                          (let* ((info (info-of (path-join path name)))
                                 (name (if (and info (eq? 'directory (file-info-type info)))
                                           (string-append name "/")
                                           name)))
                            `(li (a (@ (href "./" ,(percent-encode name #:keep "/"))) ,name))))
                        names))))
          #:doctype #t))))))
