#!/usr/bin/env canny
;;; Follows the links of web pages, several at once, and tells which are broken; keeps what it got,
;;; if wanted.
;;;
;;;     canny examples/concurrent/check-links.scm --jobs 8 http://localhost:8000/
;;;
;;; Pages below the addresses that are given are read for links in turn; links that lead elsewhere
;;; are only tried. Each address is asked for once. All that the program knows changes in one react
;;; block, one event at a time: the requests run beside it, no more at once than --jobs says.

(import (scheme base) (scheme char) (scheme write) (scheme process-context)
        (only (srfi 1) delete-duplicates)
        (only (srfi 13) string-contains string-prefix? string-suffix? string-index)
        (only (srfi 132) list-sort)
        (only (srfi 170) terminal?)
        (only (canny files) bytevector->file)
        (only (canny fs) create-directories path-join)
        (only (canny io) set-port-timeout!)
        (canny net) (canny regexp) (canny supplies) (canny tasks) (canny timers))

(define usage
  "Usage: check-links.scm [OPTION ...] URL ...

Follows links, and tells which are broken.

  --jobs N       so many requests at once (4)
  --timeout N    seconds that a server may take for each step (10)
  --retries N    how often a request is tried again after an error of the network or server (2)
  --save DIR     keep what was got, a file for each address
  --verbose      tell of each address, not only of broken ones
  --help         print this

Exit code: 0 if all links lead somewhere, 1 if one is broken, 2 for wrong usage.
")

(define (complain . parts)
  (for-each (lambda (part) (display part (current-error-port))) parts)
  (newline (current-error-port)))

(define (wrong . parts)
  (apply complain "check-links: " parts)
  (exit 2))

;;; The command line.

(define jobs 4)
(define time-limit 10)
(define retries 2)
(define directory #f)
(define verbose? #f)

(define (number-of option word test?)
  (let ((number (string->number word)))
    (if (and number (real? number) (test? number))
        number
        (wrong option " takes another value than " word))))

(define (natural? number)
  (and (exact-integer? number) (>= number 0)))

(define (take-options words)
  (define (value)
    (if (null? (cdr words))
        (wrong (car words) " needs a value")
        (cadr words)))
  (cond ((null? words) '())
        ((string=? (car words) "--help")
         (display usage)
         (exit 0))
        ((string=? (car words) "--verbose")
         (set! verbose? #t)
         (take-options (cdr words)))
        ((string=? (car words) "--jobs")
         (set! jobs (number-of "--jobs" (value) (lambda (n) (and (natural? n) (> n 0)))))
         (take-options (cddr words)))
        ((string=? (car words) "--timeout")
         (set! time-limit (number-of "--timeout" (value) positive?))
         (take-options (cddr words)))
        ((string=? (car words) "--retries")
         (set! retries (number-of "--retries" (value) natural?))
         (take-options (cddr words)))
        ((string=? (car words) "--save")
         (set! directory (value))
         (take-options (cddr words)))
        ((string-prefix? "-" (car words)) (wrong "unknown option " (car words)))
        (else (cons (car words) (take-options (cdr words))))))

;;; Addresses: scheme, host, port and path of a URL.

(define-record-type url
  (make-url scheme host port path)
  url?
  (scheme url-scheme)
  (host url-host)
  (port url-port)
  (path url-path))

(define url-pattern (regexp "^(https?)://([^/:?#]+)(?::(\\d+))?([^#]*)"))

(define (text->url text)
  (let ((match (regexp-search url-pattern text)))
    (and match
         (let ((scheme (regexp-match-submatch match 1))
               (port (regexp-match-submatch match 3))
               (path (regexp-match-submatch match 4)))
           (make-url scheme
                     (string-downcase (regexp-match-submatch match 2))
                     (if port (string->number port) (if (string=? scheme "https") 443 80))
                     (if (string-prefix? "/" path) path (string-append "/" path)))))))

(define (server-text url)
  (string-append (url-scheme url) "://" (url-host url)
                 (if (= (url-port url) (if (string=? (url-scheme url) "https") 443 80))
                     ""
                     (string-append ":" (number->string (url-port url))))))

;; A path without its query, up to its last slash.
(define (directory-of path)
  (let* ((end (or (string-index path #\?) (string-length path))))
    (let loop ((i (- end 1)))
      (if (char=? (string-ref path i) #\/)
          (substring path 0 (+ i 1))
          (loop (- i 1))))))

;; A path without . and .. in it.
(define (plain-path path)
  (let* ((query (or (string-index path #\?) (string-length path)))
         (parts (let split ((i 1) (start 1) (parts '()))
                  (cond ((>= i query) (reverse (cons (substring path start query) parts)))
                        ((char=? (string-ref path i) #\/)
                         (split (+ i 1) (+ i 1) (cons (substring path start i) parts)))
                        (else (split (+ i 1) start parts))))))
    (let loop ((parts parts) (kept '()))
      (cond ((null? parts)
             (string-append
              (apply string-append
                     (reverse (map (lambda (part) (string-append "/" part))
                                   (if (null? kept) '("") kept))))
              (substring path query (string-length path))))
            ((string=? (car parts) ".")
             (loop (cdr parts) (if (null? (cdr parts)) (cons "" kept) kept)))
            ((string=? (car parts) "..")
             (let ((kept (if (null? kept) '() (cdr kept))))
               (loop (cdr parts) (if (null? (cdr parts)) (cons "" kept) kept))))
            (else (loop (cdr parts) (cons (car parts) kept)))))))

(define other-scheme (regexp "^[a-zA-Z][a-zA-Z0-9+.-]*:"))

;; Where a link in a page leads, as a text; #f if that is nothing to ask a web server for.
(define (resolve base link)
  (let* ((link (let ((hash (string-index link #\#))) (if hash (substring link 0 hash) link)))
         (local (lambda (path) (string-append (server-text base) (plain-path path)))))
    (cond ((string=? link "") #f)
          ((text->url link)
           =>
           (lambda (url) (string-append (server-text url) (plain-path (url-path url)))))
          ((regexp-search other-scheme link) #f)
          ((string-prefix? "//" link) (resolve base (string-append (url-scheme base) ":" link)))
          ((string-prefix? "/" link) (local link))
          ((string-prefix? "?" link)
           (let ((query (string-index (url-path base) #\?)))
             (local
              (string-append (if query (substring (url-path base) 0 query) (url-path base)) link))))
          (else (local (string-append (directory-of (url-path base)) link))))))

;;; Requests.

;; The answer of a server: a number, its words, headers as pairs, and bytes.
(define-record-type answer
  (make-answer status reason headers body)
  answer?
  (status answer-status)
  (reason answer-reason)
  (headers answer-headers)
  (body answer-body))

(define (header answer name)
  (let ((pair (assoc name (answer-headers answer))))
    (and pair (cdr pair))))

;; A line of bytes as text, without its end.
(define (read-header-line port)
  (let loop ((bytes '()))
    (let ((byte (read-u8 port)))
      (cond ((eof-object? byte) (error "the server hung up"))
            ((= byte 10)
             (list->string (reverse (if (and (pair? bytes) (char=? (car bytes) #\return))
                                        (cdr bytes)
                                        bytes))))
            ((> (length bytes) 8000) (error "the server sends no HTTP"))
            (else (loop (cons (integer->char byte) bytes)))))))

(define status-pattern (regexp "^HTTP/1\\.[01] (\\d\\d\\d) ?(.*)$"))
(define header-pattern (regexp "^([^:]+):[ \t]*(.*?)[ \t]*$"))

(define (read-headers port)
  (let loop ((headers '()))
    (let ((line (read-header-line port)))
      (if (string=? line "")
          headers
          (let ((match (regexp-search header-pattern line)))
            (loop (if match
                      (cons (cons (string-downcase (regexp-match-submatch match 1))
                                  (regexp-match-submatch match 2))
                            headers)
                      headers)))))))

(define (read-rest port)
  (let loop ((pieces '()))
    (let ((piece (read-bytevector 65536 port)))
      (if (eof-object? piece)
          (apply bytevector-append (reverse pieces))
          (loop (cons piece pieces))))))

(define (read-exactly count port)
  (let ((bytes (if (= count 0) (bytevector) (read-bytevector count port))))
    (if (or (eof-object? bytes) (< (bytevector-length bytes) count))
        (error "the server hung up in the middle")
        bytes)))

(define (read-chunks port)
  (let loop ((pieces '()))
    (let* ((line (read-header-line port))
           (end (or (string-index line #\;) (string-length line)))
           (count (string->number (substring line 0 end) 16)))
      (cond ((not count) (error "the server sends no chunk"))
            ((= count 0) (apply bytevector-append (reverse pieces)))
            (else
             (let ((piece (read-exactly count port)))
               (read-header-line port)
               (loop (cons piece pieces))))))))

(define (read-answer port)
  (let* ((line (read-header-line port))
         (match (or (regexp-search status-pattern line) (error "the server sends no HTTP" line)))
         (headers (read-headers port))
         (length (assoc "content-length" headers))
         (coding (assoc "transfer-encoding" headers)))
    (make-answer (string->number (regexp-match-submatch match 1))
                 (regexp-match-submatch match 2)
                 headers
                 (cond (coding (read-chunks port))
                       (length (read-exactly (or (string->number (cdr length)) 0) port))
                       (else (read-rest port))))))

(define (ask url)
  (call-with-connection
    (if (string=? (url-scheme url) "https")
        (tls-connect (url-host url) (url-port url) #:timeout time-limit)
        (tcp-connect (url-host url) (url-port url) #:timeout time-limit))
    (lambda (input output)
      (set-port-timeout! input time-limit)
      (set-port-timeout! output time-limit)
      (write-bytevector
       (string->utf8
        (string-append "GET " (url-path url) " HTTP/1.1\r\nHost: " (url-host url) ":"
                       (number->string (url-port url))
                       "\r\nUser-Agent: check-links\r\nAccept: */*\r\nConnection: close\r\n\r\n"))
       output)
      (flush-output-port output)
      (read-answer input))))

;; The outcome of an address: an answer, or the text of an error, and the number of retries.
(define (ask-patiently url)
  (let loop ((tried 0))
    (let ((outcome (guard (e ((cancelled-error? e) (raise e))
                             ((timeout-error? e) "no answer in time")
                             ((error-object? e) (error-object-message e)))
                     (ask url))))
      (if (and (< tried retries)
               (or (string? outcome) (>= (answer-status outcome) 500)))
          (begin
            ;; Longer each time, so that a server that is busy is not kept so.
            (await (after (* 0.1 (expt 2 tried))))
            (loop (+ tried 1)))
          (cons outcome tried)))))

;;; Pages.

(define link-pattern
  (regexp "(?i)<[a-z][^>]*?\\s(?:href|src)\\s*=\\s*(?:\"([^\"]*)\"|'([^']*)'|([^\\s>]+))"))

(define (links-of text)
  (regexp-fold link-pattern
               (lambda (index match string links)
                 (cons (or (regexp-match-submatch match 1)
                           (regexp-match-submatch match 2)
                           (regexp-match-submatch match 3))
                       links))
               '()
               text
               (lambda (index match string links) (delete-duplicates (reverse links)))))

(define (html? answer)
  (let ((type (header answer "content-type")))
    (and type (string-prefix? "text/html" type))))

(define (bytes->text bytes)
  (guard (e (#t (let ((port (open-output-string)))
                  (let loop ((i 0))
                    (if (< i (bytevector-length bytes))
                        (begin
                          (write-char (integer->char (bytevector-u8-ref bytes i)) port)
                          (loop (+ i 1)))))
                  (get-output-string port))))
    (utf8->string bytes)))

(define (file-name text)
  (string-map (lambda (char)
                (if (or (char-alphabetic? char) (char-numeric? char) (memv char '(#\. #\-)))
                    char
                    #\_))
              text))

;;; The work.

(define starts
  (map (lambda (word)
         (let ((url (text->url word)))
           (if (not url) (wrong "no address of the web: " word))
           (string-append (server-text url) (plain-path (url-path url)))))
       (let ((words (take-options (cdr (command-line)))))
         (if (null? words) (wrong "which address? --help says how to use this"))
         words)))

(if directory (create-directories directory))

(define (below-start? text)
  (let loop ((starts starts))
    (and (pair? starts)
         (or (string-prefix? (directory-of-text (car starts)) text)
             (loop (cdr starts))))))

(define (directory-of-text text)
  (let ((url (text->url text)))
    (string-append (server-text url) (directory-of (url-path url)))))

(define shown? (terminal? (current-error-port)))
(define found '())
(define waiting '())
(define active 0)
(define checked 0)
(define retried 0)
(define bytes-got 0)
(define broken '())

(define (show-progress)
  (if shown?
      (begin
        (write-string "\r\x1b;[K" (current-error-port))
        (for-each (lambda (part) (display part (current-error-port)))
                  (list checked " checked, " (length broken) " broken, " active " under way, "
                        (length waiting) " waiting"))
        (flush-output-port (current-error-port)))))

(define (say . parts)
  (if shown? (write-string "\r\x1b;[K" (current-error-port)))
  (for-each display parts)
  (newline))

;; Adds an address that is on a page, unless it is known.
(define (add! text page)
  (if (not (member text found))
      (begin
        (set! found (cons text found))
        (set! waiting (append waiting (list (cons text page)))))))

(define redirects '(301 302 303 307 308))

(define (take-answer! text page outcome)
  (define (fail reason)
    (set! broken (cons (list text reason page) broken)))
  (set! checked (+ checked 1))
  (cond ((string? outcome) (fail outcome))
        ((memv (answer-status outcome) redirects)
         (let ((target (header outcome "location")))
           (if target
               (let ((next (resolve (text->url text) target)))
                 (if verbose? (say (answer-status outcome) " " text " -> " (or next target)))
                 (if next (add! next (or page text))))
               (fail "a redirection to nowhere"))))
        ((>= (answer-status outcome) 400)
         (fail
          (string-append (number->string (answer-status outcome)) " " (answer-reason outcome))))
        (else
         (set! bytes-got (+ bytes-got (bytevector-length (answer-body outcome))))
         (if verbose? (say (answer-status outcome) " " text))
         (if directory
             (bytevector->file (answer-body outcome) (path-join directory (file-name text))))
         (if (and (html? outcome) (below-start? text))
             (for-each (lambda (link)
                         (let ((target (resolve (text->url text) link)))
                           (if target (add! target text))))
                       (links-of (bytes->text (answer-body outcome))))))))

(for-each (lambda (start) (add! start #f)) starts)

(react
 (define (ask-next!)
   (if (and (pair? waiting) (< active jobs))
       (let ((text (caar waiting)) (page (cdar waiting)))
         (set! waiting (cdr waiting))
         (set! active (+ active 1))
         (whenever (result (start (ask-patiently (text->url text))))
           (set! active (- active 1))
           (set! retried (+ retried (cdr result)))
           (take-answer! text page (car result))
           (show-progress)
           (ask-next!))
         (ask-next!))))
 (ask-next!))

(if shown? (write-string "\r\x1b;[K" (current-error-port)))

(for-each
 (lambda (entry)
   (say "broken: " (car entry) ": " (cadr entry)
        (if (list-ref entry 2) (string-append ", linked from " (list-ref entry 2)) "")))
 (list-sort (lambda (a b) (string<? (car a) (car b))) broken))

(say checked " checked, " (length broken) " broken, " retried " tried again, " bytes-got " bytes")
(exit (if (null? broken) 0 1))
