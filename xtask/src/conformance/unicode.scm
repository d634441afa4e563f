;;; Reads a test file of the Unicode Character Database. The lines of a break test are
;;;
;;;     ÷ 0061 × 0308 ÷ 0062 ÷ # comment
;;;
;;; with ÷ where a boundary is and × where none is. Those of the normalization test are
;;;
;;;     source;NFC;NFD;NFKC;NFKD; # comment
;;;
;;; and a character that its first part does not list is its own normalization, one more assertion
;;; for each form. A second argument is the file of ages, so that characters of later versions are
;;; left out there.
(import (scheme base) (scheme cxr) (scheme file) (scheme process-context) (scheme write)
        (only (srfi 13) string-contains string-index string-trim-both)
        (only (srfi 152) string-split)
        (only (srfi 69) make-hash-table hash-table-set! hash-table-exists?)
        (canny text))

(define passed 0)
(define failed 0)

(define (check! right? label got)
  (cond (right? (set! passed (+ passed 1)))
        (else
         (set! failed (+ failed 1))
         (display "FAIL ")
         (display label)
         (newline)
         (display "  got ")
         (write got)
         (newline))))

;; The line without its comment.
(define (content line)
  (let ((comment (string-index line #\#)))
    (string-trim-both (if comment (substring line 0 comment) line))))

(define (words line)
  (string-split line " " 'infix))

(define (hexadecimal->char word)
  (integer->char (string->number word 16)))

;; The parts between the boundaries of a line, as strings.
(define (line->parts line)
  (let next ((words (words line)) (part '()) (parts '()))
    (define (complete)
      (if (null? part) parts (cons (list->string (reverse part)) parts)))
    (cond ((null? words) (reverse (complete)))
          ((string=? (car words) "÷") (next (cdr words) '() (complete)))
          ((member (car words) '("×" "")) (next (cdr words) part parts))
          (else (next (cdr words) (cons (hexadecimal->char (car words)) part) parts)))))

(define (for-each-line procedure file)
  (call-with-input-file file
    (lambda (port)
      (let next ()
        (let ((line (read-line port)))
          (if (not (eof-object? line))
              (begin
                (procedure (content line))
                (next))))))))

(define (check-breaks! divide file)
  (for-each-line (lambda (line)
                   (let ((expected (line->parts line)))
                     (if (pair? expected)
                         (let ((got (divide (apply string-append expected))))
                           (check! (equal? got expected) line got)))))
                 file))

(define (field->string field)
  (list->string (map hexadecimal->char (words field))))

(define forms
  (list (cons 'nfc string-normalize-nfc)
        (cons 'nfd string-normalize-nfd)
        (cons 'nfkc string-normalize-nfkc)
        (cons 'nfkd string-normalize-nfkd)))

;; Whether each of the strings has this normalization, which is its own.
(define (normalize-to? form expected . strings)
  (let ((normalize (cdr (assq form forms))))
    (let every ((strings (cons expected strings)))
      (or (null? strings)
          (and (string=? (normalize (car strings)) expected)
               (eq? (string-normalized? (car strings) form)
                    (string=? (car strings) expected))
               (every (cdr strings)))))))

;; Whether the file of ages has a character, by its code.
(define (known-characters file)
  (let ((known (make-bytevector #x110000 0)))
    (for-each-line (lambda (line)
                     (if (string-contains line ";")
                         (let* ((range (string-trim-both (car (string-split line ";" 'infix))))
                                (dots (string-contains range ".."))
                                (first (string->number (if dots (substring range 0 dots) range) 16))
                                (last (if dots
                                          (string->number (substring range (+ dots 2)) 16)
                                          first)))
                           (let next ((code first))
                             (if (<= code last)
                                 (begin
                                   (bytevector-u8-set! known code 1)
                                   (next (+ code 1))))))))
                   file)
    (lambda (code) (= 1 (bytevector-u8-ref known code)))))

(define (check-normalization! file known?)
  (define listed (make-hash-table eqv?))
  (define in-first-part? #f)
  (for-each-line
   (lambda (line)
     (cond ((string-contains line "@Part")
            (set! in-first-part? (string-contains line "@Part1")))
           ((string-contains line ";")
            (let* ((fields (string-split line ";" 'infix))
                   (column (lambda (k) (field->string (list-ref fields (- k 1)))))
                   (source (column 1))
                   (nfc (column 2))
                   (nfd (column 3))
                   (nfkc (column 4))
                   (nfkd (column 5)))
              (if in-first-part?
                  (hash-table-set! listed (string-ref source 0) #t))
              (check! (and (normalize-to? 'nfc nfc source nfd)
                           (normalize-to? 'nfc nfkc nfkd)
                           (normalize-to? 'nfd nfd source nfc)
                           (normalize-to? 'nfd nfkd nfkc)
                           (normalize-to? 'nfkc nfkc source nfc nfd nfkd)
                           (normalize-to? 'nfkd nfkd source nfc nfd nfkc))
                      line
                      (map (lambda (form) ((cdr form) source)) forms))))))
   file)
  (for-each
   (lambda (form)
     (let next ((code 0) (others '()))
       (cond ((= code #x110000)
              (check! (null? others)
                      (string-append (symbol->string (car form)) " of unlisted characters")
                      others))
             ((= code #xd800) (next #xe000 others))
             (else
              (let* ((char (integer->char code))
                     (string (string char)))
                (next (+ code 1)
                      (if (or (hash-table-exists? listed char)
                              (not (known? code))
                              (string=? ((cdr form) string) string))
                          others
                          (cons code others))))))))
   forms))

(let* ((file (cadr (command-line)))
       (is? (lambda (name) (string-contains file name))))
  (cond ((is? "GraphemeBreakTest") (check-breaks! string-graphemes file))
        ((is? "WordBreakTest") (check-breaks! string-word-segments file))
        ((is? "SentenceBreakTest") (check-breaks! string-sentences file))
        (else (check-normalization! file
                                    (if (pair? (cddr (command-line)))
                                        (known-characters (caddr (command-line)))
                                        (lambda (code) #t))))))
(display passed)
(display " passed, ")
(display failed)
(display " failed")
(newline)
(exit (if (= failed 0) 0 1))
