#!/usr/bin/env canny
;;; Tables of a web server's access logs: the requests it got.
;;;
;;;     canny examples/log-analysis.scm [--by path|host|status|hour|method] [--top N] [FILE ...]
;;;
;;; Reads logs in the common and the combined format of Apache and nginx, as they are or compressed
;;; by gzip or zstd, or standard input if no file is given. Writes CSV to standard output: for each
;;; path, host and so on the number of requests, of those that failed, and the bytes that were sent,
;;; most requests first. Lines that are no requests are counted on standard error, where a bar shows
;;; the progress if it is a terminal.

(import (scheme base) (scheme write) (scheme file) (scheme process-context)
        (srfi 69) (srfi 132)
        (only (srfi 170) file-info file-info:size terminal?)
        (canny regexp) (canny csv) (canny compression))

(define request
  (regexp "^(\\S+) \\S+ \\S+ \\[([^:\\]]+):(\\d\\d):[^\\]]*\\] \"([A-Z]+) ([^ \"?]*)[^\"]*\" \
           (\\d{3}) (\\d+|-)"))

;;; The command line.

(define columns
  '(("host" . 1) ("hour" . 3) ("method" . 4) ("path" . 5) ("status" . 6)))

(define (complain . parts)
  (for-each (lambda (part) (display part (current-error-port))) parts)
  (newline (current-error-port))
  (exit 2))

(define column-name "path")
(define top #f)

(define (parse-arguments words)
  (cond ((null? words) '())
        ((and (member (car words) '("--by" "--top")) (null? (cdr words)))
         (complain (car words) " needs a value"))
        ((string=? (car words) "--by")
         (if (not (assoc (cadr words) columns))
             (complain "--by takes one of " (map car columns)))
         (set! column-name (cadr words))
         (parse-arguments (cddr words)))
        ((string=? (car words) "--top")
         (set! top (string->number (cadr words)))
         (if (not (exact-integer? top))
             (complain "--top takes a number"))
         (parse-arguments (cddr words)))
        ((regexp-matches? "--.*" (car words))
         (complain "unknown option " (car words)))
        (else (cons (car words) (parse-arguments (cdr words))))))

;;; The progress bar. The size of a compressed file is compared with the text in it by a guess that
;;; gets better with each file.

(define total-bytes 0)
(define finished-bytes 0)
(define shown? (terminal? (current-error-port)))
(define expansion 8)

(define (show-progress lines bytes)
  (define width 40)
  (let* ((share (if (= total-bytes 0) 1 (min 1 (/ (+ finished-bytes bytes) total-bytes))))
         (full (exact (floor (* width share)))))
    (display (string-append "\r[" (make-string full #\#) (make-string (- width full) #\-) "] "
                            (number->string (exact (floor (* 100 share)))) " %, "
                            (number->string lines) " lines ")
             (current-error-port))
    (flush-output-port (current-error-port))))

(define (clear-progress)
  (if shown?
      (begin
        (display (string-append "\r" (make-string 72 #\space) "\r") (current-error-port))
        (flush-output-port (current-error-port)))))

;;; Reading.

(define (open-log name)
  (cond ((regexp-test? "\\.gz$" name)
         (open-gzip-input (open-binary-input-file name) #:text? #t))
        ((regexp-test? "\\.zst$" name)
         (open-zstd-input (open-binary-input-file name) #:text? #t))
        (else (open-input-file name))))

(define (compressed? name)
  (regexp-test? "\\.(gz|zst)$" name))

;; A row of the table: requests, failed ones, bytes.
(define table (make-hash-table string=?))
(define other-lines 0)

(define (count-request! key failed? bytes)
  (let ((row (hash-table-ref table key
                             (lambda ()
                               (let ((row (vector 0 0 0)))
                                 (hash-table-set! table key row)
                                 row)))))
    (vector-set! row 0 (+ 1 (vector-ref row 0)))
    (if failed? (vector-set! row 1 (+ 1 (vector-ref row 1))))
    (vector-set! row 2 (+ bytes (vector-ref row 2)))))

(define (read-log port size compressed?)
  (define column (cdr (assoc column-name columns)))
  (let loop ((lines 1) (characters 0))
    (let ((line (read-line port)))
      (if (eof-object? line)
          (if (and compressed? (> size 0))
              (set! expansion (max 1 (/ characters size))))
          (let ((match (regexp-search request line)))
            (if match
                (count-request! (regexp-match-submatch match column)
                                (char>=? (string-ref (regexp-match-submatch match 6) 0) #\4)
                                (or (string->number (regexp-match-submatch match 7)) 0))
                (set! other-lines (+ other-lines 1)))
            (if (and shown? (= 0 (modulo lines 20000)))
                (show-progress lines
                               (min size (if compressed? (/ characters expansion) characters))))
            (loop (+ lines 1) (+ characters (string-length line) 1)))))))

(define (analyse name)
  (guard (e ((error-object? e)
             (clear-progress)
             (complain name ": " (error-object-message e))))
    (let ((port (open-log name)) (size (file-info:size (file-info name #t))))
      (read-log port size (compressed? name))
      (close-port port)
      (set! finished-bytes (+ finished-bytes size)))))

;;; Writing.

(define (write-table)
  (define rows
    (list-sort (lambda (left right)
                 (or (> (vector-ref (cdr left) 0) (vector-ref (cdr right) 0))
                     (and (= (vector-ref (cdr left) 0) (vector-ref (cdr right) 0))
                          (string<? (car left) (car right)))))
               (hash-table->alist table)))
  (csv-write (list column-name "requests" "failed" "bytes"))
  (let loop ((rows rows) (count 0))
    (if (and (pair? rows) (not (eqv? count top)))
        (begin
          (csv-write (cons (caar rows) (vector->list (cdar rows))))
          (loop (cdr rows) (+ count 1))))))

(let ((names (parse-arguments (cdr (command-line)))))
  (for-each (lambda (name)
              (if (not (file-exists? name))
                  (complain name ": there is no such file"))
              (set! total-bytes (+ total-bytes (file-info:size (file-info name #t)))))
            names)
  (if (null? names)
      (read-log (current-input-port) 0 #f)
      (for-each analyse names))
  (clear-progress)
  (write-table)
  (if (> other-lines 0)
      (begin
        (display other-lines (current-error-port))
        (display " lines are no requests\n" (current-error-port)))))
