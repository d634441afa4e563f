#!/usr/bin/env canny
;;; Spelling: for each word of the input that is in no dictionary, the words that are most like it.
;;;
;;;     canny examples/spelling.scm < FILE
;;;
;;; A library in C, `spelling/distance.c`, computes how much two words are alike. It is compiled to
;;; WebAssembly, so that no C compiler is needed here, and so that it can do nothing but compute: it
;;; has a memory of its own and is given no files, no clock and no network.

(import (canny base) (canny fs) (canny wasm))

(define library
  (instantiate
   (read-module (path-join (path-directory (car (command-line))) "spelling" "distance.wasm"))))

(define memory (instance-export library "memory"))
(define place (instance-export library "place"))
(define distance-of-places (instance-export library "distance"))
(define longest (call-export library "longest"))

;; The distance of two words, or #f if one is longer than the library has room for.
(define (distance word other)
  (and (<= (string-length word) longest)
       (<= (string-length other) longest)
       (distance-of-places (memory-string-set! memory (place 0) word)
                           (memory-string-set! memory (place 1) other))))

(define dictionary
  '("a" "all" "and" "be" "because" "bicycle" "can" "computer" "definitely" "friend" "from" "guest"
    "has" "in" "is" "it" "its" "language" "library" "memory" "necessary" "not" "of" "program"
    "receive" "separate" "that" "the" "their" "to" "weird" "which" "with" "words"))

;; The words of the dictionary that are nearest, with their distance.
(define (nearest word)
  (define found
    (list-sort (lambda (one other) (< (car one) (car other)))
               (filter car (map (lambda (known) (cons (distance word known) known)) dictionary))))
  (define least (caar found))
  (filter (lambda (entry) (= (car entry) least)) found))

(define (words line)
  (define (letters word)
    (list->string (filter char-alphabetic? (string->list (string-downcase word)))))
  (remove (lambda (word) (string=? word "")) (map letters (string-split line #\space))))

(define (check word number)
  (if (not (member word dictionary))
      (let ((near (nearest word)))
        (display (string-append "line " (number->string number) ": " word ": "
                                (if (> (caar near) 3)
                                    "no word is like it"
                                    (string-join (map cdr near) " or "))))
        (newline))))

(let loop ((number 1))
  (define line (read-line))
  (if (not (eof-object? line))
      (begin
        (for-each (lambda (word) (check word number)) (words line))
        (loop (+ number 1)))))
