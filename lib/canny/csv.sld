;;; (canny csv): rows of fields as text, as in RFC 4180 and its relatives.
;;;
;;;     (csv->list (open-input-string "name,size\nabc,3\n"))      ; => (("name" "size") ("abc" "3"))
;;;     (csv->list (open-input-string "name,size\nabc,3\n") #:headers #t)
;;;     ; => ((("name" . "abc") ("size" . "3")))
;;;
;;; A row ends with a line feed, a carriage return or both. Fields are strings; the program converts
;;; those that are numbers.

(define-library (canny csv)
  (export csv-read csv-rows csv->list csv-for-each csv-write csv-write-all csv-error?
          csv-error-line csv-error-column)
  (import (canny machine protocols) (canny primitives) (canny syntax)
          (only (canny data lists) for-each map)
          (only (canny machine control) raise current-input-port current-output-port))
  (begin

    (define (bad-option who message object)
      (raise (%make-condition 'range message (list object) who)))

    ;; The dialect as the machine wants it; see `%csv-read`.
    (define (dialect who delimiter quote-char escape comment trim? skip-empty? line-end)
      (if (and (eqv? delimiter #\,)
               (eqv? quote-char #\")
               (not escape)
               (not comment)
               (not trim?)
               skip-empty?
               (equal? line-end "\n"))
          usual-dialect
          (unusual-dialect who delimiter quote-char escape comment trim? skip-empty? line-end)))

    (define usual-dialect
      (vector-at csv-dialect/count
                 (csv-dialect/delimiter #\,)
                 (csv-dialect/quote #\")
                 (csv-dialect/skips-empty #t)))

    (define (unusual-dialect who delimiter quote-char escape comment trim? skip-empty? line-end)
      (define (character name object optional?)
        (cond ((and optional? (not object)) #f)
              ((not (char? object))
               (bad-option who (string-append name " is a character") object))
              ((or (char>? object #\~) (memv object '(#\newline #\return))
                   (and optional? (char<=? object #\space)))
               (bad-option who (string-append name " is a character of ASCII that ends no line")
                           object))
              (else object)))
      (let ((delimiter (character "#:delimiter" delimiter #f))
            (quote-char (character "#:quote-char" quote-char #t)))
        (if (eqv? delimiter quote-char)
            (bad-option who "#:quote-char is another character than the delimiter" quote-char))
        (vector-at csv-dialect/count
                   (csv-dialect/delimiter delimiter)
                   (csv-dialect/quote quote-char)
                   (csv-dialect/escape (character "#:escape" escape #t))
                   (csv-dialect/comment (character "#:comment" comment #t))
                   (csv-dialect/trims trim?)
                   (csv-dialect/skips-empty skip-empty?)
                   (csv-dialect/ends-with-return
                    (cond ((equal? line-end "\n") #f)
                          ((equal? line-end "\r\n") #t)
                          (else
                           (bad-option who "#:line-end is a line feed, or a return and one"
                                       line-end)))))))

    (define (vectors? who row)
      (case row
        ((list) #f)
        ((vector) #t)
        (else (bad-option who "#:row is list or vector" row))))

    ;; A row with the names of its fields.
    (define (named names row)
      (let loop ((names names) (row row))
        (if (and (pair? names) (pair? row))
            (cons (cons (car names) (car row)) (loop (cdr names) (cdr row)))
            '())))

    ;; The next row of a port, a list of strings, or an end-of-file object.
    (define* (csv-read #:optional (port (current-input-port))
                       #:key (delimiter #\,) (quote-char #\") (escape #f) (comment #f) (trim? #f)
                       (skip-empty? #t) (row 'list))
      (%csv-read port
                 (dialect 'csv-read delimiter quote-char escape comment trim? skip-empty? "\n")
                 (vectors? 'csv-read row)))

    ;; A generator of the rows of a port. With `#:headers #t` the first row names the fields, with a
    ;; list that list does; rows are then association lists.
    (define* (csv-rows #:optional (port (current-input-port))
                       #:key (delimiter #\,) (quote-char #\") (escape #f) (comment #f) (trim? #f)
                       (skip-empty? #t) (row 'list) (headers #f))
      (rows 'csv-rows port
            (dialect 'csv-rows delimiter quote-char escape comment trim? skip-empty? "\n")
            (vectors? 'csv-rows row)
            headers))

    (define (rows who port dialect vectors? headers)
      (cond ((not headers)
             (lambda () (%csv-read port dialect vectors?)))
            ((or (eq? headers #t) (list? headers))
             (let ((names headers))
               (lambda ()
                 (if (eq? names #t)
                     (let ((first (%csv-read port dialect #f)))
                       (set! names (if (eof-object? first) '() first))))
                 (let ((row (%csv-read port dialect #f)))
                   (if (eof-object? row)
                       row
                       (named names row))))))
            (else (bad-option who "#:headers is a boolean or a list" headers))))

    ;; The list of the rows of a port.
    (define* (csv->list #:optional (port (current-input-port))
                        #:key (delimiter #\,) (quote-char #\") (escape #f) (comment #f) (trim? #f)
                        (skip-empty? #t) (row 'list) (headers #f))
      (let ((next (rows 'csv->list port
                        (dialect 'csv->list delimiter quote-char escape comment trim? skip-empty?
                                 "\n")
                        (vectors? 'csv->list row)
                        headers)))
        ;; The list is made in its order: to reverse a long one takes time too.
        (let ((rows (list #f)))
          (let loop ((last rows))
            (let ((row (next)))
              (if (eof-object? row)
                  (cdr rows)
                  (let ((pair (list row)))
                    (set-cdr! last pair)
                    (loop pair))))))))

    ;; Calls a procedure with each row of a port.
    (define* (csv-for-each procedure #:optional (port (current-input-port))
                           #:key (delimiter #\,) (quote-char #\") (escape #f) (comment #f)
                           (trim? #f)
                           (skip-empty? #t) (row 'list) (headers #f))
      (if (not (procedure? procedure))
          (%type-error 'csv-for-each 1 "procedure" procedure))
      (let ((next (rows 'csv-for-each port
                        (dialect 'csv-for-each delimiter quote-char escape comment trim? skip-empty?
                                 "\n")
                        (vectors? 'csv-for-each row)
                        headers)))
        (let loop ()
          (let ((row (next)))
            (if (not (eof-object? row))
                (begin
                  (procedure row)
                  (loop)))))))

    ;; Writes a row: a list or a vector of strings, symbols and numbers. Fields are quoted that need
    ;; it, or all with `#:quote-all? #t`.
    (define* (csv-write row #:optional (port (current-output-port))
                        #:key (delimiter #\,) (quote-char #\") (escape #f) (comment #f) (trim? #f)
                        (quote-all? #f) (line-end "\n"))
      (%csv-write row port
                  (dialect 'csv-write delimiter quote-char escape comment trim? #t line-end)
                  quote-all?))

    ;; Writes a list of rows.
    (define* (csv-write-all rows #:optional (port (current-output-port))
                            #:key (delimiter #\,) (quote-char #\") (escape #f) (comment #f)
                            (trim? #f)
                            (quote-all? #f) (line-end "\n"))
      (let ((dialect
             (dialect 'csv-write-all delimiter quote-char escape comment trim? #t line-end)))
        (for-each (lambda (row) (%csv-write row port dialect quote-all?)) rows)))

    ;; Whether a condition says that a text has no rows.
    (define (csv-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'csv)))

    (define (irritant who condition name)
      (if (not (csv-error? condition))
          (%type-error who 1 "error of CSV" condition))
      (let ((found (memq name (error-object-irritants condition))))
        (and found (pair? (cdr found)) (cadr found))))

    ;; The line of what is wrong; of a quoted field that does not end, that of its row.
    (define (csv-error-line condition)
      (irritant 'csv-error-line condition 'line))

    ;; The column likewise, counted in characters from 1.
    (define (csv-error-column condition)
      (irritant 'csv-error-column condition 'column))))
