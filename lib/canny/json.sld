;;; (canny json): reading and writing JSON.
;;;
;;; Objects are association lists with symbols as keys unless `#:objects` says otherwise, arrays are
;;; vectors, `null` is the symbol of that name. Integers are exact, other numbers flonums or, with
;;; `#:numbers 'exact`, exact too.
;;;
;;;     (string->json "{\"a\": [1, 2.5, null]}")             ; => ((a . #(1 2.5 null)))
;;;     (json->string '((a . #(1 2.5 null))) #:indent 2)
;;;
;;; Text that is not JSON raises a condition that satisfies `json-error?` and has line, column and
;;; offset. So does an object that cannot be written, with the keys and indexes that lead to it.

(define-library (canny json)
  (export json-read string->json json-lines json-events
          json-write json->string json-write-line
          json-ref json-ref/default
          json-error? json-error-line json-error-column json-error-offset json-error-path)
  (import (canny machine protocols) (canny primitives) (canny syntax)
          (only (canny data lists) assoc)
          (only (canny machine control) raise current-input-port current-output-port))
  (begin

    (define (bad-option who message object)
      (raise (%make-condition 'range message (list object) who)))

    (define (shape-number who objects)
      (case objects
        ((alist) json-objects/symbols)
        ((string-alist) json-objects/strings)
        ((hash-table) json-objects/tables)
        (else
         (bad-option who "#:objects is one of alist, string-alist and hash-table" objects))))

    (define (exact-numbers? who numbers)
      (case numbers
        ((exact) #t)
        ((inexact) #f)
        (else (bad-option who "#:numbers is exact or inexact" numbers))))

    ;; The next value of a port, or an end-of-file object. The text behind it stays in the port.
    (define* (json-read #:optional (port (current-input-port))
                        #:key (objects 'alist) (null 'null) (numbers 'inexact)
                        (depth-limit 10000))
      (%json-read port (shape-number 'json-read objects) null
                  (exact-numbers? 'json-read numbers) depth-limit))

    ;; The value that a string is; nothing but white space may follow it.
    (define* (string->json string
                           #:key (objects 'alist) (null 'null) (numbers 'inexact)
                           (depth-limit 10000))
      (%string->json string (shape-number 'string->json objects) null
                     (exact-numbers? 'string->json numbers) depth-limit))

    ;; A generator of the values of a port that has one after the other, as in files of JSON lines.
    (define* (json-lines #:optional (port (current-input-port))
                         #:key (objects 'alist) (null 'null) (numbers 'inexact)
                         (depth-limit 10000))
      (let ((shape (shape-number 'json-lines objects))
            (exact? (exact-numbers? 'json-lines numbers)))
        (lambda () (%json-read port shape null exact? depth-limit))))

    ;; A generator of the parts of the next value of a port. They are the symbols `array-start`,
    ;; `array-end`, `object-start`, `object-end` and `null`, booleans, numbers and strings. Every
    ;; other string in an object is a key.
    (define* (json-events #:optional (port (current-input-port))
                          #:key (numbers 'inexact) (depth-limit #f))
      (let ((reader (%make-json-reader (exact-numbers? 'json-events numbers) depth-limit))
            (events '()))
        (define (next)
          (if (pair? events)
              (let ((event (car events)))
                (set! events (cdr events))
                event)
              (let ((more (%json-events reader port)))
                (if (null? more)
                    (eof-object)
                    (begin
                      (set! events (cdr more))
                      (car more))))))
        next))

    ;; Writes a value. `#:indent` is the width of an indentation, 0 for none; `#:sort-keys? #t`
    ;; writes members in the order of their keys, `#:ascii? #t` escapes what is not ASCII.
    (define* (json-write object #:optional (port (current-output-port))
                         #:key (indent 0) (sort-keys? #f) (ascii? #f) (null 'null))
      (%json-write object port indent sort-keys? ascii? null))

    ;; Writes a value and the end of the line.
    (define* (json-write-line object #:optional (port (current-output-port))
                              #:key (sort-keys? #f) (ascii? #f) (null 'null))
      (%json-write object port 0 sort-keys? ascii? null)
      (newline port))

    ;; The text of a value.
    (define* (json->string object #:key (indent 0) (sort-keys? #f) (ascii? #f) (null 'null))
      (%json->string object indent sort-keys? ascii? null))

    ;; The part of a value that keys and indexes lead to, or the default if there is none.
    (define (json-ref/default object default . steps)
      (let loop ((object object) (steps steps))
        (if (null? steps)
            object
            (let ((next (step object (car steps))))
              (if (eq? next absent)
                  default
                  (loop next (cdr steps)))))))

    ;; The same, but what is not there is an error.
    (define (json-ref object . steps)
      (let loop ((object object) (rest steps))
        (if (null? rest)
            object
            (let ((next (step object (car rest))))
              (if (eq? next absent)
                  (%range-error 'json-ref 2 "a key or an index of the value" (car rest))
                  (loop next (cdr rest)))))))

    (define absent (list 'absent))

    (define (step object step)
      (cond ((vector? object)
             (if (and (exact-nonnegative-integer? step) (< step (vector-length object)))
                 (vector-ref object step)
                 absent))
            ((%hash-table? object)
             (let ((value (%hash-table-ref object step absent)))
               (if (and (eq? value absent) (symbol? step))
                   (%hash-table-ref object (symbol->string step) absent)
                   value)))
            ((pair? object)
             (let ((member (and (list? object)
                                (or (assoc step object)
                                    (and (string? step)
                                         (assq (string->symbol step) object))))))
               (if member (cdr member) absent)))
            (else absent)))

    ;; Whether a condition says that a text is not JSON or that an object has no form in JSON.
    (define (json-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'json)))

    (define (irritant who condition name)
      (if (not (json-error? condition))
          (%type-error who 1 "error of JSON" condition))
      (let ((found (memq name (error-object-irritants condition))))
        (and found (pair? (cdr found)) (cadr found))))

    ;; The line of what is wrong in a text, or `#f` for an object that could not be written.
    (define (json-error-line condition)
      (irritant 'json-error-line condition 'line))

    ;; The column of what is wrong, counted in characters from 1.
    (define (json-error-column condition)
      (irritant 'json-error-column condition 'column))

    ;; How many bytes of a port, or characters of a string, come before what is wrong.
    (define (json-error-offset condition)
      (irritant 'json-error-offset condition 'offset))

    ;; The keys and indexes that lead to an object that could not be written, or `#f` for a text
    ;; that could not be read.
    (define (json-error-path condition)
      (irritant 'json-error-path condition 'path))))
