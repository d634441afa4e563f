;;; (srfi 54): formatting with cat.
;;;
;;; An option is known by its type, so the order of the options does not matter. Decimals are
;;; rounded as they are written, halves to even.

(define-library (srfi 54)
  (export cat)
  (import (canny primitives) (canny syntax))
  (begin

    ;; Takes the first option that satisfies the predicate out of the list; calls `found` with it,
    ;; or the default, and the others.
    (define (take-option wanted? default options found)
      (let loop ((rest options) (before '()))
        (cond ((null? rest) (found default options))
              ((wanted? (car rest)) (found (car rest) (append-reverse before (cdr rest))))
              (else (loop (cdr rest) (cons (car rest) before))))))

    (define-syntax with-options
      (syntax-rules ()
        ((_ options () body ...) (begin body ...))
        ((_ options ((name wanted? default) more ...) body ...)
         (take-option wanted? default options
           (lambda (name options)
             (with-options options (more ...) body ...))))))

    (define (one-of . symbols)
      (lambda (object) (memq object symbols)))

    (define (precision? object)
      (and (flonum? object) (integer? object)))

    (define (separator? object)
      (and (pair? object)
           (char? (car object))
           (or (null? (cdr object))
               (and (pair? (cdr object))
                    (null? (cddr object))
                    (exact-integer? (cadr object))
                    (positive? (cadr object))))))

    (define (pipe? object)
      (and (pair? object) (list? object)
           (let loop ((rest object))
             (or (null? rest) (and (procedure? (car rest)) (loop (cdr rest)))))))

    (define (take? object)
      (and (pair? object)
           (exact-integer? (car object))
           (or (null? (cdr object))
               (and (pair? (cdr object)) (null? (cddr object)) (exact-integer? (cadr object))))))

    (define (converter? object)
      (and (pair? object) (procedure? (car object)) (procedure? (cdr object))))

    (define (port-option? object)
      (or (boolean? object) (output-port? object)))

    (define (cat object . options)
      (with-options options
        ((width exact-integer? 0)
         (char char? #\space)
         (port port-option? #f)
         (converter converter? #f)
         (exactness (one-of 'exact 'inexact) #f)
         (radix (one-of 'binary 'octal 'decimal 'hexadecimal) 'decimal)
         (sign (one-of 'sign) #f)
         (precision precision? #f)
         (separator separator? #f)
         (writer procedure? #f)
         (pipe pipe? '())
         (take take? #f))
        (let loop ((rest options))
          (if (pair? rest)
              (if (string? (car rest))
                  (loop (cdr rest))
                  (%type-error 'cat 2 "option of cat" (car rest)))))
        (let* ((text (cond ((and converter ((car converter) object))
                            ((cdr converter) object))
                           ((number? object)
                            (number-text object exactness radix precision separator sign))
                           (else (object-text object writer pipe take))))
               (result (string-concatenate
                        (cons (if (and (number? object) (char-numeric? char) (positive? width))
                                  (pad-digits text width char)
                                  (pad text width char))
                              options))))
          (cond ((output-port? port) (write-string result port))
                (port (write-string result)))
          result)))

    (define (pad text width char)
      (let ((missing (- (abs width) (string-length text))))
        (cond ((<= missing 0) text)
              ((positive? width) (string-append (make-string missing char) text))
              (else (string-append text (make-string missing char))))))

    ;; Digits are padded behind prefixes and sign.
    (define (pad-digits text width char)
      (let* ((length (string-length text))
             (start (let loop ((index 0))
                      (cond ((>= index length) 0)
                            ((char=? (string-ref text index) #\#) (loop (+ index 2)))
                            ((memv (string-ref text index) '(#\- #\+)) (+ index 1))
                            (else index)))))
        (string-append (substring text 0 start)
                       (pad (substring text start length) (- width start) char))))

    ;; Other objects.

    (define (object-text object writer pipe take)
      (let ((port (open-output-string)))
        ((or writer
             (if (or (string? object) (char? object) (boolean? object)) display write))
         object
         port)
        (let loop ((text (get-output-string port)) (rest pipe))
          (if (pair? rest)
              (loop ((car rest) text) (cdr rest))
              (if take (taken text (car take) (if (pair? (cdr take)) (cadr take) 0)) text)))))

    ;; A count that is negative says how many characters are left out.
    (define (taken text left right)
      (let* ((length (string-length text))
             (clamp (lambda (index) (max 0 (min length index)))))
        (string-append (if (negative? left)
                           (substring text (clamp (- left)) length)
                           (substring text 0 (clamp left)))
                       (if (negative? right)
                           (substring text 0 (clamp (+ length right)))
                           (substring text (clamp (- length right)) length)))))

    ;; Numbers.

    (define (number-text number exactness radix precision separator sign)
      (let* ((exact-wanted? (if exactness (eq? exactness 'exact) (exact? number)))
             (decimal? (eq? radix 'decimal))
             (number (if decimal?
                         (if exact-wanted? (exact-decimal number) (inexact number))
                         (exact number)))
             (prefix (string-append
                      (cond ((and (not decimal?) (not exact-wanted?)) "#i")
                            ((and decimal? precision exact-wanted?
                                  (not (or (negative? precision) (eqv? precision -0.0))))
                             "#e")
                            (else ""))
                      (case radix
                        ((binary) "#b")
                        ((octal) "#o")
                        ((hexadecimal) "#x")
                        (else ""))))
             (part (lambda (real)
                     (separated (real-text real radix precision) separator))))
        (string-append
         prefix
         (if (and sign (not (memv (string-ref (part (real-part number)) 0) '(#\- #\+)))) "+" "")
         (if (real? number)
             (part number)
             (let ((imaginary (part (imag-part number))))
               (string-append (part (real-part number))
                              (if (memv (string-ref imaginary 0) '(#\- #\+)) "" "+")
                              imaginary
                              "i"))))))

    ;; The exact number that the digits of an inexact one denote.
    (define (exact-decimal number)
      (cond ((exact? number) number)
            ((not (finite? number)) number)
            ((real? number) (string->number (string-append "#e" (number->string number))))
            (else (exact number))))

    (define (real-text real radix precision)
      (cond ((not (eq? radix 'decimal))
             (number->string real (case radix ((binary) 2) ((octal) 8) (else 16))))
            ((or (not precision) (not (finite? real))) (number->string real))
            (else
             (let* ((digits (exact (abs precision)))
                    (text (number->string real))
                    (exponent (%string-index text #\e)))
               (if exponent
                   (string-append (rounded (string->number (substring text 0 exponent)) digits)
                                  (substring text exponent (string-length text)))
                   (rounded real digits))))))

    (define (rounded real digits)
      (let* ((scaled (exact-round (* (abs (exact-decimal real)) (expt 10 digits))))
             (text (number->string scaled))
             (text (if (<= (string-length text) digits)
                       (string-append (make-string (- (+ digits 1) (string-length text)) #\0) text)
                       text))
             (point (- (string-length text) digits)))
        (string-append (if (negative? real) "-" "")
                       (substring text 0 point)
                       (if (or (inexact? real) (positive? digits)) "." "")
                       (substring text point (string-length text)))))

    ;; The digits before the point are counted from the right, those behind it from the left.
    (define (separated text separator)
      (if (not separator)
          text
          (let* ((char (car separator))
                 (size (if (pair? (cdr separator)) (cadr separator) 3))
                 (start (if (memv (string-ref text 0) '(#\- #\+)) 1 0))
                 (length (string-length text))
                 (point (let loop ((index start))
                          (if (and (< index length)
                                   (not (memv (string-ref text index) '(#\. #\/ #\e))))
                              (loop (+ index 1))
                              index))))
            (let loop ((index (- length 1)) (chars '()))
              (if (< index 0)
                  (list->string chars)
                  (let* ((before? (< index point))
                         (separate? (if before?
                                        (and (< index (- point 1))
                                             (>= index start)
                                             (eqv? 0 (remainder (- point 1 index) size)))
                                        (and (> index point)
                                             (< index (- length 1))
                                             (eqv? 0 (remainder (- index point) size))))))
                    (loop (- index 1)
                          (if separate?
                              (cons* (string-ref text index) char chars)
                              (cons (string-ref text index) chars)))))))))))
