#!/usr/bin/env canny
;;; JSON pretty-printer: reads one JSON text from standard input or a file and writes it with
;;; indentation, members in the order they came.
;;;
;;;     canny examples/json.scm < FILE
;;;     canny examples/json.scm FILE
;;;
;;; JSON values in Scheme: objects are vectors of pairs of string and value, arrays are lists,
;;; strings and numbers are themselves, true and false are booleans, null is the symbol null.

(import (scheme base)
        (scheme char)
        (scheme file)
        (scheme process-context)
        (scheme write))

;;; Reading.  Every procedure takes the port and leaves it behind what it has read.

(define (fail message . irritants)
  (apply error (string-append "JSON: " message) irritants))

(define (blank? char)
  (and (char? char) (memv char '(#\space #\tab #\newline #\return)) #t))

;; The next character that is not blank, left in place.
(define (peek-token port)
  (let ((char (peek-char port)))
    (cond ((blank? char) (read-char port) (peek-token port))
          (else char))))

(define (expect wanted port)
  (let ((char (begin (peek-token port) (read-char port))))
    (unless (eqv? char wanted)
      (fail "expected another character" wanted char))))

(define (read-json port)
  (let ((char (peek-token port)))
    (cond ((eof-object? char) (fail "unexpected end"))
          ((char=? char #\{) (read-object port))
          ((char=? char #\[) (read-array port))
          ((char=? char #\") (read-string-literal port))
          ((or (char-numeric? char) (char=? char #\-)) (read-number port))
          (else (read-word port)))))

;; Reads items separated by commas up to `close`; a list.
(define (read-sequence close read-item port)
  (read-char port)
  (if (eqv? (peek-token port) close)
      (begin (read-char port) '())
      (let loop ((items (list (read-item port))))
        (peek-token port)
        (let ((char (read-char port)))
          (cond ((eqv? char #\,) (loop (cons (read-item port) items)))
                ((eqv? char close) (reverse items))
                (else (fail "expected a comma or the end" char)))))))

(define (read-array port)
  (read-sequence #\] read-json port))

(define (read-member port)
  (unless (eqv? (peek-token port) #\")
    (fail "expected the name of a member" (peek-char port)))
  (let ((name (read-string-literal port)))
    (expect #\: port)
    (cons name (read-json port))))

(define (read-object port)
  (list->vector (read-sequence #\} read-member port)))

(define (read-string-literal port)
  (read-char port)
  (let ((out (open-output-string)))
    (let loop ()
      (let ((char (read-char port)))
        (cond ((eof-object? char) (fail "unexpected end of a string"))
              ((char=? char #\") (get-output-string out))
              ((char=? char #\\) (write-char (read-escape port) out) (loop))
              (else (write-char char out) (loop)))))))

(define (read-escape port)
  (let ((char (read-char port)))
    (case char
      ((#\n) #\newline)
      ((#\t) #\tab)
      ((#\r) #\return)
      ((#\b) #\backspace)
      ((#\f) #\x0c)
      ((#\" #\\ #\/) char)
      ((#\u) (read-unicode port))
      (else (fail "unknown escape" char)))))

(define (read-hexadecimal port)
  (or (string->number (read-string 4 port) 16)
      (fail "expected four hexadecimal digits")))

;; A character outside the first plane is written as two code units.
(define (read-unicode port)
  (let ((unit (read-hexadecimal port)))
    (if (<= #xD800 unit #xDBFF)
        (begin
          (unless (equal? (read-string 2 port) "\\u")
            (fail "a surrogate stands alone"))
          (integer->char (+ #x10000
                            (* (- unit #xD800) #x400)
                            (- (read-hexadecimal port) #xDC00))))
        (integer->char unit))))

(define (read-while wanted? port)
  (let ((out (open-output-string)))
    (let loop ()
      (let ((char (peek-char port)))
        (when (and (char? char) (wanted? char))
          (write-char (read-char port) out)
          (loop))))
    (get-output-string out)))

(define (read-number port)
  (let ((text
         (read-while (lambda (char) (or (char-numeric? char) (memv char '(#\- #\+ #\. #\e #\E))))
                     port)))
    (or (string->number text)
        (fail "not a number" text))))

(define (read-word port)
  (let ((word (read-while char-alphabetic? port)))
    (cond ((string=? word "true") #t)
          ((string=? word "false") #f)
          ((string=? word "null") 'null)
          (else (fail "unexpected word or character" word (peek-char port))))))

;;; Writing.

(define indentation 2)

(define (write-margin depth)
  (newline)
  (write-string (make-string (* depth indentation) #\space)))

;; Writes items between brackets, one to a line.
(define (write-sequence open close write-item items depth)
  (write-char open)
  (unless (null? items)
    (let loop ((items items))
      (write-margin (+ depth 1))
      (write-item (car items) (+ depth 1))
      (unless (null? (cdr items))
        (write-char #\,)
        (loop (cdr items))))
    (write-margin depth))
  (write-char close))

(define (write-member member depth)
  (write-json-string (car member))
  (write-string ": ")
  (write-json (cdr member) depth))

(define (write-json-string string)
  (write-char #\")
  (string-for-each
   (lambda (char)
     (case char
       ((#\") (write-string "\\\""))
       ((#\\) (write-string "\\\\"))
       ((#\newline) (write-string "\\n"))
       ((#\tab) (write-string "\\t"))
       ((#\return) (write-string "\\r"))
       (else
        (if (char<? char #\space)
            (let ((digits (number->string (char->integer char) 16)))
              (write-string "\\u")
              (write-string (make-string (- 4 (string-length digits)) #\0))
              (write-string digits))
            (write-char char)))))
   string)
  (write-char #\"))

(define (write-json value depth)
  (cond ((vector? value)
         (write-sequence #\{ #\} write-member (vector->list value) depth))
        ((or (pair? value) (null? value))
         (write-sequence #\[ #\] write-json value depth))
        ((string? value) (write-json-string value))
        ((number? value) (write value))
        ((eq? value #t) (write-string "true"))
        ((eq? value #f) (write-string "false"))
        (else (write-string "null"))))

;;; The program.

(define (pretty-print port)
  (let ((value (read-json port)))
    (unless (eof-object? (peek-token port))
      (fail "something follows the value" (peek-char port)))
    (write-json value 0)
    (newline)))

(let ((arguments (cdr (command-line))))
  (if (null? arguments)
      (pretty-print (current-input-port))
      (call-with-input-file (car arguments) pretty-print)))
