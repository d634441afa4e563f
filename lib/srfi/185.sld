;;; (srfi 185): linear adjustable-length strings.
;;;
;;; A string of Canny keeps its length, so the procedures give new strings, as the SRFI allows; the
;;; macros assign them.  To append often, use a string port.

(define-library (srfi 185)
  (export string-append-linear! string-replace-linear! string-append! string-replace!)
  (import (canny primitives) (canny syntax))
  (begin

    (define (check-string who position object)
      (if (not (string? object))
          (%type-error who position "string" object)))

    (define (check-range who position start end length)
      (if (not (and (exact-nonnegative-integer? end) (<= end length)))
          (%range-error who (+ position 1) "an index of the string" end))
      (if (not (and (exact-nonnegative-integer? start) (<= start end)))
          (%range-error who position "an index not above the end" start)))

    (define (string-append-linear! string . pieces)
      (check-string 'string-append-linear! 1 string)
      (string-concatenate
       (cons string
             (let loop ((rest pieces) (position 2))
               (cond ((null? rest) '())
                     ((char? (car rest))
                      (cons (make-string 1 (car rest)) (loop (cdr rest) (+ position 1))))
                     ((string? (car rest))
                      (cons (car rest) (loop (cdr rest) (+ position 1))))
                     (else
                      (%type-error 'string-append-linear! position "string or character"
                                   (car rest))))))))

    (define string-replace-linear!
      (case-lambda
        ((string start end source) (string-replace-linear! string start end source 0))
        ((string start end source source-start)
         (check-string 'string-replace-linear! 4 source)
         (string-replace-linear! string start end source source-start (string-length source)))
        ((string start end source source-start source-end)
         (check-string 'string-replace-linear! 1 string)
         (check-string 'string-replace-linear! 4 source)
         (check-range 'string-replace-linear! 2 start end (string-length string))
         (check-range 'string-replace-linear! 5 source-start source-end (string-length source))
         (string-append (substring string 0 start)
                        (substring source source-start source-end)
                        (substring string end (string-length string))))))

    (define-syntax string-append!
      (syntax-rules ()
        ((_ place piece ...)
         (set! place (string-append-linear! place piece ...)))))

    (define-syntax string-replace!
      (syntax-rules ()
        ((_ place argument ...)
         (set! place (string-replace-linear! place argument ...)))))))
