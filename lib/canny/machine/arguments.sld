;;; (canny machine arguments): checks of arguments for libraries in Scheme.
;;;
;;; (check-argument who position test? expected object)
;;;                 raises the error of a primitive that was given `object` as argument `position`,
;;;                 unless it satisfies `test?`; `expected` is a string that names the type.
;;; (raise-bad-option who keyword expected object)
;;;                 raises that the value of a keyword, named by a string, is not what is expected.
;;; The other procedures do the same as the first for the common types. `who` is the procedure that
;;; the user called.

(define-library (canny machine arguments)
  (export check-argument check-procedure check-index check-list check-exact-integer check-bounds
          raise-bad-option)
  (import (canny primitives) (canny syntax) (only (canny machine control) raise))
  (begin

    (define-syntax check-argument
      (syntax-rules ()
        ((_ who position test? expected object)
         (if (not (test? object))
             (%type-error who position expected object)))))

    (define (raise-bad-option who keyword expected object)
      (raise (%make-condition 'type (string-append keyword " is not " expected) (list object) who)))

    (define (check-procedure who position object)
      (check-argument who position procedure? "procedure" object))

    (define (check-index who position object)
      (check-argument who position exact-nonnegative-integer? "index" object))

    (define (check-exact-integer who position object)
      (check-argument who position exact-integer? "exact integer" object))

    (define (check-list who position object)
      (if (not (or (pair? object) (null? object)))
          (%type-error who position "list" object)))

    ;; Whether `start`, argument `position`, and `end`, the one after it, bound a part of a sequence
    ;; of this length.
    (define (check-bounds who position start end length)
      (check-index who position start)
      (check-index who (+ position 1) end)
      (if (> end length)
          (%range-error who (+ position 1) "the end is greater than the length" end))
      (if (> start end)
          (%range-error who position "the start is greater than the end" start)))))
