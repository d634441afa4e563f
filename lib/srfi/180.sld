;;; (srfi 180): JSON.
;;;
;;; A reader is a machine with a phase and a stack of open structures; each call gives one event. It
;;; reads one top-level value and not a character more. But a number is followed by a look at the
;;; next character, which a generator then has given. Text around the value is not read: a text with
;;; something after its value is valid as far as it was read.
;;;
;;; An integer is exact and any other number inexact.  A string with half of a surrogate pair is an
;;; error, since no string can hold it.  Malformed input of a port also satisfies `json-error?`.

(define-library (srfi 180)
  (export json-error? json-error-reason json-null? json-nesting-depth-limit
          json-number-of-character-limit json-generator json-fold json-read json-lines-read
          json-sequence-read json-accumulator json-write)
  (import (canny machine protocols) (canny syntax) (canny primitives)
          (only (canny machine control) raise make-parameter guard current-input-port
                current-output-port)
          (only (canny data lists) for-each))
  (begin

    (define (json-error? object)
      (and (error-object? object)
           (or (eq? (condition-kind object) 'json)
               (read-error? object))))

    (define (json-error-reason object)
      (if (not (json-error? object))
          (%type-error 'json-error-reason 1 "error of JSON" object))
      (error-object-message object))

    ;; Errors are conditions of a kind of their own, so that they are reported as others are.
    (define (fail who reason . irritants)
      (raise (%make-condition 'json reason irritants who)))

    (define (json-null? object)
      (eq? object 'null))

    (define json-nesting-depth-limit (make-parameter +inf.0))
    (define json-number-of-character-limit (make-parameter +inf.0))

    ;; Reading.

    ;; Gives the procedures `peek` and `next` of a source of characters to a procedure.
    (define (call-with-source who source procedure)
      (let* ((limit (json-number-of-character-limit))
             (limit (if (eqv? limit +inf.0) #f limit))
             (count 0))
        (define (counted next)
          (if limit
              (lambda ()
                (if (>= count limit)
                    (fail who "the text has too many characters" limit))
                (set! count (+ count 1))
                (next))
              next))
        (cond ((and (input-port? source) (textual-port? source))
               (procedure (lambda () (peek-char source))
                          (counted (lambda () (read-char source)))))
              ((procedure? source)
               (let ((ahead #f))
                 (procedure (lambda ()
                              (if (not ahead) (set! ahead (source)))
                              ahead)
                            (counted (lambda ()
                                       (let ((char (or ahead (source))))
                                         (set! ahead #f)
                                         char))))))
              (else
               (%type-error who 1 "textual input port or generator of characters" source)))))

    (define json-generator
      (case-lambda
        (() (json-generator (current-input-port)))
        ((source)
         (call-with-source 'json-generator source
           (lambda (peek next) (make-reader 'json-generator peek next))))))

    (define (space? char)
      (or (eqv? char #\space) (eqv? char #\newline) (eqv? char #\return) (eqv? char #\tab)))

    (define (digit? char)
      (and (char? char) (char<=? #\0 char #\9)))

    (define (make-reader who peek next)
      (define depth-limit (json-nesting-depth-limit))
      (define phase 'start)
      (define stack '())
      (define depth 0)

      ;; After an error the reader stays in error.
      (define (fail who reason . irritants)
        (set! phase 'broken)
        (raise (%make-condition 'json reason irritants who)))

      (define (unexpected char)
        (if (eof-object? char)
            (fail who "the text ends too early")
            (fail who "an unexpected character" char)))

      (define (skip-space)
        (let ((char (peek)))
          (if (space? char)
              (begin
                (next)
                (skip-space))
              char)))

      (define (value-read!)
        (set! phase (cond ((null? stack) 'done)
                          ((eq? (car stack) 'array) 'array-next)
                          (else 'object-next))))

      (define (open! kind)
        (if (>= depth depth-limit)
            (fail who "the structures are nested too deeply" depth-limit))
        (set! depth (+ depth 1))
        (set! stack (cons kind stack)))

      (define (close!)
        (set! depth (- depth 1))
        (set! stack (cdr stack))
        (value-read!))

      (define (read-value char)
        (case char
          ((#\[)
           (next)
           (open! 'array)
           (set! phase 'array-first)
           'array-start)
          ((#\{)
           (next)
           (open! 'object)
           (set! phase 'object-first)
           'object-start)
          ((#\")
           (let ((string (read-text)))
             (value-read!)
             string))
          ((#\t) (read-word "true" #t))
          ((#\f) (read-word "false" #f))
          ((#\n) (read-word "null" 'null))
          (else
           (if (or (digit? char) (eqv? char #\-))
               (let ((number (read-number)))
                 (value-read!)
                 number)
               (unexpected char)))))

      (define (check-delimiter)
        (let ((char (peek)))
          (if (not (or (eof-object? char)
                       (space? char)
                       (memv char '(#\, #\] #\}))
                       ;; The next of a sequence of texts.
                       (eqv? char #\x1e)))
              (unexpected char))))

      (define (read-word word value)
        (let loop ((index 0))
          (if (< index (string-length word))
              (let ((char (next)))
                (if (not (eqv? char (string-ref word index)))
                    (unexpected char))
                (loop (+ index 1)))))
        (check-delimiter)
        (value-read!)
        value)

      (define (read-number)
        (let* ((chars '()) (exact? #t))
          (define (take!)
            (set! chars (cons (next) chars)))
          (define (take-digits!)
            (if (not (digit? (peek)))
                (unexpected (peek)))
            (let loop ()
              (if (digit? (peek))
                  (begin
                    (take!)
                    (loop)))))
          (if (eqv? (peek) #\-) (take!))
          (if (eqv? (peek) #\0) (take!) (take-digits!))
          (if (eqv? (peek) #\.)
              (begin
                (set! exact? #f)
                (take!)
                (take-digits!)))
          (if (memv (peek) '(#\e #\E))
              (begin
                (set! exact? #f)
                (take!)
                (if (memv (peek) '(#\+ #\-)) (take!))
                (take-digits!)))
          (check-delimiter)
          (let ((number (string->number (%reverse-list->string chars))))
            (if exact? number (inexact number)))))

      (define (read-text)
        (next)
        (let loop ((chars '()))
          (let ((char (next)))
            (cond ((eof-object? char) (unexpected char))
                  ((eqv? char #\") (%reverse-list->string chars))
                  ((eqv? char #\\) (loop (cons (read-escape) chars)))
                  ((char<? char #\space)
                   (fail who "a control character in a string" char))
                  (else (loop (cons char chars)))))))

      (define (read-escape)
        (let ((char (next)))
          (case char
            ((#\" #\\ #\/) char)
            ((#\b) #\backspace)
            ((#\f) #\page)
            ((#\n) #\newline)
            ((#\r) #\return)
            ((#\t) #\tab)
            ((#\u) (read-unicode))
            (else (unexpected char)))))

      (define (read-unicode)
        (let ((code (read-hexadecimal)))
          (cond ((<= #xD800 code #xDBFF)
                 (if (not (and (eqv? (next) #\\) (eqv? (next) #\u)))
                     (fail who "half of a surrogate pair"))
                 (let ((low (read-hexadecimal)))
                   (if (not (<= #xDC00 low #xDFFF))
                       (fail who "half of a surrogate pair"))
                   (integer->char (+ #x10000 (* #x400 (- code #xD800)) (- low #xDC00)))))
                ((<= #xDC00 code #xDFFF)
                 (fail who "half of a surrogate pair"))
                (else (integer->char code)))))

      (define (read-hexadecimal)
        (let loop ((count 0) (number 0))
          (if (= count 4)
              number
              (let* ((char (next))
                     (digit (and (char? char) (char<? char #\x80)
                                 (string->number (string char) 16))))
                (if (not digit)
                    (unexpected char))
                (loop (+ count 1) (+ (* 16 number) digit))))))

      (define (read-key char)
        (if (not (eqv? char #\"))
            (unexpected char))
        (set! phase 'object-value)
        (read-text))

      (define (read-event)
        (case phase
          ((start)
           (let ((char (skip-space)))
             (if (eof-object? char)
                 (begin
                   (set! phase 'done)
                   char)
                 (read-value char))))
          ((done) (eof-object))
          ((array-first)
           (let ((char (skip-space)))
             (if (eqv? char #\])
                 (end 'array-end)
                 (read-value char))))
          ((array-next)
           (let ((char (skip-space)))
             (case char
               ((#\]) (end 'array-end))
               ((#\,)
                (next)
                (read-value (skip-space)))
               (else (unexpected char)))))
          ((object-first)
           (let ((char (skip-space)))
             (if (eqv? char #\})
                 (end 'object-end)
                 (read-key char))))
          ((object-next)
           (let ((char (skip-space)))
             (case char
               ((#\}) (end 'object-end))
               ((#\,)
                (next)
                (read-key (skip-space)))
               (else (unexpected char)))))
          ((object-value)
           (let ((char (skip-space)))
             (if (not (eqv? char #\:))
                 (unexpected char))
             (next)
             (read-value (skip-space))))
          (else (fail who "the text was not valid"))))

      (define (end event)
        (next)
        (close!)
        event)

      read-event)

    (define json-fold
      (case-lambda
        ((proc array-start array-end object-start object-end seed)
         (json-fold proc array-start array-end object-start object-end seed (current-input-port)))
        ((proc array-start array-end object-start object-end seed source)
         (for-each (lambda (procedure)
                     (if (not (procedure? procedure))
                         (%type-error 'json-fold 1 "procedure" procedure)))
                   (list proc array-start array-end object-start object-end))
         (call-with-source 'json-fold source
           (lambda (peek next)
             (let ((read-event (make-reader 'json-fold peek next)))
               ;; `outer` has the seeds and the procedures that end the structures around.
               (let loop ((seed seed) (outer '()))
                 (define (value object seed outer)
                   (let ((seed (proc object seed)))
                     (if (null? outer)
                         seed
                         (loop seed outer))))
                 (let ((event (read-event)))
                   (case event
                     ((array-start)
                      (loop (array-start seed) (cons (cons seed array-end) outer)))
                     ((object-start)
                      (loop (object-start seed) (cons (cons seed object-end) outer)))
                     ((array-end object-end)
                      (value ((cdar outer) seed) (caar outer) (cdr outer)))
                     (else
                      (if (eof-object? event)
                          seed
                          (value event seed outer))))))))))))

    ;; Keys and values are consed in front, so that going through them again restores the order.
    (define (collected->alist items)
      (let loop ((items items) (alist '()))
        (if (null? items)
            alist
            (loop (cddr items)
                  (cons (cons (string->symbol (cadr items)) (car items)) alist)))))

    (define nothing (list 'nothing))

    (define json-read
      (case-lambda
        (() (json-read (current-input-port)))
        ((source)
         (if (and (input-port? source)
                  (textual-port? source)
                  (eqv? (json-number-of-character-limit) +inf.0))
             (read-quickly source)
             (json-read-events source)))))

    ;; The reader of the machine makes the same data; it counts no characters.
    (define (read-quickly port)
      (let ((limit (json-nesting-depth-limit)))
        (%json-read port json-objects/symbols 'null #f
                    (if (exact-nonnegative-integer? limit) limit #f))))

    (define json-read-events
      (case-lambda
        ((source)
         (let ((object (json-fold (lambda (object seed)
                                    (if (eq? seed nothing)
                                        object
                                        (cons object seed)))
                                  (lambda (seed) '())
                                  (lambda (items) (list->vector (reverse items)))
                                  (lambda (seed) '())
                                  collected->alist
                                  nothing
                                  source)))
           (if (eq? object nothing)
               (eof-object)
               object)))))

    ;; A generator gives the character that was looked at to the next reader too.
    (define (shared-source source)
      (if (procedure? source)
          (let ((port (open-input-string
                       (let loop ((chars '()))
                         (let ((char (source)))
                           (if (eof-object? char)
                               (%reverse-list->string chars)
                               (loop (cons char chars))))))))
            port)
          source))

    (define json-lines-read
      (case-lambda
        (() (json-lines-read (current-input-port)))
        ((source)
         (let ((source (shared-source source)))
           (lambda () (json-read source))))))

    ;; Each text comes after a record separator.  One that is not valid is left out, as the RFC has
    ;; it.
    (define json-sequence-read
      (case-lambda
        (() (json-sequence-read (current-input-port)))
        ((source)
         (call-with-source 'json-sequence-read source
           (lambda (peek next)
             (define (read-text)
               (let loop ((chars '()))
                 (let ((char (peek)))
                   (if (or (eof-object? char) (eqv? char #\x1e))
                       (%reverse-list->string chars)
                       (begin
                         (next)
                         (loop (cons char chars)))))))
             (define (next-object)
               (let ((char (peek)))
                 (cond ((eof-object? char) char)
                       ((eqv? char #\x1e)
                        (next)
                        (let* ((text (read-text))
                               (object (guard (object ((json-error? object) nothing))
                                         (json-read (open-input-string text)))))
                          (if (or (eq? object nothing) (eof-object? object))
                              (next-object)
                              object)))
                       (else
                        (next)
                        (next-object)))))
             next-object)))))

    ;; Writing.

    (define (call-with-sink who sink procedure)
      (cond ((and (output-port? sink) (textual-port? sink))
             (procedure (lambda (text)
                          (if (char? text)
                              (write-char text sink)
                              (write-string text sink)))))
            ((procedure? sink)
             (procedure sink))
            (else
             (%type-error who 1 "textual output port or accumulator" sink))))

    (define (json-number? object)
      (and (number? object)
           (or (exact-integer? object)
               (and (real? object) (inexact? object) (< -inf.0 object +inf.0)))))

    (define (write-text string emit)
      (emit #\")
      (let ((length (string-length string)))
        (let loop ((start 0) (index 0))
          (define (flush)
            (if (< start index)
                (emit (substring string start index))))
          (if (= index length)
              (flush)
              (let* ((char (string-ref string index)) (escape (escape-of char)))
                (if escape
                    (begin
                      (flush)
                      (emit escape)
                      (loop (+ index 1) (+ index 1)))
                    (loop start (+ index 1)))))))
      (emit #\"))

    (define (escape-of char)
      (case char
        ((#\") "\\\"")
        ((#\\) "\\\\")
        ((#\newline) "\\n")
        ((#\return) "\\r")
        ((#\tab) "\\t")
        ((#\backspace) "\\b")
        ((#\page) "\\f")
        (else
         (and (char<? char #\space)
              (string-append "\\u" (string-pad-left (number->string (char->integer char) 16)
                                                    4 #\0))))))

    (define (write-scalar object emit)
      (cond ((eq? object 'null) (emit "null"))
            ((eq? object #t) (emit "true"))
            ((eq? object #f) (emit "false"))
            ((string? object) (write-text object emit))
            ((exact? object) (emit (number->string object)))
            (else (emit (%json->string object 0 #f #f 'null)))))

    (define (scalar? object)
      (or (eq? object 'null) (boolean? object) (string? object) (json-number? object)))

    (define (check-writable object)
      (cond ((scalar? object) #t)
            ((vector? object)
             (let loop ((index 0))
               (if (< index (vector-length object))
                   (begin
                     (check-writable (vector-ref object index))
                     (loop (+ index 1))))))
            ((list? object)
             (for-each (lambda (entry)
                         (if (not (and (pair? entry) (symbol? (car entry))))
                             (fail 'json-write "an entry of an object has a symbol as its key"
                                   entry))
                         (check-writable (cdr entry)))
                       object))
            (else (fail 'json-write "an object has no form in JSON" object))))

    (define (write-object object emit)
      (cond ((vector? object)
             (emit #\[)
             (let loop ((index 0))
               (if (< index (vector-length object))
                   (begin
                     (if (> index 0) (emit #\,))
                     (write-object (vector-ref object index) emit)
                     (loop (+ index 1)))))
             (emit #\]))
            ((or (pair? object) (null? object))
             (emit #\{)
             (let loop ((rest object) (first? #t))
               (if (pair? rest)
                   (begin
                     (if (not first?) (emit #\,))
                     (write-text (symbol->string (caar rest)) emit)
                     (emit #\:)
                     (write-object (cdar rest) emit)
                     (loop (cdr rest) #f))))
             (emit #\}))
            (else (write-scalar object emit))))

    (define json-write
      (case-lambda
        ((object) (json-write object (current-output-port)))
        ((object sink)
         (check-writable object)
         ;; The machine's writer takes more than this library does, but nothing else than this was
         ;; let through.
         (if (and (output-port? sink) (textual-port? sink))
             (%json-write object sink 0 #f #f 'null)
             (call-with-sink 'json-write sink
               (lambda (emit)
                 (write-object object emit)
                 (void)))))))

    ;; The phase is what may come next: start, done, or for the innermost structure
    ;; array-first, array-next, object-first, object-next or object-value.
    (define (json-accumulator sink)
      (call-with-sink 'json-accumulator sink
        (lambda (emit)
          (let ((phase 'start) (stack '()))
            (define (wrong event)
              (fail 'json-accumulator "an event at a wrong place" event))
            (define (value-written!)
              (set! phase (cond ((null? stack) 'done)
                                ((eq? (car stack) 'array) 'array-next)
                                (else 'object-next))))
            ;; The text in front of a value.
            (define (before-value event)
              (case phase
                ((start array-first object-value) #t)
                ((array-next) (emit #\,))
                (else (wrong event))))
            (define (end kind phases char event)
              (if (not (and (pair? stack) (eq? (car stack) kind) (memq phase phases)))
                  (wrong event))
              (emit char)
              (set! stack (cdr stack))
              (value-written!))
            (lambda (event)
              (case event
                ((array-start)
                 (before-value event)
                 (emit #\[)
                 (set! stack (cons 'array stack))
                 (set! phase 'array-first))
                ((object-start)
                 (before-value event)
                 (emit #\{)
                 (set! stack (cons 'object stack))
                 (set! phase 'object-first))
                ((array-end) (end 'array '(array-first array-next) #\] event))
                ((object-end) (end 'object '(object-first object-next) #\} event))
                (else
                 (cond ((eof-object? event)
                        (if (not (memq phase '(start done)))
                            (wrong event))
                        event)
                       ((memq phase '(object-first object-next))
                        (if (not (string? event))
                            (wrong event))
                        (if (eq? phase 'object-next) (emit #\,))
                        (write-text event emit)
                        (emit #\:)
                        (set! phase 'object-value))
                       ((scalar? event)
                        (before-value event)
                        (write-scalar event emit)
                        (value-written!))
                       (else
                        (fail 'json-accumulator "an object has no form in JSON" event))))))))))))
