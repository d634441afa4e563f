;;; (srfi 152): the string library without cursors.
;;;
;;; Most procedures are those of SRFI 13, which take characters and character sets for predicates
;;; too.

(define-library (srfi 152)
  (export
   string? string-null? string-every string-any
   make-string string string-tabulate string-unfold string-unfold-right
   string->vector string->list vector->string list->string reverse-list->string
   string-length string-ref substring string-copy
   string-take string-take-right string-drop string-drop-right
   string-pad string-pad-right string-trim string-trim-right string-trim-both
   string-replace
   string=? string-ci=? string<? string-ci<? string>? string-ci>? string<=? string-ci<=?
   string>=? string-ci>=?
   string-prefix-length string-suffix-length string-prefix? string-suffix?
   string-index string-index-right string-skip string-skip-right
   string-contains string-contains-right
   string-take-while string-take-while-right string-drop-while string-drop-while-right
   string-break string-span
   string-append string-concatenate string-concatenate-reverse string-join
   string-fold string-fold-right string-map string-for-each string-count string-filter
   (rename string-delete string-remove)
   string-replicate string-segment (rename split-string string-split)
   read-string write-string
   string-set! string-fill! string-copy!)
  (import (only (canny primitives)
                string->vector vector->string substring
                string=? string-ci=? string<? string-ci<? string>? string-ci>? string<=?
                string-ci<=? string>=? string-ci>=? read-string write-string
                + - = < > <= >= min cons car cdr null? pair? eq? eqv? not values reverse! reverse
                exact-nonnegative-integer? exact-integer? positive? string-search-forward
                %type-error %range-error)
          (canny syntax) (canny data strings) (srfi 13))
  (begin

    (define-two-ranged (string-contains-right (s1 s2) s1 start1 end1 s2 start2 end2)
      (search-backward s1 start1 end1 s2 start2 end2))

    ;; The end of the longest prefix of the range that satisfies the predicate, and the start of the
    ;; longest such suffix.

    (define (prefix-end who wanted? string start end)
      (with-predicate (wanted? who 2)
        (or (skip-forward wanted? string start end) end)))

    (define (suffix-start who wanted? string start end)
      (with-predicate (wanted? who 2)
        (let ((last (skip-backward wanted? string start end)))
          (if last (+ last 1) start))))

    (define-ranged (string-take-while (string wanted?) string start end)
      (substring string start (prefix-end 'string-take-while wanted? string start end)))

    (define-ranged (string-drop-while (string wanted?) string start end)
      (substring string (prefix-end 'string-drop-while wanted? string start end) end))

    (define-ranged (string-take-while-right (string wanted?) string start end)
      (substring string (suffix-start 'string-take-while-right wanted? string start end) end))

    (define-ranged (string-drop-while-right (string wanted?) string start end)
      (substring string start (suffix-start 'string-drop-while-right wanted? string start end)))

    (define-ranged (string-span (string wanted?) string start end)
      (let ((place (prefix-end 'string-span wanted? string start end)))
        (values (substring string start place) (substring string place end))))

    (define-ranged (string-break (string stop?) string start end)
      (let* ((stop? (criterion 'string-break 2 stop?))
             (place (or (find-forward stop? string start end) end)))
        (values (substring string start place) (substring string place end))))

    (define-ranged (string-replicate (string from to) string start end)
      (replicate 'string-replicate string from to start end))

    (define (string-segment string size)
      (check-string 'string-segment 1 string)
      (if (not (and (exact-integer? size) (positive? size)))
          (%type-error 'string-segment 2 "positive exact integer" size))
      (let ((length (string-length string)))
        (let loop ((start 0) (parts '()))
          (if (< start length)
              (let ((end (min length (+ start size))))
                (loop end (cons (substring string start end) parts)))
              (reverse! parts)))))

    ;; Calls `found` with start and end of the next delimiter, or `none`.  An empty delimiter stands
    ;; between characters.
    (define (next-delimiter string delimiter start found none)
      (if (eqv? (string-length delimiter) 0)
          (if (< (+ start 1) (string-length string))
              (found (+ start 1) (+ start 1))
              (none))
          (let ((at (string-search-forward delimiter string start)))
            (if at
                (found at (+ at (string-length delimiter)))
                (none)))))

    (define-ranged (split-range (string delimiter grammar limit) string start end)
      (check-string 'string-split 2 delimiter)
      (if (not (or (not limit) (exact-nonnegative-integer? limit)))
          (%type-error 'string-split 4 "exact non-negative integer or #f" limit))
      (let* ((string (substring string start end))
             (length (string-length string)))
        (let loop ((start 0) (limit limit) (parts '()))
          (let ((finish (lambda ()
                          (trim-parts grammar
                                      string
                                      (reverse (cons (substring string start length) parts))))))
            (if (eqv? limit 0)
                (finish)
                (next-delimiter string delimiter start
                  (lambda (at next)
                    (loop next (and limit (- limit 1)) (cons (substring string start at) parts)))
                  finish))))))

    ;; The parts between the characters that are `char`; none of an empty string.
    (define (split-at-char string char)
      (let ((length (string-length string)))
        (if (eqv? length 0)
            '()
            (let loop ((index (- length 1)) (end length) (parts '()))
              (cond ((< index 0) (cons (substring string 0 end) parts))
                    ((eq? (string-ref string index) char)
                     (loop (- index 1) index (cons (substring string (+ index 1) end) parts)))
                    (else (loop (- index 1) end parts)))))))

    (define (trim-parts grammar string parts)
      (define (empty? part) (eqv? (string-length part) 0))
      (case grammar
        ((infix) (if (empty? string) '() parts))
        ((strict-infix)
         (if (empty? string)
             (%range-error 'string-split 1 "a string that is not empty" string))
         parts)
        ((prefix)
         (if (and (pair? parts) (empty? (car parts))) (cdr parts) parts))
        ((suffix)
         (let ((reversed (reverse parts)))
           (if (and (pair? reversed) (empty? (car reversed)))
               (reverse! (cdr reversed))
               parts)))
        (else
         (%range-error 'string-split 3 "infix, strict-infix, suffix or prefix" grammar))))

    (define split-string
      (case-lambda
        ((string delimiter)
         (if (and (string? string) (string? delimiter) (eqv? (string-length delimiter) 1))
             (split-at-char string (string-ref delimiter 0))
             (split-range string delimiter 'infix #f)))
        ((string delimiter grammar) (split-range string delimiter grammar #f))
        ((string delimiter grammar limit) (split-range string delimiter grammar limit))
        ((string delimiter grammar limit start)
         (split-range string delimiter grammar limit start))
        ((string delimiter grammar limit start end)
         (split-range string delimiter grammar limit start end))))))
