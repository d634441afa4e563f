;;; (srfi 130): the string library with cursors.
;;;
;;; A cursor is an index: strings have their characters at hand by index.

(define-library (srfi 130)
  (export
   string-cursor? string-cursor-start string-cursor-end string-cursor-next string-cursor-prev
   string-cursor-forward string-cursor-back
   string-cursor=? string-cursor<? string-cursor>? string-cursor<=? string-cursor>=?
   string-cursor-diff string-cursor->index string-index->cursor
   string-null? string-every string-any
   string-tabulate string-unfold string-unfold-right
   (rename string->list string->list/cursors) (rename string->vector string->vector/cursors)
   reverse-list->string string-join
   string-ref/cursor (rename substring/shared substring/cursors)
   (rename string-copy string-copy/cursors)
   string-take string-take-right string-drop string-drop-right
   string-pad string-pad-right string-trim string-trim-right string-trim-both
   string-prefix-length string-suffix-length string-prefix? string-suffix?
   (rename cursor-of string-index) (rename cursor-after string-index-right)
   (rename cursor-not-of string-skip) (rename cursor-after-not string-skip-right)
   string-contains string-contains-right
   string-reverse string-concatenate string-concatenate-reverse
   string-fold string-fold-right
   (rename string-for-each-index string-for-each-cursor)
   string-replicate string-count string-replace string-split string-filter string-remove)
  (import (only (canny primitives)
                + - = < > <= >= not exact-nonnegative-integer? exact-integer? string->vector
                %type-error %range-error)
          (canny syntax)
          (only (canny data strings) define-ranged with-predicate check-string find-forward
                find-backward skip-forward skip-backward)
          (only (srfi 152) string-contains-right string-replicate string-split string-remove)
          (srfi 13))
  (begin

    (define (check-cursor who position string cursor)
      (if (not (and (exact-nonnegative-integer? cursor) (<= cursor (string-length string))))
          (%range-error who position "a cursor of the string" cursor)))

    (define (string-cursor? object)
      (exact-nonnegative-integer? object))

    (define (string-cursor-start string)
      (check-string 'string-cursor-start 1 string)
      0)

    (define (string-cursor-end string)
      (check-string 'string-cursor-end 1 string)
      (string-length string))

    (define (moved who string cursor distance)
      (check-string who 1 string)
      (check-cursor who 2 string cursor)
      (if (not (exact-integer? distance))
          (%type-error who 3 "exact integer" distance))
      (let ((cursor (+ cursor distance)))
        (if (not (<= 0 cursor (string-length string)))
            (%range-error who 3 "a distance within the string" distance))
        cursor))

    (define (string-cursor-next string cursor) (moved 'string-cursor-next string cursor 1))
    (define (string-cursor-prev string cursor) (moved 'string-cursor-prev string cursor -1))
    (define (string-cursor-forward string cursor count)
      (moved 'string-cursor-forward string cursor count))
    (define (string-cursor-back string cursor count)
      (moved 'string-cursor-back string cursor (- count)))

    (define (string-cursor=? left right) (= left right))
    (define (string-cursor<? left right) (< left right))
    (define (string-cursor>? left right) (> left right))
    (define (string-cursor<=? left right) (<= left right))
    (define (string-cursor>=? left right) (>= left right))

    (define (string-cursor-diff string start end)
      (check-string 'string-cursor-diff 1 string)
      (- end start))

    (define (string-cursor->index string cursor)
      (check-string 'string-cursor->index 1 string)
      (check-cursor 'string-cursor->index 2 string cursor)
      cursor)

    (define (string-index->cursor string index)
      (check-string 'string-index->cursor 1 string)
      (check-cursor 'string-index->cursor 2 string index)
      index)

    (define (string-ref/cursor string cursor)
      (string-ref string cursor))

    ;; A search that fails ends where the range does.

    (define (after place start)
      (if place (+ place 1) start))

    (define-ranged (cursor-of (string wanted) string start end)
      (with-predicate (wanted 'string-index 2)
        (or (find-forward wanted string start end) end)))

    (define-ranged (cursor-not-of (string unwanted) string start end)
      (with-predicate (unwanted 'string-skip 2)
        (or (skip-forward unwanted string start end) end)))

    (define-ranged (cursor-after (string wanted) string start end)
      (with-predicate (wanted 'string-index-right 2)
        (after (find-backward wanted string start end) start)))

    (define-ranged (cursor-after-not (string unwanted) string start end)
      (with-predicate (unwanted 'string-skip-right 2)
        (after (skip-backward unwanted string start end) start)))))
