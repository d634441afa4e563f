;;; (srfi 175): the ASCII character library.
;;;
;;; A character may be given as its code point; what is given back is then a code point too.

(define-library (srfi 175)
  (export
   ascii-codepoint? ascii-bytevector? ascii-char? ascii-string?
   ascii-control? ascii-non-control? ascii-whitespace? ascii-space-or-tab?
   ascii-other-graphic? ascii-upper-case? ascii-lower-case? ascii-alphabetic?
   ascii-alphanumeric? ascii-numeric?
   ascii-digit-value ascii-upper-case-value ascii-lower-case-value
   ascii-nth-digit ascii-nth-upper-case ascii-nth-lower-case
   ascii-upcase ascii-downcase ascii-control->graphic ascii-graphic->control
   ascii-mirror-bracket
   ascii-ci=? ascii-ci<? ascii-ci>? ascii-ci<=? ascii-ci>=?
   ascii-string-ci=? ascii-string-ci<? ascii-string-ci>? ascii-string-ci<=? ascii-string-ci>=?)
  (import (canny primitives) (canny syntax))
  (begin

    (define (code who object)
      (cond ((char? object) (char->integer object))
            ((exact-integer? object) object)
            (else (%type-error who 1 "character or exact integer" object))))

    ;; A code as an object of the kind of `like`, or #f.
    (define (as-like like code)
      (and code (if (char? like) (integer->char code) code)))

    (define (ascii-codepoint? object)
      (and (exact-integer? object) (<= 0 object 127)))

    (define (ascii-char? object)
      (and (char? object) (char<? object #\x80)))

    (define (ascii-bytevector? object)
      (and (bytevector? object)
           (let loop ((index (- (bytevector-length object) 1)))
             (or (< index 0)
                 (and (< (bytevector-u8-ref object index) 128)
                      (loop (- index 1)))))))

    (define (ascii-string? object)
      (and (string? object)
           (let loop ((index (- (string-length object) 1)))
             (or (< index 0)
                 (and (char<? (string-ref object index) #\x80)
                      (loop (- index 1)))))))

    (define-syntax define-classes
      (syntax-rules ()
        ((_ code-name (name test) ...)
         (begin
           (define (name char)
             (let ((code-name (code 'name char)))
               test))
           ...))))

    (define-classes c
      (ascii-control? (or (<= 0 c 31) (= c 127)))
      (ascii-non-control? (<= 32 c 126))
      (ascii-whitespace? (or (<= 9 c 13) (= c 32)))
      (ascii-space-or-tab? (or (= c 9) (= c 32)))
      (ascii-other-graphic? (or (<= 33 c 47) (<= 58 c 64) (<= 91 c 96) (<= 123 c 126)))
      (ascii-upper-case? (<= 65 c 90))
      (ascii-lower-case? (<= 97 c 122))
      (ascii-alphabetic? (or (<= 65 c 90) (<= 97 c 122)))
      (ascii-alphanumeric? (or (<= 48 c 57) (<= 65 c 90) (<= 97 c 122)))
      (ascii-numeric? (<= 48 c 57)))

    ;; The distance from `first` if it is in the class and below the limit, with the offset.
    (define (value c first count offset limit)
      (and (<= 0 (- c first))
           (< (- c first) (min count limit))
           (+ offset (- c first))))

    (define (ascii-digit-value char limit)
      (value (code 'ascii-digit-value char) 48 10 0 limit))

    (define (ascii-upper-case-value char offset limit)
      (value (code 'ascii-upper-case-value char) 65 26 offset limit))

    (define (ascii-lower-case-value char offset limit)
      (value (code 'ascii-lower-case-value char) 97 26 offset limit))

    (define (ascii-nth-digit n)
      (and (exact-integer? n) (<= 0 n 9) (integer->char (+ 48 n))))

    (define (ascii-nth-upper-case n)
      (integer->char (+ 65 (modulo n 26))))

    (define (ascii-nth-lower-case n)
      (integer->char (+ 97 (modulo n 26))))

    (define (upcased c) (if (<= 97 c 122) (- c 32) c))
    (define (downcased c) (if (<= 65 c 90) (+ c 32) c))

    (define (ascii-upcase char)
      (as-like char (upcased (code 'ascii-upcase char))))

    (define (ascii-downcase char)
      (as-like char (downcased (code 'ascii-downcase char))))

    (define (ascii-control->graphic char)
      (let ((c (code 'ascii-control->graphic char)))
        (as-like char (cond ((<= 0 c 31) (+ c 64))
                            ((= c 127) 63)
                            (else #f)))))

    (define (ascii-graphic->control char)
      (let ((c (code 'ascii-graphic->control char)))
        (as-like char (cond ((<= 64 c 95) (- c 64))
                            ((= c 63) 127)
                            (else #f)))))

    (define (ascii-mirror-bracket char)
      (let ((c (code 'ascii-mirror-bracket char)))
        (as-like char
                 (case c
                   ((40) 41) ((41) 40)
                   ((60) 62) ((62) 60)
                   ((91) 93) ((93) 91)
                   ((123) 125) ((125) 123)
                   (else #f)))))

    (define-syntax define-comparisons
      (syntax-rules ()
        ((_ (name string-name compare) ...)
         (begin
           (define (name left right)
             (compare (downcased (code 'name left)) (downcased (code 'name right))))
           ...
           (define (string-name left right)
             (compare (string-order 'string-name left right) 0))
           ...))))

    ;; Negative, zero or positive.
    (define (string-order who left right)
      (if (not (string? left))
          (%type-error who 1 "string" left))
      (if (not (string? right))
          (%type-error who 2 "string" right))
      (let* ((left-length (string-length left))
             (right-length (string-length right))
             (end (min left-length right-length)))
        (let loop ((index 0))
          (if (= index end)
              (- left-length right-length)
              (let ((x (downcased (char->integer (string-ref left index))))
                    (y (downcased (char->integer (string-ref right index)))))
                (if (= x y)
                    (loop (+ index 1))
                    (- x y)))))))

    (define-comparisons
      (ascii-ci=? ascii-string-ci=? =)
      (ascii-ci<? ascii-string-ci<? <)
      (ascii-ci>? ascii-string-ci>? >)
      (ascii-ci<=? ascii-string-ci<=? <=)
      (ascii-ci>=? ascii-string-ci>=? >=))))
