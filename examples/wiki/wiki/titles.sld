;;; (wiki titles): what pages may be called, and when two names are the same.
;;;
;;; A title is kept as it was typed, but for blanks; an underscore counts as one, so that addresses
;;; can have it in place of a blank. Pages are found by a title's key, which is the same for `Tea`,
;;; `tea` and however accents are encoded.

(define-library (wiki titles)
  (export clean-title title-key title-problem title-length-max plain-char?)
  (import (canny base) (canny text))
  (begin

    (define title-length-max 100)

    ;; Whether a character is no control character, and one that documents of XML such as the feed
    ;; may have.
    (define (plain-char? char)
      (not (or (char<? char #\space) (memv char '(#\delete #\xFFFE #\xFFFF)))))

    ;; A title in its usual form: no blanks at the ends, one between words.
    (define (clean-title text)
      (string-normalize-nfc (string-join
                             (string-split
                              (string-map (lambda (char) (if (char=? char #\_) #\space char)) text))
                             " ")))

    (define (title-key title)
      (string-caseless-key (clean-title title)))

    ;; The fault of a clean title, as a sentence, or `#f`.
    (define (title-problem title)
      (cond ((string-null? title) "A page needs a title.")
            ((> (string-length title) title-length-max)
             (string-append "A title has at most " (number->string title-length-max)
                            " characters."))
            ((member title '("." "..")) "A title is more than dots.")
            ((string-any (lambda (char)
                           (or (not (plain-char? char))
                               (memv char '(#\[ #\] #\| #\#))))
                         title)
             "A title has no brackets, bars and number signs.")
            (else #f)))))
