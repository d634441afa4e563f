;;; (canny text): text as people see it.
;;;
;;; A grapheme is what a reader takes for one character. Examples are a letter with its accents,
;;; an emoji with its skin tone, a flag, the two characters of a line end. Graphemes, words and
;;; sentences are those of Unicode's annex 29, without the tailoring of languages. A column is
;;; the width of a letter in a terminal; most characters of East Asia and emoji take two.
;;;
;;; Positions among graphemes are found by walking, except that a string of Latin-1 characters
;;; without carriage returns has as many graphemes as characters. To access many of one string, take
;;; them into a list or vector first.
;;;
;;;     (string-grapheme-length "cafe\x301;")                      ; => 4
;;;     (string-words "It's 3.5 km, isn't it?")                ; => ("It's" "3.5" "km" "isn't" "it")
;;;     (string-caseless=? "Strasse" "STRAẞE")                    ; => #t

(define-library (canny text)
  (export string-graphemes string-grapheme-length string-grapheme-ref string-grapheme-index
          string-grapheme-fold string-grapheme-for-each string-grapheme-generator
          string-grapheme-take string-grapheme-drop string-grapheme-reverse
          string-words string-word-segments string-sentences
          string-normalize-nfc string-normalize-nfd string-normalize-nfkc string-normalize-nfkd
          string-normalized?
          string-canonical=? string-canonical<? string-caseless-key string-caseless=?
          string-caseless<?
          string-width string-pad-left/width string-pad-right/width string-center/width
          string-truncate/width)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments))
  (begin

    ;; Folds over the parts of a string that a vector of their starts and ends names.
    (define (fold-parts combine initial string boundaries)
      (let ((count (vector-length boundaries)))
        (let next ((place 0) (result initial))
          (if (< place count)
              (next (+ place 2)
                    (combine (substring string
                                        (vector-ref boundaries place)
                                        (vector-ref boundaries (+ place 1)))
                             result))
              result))))

    (define (check-string who position object)
      (check-argument who position string? "string" object))

    ;; (define-ranged (name string start end) body ...) defines a procedure that takes a string and
    ;; an optional range of it.
    (define-syntax define-ranged
      (syntax-rules ()
        ((_ (name string start end) body ...)
         (define* (name string #:optional (start 0) end)
           (check-string 'name 1 string)
           (let ((end (or end (string-length string))))
             (check-bounds 'name 2 start end (string-length string))
             body ...)))))

    (define (parts string division start end)
      (reverse (fold-parts cons '() string (%text-boundaries string division start end))))

    ;; The graphemes of a string, or of a range of its characters, as a list of strings.
    (define-ranged (string-graphemes string start end)
      (parts string division/graphemes start end))

    ;; The number of graphemes of a string, or of a range of its characters.
    (define-ranged (string-grapheme-length string start end)
      (%grapheme-count string start end))

    ;; The index of the character with which grapheme `k` begins; the length of the string when it
    ;; has exactly `k` graphemes.
    (define (string-grapheme-index string k)
      (check-string 'string-grapheme-index 1 string)
      (check-index 'string-grapheme-index 2 k)
      (index-of-grapheme 'string-grapheme-index string k))

    (define (index-of-grapheme who string k)
      (let* ((boundaries (%text-boundaries string division/graphemes))
             (count (quotient (vector-length boundaries) 2)))
        (cond ((< k count) (vector-ref boundaries (* 2 k)))
              ((= k count) (string-length string))
              (else (%range-error who 2 "at most the number of graphemes" k)))))

    ;; Grapheme `k`, counted from 0, as a string.
    (define (string-grapheme-ref string k)
      (check-string 'string-grapheme-ref 1 string)
      (check-index 'string-grapheme-ref 2 k)
      (let ((boundaries (%text-boundaries string division/graphemes)))
        (if (not (< k (quotient (vector-length boundaries) 2)))
            (%range-error 'string-grapheme-ref 2 "below the number of graphemes" k))
        (substring string
                   (vector-ref boundaries (* 2 k))
                   (vector-ref boundaries (+ (* 2 k) 1)))))

    ;; Calls `(combine grapheme result)` for the graphemes from left to right; the first result is
    ;; `initial`.
    (define (string-grapheme-fold combine initial string)
      (check-string 'string-grapheme-fold 3 string)
      (fold-parts combine initial string (%text-boundaries string division/graphemes)))

    ;; Calls a procedure with each grapheme.
    (define (string-grapheme-for-each procedure string)
      (check-string 'string-grapheme-for-each 2 string)
      (fold-parts (lambda (grapheme _) (procedure grapheme)) #f string
                  (%text-boundaries string division/graphemes))
      (if #f #f))

    ;; A generator of the graphemes.
    (define (string-grapheme-generator string)
      (check-string 'string-grapheme-generator 1 string)
      (let ((boundaries (%text-boundaries string division/graphemes))
            (place 0))
        (lambda ()
          (if (< place (vector-length boundaries))
              (let ((start (vector-ref boundaries place))
                    (end (vector-ref boundaries (+ place 1))))
                (set! place (+ place 2))
                (substring string start end))
              (eof-object)))))

    ;; The first `k` graphemes, as a string.
    (define (string-grapheme-take string k)
      (check-string 'string-grapheme-take 1 string)
      (check-index 'string-grapheme-take 2 k)
      (substring string 0 (index-of-grapheme 'string-grapheme-take string k)))

    ;; The string without its first `k` graphemes.
    (define (string-grapheme-drop string k)
      (check-string 'string-grapheme-drop 1 string)
      (check-index 'string-grapheme-drop 2 k)
      (substring string (index-of-grapheme 'string-grapheme-drop string k)))

    ;; The graphemes from the last to the first, as a string: accents stay on their letters.
    (define (string-grapheme-reverse string)
      (check-string 'string-grapheme-reverse 1 string)
      (string-concatenate (string-grapheme-fold cons '() string)))

    ;; The words of a string, in order: the segments between the boundaries of words that have a
    ;; letter or a digit.
    (define-ranged (string-words string start end)
      (parts string division/words start end))

    ;; All segments between the boundaries of words, spaces and punctuation too.
    (define-ranged (string-word-segments string start end)
      (parts string division/segments start end))

    ;; The sentences, each with the spaces behind it.
    (define-ranged (string-sentences string start end)
      (parts string division/sentences start end))

    ;; Whether a string is in a normalization form: `nfc`, `nfd`, `nfkc` or `nfkd`.
    (define (string-normalized? string form)
      (check-string 'string-normalized? 1 string)
      (%string-normalized? string
                           (case form
                             ((nfc) normal-form/nfc)
                             ((nfd) normal-form/nfd)
                             ((nfkc) normal-form/nfkc)
                             ((nfkd) normal-form/nfkd)
                             (else
                              (%type-error 'string-normalized? 2
                                           "normalization form (nfc, nfd, nfkc or nfkd)" form)))))

    ;; Whether the relation holds between the keys of each string and the next.
    (define (all-pairs? who relation key first second rest)
      (check-string who 1 first)
      (check-string who 2 second)
      (let next ((left (key first)) (right (key second)) (rest rest) (position 3))
        (and (relation left right)
             (or (null? rest)
                 (begin
                   (check-string who position (car rest))
                   (next right (key (car rest)) (cdr rest) (+ position 1)))))))

    ;; Whether strings are canonically equivalent: whether they look the same, however their accents
    ;; are encoded.
    (define (string-canonical=? first second . rest)
      (all-pairs? 'string-canonical=? string=? string-normalize-nfd first second rest))

    ;; Whether strings increase, by the scalar values of their canonical decompositions. This
    ;; order is the same everywhere and agrees with `string-canonical=?`; it is not that of a
    ;; dictionary.
    (define (string-canonical<? first second . rest)
      (all-pairs? 'string-canonical<? string<? string-normalize-nfd first second rest))

    ;; A string that is the same for all strings that differ only in case or in how accents are
    ;; encoded, for use as a key.
    (define (string-caseless-key string)
      (check-string 'string-caseless-key 1 string)
      (string-normalize-nfd (string-foldcase (string-normalize-nfd string))))

    ;; Whether strings are the same but for case and for how accents are encoded.
    (define (string-caseless=? first second . rest)
      (all-pairs? 'string-caseless=? string=? string-caseless-key first second rest))

    ;; Whether strings increase without regard to case.
    (define (string-caseless<? first second . rest)
      (all-pairs? 'string-caseless<? string<? string-caseless-key first second rest))

    ;; The columns that a string takes in a terminal. Control characters take none.
    (define-ranged (string-width string start end)
      (%text-width string start end))

    (define (padding who string columns fill)
      (check-argument who 3 char? "character" fill)
      (let ((width (%text-width (make-string 1 fill)))
            (missing (- columns (%text-width string))))
        (if (= width 0)
            (%type-error who 3 "character that takes a column" fill))
        (if (> missing 0)
            ;; Columns that a wide character does not fit into become spaces.
            (cons (quotient missing width) (remainder missing width))
            '(0 . 0))))

    (define (check-padding who string columns)
      (check-string who 1 string)
      (check-index who 2 columns))

    ;; The string with fill characters before it, so that it takes at least so many columns. It is
    ;; never cut.
    (define* (string-pad-left/width string columns #:optional (fill #\space))
      (check-padding 'string-pad-left/width string columns)
      (let ((missing (padding 'string-pad-left/width string columns fill)))
        (string-append (make-string (car missing) fill) (make-string (cdr missing) #\space)
                       string)))

    ;; The string with fill characters behind it.
    (define* (string-pad-right/width string columns #:optional (fill #\space))
      (check-padding 'string-pad-right/width string columns)
      (let ((missing (padding 'string-pad-right/width string columns fill)))
        (string-append string (make-string (cdr missing) #\space)
                       (make-string (car missing) fill))))

    ;; The string with fill characters on both sides, one more behind it if they are odd in number.
    (define* (string-center/width string columns #:optional (fill #\space))
      (check-padding 'string-center/width string columns)
      (let* ((missing (padding 'string-center/width string columns fill))
             (before (quotient (car missing) 2)))
        (string-append (make-string before fill)
                       string
                       (make-string (cdr missing) #\space)
                       (make-string (- (car missing) before) fill))))

    ;; The string if it takes no more columns than that, else as many of its first graphemes as fit
    ;; before the ellipsis, and the ellipsis.
    (define* (string-truncate/width string columns #:optional (ellipsis "…"))
      (check-padding 'string-truncate/width string columns)
      (check-string 'string-truncate/width 3 ellipsis)
      (if (<= (%text-width string) columns)
          string
          (let* ((ellipsis (if (<= (%text-width ellipsis) columns) ellipsis ""))
                 (room (- columns (%text-width ellipsis)))
                 (boundaries (%text-boundaries string division/graphemes)))
            (let next ((place 0) (taken 0))
              (let* ((start (vector-ref boundaries place))
                     (end (vector-ref boundaries (+ place 1)))
                     (taken (+ taken (%text-width string start end))))
                (if (<= taken room)
                    (next (+ place 2) taken)
                    (string-append (substring string 0 start) ellipsis)))))))))
