;;; (srfi 129): title case.

(define-library (srfi 129)
  (export char-title-case? char-titlecase string-titlecase)
  (import (canny primitives) (canny syntax))
  (begin

    (define (char-title-case? char)
      (eq? (char-general-category char) 'Lt))

    (define (cased? char)
      (or (char-lower-case? char) (char-upper-case? char) (char-title-case? char)))

    ;; The full mapping of a character. A mapping that is longer than one character follows from the
    ;; upper-case one. All behind the first letter is in lower case, and a Greek iota written below
    ;; stays there.
    (define (full-titlecase char)
      (let* ((single (char-titlecase char))
             (upper (string-upcase (string char))))
        (if (or (not (eq? single char))
                (char-title-case? char)
                (= (string-length upper) 1))
            (string single)
            (let loop ((index 0) (started? #f) (chars '()))
              (if (= index (string-length upper))
                  (%reverse-list->string chars)
                  (let ((next (string-ref upper index)))
                    (loop (+ index 1)
                          (or started? (char-upper-case? next))
                          (cons (cond ((not started?) next)
                                      ((char=? next #\x399) #\x345)
                                      (else (char-downcase next)))
                                chars))))))))

    ;; The first cased character behind one that is not begins a word. The rest of the word is put
    ;; in lower case together with it, so that a sigma sees what stands before it.
    (define (string-titlecase string)
      (if (not (string? string))
          (%type-error 'string-titlecase 1 "string" string))
      (let ((length (string-length string)) (port (open-output-string)))
        (define (word-end index)
          (if (and (< index length) (cased? (string-ref string index)))
              (word-end (+ index 1))
              index))
        (let loop ((index 0))
          (if (< index length)
              (let ((char (string-ref string index)))
                (if (cased? char)
                    (let* ((end (word-end index))
                           (lower (string-downcase (substring string index end)))
                           (first (string-length (string-downcase (make-string 1 char)))))
                      (write-string (full-titlecase char) port)
                      (write-string (substring lower first (string-length lower)) port)
                      (loop end))
                    (begin
                      (write-char char port)
                      (loop (+ index 1)))))
              (get-output-string port)))))))
