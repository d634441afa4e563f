;;; (srfi 48): intermediate format strings.
;;;
;;; The text is made first and written to the port afterwards, so that an error leaves nothing half
;;; written.

(define-library (srfi 48)
  (export format)
  (import (canny primitives) (canny syntax))
  (begin

    (define help
      (string-append
       "(format [<port>] <format-string> [<arg>...]) -- <port> is #t, #f or an output-port\n"
       "OPTION\t[MNEMONIC]\tDESCRIPTION\n"
       "~H\t[Help]\t\tthis text\n"
       "~A\t[Any]\t\tthe next argument as display writes it\n"
       "~S\t[Slashified]\tthe next argument as write writes it\n"
       "~W\t[WriteCircular]\tlike ~S\n"
       "~Y\t[Yuppify]\tthe next argument, a list, for people\n"
       "~D\t[Decimal]\tthe next argument, a number, in radix 10\n"
       "~X\t[heXadecimal]\tin radix 16\n"
       "~O\t[Octal]\t\tin radix 8\n"
       "~B\t[Binary]\tin radix 2\n"
       "~w,dF\t[Fixed]\t\ta string or number of width w, with d digits after the point\n"
       "~C\t[Character]\tthe next argument, a character\n"
       "~?\t[Indirection]\tthe next argument is a format string, the one after it a list\n"
       "~K\t[Indirection]\tthe same\n"
       "~~\t[Tilde]\t\ta tilde\n"
       "~T\t[Tab]\t\ta tab\n"
       "~%\t[Newline]\ta newline\n"
       "~&\t[Freshline]\ta newline, unless the text ends with one\n"
       "~_\t[Space]\t\ta space\n"))

    (define (format first . rest)
      (cond ((string? first) (format-string first rest))
            ((null? rest) (%type-error 'format 1 "format string" first))
            ((not (string? (car rest))) (%type-error 'format 2 "format string" (car rest)))
            ((not first) (format-string (car rest) (cdr rest)))
            ((eq? first #t) (write-string (format-string (car rest) (cdr rest))))
            ((output-port? first) (write-string (format-string (car rest) (cdr rest)) first))
            (else (%type-error 'format 1 "output port, boolean or format string" first))))

    (define (format-string template arguments)
      (let* ((port (open-output-string))
             (left (format-to port (vector #f) template arguments)))
        (if (pair? left)
            (%range-error 'format 2 "an argument for a directive; there is none for it" (car left)))
        (get-output-string port)))

    ;; Gives the arguments that are left.  `last` holds the last character that was written.
    (define (format-to port last template arguments)
      (let ((end (string-length template)))
        (define (put text)
          (write-string text port)
          (if (> (string-length text) 0)
              (vector-set! last 0 (string-ref text (- (string-length text) 1)))))
        (define (check-argument arguments)
          (if (null? arguments)
              (%range-error 'format 2 "an argument for each directive" template)))
        (let loop ((index 0) (arguments arguments))
          (if (= index end)
              arguments
              (let ((char (string-ref template index)))
                (cond ((not (char=? char #\~))
                       (write-char char port)
                       (vector-set! last 0 char)
                       (loop (+ index 1) arguments))
                      ((= (+ index 1) end)
                       (%range-error 'format 1 "a directive after the last tilde" template))
                      (else
                       (let ((directive (char-downcase (string-ref template (+ index 1))))
                             (next (+ index 2)))
                         (define (consume write-it)
                           (check-argument arguments)
                           (let ((part (open-output-string)))
                             (write-it (car arguments) part)
                             (put (get-output-string part))
                             (loop next (cdr arguments))))
                         (define (emit text)
                           (put text)
                           (loop next arguments))
                         (case directive
                           ((#\a) (consume display))
                           ((#\s #\w #\y) (consume write))
                           ((#\d) (consume (number-writer 10)))
                           ((#\x) (consume (number-writer 16)))
                           ((#\o) (consume (number-writer 8)))
                           ((#\b) (consume (number-writer 2)))
                           ((#\c)
                            (consume (lambda (object port)
                                       (if (not (char? object))
                                           (%type-error 'format 2 "character for ~c" object))
                                       (write-char object port))))
                           ((#\? #\k)
                            (check-argument arguments)
                            (check-argument (cdr arguments))
                            (if (not (string? (car arguments)))
                                (%type-error 'format 2 "format string for ~?" (car arguments)))
                            (if (not (list? (cadr arguments)))
                                (%type-error 'format 2 "list for ~?" (cadr arguments)))
                            (let ((left (format-to port last (car arguments) (cadr arguments))))
                              (if (pair? left)
                                  (%range-error 'format 2 "an argument for a directive"
                                                (car left))))
                            (loop next (cddr arguments)))
                           ((#\~) (emit "~"))
                           ((#\t) (emit "\t"))
                           ((#\%) (emit "\n"))
                           ((#\_) (emit " "))
                           ((#\h) (emit help))
                           ((#\&)
                            ;; At the very beginning nothing is known of what came before.
                            (if (not (eq? (vector-ref last 0) #\newline))
                                (put "\n"))
                            (loop next arguments))
                           ((#\f #\0 #\1 #\2 #\3 #\4 #\5 #\6 #\7 #\8 #\9)
                            (check-argument arguments)
                            (fixed template (+ index 1)
                              (lambda (width digits next)
                                (put (fixed-text (car arguments) width digits))
                                (loop next (cdr arguments)))))
                           (else
                            (%range-error 'format 1 "a known directive" template)))))))))))

    (define (number-writer radix)
      (lambda (object port)
        (if (not (number? object))
            (%type-error 'format 2 "number" object))
        (write-string (number->string object radix) port)))

    ;; Reads the rest of a directive such as 8,2F and calls `found` with width, digits or #f, and
    ;; the index behind it.
    (define (fixed template index found)
      (define (bad)
        (%range-error 'format 1 "a known directive" template))
      (define (number index continue)
        (let loop ((index index) (value #f))
          (if (= index (string-length template))
              (bad)
              (let ((digit (digit-value (string-ref template index))))
                (if digit
                    (loop (+ index 1) (min 100000 (+ (* 10 (or value 0)) digit)))
                    (continue value index))))))
      (number index
        (lambda (width index)
          (if (char=? (string-ref template index) #\,)
              (number (+ index 1)
                (lambda (digits index)
                  (if (and digits (memv (string-ref template index) '(#\f #\F)))
                      (found (or width 0) digits (+ index 1))
                      (bad))))
              (if (memv (string-ref template index) '(#\f #\F))
                  (found (or width 0) #f (+ index 1))
                  (bad))))))

    (define (fixed-text object width digits)
      (pad (cond ((string? object) object)
                 ((not (number? object)) (%type-error 'format 2 "string or number for ~F" object))
                 ((not digits) (number->string object))
                 ((real? object) (rounded object digits))
                 (else
                  (let ((imaginary (rounded (imag-part object) digits)))
                    (string-append (rounded (real-part object) digits)
                                   (if (memv (string-ref imaginary 0) '(#\- #\+)) "" "+")
                                   imaginary
                                   "i"))))
           width))

    (define (pad text width)
      (let ((missing (- width (string-length text))))
        (if (positive? missing)
            (string-append (make-string missing #\space) text)
            text)))

    ;; A real number with so many digits behind the point, which is always there. It is rounded as
    ;; it is written, halves to even; a number that is written with an exponent keeps it.
    (define (rounded number digits)
      (if (not (finite? number))
          (number->string number)
          (let* ((text (number->string (inexact number)))
                 (place (%string-index text #\e)))
            (if (and place (inexact? number))
                (string-append
                 (fixed-point (string->number (string-append "#e" (substring text 0 place)))
                              digits)
                 "e"
                 (number->string
                  (string->number (substring text (+ place 1) (string-length text)))))
                (fixed-point (if (exact? number)
                                 number
                                 (string->number (string-append "#e" text)))
                             digits)))))

    (define (fixed-point number digits)
      (let* ((scaled (exact-round (* (abs number) (expt 10 digits))))
             (text (number->string scaled))
             (text (if (<= (string-length text) digits)
                       (string-append (make-string (- (+ digits 1) (string-length text)) #\0) text)
                       text))
             (point (- (string-length text) digits)))
        (string-append (if (and (negative? number) (positive? scaled)) "-" "")
                       (substring text 0 point)
                       "."
                       (substring text point (string-length text)))))))
