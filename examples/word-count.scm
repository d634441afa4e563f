#!/usr/bin/env canny
;;; Word count: lines, words and characters of files, and the words that occur most often.
;;;
;;;     canny examples/word-count.scm FILE …
;;;     canny examples/word-count.scm < FILE
;;;
;;; A word is a run of letters, digits and apostrophes; words that differ in case only are one.

(import (scheme base)
        (scheme char)
        (scheme file)
        (scheme process-context)
        (scheme write)
        (srfi 69))

(define most-frequent-count 10)

;; The counts so far.

(define-record-type counts
  (make-counts lines words characters table)
  counts?
  (lines counts-lines set-counts-lines!)
  (words counts-words set-counts-words!)
  (characters counts-characters set-counts-characters!)
  (table counts-table))

(define (new-counts)
  (make-counts 0 0 0 (make-hash-table string=? string-hash)))

(define (word-char? char)
  (or (char-alphabetic? char)
      (char-numeric? char)
      (char=? char #\')))

;; Calls `procedure` with each word of a line.

(define (for-each-word procedure line)
  (let ((end (string-length line)))
    (let skip ((start 0))
      (if (< start end)
          (if (word-char? (string-ref line start))
              (let take ((stop (+ start 1)))
                (if (and (< stop end) (word-char? (string-ref line stop)))
                    (take (+ stop 1))
                    (begin
                      (procedure (substring line start stop))
                      (skip stop))))
              (skip (+ start 1)))))))

(define (count-line! counts line)
  (set-counts-lines! counts (+ (counts-lines counts) 1))
  ;; The end of the line counts as a character.
  (set-counts-characters! counts (+ (counts-characters counts) (string-length line) 1))
  (for-each-word
   (lambda (word)
     (set-counts-words! counts (+ (counts-words counts) 1))
     (hash-table-update!/default (counts-table counts)
                                 (string-downcase word)
                                 (lambda (count) (+ count 1))
                                 0))
   line))

(define (count-port port)
  (let ((counts (new-counts)))
    (let loop ()
      (let ((line (read-line port)))
        (unless (eof-object? line)
          (count-line! counts line)
          (loop))))
    counts))

;; Reporting.

;; Most frequent first; words of equal frequency in alphabetical order.
(define (before? left right)
  (or (> (cdr left) (cdr right))
      (and (= (cdr left) (cdr right))
           (string<? (car left) (car right)))))

(define (merge left right)
  (cond ((null? left) right)
        ((null? right) left)
        ((before? (car right) (car left)) (cons (car right) (merge left (cdr right))))
        (else (cons (car left) (merge (cdr left) right)))))

(define (merge-sort entries)
  (if (or (null? entries) (null? (cdr entries)))
      entries
      (let split ((rest entries) (left '()) (right '()))
        (if (null? rest)
            (merge (merge-sort left) (merge-sort right))
            (split (cdr rest) right (cons (car rest) left))))))

(define (display-padded object width)
  (let ((text (if (number? object) (number->string object) object)))
    (display (make-string (max 0 (- width (string-length text))) #\space))
    (display text)))

(define (report name counts)
  (display name)
  (newline)
  (for-each (lambda (label value)
              (display-padded value 8)
              (display " ")
              (display label)
              (newline))
            '("lines" "words" "characters" "different words")
            (list (counts-lines counts)
                  (counts-words counts)
                  (counts-characters counts)
                  (hash-table-size (counts-table counts))))
  (display "Most frequent:")
  (newline)
  (let loop ((entries (merge-sort (hash-table->alist (counts-table counts))))
             (left most-frequent-count))
    (unless (or (null? entries) (= left 0))
      (display-padded (cdar entries) 8)
      (display " ")
      (display (caar entries))
      (newline)
      (loop (cdr entries) (- left 1)))))

(define (count-file name)
  (guard (condition
          ((file-error? condition)
           (display name (current-error-port))
           (display ": cannot be read" (current-error-port))
           (newline (current-error-port))))
    (report name (call-with-input-file name count-port))))

(let ((names (cdr (command-line))))
  (if (null? names)
      (report "standard input" (count-port (current-input-port)))
      (for-each count-file names)))
