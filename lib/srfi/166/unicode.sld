;;; (srfi 166 unicode): the widths of characters in a terminal, and case.
;;;
;;; An ANSI control sequence, from the escape character to its letter, has no width.

(define-library (srfi 166 unicode)
  (export terminal-aware
          string-terminal-width string-terminal-width/wide
          substring-terminal-width substring-terminal-width/wide
          substring-terminal-preserve
          (rename substring-terminal-preserve substring-terminal/preserve)
          upcased downcased)
  (import (canny syntax) (canny primitives) (only (canny machine ports) call-with-output-string)
          (srfi 166 base))
  (begin

    ;; The index after the control sequence that starts at an index, or #f when none does.
    (define (sequence-end string index end)
      (and (< (+ index 1) end)
           (eqv? (string-ref string index) #\x1b)
           (eqv? (string-ref string (+ index 1)) #\[)
           (let loop ((index (+ index 2)))
             (cond ((= index end) end)
                   ((char<=? #\@ (string-ref string index) #\~) (+ index 1))
                   (else (loop (+ index 1)))))))

    (define (width-of string start end wide?)
      (let loop ((index start) (width 0))
        (if (>= index end)
            width
            (let ((after (sequence-end string index end)))
              (if after
                  (loop after width)
                  (loop (+ index 1)
                        (+ width (%char-terminal-width (string-ref string index) wide?))))))))

    (define-syntax define-width
      (syntax-rules ()
        ((_ name wide?)
         (define name
           (case-lambda
             ((string) (width-of string 0 (string-length string) wide?))
             ((string start) (width-of string start (string-length string) wide?))
             ((string start end) (width-of string start end wide?)))))))

    (define-width string-terminal-width #f)
    (define-width string-terminal-width/wide #t)

    ;; The index after the character or control sequence at an index, and its width.
    (define (step string index end wide?)
      (let ((after (sequence-end string index end)))
        (if after
            (values after 0)
            (values (+ index 1) (%char-terminal-width (string-ref string index) wide?)))))

    ;; The first index from a start, with the width up to there, at whose end the width is above a
    ;; limit.
    (define (index-above string start width limit wide?)
      (let ((end (string-length string)))
        (let loop ((index start) (width width))
          (if (>= index end)
              (values end width)
              (let-values (((after char-width) (step string index end wide?)))
                (if (> (+ width char-width) limit)
                    (values index width)
                    (loop after (+ width char-width))))))))

    (define (part-of string from to wide?)
      (let*-values (((start width) (index-above string 0 0 from wide?))
                    ((end end-width) (index-above string start width to wide?)))
        (substring string start end)))

    (define (substring-terminal-width string from to)
      (part-of string from to #f))

    (define (substring-terminal-width/wide string from to)
      (part-of string from to #t))

    ;; Characters that change the direction of what follows.
    (define (direction? char)
      (let ((code (char->integer char)))
        (or (<= #x202A code #x202E)
            (<= #x2066 code #x2069)
            (memv code '(#x200E #x200F #x061C)))))

    (define (substring-terminal-preserve string . range)
      (let ((end (string-length string)))
        (call-with-output-string
          (lambda (port)
            (let loop ((index 0))
              (if (< index end)
                  (let ((after (sequence-end string index end)))
                    (cond (after
                           (write-string string port index after)
                           (loop after))
                          (else
                           (if (direction? (string-ref string index))
                               (write-char (string-ref string index) port))
                           (loop (+ index 1)))))))))))

    (define (terminal-aware . formatters)
      (lambda (state)
        (let ((wide? (%ref state ambiguous-is-wide?)))
          (%run (each-in-list formatters)
                (%extend state
                         string-width
                         (if wide? string-terminal-width/wide string-terminal-width)
                         substring/width
                         (if wide? substring-terminal-width/wide substring-terminal-width)
                         substring/preserve
                         substring-terminal-preserve)))))

    ;; Changes the parts of a string that are no control sequences.
    (define (change-text string change)
      (let ((end (string-length string)))
        (let loop ((start 0) (index 0) (parts '()))
          (define (with-text)
            (if (< start index)
                (cons (change (substring string start index)) parts)
                parts))
          (if (= index end)
              (string-concatenate (reverse (with-text)))
              (let ((after (sequence-end string index end)))
                (if after
                    (loop after after (cons (substring string index after) (with-text)))
                    (loop start (+ index 1) parts)))))))

    (define (changed change formatters)
      (lambda (state)
        (let ((outer (%ref state output)))
          (%run (each-in-list formatters)
                (%extend state output
                         (lambda (string)
                           (outer (change-text string change))))))))

    (define (upcased . formatters) (changed string-upcase formatters))
    (define (downcased . formatters) (changed string-downcase formatters))))
