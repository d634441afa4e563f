;;; (srfi 135): immutable texts.
;;;
;;; A text is a record around a string that no one else has and nothing changes. A textual is a text
;;; or a string; results are texts.

(define-library (srfi 135)
  (export
   text? textual? textual-null? textual-every textual-any
   make-text text text-tabulate text-unfold text-unfold-right
   textual->text textual->string textual->vector textual->list
   string->text vector->text list->text reverse-list->text
   textual->utf8 textual->utf16 textual->utf16be textual->utf16le
   utf8->text utf16->text utf16be->text utf16le->text
   text-length textual-length text-ref textual-ref subtext subtextual textual-copy
   textual-take textual-take-right textual-drop textual-drop-right
   textual-pad textual-pad-right textual-trim textual-trim-right textual-trim-both
   textual-replace
   textual=? textual<? textual>? textual<=? textual>=?
   textual-ci=? textual-ci<? textual-ci>? textual-ci<=? textual-ci>=?
   textual-prefix-length textual-suffix-length textual-prefix? textual-suffix?
   textual-index textual-index-right textual-skip textual-skip-right
   textual-contains textual-contains-right
   textual-upcase textual-downcase textual-foldcase textual-titlecase
   textual-append textual-concatenate textual-concatenate-reverse textual-join
   textual-fold textual-fold-right textual-map textual-for-each
   textual-map-index textual-for-each-index textual-count textual-filter textual-remove
   textual-replicate textual-split)
  (import (except (scheme base) string-map string-for-each) (scheme case-lambda) (scheme char)
          (only (canny primitives) %type-error %range-error exact-nonnegative-integer?)
          (except (srfi 152) string-length string-ref)
          (only (srfi 129) string-titlecase))
  (begin

    (define-record-type <text>
      (wrap string)
      text?
      (string text-string))

    (define (textual? object)
      (or (text? object) (string? object)))

    ;; The string of a textual, not to be changed.
    (define (unwrap who position object)
      (cond ((text? object) (text-string object))
            ((string? object) object)
            (else (%type-error who position "text or string" object))))

    ;; Procedures of strings as procedures of textuals: those arguments whose parameters stand in
    ;; the second list are unwrapped. `give` is applied to the result.
    (define-syntax define-textual
      (syntax-rules ()
        ((_ give (name procedure (parameter ...) (textual place) ...) ...)
         (begin
           (define (name parameter ... . rest)
             (let ((textual (unwrap 'name place textual)) ...)
               (give (apply procedure parameter ... rest))))
           ...))))

    (define (itself result) result)

    (define-textual itself
      (textual-null? string-null? (t) (t 1))
      (textual-every string-every (wanted? t) (t 2))
      (textual-any string-any (wanted? t) (t 2))
      (textual->string string-copy (t) (t 1))
      (textual->vector string->vector (t) (t 1))
      (textual->list string->list (t) (t 1))
      (textual->utf8 string->utf8 (t) (t 1))
      (textual-length string-length (t) (t 1))
      (textual-ref string-ref (t index) (t 1))
      (textual-prefix-length string-prefix-length (t1 t2) (t1 1) (t2 2))
      (textual-suffix-length string-suffix-length (t1 t2) (t1 1) (t2 2))
      (textual-prefix? string-prefix? (t1 t2) (t1 1) (t2 2))
      (textual-suffix? string-suffix? (t1 t2) (t1 1) (t2 2))
      (textual-index string-index (t wanted?) (t 1))
      (textual-index-right string-index-right (t wanted?) (t 1))
      (textual-skip string-skip (t wanted?) (t 1))
      (textual-skip-right string-skip-right (t wanted?) (t 1))
      (textual-contains string-contains (t1 t2) (t1 1) (t2 2))
      (textual-contains-right string-contains-right (t1 t2) (t1 1) (t2 2))
      (textual-fold string-fold (kons knil t) (t 3))
      (textual-fold-right string-fold-right (kons knil t) (t 3))
      (textual-count string-count (t wanted?) (t 1)))

    (define-textual wrap
      (text-tabulate string-tabulate (procedure length))
      (textual-copy string-copy (t) (t 1))
      (textual-take string-take (t count) (t 1))
      (textual-take-right string-take-right (t count) (t 1))
      (textual-drop string-drop (t count) (t 1))
      (textual-drop-right string-drop-right (t count) (t 1))
      (textual-pad string-pad (t length) (t 1))
      (textual-pad-right string-pad-right (t length) (t 1))
      (textual-trim string-trim (t) (t 1))
      (textual-trim-right string-trim-right (t) (t 1))
      (textual-trim-both string-trim-both (t) (t 1))
      (textual-replace string-replace (t1 t2 start end) (t1 1) (t2 2))
      (textual-upcase string-upcase (t) (t 1))
      (textual-downcase string-downcase (t) (t 1))
      (textual-foldcase string-foldcase (t) (t 1))
      (textual-titlecase string-titlecase (t) (t 1))
      (textual-filter string-filter (wanted? t) (t 2))
      (textual-remove string-remove (unwanted? t) (t 2))
      (textual-replicate string-replicate (t from to) (t 1))
      (vector->text vector->string (vector))
      (reverse-list->text reverse-list->string (chars)))

    (define-syntax define-comparisons
      (syntax-rules ()
        ((_ (name procedure) ...)
         (begin
           (define (name first second . rest)
             (apply procedure (unwrap-all 'name (cons first (cons second rest)))))
           ...))))

    (define (unwrap-all who textuals)
      (let loop ((rest textuals) (position 1))
        (if (pair? rest)
            (cons (unwrap who position (car rest)) (loop (cdr rest) (+ position 1)))
            '())))

    (define-comparisons
      (textual=? string=?) (textual<? string<?) (textual>? string>?)
      (textual<=? string<=?) (textual>=? string>=?)
      (textual-ci=? string-ci=?) (textual-ci<? string-ci<?) (textual-ci>? string-ci>?)
      (textual-ci<=? string-ci<=?) (textual-ci>=? string-ci>=?))

    ;; Constructors.

    (define (make-text length char)
      (wrap (make-string length char)))

    (define (text . chars)
      (list->text chars))

    (define list->text
      (case-lambda
        ((chars)
         (if (not (list? chars))
             (%type-error 'list->text 1 "list" chars))
         (wrap (list->string chars)))
        ((chars . range) (wrap (apply vector->string (list->vector chars) range)))))

    (define (string->text string . range)
      (if (not (string? string))
          (%type-error 'string->text 1 "string" string))
      (wrap (apply string-copy string range)))

    (define (textual->text textual . who)
      (cond ((text? textual) textual)
            ((string? textual) (wrap (string-copy textual)))
            (else (%type-error 'textual->text 1 "text or string" textual))))

    (define (piece object)
      (if (text? object) (text-string object) object))

    (define (no-final seed) "")

    (define-syntax define-unfold
      (syntax-rules ()
        ((_ name procedure)
         (define name
           (case-lambda
             ((stop? mapper successor seed) (name stop? mapper successor seed "" no-final))
             ((stop? mapper successor seed base) (name stop? mapper successor seed base no-final))
             ((stop? mapper successor seed base make-final)
              (wrap (procedure stop?
                               (lambda (seed) (piece (mapper seed)))
                               successor
                               seed
                               (piece base)
                               (lambda (seed) (piece (make-final seed)))))))))))

    (define-unfold text-unfold string-unfold)
    (define-unfold text-unfold-right string-unfold-right)

    ;; Encodings.

    (define (encode-utf16 string big? bom?)
      (let ((port (open-output-bytevector)))
        (define (unit! unit)
          (let ((high (quotient unit 256)) (low (remainder unit 256)))
            (write-u8 (if big? high low) port)
            (write-u8 (if big? low high) port)))
        (if bom?
            (unit! #xFEFF))
        (string-for-each
         (lambda (char)
           (let ((code (char->integer char)))
             (if (< code #x10000)
                 (unit! code)
                 (let ((rest (- code #x10000)))
                   (unit! (+ #xD800 (quotient rest 1024)))
                   (unit! (+ #xDC00 (remainder rest 1024)))))))
         string)
        (get-output-bytevector port)))

    (define-syntax define-encoders
      (syntax-rules ()
        ((_ (name big? bom?) ...)
         (begin
           (define (name textual . range)
             (encode-utf16 (apply string-copy (unwrap 'name 1 textual) range) big? bom?))
           ...))))

    (define-encoders
      (textual->utf16 #t #t) (textual->utf16be #t #f) (textual->utf16le #f #f))

    (define (decode-utf16 who bytes big?)
      (let ((length (bytevector-length bytes)))
        (if (odd? length)
            (%range-error who 1 "whole units of two bytes" bytes))
        (define (unit index)
          (let ((first (bytevector-u8-ref bytes index))
                (second (bytevector-u8-ref bytes (+ index 1))))
            (if big? (+ (* 256 first) second) (+ (* 256 second) first))))
        (let loop ((index 0) (chars '()))
          (if (= index length)
              (reverse-list->text chars)
              (let ((code (unit index)))
                (cond ((not (<= #xD800 code #xDFFF))
                       (loop (+ index 2) (cons (integer->char code) chars)))
                      ((and (< code #xDC00)
                            (< (+ index 2) length)
                            (<= #xDC00 (unit (+ index 2)) #xDFFF))
                       (loop (+ index 4)
                             (cons (integer->char
                                    (+ #x10000
                                       (* 1024 (- code #xD800))
                                       (- (unit (+ index 2)) #xDC00)))
                                   chars)))
                      (else
                       (%range-error who 1 "no surrogate without its other half" bytes))))))))

    (define (check-bytes who object)
      (if (not (bytevector? object))
          (%type-error who 1 "bytevector" object)))

    (define (utf8->text bytes . range)
      (check-bytes 'utf8->text bytes)
      (wrap (apply utf8->string bytes range)))

    (define (utf16be->text bytes . range)
      (check-bytes 'utf16be->text bytes)
      (decode-utf16 'utf16be->text (apply bytevector-copy bytes range) #t))

    (define (utf16le->text bytes . range)
      (check-bytes 'utf16le->text bytes)
      (decode-utf16 'utf16le->text (apply bytevector-copy bytes range) #f))

    ;; A byte order mark determines the order; without one the first byte of a unit is the high one.
    (define (utf16->text bytes . range)
      (check-bytes 'utf16->text bytes)
      (let* ((bytes (apply bytevector-copy bytes range))
             (mark (and (>= (bytevector-length bytes) 2)
                        (list (bytevector-u8-ref bytes 0) (bytevector-u8-ref bytes 1)))))
        (cond ((equal? mark '(254 255)) (decode-utf16 'utf16->text (bytevector-copy bytes 2) #t))
              ((equal? mark '(255 254)) (decode-utf16 'utf16->text (bytevector-copy bytes 2) #f))
              (else (decode-utf16 'utf16->text bytes #t)))))

    ;; Selection.

    (define (check-text who object)
      (if (not (text? object))
          (%type-error who 1 "text" object)))

    (define (text-length text)
      (check-text 'text-length text)
      (string-length (text-string text)))

    (define (text-ref text index)
      (check-text 'text-ref text)
      (string-ref (text-string text) index))

    (define (subtext text start end)
      (check-text 'subtext text)
      (wrap (substring (text-string text) start end)))

    (define (subtextual textual start end)
      (wrap (substring (unwrap 'subtextual 1 textual) start end)))

    ;; Concatenation.

    (define (textual-append . textuals)
      (wrap (string-concatenate (unwrap-all 'textual-append textuals))))

    (define (unwrap-list who textuals)
      (if (not (list? textuals))
          (%type-error who 1 "list of texts and strings" textuals))
      (map (lambda (textual) (unwrap who 1 textual)) textuals))

    (define (textual-concatenate textuals)
      (wrap (string-concatenate (unwrap-list 'textual-concatenate textuals))))

    (define textual-concatenate-reverse
      (case-lambda
        ((textuals) (textual-concatenate-reverse textuals ""))
        ((textuals final . end)
         (wrap (apply string-concatenate-reverse
                      (unwrap-list 'textual-concatenate-reverse textuals)
                      (unwrap 'textual-concatenate-reverse 2 final)
                      end)))))

    (define textual-join
      (case-lambda
        ((textuals) (textual-join textuals " "))
        ((textuals delimiter . grammar)
         (wrap (apply string-join
                      (unwrap-list 'textual-join textuals)
                      (unwrap 'textual-join 2 delimiter)
                      grammar)))))

    (define textual-split
      (lambda (textual delimiter . options)
        (map wrap
             (apply string-split
                    (unwrap 'textual-split 1 textual)
                    (unwrap 'textual-split 2 delimiter)
                    options))))

    ;; Mapping. The procedure returns a character, a string or a text.

    (define (collect who count give)
      (let ((port (open-output-string)))
        (do ((index 0 (+ index 1)))
            ((= index count) (wrap (get-output-string port)))
          (let ((result (give index)))
            (cond ((char? result) (write-char result port))
                  ((textual? result) (write-string (piece result) port))
                  (else
                   (%type-error who 1 "procedure that gives characters and texts" result)))))))

    (define (least-length strings)
      (apply min (map string-length strings)))

    (define (textual-map procedure textual . textuals)
      (let ((strings (unwrap-all 'textual-map (cons textual textuals))))
        (collect 'textual-map
                 (least-length strings)
                 (lambda (index)
                   (apply procedure (map (lambda (string) (string-ref string index)) strings))))))

    (define (textual-for-each procedure textual . textuals)
      (let* ((strings (unwrap-all 'textual-for-each (cons textual textuals)))
             (end (least-length strings)))
        (do ((index 0 (+ index 1)))
            ((= index end))
          (apply procedure (map (lambda (string) (string-ref string index)) strings)))))

    (define (with-range who textual range work)
      (let* ((length (string-length (unwrap who 2 textual)))
             (start (if (pair? range) (car range) 0))
             (end (if (and (pair? range) (pair? (cdr range))) (cadr range) length)))
        (if (not (and (exact-nonnegative-integer? end) (<= end length)))
            (%range-error who 4 "an index of the text" end))
        (if (not (and (exact-nonnegative-integer? start) (<= start end)))
            (%range-error who 3 "an index not above the end" start))
        (work start end)))

    (define (textual-map-index procedure textual . range)
      (with-range 'textual-map-index textual range
        (lambda (start end)
          (collect 'textual-map-index
                   (- end start)
                   (lambda (index) (procedure (+ start index)))))))

    (define (textual-for-each-index procedure textual . range)
      (with-range 'textual-for-each-index textual range
        (lambda (start end)
          (do ((index start (+ index 1)))
              ((= index end))
            (procedure index)))))))
