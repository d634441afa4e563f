;;; (srfi 233): INI files.
;;;
;;; As in the text of the SRFI, the section before any section line is #f. A line without a
;;; separator is a key with the value #f.

(define-library (srfi 233)
  (export make-ini-file-generator make-ini-file-accumulator)
  (import (canny syntax) (canny primitives))
  (begin

    (define (check-delimiter who position object)
      (if (not (char? object))
          (%type-error who position "character" object))
      (if (memv object '(#\space #\tab #\newline #\return))
          (%range-error who position "a character that is no white space" object)))

    (define (blank? char)
      (or (eqv? char #\space) (eqv? char #\tab) (eqv? char #\return)))

    ;; The part of a string between two indexes, without white space around it.
    (define (trimmed string start end)
      (cond ((and (< start end) (blank? (string-ref string start)))
             (trimmed string (+ start 1) end))
            ((and (< start end) (blank? (string-ref string (- end 1))))
             (trimmed string start (- end 1)))
            (else (substring string start end))))

    (define make-ini-file-generator
      (case-lambda
        ((port) (make-ini-file-generator port #\=))
        ((port separator) (make-ini-file-generator port separator #\;))
        ((port separator comment)
         (if (not (and (input-port? port) (textual-port? port)))
             (%type-error 'make-ini-file-generator 1 "textual input port" port))
         (check-delimiter 'make-ini-file-generator 2 separator)
         (check-delimiter 'make-ini-file-generator 3 comment)
         (let ((section #f))
           (define (next)
             (let ((line (read-line port)))
               (if (eof-object? line)
                   line
                   (parse (trimmed line 0 (or (%string-index line comment)
                                              (string-length line)))))))
           (define (parse line)
             (let ((length (string-length line)))
               (cond ((= length 0)
                      (next))
                     ((and (eqv? (string-ref line 0) #\[)
                           (eqv? (string-ref line (- length 1)) #\]))
                      (set! section (string->symbol (substring line 1 (- length 1))))
                      (next))
                     ((%string-index line separator)
                      => (lambda (index)
                           (list section
                                 (string->symbol (trimmed line 0 index))
                                 (trimmed line (+ index 1) length))))
                     (else
                      (list section (string->symbol line) #f)))))
           next))))

    (define (check-line who position string)
      (if (%string-index string #\newline)
          (%range-error who position "a string without a newline" string)))

    (define (section? object)
      (or (not object) (symbol? object)))

    (define make-ini-file-accumulator
      (case-lambda
        ((port) (make-ini-file-accumulator port #\=))
        ((port separator) (make-ini-file-accumulator port separator #\;))
        ((port separator comment)
         (if (not (and (output-port? port) (textual-port? port)))
             (%type-error 'make-ini-file-accumulator 1 "textual output port" port))
         (check-delimiter 'make-ini-file-accumulator 2 separator)
         (check-delimiter 'make-ini-file-accumulator 3 comment)
         (let ((section #f) (open? #t))
           (define (write-entry new-section key value)
             (check-line 'ini-file-accumulator 1 (symbol->string key))
             (if value (check-line 'ini-file-accumulator 1 value))
             (let ((new-section (if (eq? new-section '||) #f new-section)))
               (if (not (eq? section new-section))
                   (begin
                     (check-line 'ini-file-accumulator 1 (symbol->string (or new-section '||)))
                     (write-char #\[ port)
                     (write-string (symbol->string (or new-section '||)) port)
                     (write-string "]\n" port)
                     (set! section new-section))))
             (write-string (symbol->string key) port)
             (if value
                 (begin
                   (write-char separator port)
                   (write-string value port)))
             (newline port))
           (lambda (object)
             (cond ((eof-object? object)
                    (set! open? #f)
                    object)
                   ((not open?)
                    (%range-error 'ini-file-accumulator 1 "nothing after an end-of-file object"
                                  object))
                   ((string? object)
                    (check-line 'ini-file-accumulator 1 object)
                    (write-char comment port)
                    (write-char #\space port)
                    (write-string object port)
                    (newline port))
                   ((and (list? object)
                         (= (length object) 3)
                         (section? (car object))
                         (symbol? (cadr object))
                         (or (not (caddr object)) (string? (caddr object))))
                    (write-entry (car object) (cadr object) (caddr object)))
                   (else
                    (%type-error 'ini-file-accumulator 1
                                 "list of section, key and value, or string" object))))))))))
